//! A small CA for trying things and for tests (`terse pki`, `terse-testkit`); certificates per RFC 5280.
//!
//! ```
//! use terse_pki::{Authority, AuthorityOptions, LeafOptions, Validity};
//!
//! let validity = Validity::days(1_760_000_000, 365);
//! let authority = Authority::new(&AuthorityOptions::new("p256x3".parse()?, validity))?;
//! let broker = authority.issue(&LeafOptions::new("broker.plant.example", validity))?;
//! assert_eq!(broker.chain().len(), 2); // leaf and intermediate: the root is not sent
//! # Ok::<(), terse_pki::Error>(())
//! ```
//!
//! Every byte of a certificate is sent in every full handshake, so certificates carry what path validation needs and
//! nothing else:
//!
//! | | extensions | serial number |
//! |---|---|---|
//! | root, intermediates | basicConstraints (critical), keyUsage keyCertSign and cRLSign (critical) | 16 random bytes |
//! | leaf | subjectAltName, keyUsage digitalSignature (critical), extKeyUsage | 16 random bytes |
//!
//! Subject and authority key identifiers are left out unless [`AuthorityOptions::key_identifiers`] asks for them: names
//! are enough to build these paths, and the two cost some 64 bytes a certificate. RFC 5280, 4.2.1.1 and 4.2.1.2 require them of CAs; `openssl verify`, GnuTLS and webpki
//! accept the chains, and only `openssl verify -x509_strict` insists on them. A certificate can be given an exact
//! length, to compare handshakes with those of others: an extension that says nothing fills it up.
//!
//! What must always hold: an [`Authority`] has a root and issues from its last CA; private keys zeroize on drop and
//! never print; time is an argument, so that a test can issue what has already expired.

mod algorithm;
mod authority;
mod credential;
mod crl;
mod der;
mod directory;
mod error;
mod identifier;
mod leaf;
mod length;
mod ocsp;

pub use algorithm::{Chain, KeyAlgorithm};
pub use authority::{Authority, AuthorityOptions, Validity};
pub use credential::Credential;
pub use crl::Revocation;
pub use directory::write_file;
pub use error::Error;
pub use leaf::{LeafOptions, Usage};
pub use ocsp::{OcspHash, OcspOptions, OcspStatus};
pub use pki_types;

/// Returns the length of a certificate's signature in bytes. With an ECDSA key it varies, because it is DER (RFC 3279,
/// 2.2.3).
pub fn signature_len(certificate: &pki_types::CertificateDer<'_>) -> Result<usize, Error> {
    Ok(authority::parse(certificate)?.signature_value.data.len())
}

/// Encodes one PEM block (RFC 7468).
pub fn to_pem(label: &str, der: &[u8]) -> String {
    // The labels are this crate's own, and a certificate or key is far below the encoder's limit of isize::MAX.
    pkcs8::der::pem::encode_string(label, pkcs8::LineEnding::LF, der).expect("a valid label and a bounded length")
}
