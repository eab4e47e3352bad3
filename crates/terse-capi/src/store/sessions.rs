//! The sessions that a client resumes, one for each server, in the program's store.

use alloc::sync::Arc;

use terse_tls::cache::Scope;
use terse_tls::resume::{ClientSessionStore, StoredSession};

use super::key_value::{KeyValue, Kind};

pub(super) struct Sessions(pub(super) Arc<KeyValue>);

impl ClientSessionStore for Sessions {
    fn put(&self, scope: &Scope, session: StoredSession) {
        self.0.save(Kind::Session, scope, &session.to_bytes());
    }

    fn take(&self, scope: &Scope) -> Option<StoredSession> {
        StoredSession::from_bytes(&self.0.take(Kind::Session, scope)?).ok()
    }
}
