//! A connection: bytes in and out, time, events and data.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise, and take buffers of C.
#![allow(unsafe_code)]

use core::cell::RefCell;
use core::ffi::c_char;

use pki_types::ServerName;
use terse_tls::{Connection, Error, Event, Now, ServerAddress};

use crate::config::{TerseClientConfig, TerseServerConfig};
use crate::error::{Failure, TerseResult, result};
use crate::platform::{Platform, TerseTime};
use crate::{TerseError, pointers};

mod inspect;
mod signature;

pub(crate) use inspect::ask;
pub use inspect::*;
pub use signature::*;

/// A connection of a client or a server. One thread at a time: the library takes no lock, and a connection may go from one thread to
/// another between two calls.
pub struct TerseConnection {
    /// In a cell, so that a callback that calls back into the connection is refused; `None` while the rest is freed.
    inner: RefCell<Option<Inner>>,
}

pub(crate) struct Inner {
    connection: Connection,
    platform: Platform,
    /// The length of the longest datagram that is sent; 0 over a stream.
    max_datagram: usize,
    /// The error that ended the connection.
    failure: Option<Error>,
}

impl Inner {
    pub(crate) fn summary(&self) -> &terse_tls::Summary {
        self.connection.summary()
    }
}

/// What has happened on a connection.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerseEvent {
    /// Nothing more.
    None = 0,
    /// The handshake is complete: `terse_send` takes data.
    Connected = 1,
    /// A signer answers later: see `terse_pending_signature`. Until then no more input is taken.
    NeedSignature = 2,
    /// The peer sends nothing more.
    PeerClosed = 3,
}

/// Begins a connection to the server `server_name`, a DNS name or an IP address in text, which must be in its certificate. The port
/// separates what is kept of two servers on one host. The first bytes to send wait in `terse_poll_transmit`.
///
/// The configuration may be freed before the connection. `now` may be NULL if there is a clock.
///
/// On success `*connection` is a connection that the program owns (`terse_connection_free`), else NULL. Errors: NULL_POINTER,
/// MALFORMED_SERVER_NAME, NO_CLOCK, those that begin with CRYPTO or API_MISUSE.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_connection_new_client(
    config: Option<&TerseClientConfig>,
    server_name: *const c_char,
    port: u16,
    now: Option<&TerseTime>,
    connection: *mut *mut TerseConnection,
) -> TerseResult {
    let begin = || {
        let config = config.ok_or(TerseError::NullPointer)?;
        // SAFETY: as the caller promises.
        let name = unsafe { pointers::text(server_name) }?;
        let name = ServerName::try_from(name).map_err(|_| TerseError::MalformedServerName)?;
        let mut platform = config.platform;
        let now = platform.now(now)?;
        let address = ServerAddress::new(name.to_owned(), port);
        let connection = Connection::client(config.config.clone(), address, now, &mut platform)?;
        Ok((connection, platform, config.config.common().datagrams().map_or(0, |datagrams| datagrams.max_datagram)))
    };
    // SAFETY: as the caller promises.
    unsafe { new(connection, begin) }
}

/// Begins a connection that waits for a client. Over datagrams it has one peer only, whose address the program has bound it to: the
/// first datagrams of strangers make no connection to be kept.
///
/// The configuration may be freed before the connection. `now` may be NULL if there is a clock.
///
/// On success `*connection` is a connection that the program owns (`terse_connection_free`), else NULL. Errors: NULL_POINTER,
/// NO_CLOCK.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_connection_new_server(
    config: Option<&TerseServerConfig>,
    now: Option<&TerseTime>,
    connection: *mut *mut TerseConnection,
) -> TerseResult {
    let begin = || {
        let config = config.ok_or(TerseError::NullPointer)?;
        let platform = config.platform;
        let connection = Connection::server(config.config.clone(), platform.now(now)?)?;
        Ok((connection, platform, config.config.common().datagrams().map_or(0, |datagrams| datagrams.max_datagram)))
    };
    // SAFETY: as the caller promises.
    unsafe { new(connection, begin) }
}

/// Frees a connection, which may be NULL, and wipes its keys. The peer is told nothing: see `terse_close`. The store of a client may
/// be asked once more; a callback that uses the connection meanwhile gets BUSY. A callback of the connection must not free it; if it
/// does, that call changes nothing, and unless the connection is being freed, it is leaked.
///
/// # Safety
///
/// The pointer is NULL, or a connection that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_connection_free(connection: *mut TerseConnection) {
    let is_in_use = |connection: &TerseConnection| match connection.inner.try_borrow_mut() {
        // What is dropped here calls the program's store. The cell stays locked until all of it is gone, so that no callback meets
        // a connection of which half is left.
        Ok(mut inner) => {
            *inner = None;
            false
        }
        Err(_) => true,
    };
    // SAFETY: as the caller promises.
    unsafe { pointers::free_unless(connection, is_in_use) }
}

/// Takes `len` bytes that the transport has received, and decrypts them in place: any piece of a stream, in order, or one datagram.
/// Writes to `*taken` how many were taken. Fewer than given are taken only while application data waits (`terse_recv`), or a signature
/// (`terse_provide_signature`); then give the rest again.
///
/// `now` may be NULL if there is a clock. Errors: NULL_POINTER, INVALID_ARGUMENT, BUSY, NO_CLOCK; any other is the end of the
/// connection, also when an earlier call has returned it.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `input` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_handle_input(
    connection: Option<&TerseConnection>,
    now: Option<&TerseTime>,
    input: *mut u8,
    len: usize,
    taken: *mut usize,
) -> TerseResult {
    call(connection, |inner| {
        // SAFETY: as the caller promises.
        let input = unsafe {
            pointers::write(taken, 0)?;
            pointers::bytes_mut(input, len)?
        };
        let now = inner.platform.now(now)?;
        let count = inner.connection.handle_input(now, &mut inner.platform, input)?;
        // SAFETY: the place was written before.
        Ok(unsafe { pointers::write(taken, count) }?)
    })
}

/// The stream has ended. An error says that data of the peer may be missing (TRUNCATED): it had not sent close_notify.
///
/// `now` may be NULL if there is a clock. Errors: NULL_POINTER, BUSY, NO_CLOCK, TRUNCATED.
#[unsafe(no_mangle)]
pub extern "C" fn terse_handle_end_of_input(
    connection: Option<&TerseConnection>,
    now: Option<&TerseTime>,
) -> TerseResult {
    call(connection, |inner| {
        let now = inner.platform.now(now)?;
        Ok(inner.connection.handle_end_of_input(now)?)
    })
}

/// Writes what is to be sent next to `out`, and its length to `*len`: a piece of a stream, or one datagram. The length is 0 when
/// there is nothing to send. Call it after each other call until then, also after one that has failed: an alert may wait.
///
/// `capacity` is at least 1, and over datagrams at least `max_datagram` of the configuration (1,232 unless set). `now` may be NULL
/// if there is a clock. Errors: NULL_POINTER, INVALID_ARGUMENT, BUFFER_TOO_SMALL, BUSY, NO_CLOCK.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_poll_transmit(
    connection: Option<&TerseConnection>,
    now: Option<&TerseTime>,
    out: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> TerseResult {
    call(connection, |inner| {
        // SAFETY: as the caller promises.
        let out = unsafe {
            pointers::write(len, 0)?;
            pointers::buffer(out, capacity)?
        };
        if out.is_empty() || out.len() < inner.max_datagram {
            return Err(TerseError::BufferTooSmall.into());
        }
        let now = inner.platform.now(now)?;
        let count = inner.connection.poll_transmit(now, out).unwrap_or(0);
        // SAFETY: the place was written before.
        Ok(unsafe { pointers::write(len, count) }?)
    })
}

/// Returns what has happened, each event once; TERSE_EVENT_NONE when there is nothing more, and for NULL. Call it after each
/// `terse_handle_input`, `terse_handle_timeout` and `terse_provide_signature`.
#[unsafe(no_mangle)]
pub extern "C" fn terse_poll_event(connection: Option<&TerseConnection>) -> TerseEvent {
    let mut event = TerseEvent::None;
    call(connection, |inner| {
        while let Some(next) = inner.connection.poll_event() {
            event = match next {
                Event::Connected => TerseEvent::Connected,
                Event::NeedSignature => TerseEvent::NeedSignature,
                Event::PeerClosed => TerseEvent::PeerClosed,
                _ => continue, // early data and stores that answer later are not configured
            };
            break;
        }
        Ok(())
    });
    event
}

/// Writes to `*at_ms` the monotonic time at which `terse_handle_timeout` is to be called, and returns whether there is such a time:
/// never over a stream. Ask again after each other call. Returns false for NULL.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_poll_timeout(connection: Option<&TerseConnection>, at_ms: *mut u64) -> bool {
    let mut has_timeout = false;
    call(connection, |inner| {
        let timeout = inner.connection.poll_timeout();
        // SAFETY: as the caller promises.
        unsafe { pointers::write(at_ms, timeout.map_or(u64::MAX, |timeout| timeout.0)) }?;
        has_timeout = timeout.is_some();
        Ok(())
    });
    has_timeout
}

/// Time has passed: over datagrams, what was not answered waits in `terse_poll_transmit` again. A call that comes too early does
/// nothing.
///
/// `now` may be NULL if there is a clock. Errors: NULL_POINTER, BUSY, NO_CLOCK, and those that end the connection, TIMED_OUT
/// among them.
#[unsafe(no_mangle)]
pub extern "C" fn terse_handle_timeout(connection: Option<&TerseConnection>, now: Option<&TerseTime>) -> TerseResult {
    call(connection, |inner| {
        let now = inner.platform.now(now)?;
        Ok(inner.connection.handle_timeout(now)?)
    })
}

/// Takes data to send, from TERSE_EVENT_CONNECTED on, and copies it. Writes to `*taken` how many bytes were taken: over a stream
/// fewer than given while too much waits in `terse_poll_transmit`. Over datagrams one call makes one datagram, of at most
/// `terse_max_message` bytes, and takes all or none.
///
/// Errors: NULL_POINTER, INVALID_ARGUMENT, BUSY, API_MISUSE_HANDSHAKE_NOT_FINISHED, API_MISUSE_CLOSED,
/// API_MISUSE_MESSAGE_TOO_LONG, API_MISUSE_KEY_EXHAUSTED.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `data` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_send(
    connection: Option<&TerseConnection>,
    data: *const u8,
    len: usize,
    taken: *mut usize,
) -> TerseResult {
    call(connection, |inner| {
        // SAFETY: as the caller promises.
        let data = unsafe {
            pointers::write(taken, 0)?;
            pointers::bytes(data, len)?
        };
        let count = inner.connection.send(data)?;
        // SAFETY: the place was written before.
        Ok(unsafe { pointers::write(taken, count) }?)
    })
}

/// Writes data that the peer has sent to `out`, and its length to `*len`, which is 0 when there is none. Over datagrams it is of one
/// datagram; of one that is longer than `capacity`, the next call gives more.
///
/// Errors: NULL_POINTER, INVALID_ARGUMENT, BUSY.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_recv(
    connection: Option<&TerseConnection>,
    out: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> TerseResult {
    call(connection, |inner| {
        // SAFETY: as the caller promises.
        let out = unsafe {
            pointers::write(len, 0)?;
            pointers::buffer(out, capacity)?
        };
        let count = inner.connection.recv(out);
        // SAFETY: the place was written before.
        Ok(unsafe { pointers::write(len, count) }?)
    })
}

/// Closes this side: close_notify waits in `terse_poll_transmit`. What the peer still sends can be received. Errors: NULL_POINTER,
/// BUSY.
#[unsafe(no_mangle)]
pub extern "C" fn terse_close(connection: Option<&TerseConnection>) -> TerseResult {
    call(connection, |inner| {
        inner.connection.close();
        Ok(())
    })
}

/// Closes this side because the program has waited long enough for the peer; a client's store remembers that what it offered may
/// be why. `now` may be NULL if there is a clock. Errors: NULL_POINTER, BUSY, NO_CLOCK.
#[unsafe(no_mangle)]
pub extern "C" fn terse_give_up(connection: Option<&TerseConnection>, now: Option<&TerseTime>) -> TerseResult {
    call(connection, |inner| {
        let now: Now = inner.platform.now(now)?;
        inner.connection.give_up(now);
        Ok(())
    })
}

/// Gives a new connection to C.
///
/// # Safety
///
/// `place` is NULL, or may be written.
unsafe fn new(
    place: *mut *mut TerseConnection,
    begin: impl FnOnce() -> Result<(Connection, Platform, usize), Failure>,
) -> TerseResult {
    // SAFETY: as the caller promises.
    if let Err(error) = unsafe { pointers::write(place, core::ptr::null_mut()) } {
        return error as TerseResult;
    }
    result(begin().map(|(connection, platform, max_datagram)| {
        let inner = RefCell::new(Some(Inner { connection, platform, max_datagram, failure: None }));
        // SAFETY: the place was written before.
        unsafe { pointers::give(place, TerseConnection { inner }) };
    }))
}

/// Calls `act` on the connection, and keeps the error that ends it.
fn call(connection: Option<&TerseConnection>, act: impl FnOnce(&mut Inner) -> Result<(), Failure>) -> TerseResult {
    let Some(connection) = connection else { return TerseError::NullPointer as TerseResult };
    let Ok(mut inner) = connection.inner.try_borrow_mut() else { return TerseError::Busy as TerseResult };
    let Some(inner) = inner.as_mut() else { return TerseError::Busy as TerseResult };
    let outcome = act(inner);
    if let Err(Failure::Engine(error)) = &outcome
        && !matches!(error, Error::ApiMisuse(_))
    {
        inner.failure = Some(*error);
    }
    result(outcome)
}

#[cfg(test)]
mod tests;
