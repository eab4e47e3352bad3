//! What a side proves its identity with: a private key, and a certificate chain for it or the public key alone.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use spin::Mutex;

use super::Fingerprint;
use super::fields::Fields;
use super::ocsp::Staple;
use super::split_public_key;
use crate::crypto::{CryptoProvider, SigningKey};
use crate::error::ApiMisuse;
use crate::wire::{CertificateType, ProtocolVersion};

/// A certificate chain, leaf first, root left out, and the key of its leaf; or a raw public key (RFC 7250) and its
/// private half. The two belong together: this is checked when the credential is made.
#[derive(Clone)]
pub struct Credential {
    inner: Arc<Inner>,
    only_for_named_authorities: bool,
}

struct Inner {
    /// Empty for a raw public key.
    chain: Vec<CertificateDer<'static>>,
    raw_public_key: Option<SubjectPublicKeyInfoDer<'static>>,
    key: Arc<dyn SigningKey>,
    fingerprint: Fingerprint,
    /// In TLS 1.2.
    fingerprint12: Fingerprint,
    staple: Mutex<Option<Staple>>,
}

impl Credential {
    /// Checks that the chain parses and that `key` is the leaf's.
    pub fn new(chain: Vec<CertificateDer<'static>>, key: Arc<dyn SigningKey>) -> Result<Self, ApiMisuse> {
        let leaf = chain.first().ok_or(ApiMisuse::EmptyChain)?;
        let leaf = Fields::read(leaf).map_err(|_| ApiMisuse::MalformedCertificate)?;
        if *leaf.public_key != *key.public_key() {
            return Err(ApiMisuse::KeyDoesNotMatchCertificate);
        }
        let fingerprint = Fingerprint::of_chain(chain.iter().map(AsRef::as_ref));
        let staple = Mutex::new(None);
        let inner = Inner { chain, raw_public_key: None, key, fingerprint, fingerprint12: fingerprint, staple };
        Ok(Self { inner: Arc::new(inner), only_for_named_authorities: false })
    }

    /// A credential that is only a key: the peer must have been told its public half, and knows this side by it.
    /// Checks that the public half parses.
    pub fn raw_public_key(key: Arc<dyn SigningKey>) -> Result<Self, ApiMisuse> {
        let public_key = key.public_key().into_owned();
        split_public_key(&public_key).map_err(|_| ApiMisuse::MalformedPublicKey)?;
        let fingerprint = |version| Fingerprint::of_raw_public_key(version, &public_key);
        let inner = Inner {
            chain: Vec::new(),
            fingerprint: fingerprint(ProtocolVersion::TLS_1_3),
            fingerprint12: fingerprint(ProtocolVersion::TLS_1_2),
            raw_public_key: Some(public_key),
            key,
            staple: Mutex::new(None),
        };
        Ok(Self { inner: Arc::new(inner), only_for_named_authorities: false })
    }

    /// Returns this credential for those peers alone that name a CA of its chain (`certificate_authorities`:
    /// RFC 9846, 4.3.4; RFC 5246, 7.4.4), not for those that name others, or none. It is for identities that
    /// are nobody else's business. A raw public key has no issuer, and is then shown to nobody.
    pub fn only_for_named_authorities(self) -> Self {
        Self { only_for_named_authorities: true, ..self }
    }

    pub(crate) const fn is_only_for_named_authorities(&self) -> bool {
        self.only_for_named_authorities
    }

    /// Whether one of these CAs, each a DER `Name`, issued a certificate of the chain.
    pub(crate) fn is_issued_by<'a>(&self, mut authorities: impl Iterator<Item = &'a [u8]>) -> bool {
        let issuers: Vec<_> = self.fields().map(|fields| fields.issuer).collect();
        authorities.any(|name| issuers.contains(&name))
    }

    /// Whether each certificate of the chain is signed with one of the algorithms, given by the contents of their
    /// AlgorithmIdentifiers. How a CA signed itself does not matter (RFC 9846, 4.5.1).
    pub(crate) fn is_signed_with(&self, is_accepted: impl Fn(&[u8]) -> bool) -> bool {
        self.fields().all(|fields| fields.issuer == fields.subject || is_accepted(fields.signature_algorithm))
    }

    fn fields(&self) -> impl Iterator<Item = Fields<'_>> {
        self.chain().iter().filter_map(|certificate| Fields::read(certificate).ok())
    }

    /// What the Certificate message carries (RFC 7250, 3).
    pub fn certificate_type(&self) -> CertificateType {
        match self.inner.raw_public_key {
            None => CertificateType::X509,
            Some(_) => CertificateType::RAW_PUBLIC_KEY,
        }
    }

    /// The chain, leaf first; empty for a raw public key.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.inner.chain
    }

    /// The `cert_data` of each CertificateEntry in TLS 1.3: the chain, or the raw public key (RFC 9846, 4.5.1).
    pub(crate) fn cert_data(&self) -> impl Iterator<Item = &[u8]> {
        self.chain().iter().map(AsRef::as_ref).chain(self.inner.raw_public_key.as_deref())
    }

    /// The public key, a DER SubjectPublicKeyInfo (RFC 5280, 4.1.2.7).
    pub fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.inner.key.public_key()
    }

    /// The private key.
    pub fn key(&self) -> &dyn SigningKey {
        &*self.inner.key
    }

    /// Staples an OCSP response in DER (RFC 6960, 4.2.1) to the certificate, for peers that ask for one (RFC 6066, 8),
    /// or none. It takes the place of the one before at once, in all clones and in configurations that are in use:
    /// responses last for days. One that is out of date is not sent.
    ///
    /// Checks that it is about the leaf. That the issuer signed it, and what it says, is for peers to judge.
    pub fn set_staple(&self, provider: &CryptoProvider, response: Option<&[u8]>) -> Result<(), ApiMisuse> {
        let leaf = self.chain().first().ok_or(ApiMisuse::StapleOfOtherCertificate);
        let staple = response.map(|response| Staple::new(provider, leaf?, response)).transpose()?;
        *self.inner.staple.lock() = staple;
        Ok(())
    }

    /// Staples whatever bytes, as a hostile side can.
    #[cfg(terse_testing)]
    pub fn set_any_staple(&self, response: &[u8]) {
        *self.inner.staple.lock() = Some(Staple::of_anything(response));
    }

    pub(crate) fn has_staple(&self) -> bool {
        self.inner.staple.lock().is_some()
    }

    /// The response that is stapled, if it counts at `time`.
    pub(crate) fn staple_at(&self, time: Option<UnixTime>) -> Option<Arc<[u8]>> {
        self.inner.staple.lock().as_ref().and_then(|staple| staple.current_at(time))
    }

    /// The fingerprint of the Certificate message of `version` (RFC 7924, 5). A chain has the same in every version, a
    /// raw public key has not.
    pub fn fingerprint(&self, version: ProtocolVersion) -> Fingerprint {
        match version {
            ProtocolVersion::TLS_1_2 => self.inner.fingerprint12,
            _ => self.inner.fingerprint,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("certificate_type", &self.certificate_type())
            .field("certificates", &self.inner.chain.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
