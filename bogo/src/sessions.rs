//! A client's sessions: the last one that the server gave is the one that the next connection offers.

use std::sync::{Mutex, PoisonError};

use terse_tls::cache::Scope;
use terse_tls::resume::{ClientSessionStore, StoredSession};

/// The session to offer, and what is to be known of those that went and came.
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

/// A session that was offered, or that came, in this connection.
#[derive(Clone, PartialEq)]
pub(crate) struct Kept {
    pub(crate) supports_early_data: bool,
    bytes: Vec<u8>,
}

impl Sessions {
    /// A new connection begins. False: it will find no session.
    pub(crate) fn begin(&self) -> bool {
        self.with(|inner| {
            (inner.offered, inner.received) = (None, None);
            inner.session.is_some()
        })
    }

    /// The one that was offered since then.
    pub(crate) fn offered(&self) -> Option<Kept> {
        self.with(|inner| inner.offered.clone())
    }

    /// The last one that came since then, which in TLS 1.2 can be the one that was offered.
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
