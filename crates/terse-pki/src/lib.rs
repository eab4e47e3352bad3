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
//! | certificate | extensions | key identifiers |
//! |---|---|---|
//! | root, intermediates | basicConstraints (critical), keyUsage keyCertSign and cRLSign (critical) | if asked for |
//! | leaf, [`LeafOptions`] | subjectAltName, keyUsage digitalSignature (critical), extKeyUsage | authority, if the CA has its own |
//!
//! Subject and authority key identifiers are left out unless [`AuthorityOptions::key_identifiers`] asks for them: names are
//! enough to build these paths, and the two cost some 64 bytes a certificate. RFC 5280, 4.2.1.1 and 4.2.1.2 require them of
//! CAs; `openssl verify`, GnuTLS and webpki accept the chains without them, and only `openssl verify -x509_strict` insists
//! on them. A certificate can be given an exact length, to compare handshakes with those of others: an extension that says
//! nothing fills it up.
//!
//! Serial numbers have 16 random bytes, unless one is given.
//!
//! # Onboarding
//!
//! For BRSKI (RFC 8995) there is a profile for each certificate that a device meets on its way into a domain:
//!
//! | certificate | issuer | extensions | key identifiers |
//! |---|---|---|---|
//! | IDevID of a device, [`IdevidOptions`] | manufacturer | MASA URL | authority |
//! | server of a MASA, [`LeafOptions`] with [`Usage::Server`] | manufacturer | as a leaf | as a leaf |
//! | signer of vouchers, [`VoucherSignerOptions`] | manufacturer | keyUsage digitalSignature (critical) | subject; authority, if the CA has its own |
//! | registrar, [`RegistrarOptions`] | domain | as a leaf, with cmcRA | subject; authority, if the CA has its own |
//! | LDevID of a device, [`LdevidPolicy`] | domain | as a leaf, for clients; cRLDistributionPoints, if asked for | authority |
//!
//! The key identifier of a CA is the SHA-1 hash of its key (RFC 5280, 4.2.1.2, method 1). DevIDs name it also if the CA's
//! certificate does not carry it. A CA for onboarding should carry it, because others look for it there.
//!
//! A device makes its own key, and asks for its LDevID by a [`CertificationRequest`] (PKCS #10). That is hostile input: it is
//! bounded, its signature is checked, and a policy decides what of it counts.
//!
//! ```
//! use terse_pki::{Authority, AuthorityOptions, IdevidOptions, LdevidPolicy, NewRequest, RequestOptions};
//! use terse_pki::{Subject, SubjectPolicy, Validity};
//!
//! let now = 1_760_000_000;
//! let ca = |name: &str, validity| {
//!     let options = AuthorityOptions::new("p256x3".parse()?, validity);
//!     Authority::new(&AuthorityOptions { name: name.into(), key_identifiers: true, ..options })
//! };
//! let maker = ca("Maker", Validity::without_end(now))?;
//! let masa_url = Some("masa.maker.example:9443".parse()?);
//! let idevid = maker.issue_idevid(&IdevidOptions { masa_url, ..IdevidOptions::new("WI-3005", now) })?;
//!
//! // In the domain, the device keeps its subject.
//! let plant = ca("Plant", Validity::days(now, 3650))?;
//! let subject = Subject::of(idevid.leaf())?;
//! let request = NewRequest::new(&RequestOptions::new(subject.clone()))?;
//! let policy = LdevidPolicy {
//!     subject: SubjectPolicy::Required(subject.clone()),
//!     ..LdevidPolicy::new(subject, Validity::days(now, 365))
//! };
//! let ldevid = plant.issue_ldevid(request.request(), &policy)?;
//! assert_eq!(request.into_credential(ldevid)?.chain().len(), 2);
//! # Ok::<(), terse_pki::Error>(())
//! ```
//!
//! # Keys
//!
//! The private key of a CA certificate is in memory and in a file, or elsewhere: an [`ExternalKey`] signs where it is, such as
//! one in a PKCS #11 module (feature `pkcs11`), which a file of the CA's directory names. It may also be missing, until what needs
//! it is to be done.
//!
//! What must always hold: an [`Authority`] has a root and issues from its last CA; no end entity's certificate is that of a
//! CA; private keys zeroize on drop and never print; time is an argument, so that a test can issue what has already expired.

mod algorithm;
mod authority;
mod credential;
mod crl;
mod crl_url;
mod der;
mod directory;
mod error;
mod identifier;
mod idevid;
mod key;
mod ldevid;
mod leaf;
mod length;
mod level;
mod masa;
mod masa_url;
mod name;
mod ocsp;
#[cfg(feature = "pkcs11")]
mod pkcs11;
mod registrar;
mod request;
mod revocation_reason;

pub use algorithm::{Chain, KeyAlgorithm};
pub use authority::{Authority, AuthorityOptions, Validity};
pub use credential::Credential;
pub use crl::{Revocation, is_issued_by};
pub use crl_url::CrlUrl;
pub use directory::{ca_certificates, write_file};
pub use error::Error;
pub use idevid::IdevidOptions;
pub use key::{ExternalKey, KeyError};
pub use ldevid::{ExtensionPolicy, LdevidPolicy, NamePolicy, NotAsRequested, SubjectPolicy};
pub use leaf::{LeafOptions, Usage};
pub use masa::VoucherSignerOptions;
pub use masa_url::MasaUrl;
pub use name::{NameAttribute, Subject, is_unprintable};
pub use ocsp::{OcspHash, OcspOptions, OcspStatus};
pub use pki_types;
pub use registrar::{KeyPurpose, RegistrarOptions};
pub use request::{CertificationRequest, NewRequest, RequestError, RequestOptions};
pub use revocation_reason::RevocationReason;

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
