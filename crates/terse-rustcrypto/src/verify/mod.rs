//! Signatures in certificates and in CertificateVerify are verified here.

mod ecdsa;
mod ed25519;
mod rsa;

pub use ecdsa::{ECDSA_P256_SHA256, ECDSA_P256_SHA384, ECDSA_P384_SHA256, ECDSA_P384_SHA384};
pub use ed25519::ED25519;
pub use rsa::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512};

terse_tls::define_signature_algorithms!();
