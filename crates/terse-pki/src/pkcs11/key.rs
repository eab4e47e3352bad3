//! A key in a token, which signs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, SHA384, digest};
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::eddsa::{EddsaParams, EddsaSignatureScheme};
use cryptoki::types::RawAuthPin;
use x509_cert::der::Encode;
use x509_cert::der::asn1::UintRef;

use super::module::{Library, Module};
use super::problem::Problem;
use super::token::Open;
use super::uri::KeyUri;
use crate::{ExternalKey, KeyAlgorithm, KeyError};

/// A key in a token.
pub(crate) struct TokenKey {
    uri: KeyUri,
    module: Arc<Module>,
    pin: Option<RawAuthPin>,
    algorithm: KeyAlgorithm,
    public_key: Vec<u8>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<Open>,
    /// Whether the token has refused the PIN, which is not tried again then.
    is_refused: bool,
}

impl TokenKey {
    pub(super) fn new(
        uri: KeyUri,
        module: Arc<Module>,
        pin: Option<RawAuthPin>,
        algorithm: KeyAlgorithm,
        public_key: Vec<u8>,
    ) -> Self {
        Self { uri, module, pin, algorithm, public_key, state: Mutex::default() }
    }

    /// Opens a session.
    pub(super) fn open(&self) -> Result<(), Problem> {
        let (mut state, mut library) = (self.state(), self.module.lock());
        let open = self.open_once(&mut state, &mut library)?;
        state.open = Some(open);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while this is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session, and initialises the module again if it has lost what is behind it.
    fn open_once(&self, state: &mut State, library: &mut Library) -> Result<Open, Problem> {
        if state.is_refused {
            return Err(Problem::PinRefusedBefore);
        }
        self.module.close_abandoned(library);
        let mut opened = Open::new(library, &self.uri, self.pin.as_ref(), self.algorithm);
        if opened.as_ref().is_err_and(Problem::may_need_restart) {
            library.restart()?;
            opened = Open::new(library, &self.uri, self.pin.as_ref(), self.algorithm);
        }
        state.is_refused = matches!(opened, Err(Problem::WrongPin));
        opened
    }

    /// Signs in the session that is open, or in a new one.
    fn sign_raw(&self, mechanism: &Mechanism<'_>, input: &[u8]) -> Result<Vec<u8>, Problem> {
        let (mut state, mut library) = (self.state(), self.module.lock());
        if let Some(open) = state.open.take().filter(|open| !open.is_of_before(&library)) {
            match open.sign(mechanism, input) {
                Ok(signature) => {
                    state.open = Some(open);
                    return Ok(signature);
                }
                // The session or the token may be gone, which modules say in many ways.
                Err(_) => open.close(&library),
            }
        }
        let open = self.open_once(&mut state, &mut library)?;
        match open.sign(mechanism, input) {
            Ok(signature) => {
                state.open = Some(open);
                Ok(signature)
            }
            Err(problem) => {
                open.close(&library);
                Err(problem)
            }
        }
    }
}

impl ExternalKey for TokenKey {
    fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let ecdsa = |hash| {
            let raw = self.sign_raw(&Mechanism::Ecdsa, digest(hash, message).as_ref())?;
            ecdsa_der(&raw).ok_or(Problem::OtherKind)
        };
        let signature = match self.algorithm {
            KeyAlgorithm::P256 => ecdsa(&SHA256),
            KeyAlgorithm::P384 => ecdsa(&SHA384),
            KeyAlgorithm::Ed25519 => {
                self.sign_raw(&Mechanism::Eddsa(EddsaParams::new(EddsaSignatureScheme::Ed25519)), message)
            }
            KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => Err(Problem::OtherKind),
        };
        signature.map_err(KeyError::new)
    }
}

impl Drop for TokenKey {
    fn drop(&mut self) {
        let open = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).open.take();
        if let Some(open) = open {
            self.module.abandon(open);
        }
    }
}

/// Returns the Ecdsa-Sig-Value (RFC 3279, 2.2.3) of r and s, each as long as the other.
fn ecdsa_der(raw: &[u8]) -> Option<Vec<u8>> {
    let (r, s) = raw.split_at_checked(raw.len() / 2).filter(|(r, s)| r.len() == s.len())?;
    vec![UintRef::new(r).ok()?, UintRef::new(s).ok()?].to_der().ok()
}
