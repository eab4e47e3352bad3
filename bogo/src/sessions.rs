//! A client's sessions: the next connection offers the last session that the server issued.

use std::sync::{Mutex, PoisonError};

use terse_tls::cache::Scope;
use terse_tls::resume::{ClientSessionStore, StoredSession};

/// The session to offer, and the sessions that were offered and received.
#[derive(Default)]
pub(crate) struct Sessions {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    session: Option<StoredSession>,
    offered: Option<Kept>,
    received: Option<Kept>,
}

/// A session that was offered or received in this connection.
#[derive(Clone, PartialEq)]
pub(crate) struct Kept {
    pub(crate) supports_early_data: bool,
    bytes: Vec<u8>,
}

impl Sessions {
    /// Begins a new connection. Returns false if it will find no session.
    pub(crate) fn begin(&self) -> bool {
        self.with(|inner| {
            (inner.offered, inner.received) = (None, None);
            inner.session.is_some()
        })
    }

    /// Returns the session that was offered since the connection began.
    pub(crate) fn offered(&self) -> Option<Kept> {
        self.with(|inner| inner.offered.clone())
    }

    /// Returns the last session that was received since the connection began; in TLS 1.2 it can be the one that was
    /// offered.
    pub(crate) fn received(&self) -> Option<Kept> {
        self.with(|inner| inner.received.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClientSessionStore for Sessions {
    fn put(&self, _: &Scope, session: StoredSession) {
        self.with(|inner| {
            inner.received = Some(Kept::new(&session));
            inner.session = Some(session);
        });
    }

    fn take(&self, _: &Scope) -> Option<StoredSession> {
        self.with(|inner| {
            inner.offered = inner.session.as_ref().map(Kept::new);
            inner.session.take()
        })
    }
}

impl Kept {
    fn new(session: &StoredSession) -> Self {
        Self { supports_early_data: session.max_early_data_size() > 0, bytes: session.to_bytes().to_vec() }
    }
}
