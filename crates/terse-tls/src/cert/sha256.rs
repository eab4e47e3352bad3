//! The SHA-256 of fingerprints and of other names, which are made without a provider: when a configuration is made, and for
//! what is public anyway.

use sha2::{Digest as _, Sha256};

/// A running hash.
#[derive(Clone)]
pub(super) struct Context(Sha256);

impl Context {
    pub(super) fn new() -> Self {
        Self(Sha256::new())
    }

    #[inline(never)]
    pub(super) fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    #[inline(never)]
    pub(super) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The hash of the concatenation of `parts`.
pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Context::new();
    parts.iter().for_each(|part| context.update(part));
    context.finish()
}
