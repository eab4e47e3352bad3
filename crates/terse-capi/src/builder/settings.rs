//! Everything else that can be set.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise, and take buffers of C.
#![allow(unsafe_code)]

use core::ffi::c_void;

use terse_tls::{ApiMisuse, Datagrams, ProtocolVersion};

use super::{Limits, TerseConfigBuilder, change};
use crate::callbacks::Context;
use crate::error::TerseResult;
use crate::platform::{TerseClock, TerseRandom};
use crate::store::{TerseClientStore, TerseServerStore};
use crate::{TerseError, pointers};

/// For `terse_config_builder_client_store` and `..._server_store`: handshakes leave out the certificates that were verified before
/// (handshake caching), where the peer does it, too.
pub const TERSE_USE_CACHE: u32 = 1;

/// For `terse_config_builder_client_store` and `..._server_store`: sessions are resumed.
pub const TERSE_USE_RESUMPTION: u32 = 2;

/// TLS 1.2 or DTLS 1.2, for `terse_config_builder_versions` and in `terse_summary`.
pub const TERSE_VERSION_1_2: u16 = 0x0303;

/// TLS 1.3 or DTLS 1.3, for `terse_config_builder_versions` and in `terse_summary`.
pub const TERSE_VERSION_1_3: u16 = 0x0304;

/// Takes randomness from `random`, which gets `context`. Without this call, or with NULL, it is the operating system's, which
/// firmware does not have. Connections call `random` on the thread of the call that needs randomness.
///
/// `context` must live as long as configurations and connections of this builder. Errors: NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_random(
    builder: Option<&mut TerseConfigBuilder>,
    random: TerseRandom,
    context: *mut c_void,
) -> TerseResult {
    change(builder, |builder| {
        builder.platform.random = random.map(|random| (Some(random), Context(context)));
        Ok(())
    })
}

/// Takes the time from `clock`, which gets `context`, in calls whose `now` is NULL. Without this call, or with NULL, it is the
/// operating system's, which firmware does not have: there each call must give the time.
///
/// `context` must live as long as configurations and connections of this builder. Errors: NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_clock(
    builder: Option<&mut TerseConfigBuilder>,
    clock: TerseClock,
    context: *mut c_void,
) -> TerseResult {
    change(builder, |builder| {
        builder.platform.clock = clock.map(|clock| (Some(clock), Context(context)));
        Ok(())
    })
}

/// Sets the least and the greatest version: TERSE_VERSION_1_2 or TERSE_VERSION_1_3. Both without this call. Errors: NULL_POINTER,
/// INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_versions(
    builder: Option<&mut TerseConfigBuilder>,
    least: u16,
    greatest: u16,
) -> TerseResult {
    change(builder, |builder| {
        let known = [ProtocolVersion::TLS_1_2.0, ProtocolVersion::TLS_1_3.0];
        if least > greatest || !known.contains(&least) || !known.contains(&greatest) {
            return Err(TerseError::InvalidArgument.into());
        }
        builder.versions = Some((least, greatest));
        Ok(())
    })
}

/// Adds an application protocol (ALPN, RFC 7301) of 1 to 255 bytes, preferred less than those before. It is copied. Errors:
/// NULL_POINTER, INVALID_ARGUMENT.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `protocol` has `len` readable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_config_builder_alpn(
    builder: Option<&mut TerseConfigBuilder>,
    protocol: *const u8,
    len: usize,
) -> TerseResult {
    change(builder, |builder| {
        // SAFETY: as the caller promises.
        let protocol = unsafe { pointers::bytes(protocol, len) }?;
        if !(1..=255).contains(&protocol.len()) {
            return Err(TerseError::InvalidArgument.into());
        }
        builder.alpn_protocols.push(protocol.to_vec());
        Ok(())
    })
}

/// Runs connections over datagrams: DTLS instead of TLS.
///
/// `max_datagram` is the length of the longest datagram that is sent, 50 to 65,507 bytes: the MTU of the path without the 28 bytes of
/// IPv4 and UDP, or the 48 of IPv6 and UDP. 0 stands for 1,232, which fits the least MTU of IPv6. `initial_timeout_ms` is how long an
/// answer is waited for before a flight is sent again, doubled each time; 0 stands for 1,000.
///
/// Errors: NULL_POINTER, API_MISUSE_DATAGRAM_OUT_OF_RANGE.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_datagrams(
    builder: Option<&mut TerseConfigBuilder>,
    max_datagram: usize,
    initial_timeout_ms: u32,
) -> TerseResult {
    change(builder, |builder| {
        let mut datagrams = Datagrams::default();
        if max_datagram > 0 {
            if !(Datagrams::LEAST_DATAGRAM..=Datagrams::LARGEST_DATAGRAM).contains(&max_datagram) {
                return Err(ApiMisuse::DatagramOutOfRange.into());
            }
            datagrams.max_datagram = max_datagram;
        }
        if initial_timeout_ms > 0 {
            datagrams.initial_timeout = initial_timeout_ms.into();
            datagrams.min_timeout = datagrams.min_timeout.min(datagrams.initial_timeout);
            datagrams.max_timeout = datagrams.max_timeout.max(datagrams.initial_timeout);
        }
        builder.datagrams = Some(datagrams);
        Ok(())
    })
}

/// Offers connection IDs (RFC 9146) over datagrams, for a client whose address may change: records that come to this side have one of
/// `len` bytes, which may be 0. Without `terse_config_builder_datagrams`, before or after this call, no configuration can be made:
/// API_MISUSE_NO_DATAGRAMS. Errors: NULL_POINTER.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_connection_id(builder: Option<&mut TerseConfigBuilder>, len: u8) -> TerseResult {
    change(builder, |builder| {
        builder.connection_id = Some(len);
        Ok(())
    })
}

/// Limits the memory of a connection, in bytes; 0 leaves a limit as it is.
///
/// `max_handshake_message` is the longest handshake message that is taken (65,536 unless set), `max_record` the longest record
/// that peers may send, which they are told of (64 to 16,384), `max_send_buffer` how much may wait to be sent before `terse_send`
/// takes no more (65,536 unless set). A device that has 2,048, 1,024 and 1,024 needs at most 25 kB of heap.
///
/// Errors: NULL_POINTER. Values that fit nothing are refused when the configuration is made.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_limits(
    builder: Option<&mut TerseConfigBuilder>,
    max_handshake_message: usize,
    max_record: usize,
    max_send_buffer: usize,
) -> TerseResult {
    change(builder, |builder| {
        let set = |new: usize, old| if new > 0 { Some(new) } else { old };
        builder.limits = Limits {
            handshake_message: set(max_handshake_message, builder.limits.handshake_message),
            record: set(max_record, builder.limits.record),
            send_buffer: set(max_send_buffer, builder.limits.send_buffer),
        };
        Ok(())
    })
}

/// Keeps what a client learns of servers in `store`: TERSE_USE_CACHE, TERSE_USE_RESUMPTION, or both. Where both could be used,
/// sessions go first. The configuration shares the store, which may be freed.
///
/// Errors: NULL_POINTER, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_client_store(
    builder: Option<&mut TerseConfigBuilder>,
    store: Option<&TerseClientStore>,
    uses: u32,
) -> TerseResult {
    change(builder, |builder| {
        let store = store.ok_or(TerseError::NullPointer)?;
        check_uses(uses)?;
        builder.keep_for_client(store, uses);
        Ok(())
    })
}

/// Keeps what a server learns of clients in `store`: TERSE_USE_CACHE, TERSE_USE_RESUMPTION, or both. The configuration shares the
/// store, which may be freed. A session may be resumed for `lifetime_seconds`, up to seven days; 0 stands for one day.
///
/// Errors: NULL_POINTER, INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn terse_config_builder_server_store(
    builder: Option<&mut TerseConfigBuilder>,
    store: Option<&TerseServerStore>,
    uses: u32,
    lifetime_seconds: u32,
) -> TerseResult {
    change(builder, |builder| {
        let store = store.ok_or(TerseError::NullPointer)?;
        check_uses(uses)?;
        builder.keep_for_server(store, uses, if lifetime_seconds > 0 { lifetime_seconds } else { 86_400 });
        Ok(())
    })
}

fn check_uses(uses: u32) -> Result<(), TerseError> {
    let known = TERSE_USE_CACHE | TERSE_USE_RESUMPTION;
    if uses > 0 && uses & !known == 0 { Ok(()) } else { Err(TerseError::InvalidArgument) }
}
