//! What a side proves its identity with: a certificate chain and the private key of its leaf.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::CertificateDer;
use webpki::EndEntityCert;

use crate::cache::Fingerprint;
use crate::crypto::{CryptoProvider, SigningKey};
use crate::error::ApiMisuse;

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
