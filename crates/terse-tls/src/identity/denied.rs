//! Identities that are denied although their keys are valid.

use alloc::collections::BTreeSet;
use core::fmt;

use spin::Mutex;

use super::Identity;

/// Identities whose handshakes are refused at once, whatever authority has made their keys. The application can change
/// them at any time, and connections that begin later see the change.
#[derive(Default)]
pub struct DeniedIdentities {
    identities: Mutex<BTreeSet<Identity>>,
}

impl DeniedIdentities {
    /// Creates a list of `identities`.
    pub fn new(identities: impl IntoIterator<Item = Identity>) -> Self {
        Self { identities: Mutex::new(identities.into_iter().collect()) }
    }

    /// Replaces the whole list.
    pub fn replace(&self, identities: impl IntoIterator<Item = Identity>) {
        let identities = identities.into_iter().collect();
        *self.identities.lock() = identities;
    }

    /// Returns whether `identity` is denied.
    pub fn contains(&self, identity: &Identity) -> bool {
        self.identities.lock().contains(identity)
    }
}

impl fmt::Debug for DeniedIdentities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeniedIdentities({} identities)", self.identities.lock().len())
    }
}
