//! Verification of signatures, in certificates and in CertificateVerify.

use pki_types::SignatureVerificationAlgorithm;
use terse_tls::SignatureScheme;
use terse_tls::crypto::SignatureAlgorithms;

mod ecdsa;
mod ed25519;
mod rsa;

pub use ecdsa::{ECDSA_P256_SHA256, ECDSA_P256_SHA384, ECDSA_P384_SHA256, ECDSA_P384_SHA384};
pub use ed25519::ED25519;
pub use rsa::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512};

/// All algorithms, and the schemes (RFC 9846, 4.3.3) that they serve, preferred first.
pub static ALL: SignatureAlgorithms = SignatureAlgorithms { all: ALGORITHMS, by_scheme: SCHEMES };

static ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[
    ECDSA_P256_SHA256,
    ECDSA_P256_SHA384,
    ECDSA_P384_SHA256,
    ECDSA_P384_SHA384,
    ED25519,
    RSA_PSS_SHA256,
    RSA_PSS_SHA384,
    RSA_PSS_SHA512,
    RSA_PKCS1_SHA256,
    RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512,
];

/// An ECDSA scheme fixes the curve, as TLS 1.3 reads it; for TLS 1.2, where it names the hash only (RFC 9846, 4.3.3), the
/// other curve's algorithm is in [`ALL`]`.all`. The PKCS#1 schemes sign certificates, and handshakes in TLS 1.2.
static SCHEMES: &[(SignatureScheme, &[&dyn SignatureVerificationAlgorithm])] = &[
    (SignatureScheme::ECDSA_SECP256R1_SHA256, &[ECDSA_P256_SHA256]),
    (SignatureScheme::ECDSA_SECP384R1_SHA384, &[ECDSA_P384_SHA384]),
    (SignatureScheme::ED25519, &[ED25519]),
    (SignatureScheme::RSA_PSS_RSAE_SHA256, &[RSA_PSS_SHA256]),
    (SignatureScheme::RSA_PSS_RSAE_SHA384, &[RSA_PSS_SHA384]),
    (SignatureScheme::RSA_PSS_RSAE_SHA512, &[RSA_PSS_SHA512]),
    (SignatureScheme::RSA_PKCS1_SHA256, &[RSA_PKCS1_SHA256]),
    (SignatureScheme::RSA_PKCS1_SHA384, &[RSA_PKCS1_SHA384]),
    (SignatureScheme::RSA_PKCS1_SHA512, &[RSA_PKCS1_SHA512]),
];
