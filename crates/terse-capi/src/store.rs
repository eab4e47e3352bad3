//! What is kept from one connection to the next: by a client in memory, and in a store of the program if it gives callbacks; by
//! a server in memory.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise.
#![allow(unsafe_code)]

use alloc::boxed::Box;
use alloc::sync::Arc;

use terse_tls::cache::{ClientStore, MemoryServerStore};
use terse_tls::resume::{ClientSessionStore, MemoryClientSessions, MemorySessionStore};

use crate::error::{TerseResult, result};
use crate::{TerseError, pointers};

mod key_value;
mod records;
mod sessions;

use key_value::KeyValue;
pub use key_value::TerseStoreCallbacks;
use records::Records;
use sessions::Sessions;

/// What clients keep of servers. Several configurations may share one, and then never show the same ticket twice.
///
/// While one thread uses a store, also one in memory, others that need it spin. On one core, tasks of different priorities must not
/// share a store: one that pre-empts another within its lock spins for ever. Each has a store of its own, or all of them call the
/// library within one mutex of the program.
pub struct TerseClientStore {
    pub(crate) records: Arc<dyn ClientStore>,
    pub(crate) sessions: Arc<dyn ClientSessionStore>,
}

/// What servers keep of clients, in memory. Several configurations may share one.
///
/// While one thread uses a store, others that need it spin. On one core, tasks of different priorities must not share a store: one
/// that pre-empts another within its lock spins for ever. Each has a store of its own, or all of them call the library within one
/// mutex of the program.
pub struct TerseServerStore {
    pub(crate) records: Arc<MemoryServerStore>,
    pub(crate) sessions: Arc<MemorySessionStore>,
}

/// The most servers or clients that a store has room for.
const MAX_CAPACITY: usize = 65_536;

/// Makes a store for clients, for at most `capacity` servers, 1 to 65,536; of more, the least recently used is forgotten.
///
/// With `callbacks`, which are copied, what is kept outlives the program: the store asks for what it has not in memory, and
/// saves what must not be lost. NULL keeps everything in memory.
///
/// On success `*store` is a store that the program owns: `terse_client_store_free`. Errors: NULL_POINTER, INVALID_ARGUMENT.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_client_store_new(
    capacity: usize,
    callbacks: Option<&TerseStoreCallbacks>,
    store: *mut *mut TerseClientStore,
) -> TerseResult {
    // SAFETY: the caller gives NULL or a place for a pointer.
    result(unsafe { pointers::write(store, core::ptr::null_mut()) }.and_then(|()| {
        check(capacity)?;
        let key_value = callbacks.map(KeyValue::new).transpose()?.map(Arc::new);
        let records = Arc::new(Records::new(capacity, key_value.clone()));
        let sessions: Arc<dyn ClientSessionStore> = match key_value {
            Some(key_value) => Arc::new(Sessions(key_value)),
            None => Arc::new(MemoryClientSessions::new(capacity)),
        };
        // SAFETY: the place was written before.
        unsafe { pointers::give(store, TerseClientStore { records, sessions }) };
        Ok(())
    }))
}

/// Frees a store, which may be NULL. Configurations that have it keep it as long as they live, and call its callbacks.
#[unsafe(no_mangle)]
pub extern "C" fn terse_client_store_free(store: Option<Box<TerseClientStore>>) {
    drop(store);
}

/// Makes a store for servers, in memory, for at most `capacity` clients, 1 to 65,536, of 1 KiB each; of more, the least recently
/// used is forgotten.
///
/// On success `*store` is a store that the program owns: `terse_server_store_free`. Errors: NULL_POINTER, INVALID_ARGUMENT.
///
/// # Safety
///
/// The pointer is NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_server_store_new(capacity: usize, store: *mut *mut TerseServerStore) -> TerseResult {
    // SAFETY: the caller gives NULL or a place for a pointer.
    result(unsafe { pointers::write(store, core::ptr::null_mut()) }.and_then(|()| {
        check(capacity)?;
        let records = Arc::new(MemoryServerStore::new(capacity));
        let sessions = Arc::new(MemorySessionStore::new(capacity));
        // SAFETY: the place was written before.
        unsafe { pointers::give(store, TerseServerStore { records, sessions }) };
        Ok(())
    }))
}

/// Frees a store, which may be NULL. Configurations that have it keep it as long as they live.
#[unsafe(no_mangle)]
pub extern "C" fn terse_server_store_free(store: Option<Box<TerseServerStore>>) {
    drop(store);
}

fn check(capacity: usize) -> Result<(), TerseError> {
    if (1..=MAX_CAPACITY).contains(&capacity) { Ok(()) } else { Err(TerseError::InvalidArgument) }
}
