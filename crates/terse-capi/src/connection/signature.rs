//! Signatures that come later.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise, and take buffers of C.
#![allow(unsafe_code)]

use terse_tls::crypto::CryptoError;

use super::{TerseConnection, call};
use crate::error::TerseResult;
use crate::platform::TerseTime;
use crate::{TerseError, pointers};

/// What a signer was asked for and answers later.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TerseSignatureRequest {
    /// The signature scheme, as the signer got it.
    pub scheme: u16,
    /// What is to be signed, not its hash. It belongs to the connection, and is valid until the next call with it.
    pub message: *const u8,
    /// Its length in bytes.
    pub message_len: usize,
}

/// Writes what is to be signed to `*request`, after TERSE_EVENT_NEED_SIGNATURE. Errors: NULL_POINTER, BUSY,
/// API_MISUSE_NO_SIGNATURE_DUE.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_pending_signature(
    connection: Option<&TerseConnection>,
    request: *mut TerseSignatureRequest,
) -> TerseResult {
    call(connection, |inner| {
        if request.is_null() {
            return Err(TerseError::NullPointer.into());
        }
        let due = inner.connection.signature_request().ok_or(terse_tls::ApiMisuse::NoSignatureDue)?;
        let (scheme, message) = (due.scheme().0, due.message());
        let found = TerseSignatureRequest { scheme, message: message.as_ptr(), message_len: message.len() };
        // SAFETY: as the caller promises.
        Ok(unsafe { pointers::write(request, found) }?)
    })
}

/// Takes the signature that a signer answered later, and goes on with the handshake. NULL says that the signer has failed, which ends
/// the handshake (CRYPTO_SIGNING_FAILED).
///
/// `now` may be NULL if there is a clock. Errors: NULL_POINTER, BUSY, NO_CLOCK, API_MISUSE_NO_SIGNATURE_DUE, and those that end
/// the connection.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `signature` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_provide_signature(
    connection: Option<&TerseConnection>,
    now: Option<&TerseTime>,
    signature: *const u8,
    len: usize,
) -> TerseResult {
    call(connection, |inner| {
        let signature = match signature.is_null() {
            true => Err(CryptoError::SigningFailed),
            // SAFETY: as the caller promises.
            false => Ok(unsafe { pointers::bytes(signature, len) }?),
        };
        let now = inner.platform.now(now)?;
        Ok(inner.connection.provide_signature(now, &mut inner.platform, signature)?)
    })
}
