//! Another party, as it was met last.

use std::sync::{Mutex, PoisonError};

use pki_types::UnixTime;

/// Whether something that is asked from time to time worked when it was asked last.
#[derive(Debug, Default)]
pub(crate) struct LastSeen(Mutex<Option<Sight>>);

/// How it was, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) is_well: bool,
    /// In seconds since 1970.
    pub(crate) time: u64,
}

impl LastSeen {
    pub(crate) fn note(&self, is_well: bool, time: UnixTime) {
        // Nothing panics while it is locked.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Sight { is_well, time: time.as_secs() });
    }

    /// Returns how it was last, or `None` if it was not asked since the start.
    pub(crate) fn get(&self) -> Option<Sight> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
