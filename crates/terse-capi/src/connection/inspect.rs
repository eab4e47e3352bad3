//! What can be asked about a connection.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise, and take buffers of C.
#![allow(unsafe_code)]

use alloc::string::{String, ToString};
use core::ffi::c_char;

use terse_tls::{AlertDescription, Error};

use super::{Inner, TerseConnection, call};
use crate::error::TerseResult;
use crate::platform::TerseTime;
use crate::{TerseError, pointers};

/// Returns whether the handshake is complete and the connection has not failed. Returns false for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn terse_is_connected(connection: Option<&TerseConnection>) -> bool {
    ask(connection, |inner| inner.connection.is_connected()).unwrap_or(false)
}

/// Returns whether the handshake is not complete yet and has not failed. Returns false for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn terse_is_handshaking(connection: Option<&TerseConnection>) -> bool {
    ask(connection, |inner| inner.connection.is_handshaking()).unwrap_or(false)
}

/// Writes the time that calls without one have to `*now`: that of the clock, whose monotonic time `terse_poll_timeout` uses, too.
/// Errors: NULL_POINTER, BUSY, NO_CLOCK.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_now(connection: Option<&TerseConnection>, now: *mut TerseTime) -> TerseResult {
    call(connection, |inner| {
        // SAFETY: as the caller promises.
        Ok(unsafe { pointers::write(now, inner.platform.now(None)?.into()) }?)
    })
}

/// Returns how many bytes fit into one record, and over datagrams into one `terse_send`. Over datagrams it may become less when
/// flights are lost again and again. Returns 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn terse_max_message(connection: Option<&TerseConnection>) -> usize {
    ask(connection, |inner| inner.connection.max_message()).unwrap_or(0)
}

/// Returns the alert (IANA, TLS Alerts: 42 is bad_certificate) that ended the connection: the peer's, if it refused
/// (ALERT_RECEIVED), else the one that this side sends. Returns -1 if there is none, and for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn terse_connection_alert(connection: Option<&TerseConnection>) -> i32 {
    let alert = ask(connection, |inner| match &inner.failure {
        Some(Error::AlertReceived(AlertDescription(alert))) => Some(*alert),
        Some(error) => error.alert().map(|AlertDescription(alert)| alert),
        None => None,
    });
    alert.flatten().map_or(-1, i32::from)
}

/// Writes why the connection has failed: one line in English with a NUL at its end, and its length without the NUL to `*len`,
/// which may be NULL. The text is empty if it has not.
///
/// Errors: NULL_POINTER; BUSY; BUFFER_TOO_SMALL if `capacity` is less than the length and 1.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_connection_message(
    connection: Option<&TerseConnection>,
    out: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> TerseResult {
    let text = |inner: &Inner| inner.failure.as_ref().map(ToString::to_string).unwrap_or_default();
    // SAFETY: as the caller promises.
    unsafe { write(connection, text, out, capacity, len) }
}

/// Writes who the peer is: the name in its certificate or the identity of its key, as a text with a NUL at its end, and its length
/// without the NUL to `*len`, which may be NULL. The text is empty if the peer has proved nothing. It is for people: what it says is
/// that the peer was accepted under this name.
///
/// Errors: NULL_POINTER; BUSY; BUFFER_TOO_SMALL if `capacity` is less than the length and 1.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_connection_peer_name(
    connection: Option<&TerseConnection>,
    out: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> TerseResult {
    let text = |inner: &Inner| inner.connection.summary().peer.name().unwrap_or_default();
    // SAFETY: as the caller promises.
    unsafe { write(connection, text, out, capacity, len) }
}

/// Writes the server name that the client has sent (SNI), on a server, as a text with a NUL at its end, and its length without the NUL
/// to `*len`, which may be NULL. The text is empty if there is none.
///
/// Errors: NULL_POINTER; BUSY; BUFFER_TOO_SMALL if `capacity` is less than the length and 1.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_connection_server_name(
    connection: Option<&TerseConnection>,
    out: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> TerseResult {
    let text = |inner: &Inner| inner.connection.server_name().unwrap_or_default().to_string();
    // SAFETY: as the caller promises.
    unsafe { write(connection, text, out, capacity, len) }
}

/// Writes the application protocol that was negotiated (ALPN), and its length to `*len`, which is 0 if there is none.
///
/// Errors: NULL_POINTER; BUSY; BUFFER_TOO_SMALL if `capacity` is less than the length; 255 are always enough.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `out` has `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_connection_alpn(
    connection: Option<&TerseConnection>,
    out: *mut u8,
    capacity: usize,
    len: *mut usize,
) -> TerseResult {
    call(connection, |inner| {
        let protocol = inner.connection.alpn_protocol().unwrap_or_default();
        // SAFETY: as the caller promises.
        let out = unsafe {
            pointers::write(len, protocol.len())?;
            pointers::buffer(out, capacity)?
        };
        out.get_mut(..protocol.len()).ok_or(TerseError::BufferTooSmall)?.copy_from_slice(protocol);
        Ok(())
    })
}

/// Writes a text about the connection.
///
/// # Safety
///
/// As for [`pointers::write_text`].
unsafe fn write(
    connection: Option<&TerseConnection>,
    text: impl FnOnce(&Inner) -> String,
    out: *mut c_char,
    capacity: usize,
    len: *mut usize,
) -> TerseResult {
    call(connection, |inner| {
        let text = text(inner);
        // SAFETY: as the caller promises.
        Ok(unsafe { pointers::write_text(text.as_bytes(), out, capacity, len) }?)
    })
}

/// Asks a connection, unless a call to it has not returned yet.
pub(crate) fn ask<T>(connection: Option<&TerseConnection>, question: impl FnOnce(&Inner) -> T) -> Option<T> {
    let inner = connection?.inner.try_borrow().ok()?;
    inner.as_ref().map(question)
}
