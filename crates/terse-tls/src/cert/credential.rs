//! What a side proves its identity with: a certificate chain and the private key of its leaf.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::cache::Fingerprint;
use crate::crypto::{CryptoProvider, SigningKey};
use crate::error::ApiMisuse;
use crate::wire::{CertificateRequest, HandshakeType, Writer};

/// A certificate chain, leaf first, root left out, and the key of its leaf. The two belong together: this is checked
/// when the credential is made.
#[derive(Clone)]
pub struct Credential {
    inner: Arc<Inner>,
}

struct Inner {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<dyn SigningKey>,
    fingerprint: Fingerprint,
}

impl Credential {
    /// Checks that the chain parses and that `key` is the leaf's.
    pub fn new(
        provider: &CryptoProvider,
        chain: Vec<CertificateDer<'static>>,
        key: Arc<dyn SigningKey>,
    ) -> Result<Self, ApiMisuse> {
        let leaf = chain.first().ok_or(ApiMisuse::EmptyChain)?;
        let leaf = EndEntityCert::try_from(leaf).map_err(|_| ApiMisuse::MalformedCertificate)?;
        if leaf.subject_public_key_info() != key.public_key() {
            return Err(ApiMisuse::KeyDoesNotMatchCertificate);
        }
        let fingerprint = Fingerprint::of_chain(provider.sha256, chain.iter().map(AsRef::as_ref));
        Ok(Self { inner: Arc::new(Inner { chain, key, fingerprint }) })
    }

    /// The chain, leaf first.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.inner.chain
    }

    /// The private key.
    pub fn key(&self) -> &dyn SigningKey {
        &*self.inner.key
    }

    /// The fingerprint of the Certificate message that carries the chain (RFC 7924, 5).
    pub fn fingerprint(&self) -> Fingerprint {
        self.inner.fingerprint
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("certificates", &self.inner.chain.len()).finish_non_exhaustive()
    }
}

impl Fingerprint {
    /// SHA-256 over a Certificate message in its TLS 1.2 form, header included (RFC 7924, 5; paper 000, IV-D): what a
    /// chain hashes to in every version.
    pub(crate) fn of_chain<'a>(
        sha256: &dyn crate::crypto::Hash,
        chain: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Self {
        let list_len: usize = chain.clone().map(|certificate| certificate.len() + 3).sum();
        let mut context = sha256.start();
        let mut header = [0; 7];
        let mut writer = Writer::new(&mut header);
        writer.u8(HandshakeType::CERTIFICATE.0);
        writer.u24(list_len + 3);
        writer.u24(list_len);
        context.update(&header);
        for certificate in chain {
            context.update(&(certificate.len() as u32).to_be_bytes()[1..]);
            context.update(certificate);
        }
        Self::from_digest(context.finish())
    }
}

impl Fingerprint {
    /// SHA-256 over a TLS 1.3 CertificateRequest without its context: type, length, extensions.
    pub(crate) fn of_request(sha256: &dyn crate::crypto::Hash, request: &CertificateRequest<'_>) -> Self {
        let extensions = request.extensions.as_bytes();
        let mut header = [0; 6];
        let mut writer = Writer::new(&mut header);
        writer.u8(HandshakeType::CERTIFICATE_REQUEST.0);
        writer.u24(2 + extensions.len());
        writer.u16(extensions.len() as u16); // it was parsed from, or will be written to, a field of 16 bits
        Self::from_digest(sha256.hash(&[&header, extensions]))
    }
}
