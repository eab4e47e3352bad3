//! A credential, which the CA issues, is a certificate chain and its private key, as DER and as PEM.

use core::fmt;

use pkcs8::PrivateKeyInfoRef;
use pkcs8::pkcs5::pbes2::Parameters;
use pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rcgen::KeyPair;
use zeroize::Zeroizing;

use crate::{Error, to_pem};

/// The iterations of PBKDF2 with HMAC-SHA256 that OWASP recommends.
const ITERATIONS: u32 = 600_000;

/// A certificate chain, leaf first and without the root, and the leaf's private key.
pub struct Credential {
    chain: Vec<CertificateDer<'static>>,
    key: Zeroizing<PrivateKeyDer<'static>>,
}

impl Credential {
    pub(crate) fn new(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Self {
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Self { chain, key: Zeroizing::new(key.into()) }
    }

    /// Returns the leaf and the intermediates, in the order of a Certificate message.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// Returns the leaf certificate.
    pub fn leaf(&self) -> &CertificateDer<'static> {
        &self.chain[0] // `Authority::issue` puts the leaf there
    }

    /// Returns the chain as PEM.
    pub fn chain_pem(&self) -> String {
        self.chain.iter().map(|certificate| to_pem("CERTIFICATE", certificate)).collect()
    }

    /// Returns the private key, as PKCS #8.
    pub fn key(&self) -> &PrivateKeyDer<'static> {
        &self.key
    }

    /// Returns the private key as PEM.
    pub fn key_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(to_pem("PRIVATE KEY", self.key.secret_der()))
    }

    /// Returns the private key as PEM, encrypted (RFC 5958, 3) with PBES2: PBKDF2 with HMAC-SHA256, and AES-256-CBC,
    /// which every other implementation can read.
    pub fn encrypted_key_pem(&self, passphrase: &[u8]) -> Result<String, Error> {
        encrypted_pem(self.key.secret_der(), passphrase)
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("certificates", &self.chain.len()).finish_non_exhaustive()
    }
}

/// Returns a private key as PEM, encrypted as [`Credential::encrypted_key_pem`] says.
pub(crate) fn encrypted_pem(key: &[u8], passphrase: &[u8]) -> Result<String, Error> {
    let (mut salt, mut iv) = ([0; 16], [0; 16]);
    aws_lc_rs::rand::fill(&mut salt)?;
    aws_lc_rs::rand::fill(&mut iv)?;
    let parameters = Parameters::generate_pbkdf2_sha256_aes256cbc(ITERATIONS, &salt, iv).map_err(pkcs8::Error::from)?;
    let key = PrivateKeyInfoRef::try_from(key)?;
    let encrypted = key.encrypt_with_params(parameters, passphrase)?;
    Ok(to_pem("ENCRYPTED PRIVATE KEY", encrypted.as_bytes()))
}
