//! Sessions to resume: a client's in a file, a server's in its tickets or in its memory.

use alloc::sync::Arc;
use std::path::Path;

use terse_net::SessionFile;
use terse_tls::crypto::CryptoProvider;
use terse_tls::resume::{MemorySessionStore, ServerResumption, TicketKeys};

use crate::credentials::failed;
use crate::failure::Failure;
use crate::output;

/// How many servers a client has sessions with, and how many sessions a server keeps.
const CAPACITY: usize = 4096;

/// How long a session can be resumed. Longer would be convenient, but who gets hold of the keys of tickets can read
/// every TLS 1.2 connection whose ticket they open.
const LIFETIME_SECONDS: u32 = 24 * 60 * 60;

/// Connections with early data in any twenty seconds; more get theirs refused.
const EARLY_DATA_CONNECTIONS: usize = 0x1_0000;

/// A client's session file. A damaged one is worth a warning, not a failure: it costs one full handshake with each
/// server.
pub(crate) fn open_file(path: &Path) -> Result<Arc<SessionFile>, Failure> {
    let (file, damage) = SessionFile::open(path, CAPACITY).map_err(failed)?;
    if let Some(damage) = damage {
        output::warn(&damage);
    }
    Ok(Arc::new(file))
}

/// How a server lets clients resume: with all of the session in the ticket, or with a handle of 16 bytes.
pub(crate) fn server_resumption(provider: &CryptoProvider, stateful: bool) -> Result<ServerResumption, Failure> {
    if stateful {
        let store = Arc::new(MemorySessionStore::new(CAPACITY));
        return Ok(ServerResumption::Stateful { store, lifetime_seconds: LIFETIME_SECONDS });
    }
    let keys = TicketKeys::new(provider.tls13_suites[0].aead, LIFETIME_SECONDS, EARLY_DATA_CONNECTIONS);
    Ok(ServerResumption::Stateless(Arc::new(keys.map_err(failed)?)))
}
