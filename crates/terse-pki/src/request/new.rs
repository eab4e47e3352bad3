//! Makes certification requests, for devices that are enrolled by hand and for tests.
//!
//! What must always hold: a certificate is taken for a request only if it has the request's key.

use core::fmt;

use pki_types::{CertificateDer, PrivateKeyDer};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PublicKeyData};
use zeroize::Zeroizing;

use super::CertificationRequest;
use crate::authority::parse;
use crate::leaf::general_name;
use crate::{Credential, Error, KeyAlgorithm, Subject, der};

/// The options of a new certification request.
#[derive(Clone, Debug)]
pub struct RequestOptions {
    /// The subject to ask for.
    pub subject: Subject,
    /// The DNS names and IP addresses to ask for.
    pub names: Vec<String>,
    /// The algorithm of a new key.
    pub algorithm: KeyAlgorithm,
}

impl RequestOptions {
    /// Returns the options of a request for a subject and no other name, with a P-256 key.
    pub fn new(subject: Subject) -> Self {
        Self { subject, names: Vec::new(), algorithm: KeyAlgorithm::P256 }
    }
}

/// A certification request that was just made, and its private key.
pub struct NewRequest {
    request: CertificationRequest,
    key: Zeroizing<KeyPair>,
}

impl NewRequest {
    /// Makes a key and a request for it.
    pub fn new(options: &RequestOptions) -> Result<Self, Error> {
        Self::by(options.algorithm.generate()?, options)
    }

    /// Makes a request for a key that exists already; the algorithm in `options` does not count.
    pub fn for_key(key: &PrivateKeyDer<'_>, options: &RequestOptions) -> Result<Self, Error> {
        Self::by(Zeroizing::new(KeyPair::try_from(key)?), options)
    }

    fn by(key: Zeroizing<KeyPair>, options: &RequestOptions) -> Result<Self, Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        if !options.subject.is_empty() {
            params.distinguished_name.push(DnType::CommonName, ""); // the subject takes its place
        }
        params.subject_alt_names = options.names.iter().map(|name| general_name(name)).collect::<Result<_, _>>()?;
        let request = params.serialize_request(&*key)?;
        let request = der::with_element(request.der(), SUBJECT, options.subject.der(), &*key)?;
        Ok(Self { request: CertificationRequest::from_der(&request)?, key })
    }

    /// Returns the request, for the CA.
    pub fn request(&self) -> &CertificationRequest {
        &self.request
    }

    /// Returns the private key as PEM.
    pub fn key_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(crate::to_pem("PRIVATE KEY", self.key.serialized_der()))
    }

    /// Returns the private key as PEM, encrypted as [`Credential::encrypted_key_pem`] does it.
    pub fn encrypted_key_pem(&self, passphrase: &[u8]) -> Result<String, Error> {
        crate::credential::encrypted_pem(self.key.serialized_der(), passphrase)
    }

    /// Joins the key with the certificates that the CA returned, the leaf first and without the root.
    pub fn into_credential(self, chain: Vec<CertificateDer<'static>>) -> Result<Credential, Error> {
        let leaf = chain.first().ok_or(Error::Malformed("the certificate"))?;
        if parse(leaf)?.public_key().raw != self.key.subject_public_key_info() {
            return Err(Error::KeyMismatch);
        }
        Ok(Credential::new(chain, &self.key))
    }
}

impl fmt::Debug for NewRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewRequest").field("subject", self.request.subject()).finish_non_exhaustive()
    }
}

/// The position of the subject in a CertificationRequestInfo (RFC 2986, 4.1).
const SUBJECT: usize = 1;
