//! A service as it is configured now: it is replaced as a whole when its configuration is read again.
//!
//! What must always hold: a request sees one configuration from its beginning to its end.

use alloc::sync::Arc;
use std::sync::{PoisonError, RwLock};

/// What serves requests from now on. Clones are the same one.
#[derive(Debug, Default)]
pub(crate) struct Live<T>(Arc<RwLock<T>>);

impl<T: Clone> Live<T> {
    pub(crate) fn new(current: T) -> Self {
        Self(Arc::new(RwLock::new(current)))
    }

    /// Returns what serves a request that begins now.
    pub(crate) fn current(&self) -> T {
        // Nothing panics while it is locked.
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces it. Requests under way go on with what they have.
    pub(crate) fn replace(&self, next: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = next;
    }
}

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
