//! The key of an IDevID that is elsewhere, such as in a secure element, and answers later.
//!
//! What must always hold: the device has the public key alone; whoever asks for a signature waits for it without blocking
//! anybody; why a signature failed is known to the one who reports the failure.

use alloc::sync::Arc;
use core::fmt;
use std::sync::{Mutex, MutexGuard};

use pki_types::{AlgorithmIdentifier, SubjectPublicKeyInfoDer, alg_id};
use terse_net::tokio::{Answer, AsyncSigner};
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{SignatureRequest, SignatureScheme};
use x509_cert::der::{Decode as _, Encode as _};
use x509_cert::spki::SubjectPublicKeyInfoRef;

/// A signature that is waited for.
pub(super) type Signed = Answer<Result<Vec<u8>, CryptoError>>;

/// A signer that answers later, and why it failed last.
#[derive(Clone)]
pub(super) struct LateSigner {
    signer: AsyncSigner,
    failure: Arc<Mutex<Option<CryptoError>>>,
}

impl LateSigner {
    pub(super) fn new(signer: AsyncSigner) -> Self {
        Self { signer, failure: Arc::default() }
    }

    /// Asks for a signature.
    pub(super) fn ask(&self, request: SignatureRequest) -> Signed {
        let (answer, this) = ((self.signer)(request), self.clone());
        Box::pin(async move {
            let signed = answer.await;
            *this.lock() = signed.as_ref().err().copied();
            signed
        })
    }

    /// Returns the signer for handshakes.
    pub(super) fn function(&self) -> AsyncSigner {
        let this = self.clone();
        Arc::new(move |request| this.ask(request))
    }

    /// Returns why the last signature failed, if it did.
    pub(super) fn failure(&self) -> Option<CryptoError> {
        *self.lock()
    }

    pub(super) fn forget_failure(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<CryptoError>> {
        // Nobody panics with the lock; and whatever is there can be used.
        self.failure.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl fmt::Debug for LateSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LateSigner").finish_non_exhaustive()
    }
}

/// The public half of a key that is elsewhere.
#[derive(Debug)]
pub(super) struct KeyElsewhere {
    public_key: SubjectPublicKeyInfoDer<'static>,
    schemes: &'static [SignatureScheme],
}

impl KeyElsewhere {
    /// Takes a SubjectPublicKeyInfo, if it is of a kind that signs voucher requests.
    pub(super) fn new(public_key: &[u8]) -> Option<Self> {
        let parsed = SubjectPublicKeyInfoRef::from_der(public_key).ok()?;
        let algorithm = parsed.algorithm.to_der().ok()?;
        let (_, schemes) = SCHEMES.iter().find(|(known, _)| algorithm.get(2..) == Some(known.as_ref()))?;
        Some(Self { public_key: public_key.to_vec().into(), schemes })
    }
}

impl SigningKey for KeyElsewhere {
    fn schemes(&self) -> &[SignatureScheme] {
        self.schemes
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.public_key.as_ref().into()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

/// The schemes of each kind of key: for handshakes, and for voucher requests.
static SCHEMES: [(AlgorithmIdentifier, &[SignatureScheme]); 4] = [
    (alg_id::ECDSA_P256, &[SignatureScheme::ECDSA_SECP256R1_SHA256]),
    (alg_id::ECDSA_P384, &[SignatureScheme::ECDSA_SECP384R1_SHA384]),
    (alg_id::ED25519, &[SignatureScheme::ED25519]),
    (alg_id::RSA_ENCRYPTION, &[SignatureScheme::RSA_PSS_RSAE_SHA256, SignatureScheme::RSA_PKCS1_SHA256]),
];
