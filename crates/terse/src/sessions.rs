//! What one connection leaves for the next: sessions for resumption, a client's in a file, and a server's in its tickets or in
//! its memory; and a server's ephemeral secret tickets.

use alloc::sync::Arc;
use core::str::FromStr;
use std::path::{Path, PathBuf};

use terse_net::{Clock, FirstContactFile, SecretTicketFile, SessionFile};
use terse_tls::crypto::CryptoProvider;
use terse_tls::identity_early_data::{FirstContactMemory, MemorySecretTickets, SecretTicketKeys, SecretTickets};
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

/// The lifetime of an ephemeral secret ticket. Its key protects nothing but the early data of one connection.
const SECRET_LIFETIME_SECONDS: u32 = 24 * 60 * 60;

/// The lifetime of a sealed one, whose key protects the early data of all clients: as long as is allowed.
const SEALED_LIFETIME_SECONDS: u32 = 60 * 60;

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

/// Where a server keeps its ephemeral secret tickets.
#[derive(Clone, Debug)]
pub(crate) enum SecretTicketsAt {
    Memory,
    Sealed,
    File(PathBuf),
}

impl FromStr for SecretTicketsAt {
    type Err = core::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "memory" => Self::Memory,
            "sealed" => Self::Sealed,
            path => Self::File(path.into()),
        })
    }
}

impl SecretTicketsAt {
    /// Returns the tickets. A damaged file causes a warning, not a failure: it costs each client its early data once.
    pub(crate) fn open(&self, provider: &CryptoProvider) -> Result<SecretTickets, Failure> {
        let lifetime_seconds = SECRET_LIFETIME_SECONDS;
        Ok(match self {
            Self::Memory => {
                SecretTickets::Stateful { store: Arc::new(MemorySecretTickets::new(CAPACITY)), lifetime_seconds }
            }
            Self::Sealed => {
                let aead = provider.tls13_suites[0].aead;
                let keys = SecretTicketKeys::new(aead, SEALED_LIFETIME_SECONDS, EARLY_DATA_CONNECTIONS);
                SecretTickets::Stateless(Arc::new(keys.map_err(failed)?))
            }
            Self::File(path) => {
                let (file, damage) = SecretTicketFile::open(path, CAPACITY).map_err(failed)?;
                if let Some(damage) = damage {
                    output::warn(&damage);
                }
                SecretTickets::Stateful { store: Arc::new(file), lifetime_seconds }
            }
        })
    }
}

/// Returns the memory of a server that begins now, and whose horizon is in this file. A damaged file causes a warning, not a
/// failure: it costs clients their early data.
pub(crate) fn first_contact_memory(path: &Path, clock: &Clock) -> Result<FirstContactMemory, Failure> {
    let (file, damage) = FirstContactFile::open(path).map_err(failed)?;
    if let Some(damage) = damage {
        let advice =
            "no early data is taken at first contact; once the clock is right, remove the file and start again";
        output::warn(&format!("{}: {advice}", damage.cause()));
    }
    if let Some(error) = file.take_error() {
        output::warn(&error);
    }
    let started = clock.now().unix.map_or(u64::MAX, |time| time.as_secs());
    Ok(FirstContactMemory::new(EARLY_DATA_CONNECTIONS, started, Arc::new(file)))
}
