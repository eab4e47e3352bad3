//! Sessions for resumption are a client's in a file, and a server's in its tickets or in its memory.

use alloc::sync::Arc;
use std::path::Path;

use terse_net::SessionFile;
use terse_tls::crypto::CryptoProvider;
use terse_tls::resume::{MemorySessionStore, ServerResumption, TicketKeys};

use crate::credentials::failed;
use crate::failure::Failure;
use crate::output;

/// The number of servers that a client has sessions with, and of sessions that a server keeps.
const CAPACITY: usize = 4096;

/// The lifetime of a session. A longer one would be convenient, but whoever gets the keys of tickets can read every TLS
/// 1.2 connection whose ticket they open.
const LIFETIME_SECONDS: u32 = 24 * 60 * 60;

/// The number of connections with early data in any twenty seconds; further early data is refused.
const EARLY_DATA_CONNECTIONS: usize = 0x1_0000;

/// Opens a client's session file. A damaged file causes a warning, not a failure: it costs one full handshake with each
/// server.
pub(crate) fn open_file(path: &Path) -> Result<Arc<SessionFile>, Failure> {
    let (file, damage) = SessionFile::open(path, CAPACITY).map_err(failed)?;
    if let Some(damage) = damage {
        output::warn(&damage);
    }
    Ok(Arc::new(file))
}

/// Returns how a server lets clients resume: with all of the session in the ticket, or with a handle of 16 bytes.
pub(crate) fn server_resumption(provider: &CryptoProvider, stateful: bool) -> Result<ServerResumption, Failure> {
    if stateful {
        let store = Arc::new(MemorySessionStore::new(CAPACITY));
        return Ok(ServerResumption::Stateful { store, lifetime_seconds: LIFETIME_SECONDS });
    }
    let keys = TicketKeys::new(provider.tls13_suites[0].aead, LIFETIME_SECONDS, EARLY_DATA_CONNECTIONS);
    Ok(ServerResumption::Stateless(Arc::new(keys.map_err(failed)?)))
}
