//! A level of a CA: a certificate, and its private key if that is here.

use pki_types::CertificateDer;
use rcgen::{Issuer, SubjectPublicKeyInfo};
use x509_parser::extensions::ParsedExtension;

use crate::authority::parse;
use crate::key::{LevelKey, Signer};
use crate::{Error, KeyAlgorithm, directory, identifier};

/// One CA certificate and its private key, if that is here.
pub(crate) struct Level {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: Option<LevelKey>,
}

impl Level {
    /// Calls `sign` with the issuer that this level is, whose number is counted from 0, the root.
    pub(crate) fn sign<T>(
        &self,
        number: usize,
        sign: impl FnOnce(&Issuer<'static, Signer<'_>>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let key = self.key.as_ref().ok_or_else(|| Error::NoKey(directory::name(number)))?;
        let issuer = Issuer::from_ca_cert_der(&self.certificate, Signer::new(key))?;
        sign(&issuer).map_err(|error| issuer.key().explain(error, &directory::name(number)))
    }

    /// Returns the algorithm of the key; `None` for one that this CA does not make.
    pub(crate) fn algorithm(&self) -> Result<Option<KeyAlgorithm>, Error> {
        let certificate = parse(&self.certificate)?;
        let key = SubjectPublicKeyInfo::from_der(certificate.public_key().raw).ok();
        Ok(key.and_then(|key| KeyAlgorithm::of(&key)))
    }

    /// Returns the subjectKeyIdentifier of the certificate, if it carries one.
    pub(crate) fn subject_key_identifier(&self) -> Result<Option<Vec<u8>>, Error> {
        let certificate = parse(&self.certificate)?;
        let found = certificate.iter_extensions().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(identifier) => Some(identifier.0.to_vec()),
            _ => None,
        });
        Ok(found)
    }

    /// Returns what certificates of this CA have as the authority key identifier: what its certificate carries, or else
    /// what it would carry.
    pub(crate) fn key_identifier(&self) -> Result<Vec<u8>, Error> {
        let carried = self.subject_key_identifier()?;
        let certificate = parse(&self.certificate)?;
        let own = &certificate.public_key().subject_public_key.data;
        Ok(carried.unwrap_or_else(|| identifier::of_key(own).to_vec()))
    }
}
