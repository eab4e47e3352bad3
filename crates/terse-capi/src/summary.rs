//! What a connection did.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise, and take buffers of C.
#![allow(unsafe_code)]

use terse_tls::cache::Scheme;
use terse_tls::summary::{AuthenticatedBy, CachedObject, Mode, Transport};

use crate::connection::{TerseConnection, ask};
use crate::error::TerseResult;
use crate::{TERSE_OK, TerseError, pointers};

/// What a handshake could leave out.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerseMode {
    /// Nothing.
    #[default]
    Full = 0,
    /// What was cached, by RFC 7924: the server's certificates.
    Rfc7924 = 1,
    /// What was cached, by BiTHaC: the client's certificates as well.
    Bithac = 2,
    /// What was cached, under one ticket for all of it.
    Compact = 3,
    /// All certificates: a session was resumed.
    Resumed = 4,
    /// All certificates: both sides have a pre-shared key.
    Psk = 5,
    /// Another mode, which this version of the API has no number for.
    Other = 255,
}

/// How the peer has proved its identity.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerseAuthentication {
    /// Not at all.
    #[default]
    None = 0,
    /// With a certificate or a raw public key that it sent, in this handshake or in the one that the session began with.
    Certificate = 1,
    /// With the key of a certificate that was verified in an earlier handshake.
    CachedCertificate = 2,
    /// With a pre-shared key.
    Psk = 3,
    /// In another way, which this version of the API has no number for.
    Other = 255,
}

/// In `terse_summary.cached`: the server's certificates were not sent.
pub const TERSE_CACHED_SERVER_CERTIFICATE: u8 = 1;
/// In `terse_summary.cached`: the server's CertificateRequest was not sent.
pub const TERSE_CACHED_CERTIFICATE_REQUEST: u8 = 2;
/// In `terse_summary.cached`: the client's certificates were not sent.
pub const TERSE_CACHED_CLIENT_CERTIFICATE: u8 = 4;

/// What a connection did. Complete once the handshake is. Later versions may have more fields at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerseSummary {
    /// TERSE_VERSION_1_2 or TERSE_VERSION_1_3, of TLS or of DTLS; 0 before it was negotiated.
    pub version: u16,
    /// The cipher suite (IANA, TLS Cipher Suites); 0 before it was negotiated.
    pub cipher_suite: u16,
    /// The group of the key exchange (IANA, TLS Supported Groups); 0 if there is none.
    pub group: u16,
    /// The scheme that the peer has signed this handshake with; 0 if it has signed nothing.
    pub signature_scheme: u16,
    /// Whether the connection runs over datagrams.
    pub is_datagram: bool,
    /// What the handshake could leave out.
    pub mode: TerseMode,
    /// The objects that were not sent because they were cached: TERSE_CACHED_...
    pub cached: u8,
    /// How the peer has proved its identity.
    pub authenticated_by: TerseAuthentication,
    /// Signatures in certificate chains that were verified.
    pub signatures_verified: u32,
    /// Signatures in certificate chains that were not verified again.
    pub signatures_saved: u32,
    /// Round trips before the client may send data.
    pub round_trips: u32,
    /// Datagrams that were sent again.
    pub retransmissions: u32,
    /// Records that came in datagrams and were dropped, since nobody has proved to have sent them, or they came twice.
    pub dropped: u32,
    /// Bytes that were sent until the handshake was complete on both sides, record headers and tags included.
    pub sent_bytes: u64,
    /// Bytes that were received until then.
    pub received_bytes: u64,
    /// How long the handshake took, in milliseconds of the program's clock.
    pub handshake_ms: u64,
}

/// Writes what the connection did to `*summary`. `size` is `sizeof *summary`, as the program was compiled with: of a struct that has
/// become longer, only what the program knows is written; of one that was shorter, the rest is 0.
///
/// Errors: NULL_POINTER, INVALID_ARGUMENT, BUSY.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `summary` has `size` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_connection_summary(
    connection: Option<&TerseConnection>,
    summary: *mut TerseSummary,
    size: usize,
) -> TerseResult {
    if connection.is_none() || summary.is_null() {
        return TerseError::NullPointer as TerseResult;
    }
    let Some(found) = ask(connection, |inner| of(inner.summary())) else { return TerseError::Busy as TerseResult };
    // SAFETY: as the caller promises; a struct of a later version is longer, never shorter.
    match unsafe { pointers::write_prefix(summary, size, &found) } {
        Ok(()) => TERSE_OK,
        Err(error) => error as TerseResult,
    }
}

fn of(summary: &terse_tls::Summary) -> TerseSummary {
    TerseSummary {
        version: summary.version.map_or(0, |version| version.0),
        cipher_suite: summary.cipher_suite.map_or(0, |suite| suite.0),
        group: summary.group.map_or(0, |group| group.0),
        signature_scheme: summary.peer.signature_scheme.map_or(0, |scheme| scheme.0),
        is_datagram: summary.transport == Transport::Datagram,
        mode: match summary.mode {
            Mode::Full => TerseMode::Full,
            Mode::Cached(Scheme::Rfc7924) => TerseMode::Rfc7924,
            Mode::Cached(Scheme::Bithac) => TerseMode::Bithac,
            Mode::Cached(Scheme::Compact) => TerseMode::Compact,
            Mode::Resumed => TerseMode::Resumed,
            Mode::Psk => TerseMode::Psk,
            _ => TerseMode::Other,
        },
        cached: summary.cached.iter().fold(0, |all, object| all | bit(*object)),
        authenticated_by: match summary.peer.authenticated_by {
            AuthenticatedBy::None => TerseAuthentication::None,
            AuthenticatedBy::Certificate => TerseAuthentication::Certificate,
            AuthenticatedBy::CachedCertificate => TerseAuthentication::CachedCertificate,
            AuthenticatedBy::Psk => TerseAuthentication::Psk,
            _ => TerseAuthentication::Other,
        },
        signatures_verified: summary.signatures_verified,
        signatures_saved: summary.signatures_saved,
        round_trips: summary.round_trips,
        retransmissions: summary.retransmissions,
        dropped: summary.dropped.total(),
        sent_bytes: summary.sent.record_bytes,
        received_bytes: summary.received.record_bytes,
        handshake_ms: summary.handshake_ms,
    }
}

const fn bit(object: CachedObject) -> u8 {
    match object {
        CachedObject::ServerCertificate => TERSE_CACHED_SERVER_CERTIFICATE,
        CachedObject::CertificateRequest => TERSE_CACHED_CERTIFICATE_REQUEST,
        CachedObject::ClientCertificate => TERSE_CACHED_CLIENT_CERTIFICATE,
        _ => 0, // of a later version
    }
}
