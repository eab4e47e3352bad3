//! A connection's summary is printed by `terse client` and `terse server` as a JSON object with these fields, in this
//! order: it is the contract of the command line. `dropped` is there over datagrams alone, the peer's `staple`
//! where there was one, and `early_data_protection` where early data was accepted.

use serde::ser::{Serialize, SerializeMap, Serializer};
use terse_tls::summary::{self, CachedObject, EarlyDataProtection, Staple, Summary, Traffic, Transport};
use terse_tls::{FallbackReason, HandshakeType};

/// A [`Summary`] that serializes as the JSON object of the command line.
#[derive(Debug, serde::Serialize)]
pub struct Report<'a> {
    version: Option<String>,
    transport: &'static str,
    cipher_suite: Option<String>,
    group: Option<String>,
    mode: &'static str,
    cached: Vec<&'static str>,
    peer: Peer,
    signatures_verified: u32,
    signatures_saved: u32,
    round_trips: u32,
    early_data: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    early_data_protection: Option<&'static str>,
    fallback: Option<&'static str>,
    sent: Direction<'a>,
    received: Direction<'a>,
    retransmissions: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<Dropped>,
    handshake_ms: u64,
    error: Option<&'a str>,
}

#[derive(Debug, serde::Serialize)]
struct Peer {
    name: Option<String>,
    authenticated_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    staple: Option<&'static str>,
}

#[derive(Debug, serde::Serialize)]
struct Direction<'a> {
    messages: Messages<'a>,
    handshake_bytes: u64,
    record_bytes: u64,
    post_handshake_bytes: u64,
    datagrams: u32,
}

/// A JSON object in the order of the messages, which a map of the standard library would not keep.
#[derive(Debug)]
struct Messages<'a>(&'a [(HandshakeType, u32)]);

/// A JSON object of the causes for which records were dropped.
#[derive(Debug)]
struct Dropped(summary::Dropped);

impl<'a> Report<'a> {
    /// Returns the report of a connection with this `summary`, which may have failed with `error`.
    pub fn new(summary: &'a Summary, error: Option<&'a str>) -> Self {
        Self {
            version: summary.version_name(),
            transport: summary.transport.name(),
            cipher_suite: summary.cipher_suite.map(|suite| suite.to_string()),
            group: summary.group.map(|group| group.to_string()),
            mode: summary.mode.name(),
            cached: summary.cached.iter().copied().map(CachedObject::name).collect(),
            peer: Peer {
                name: summary.peer.name(),
                authenticated_by: summary.peer.authenticated_by.name(),
                staple: (summary.peer.staple != Staple::None).then(|| summary.peer.staple.name()),
            },
            signatures_verified: summary.signatures_verified,
            signatures_saved: summary.signatures_saved,
            round_trips: summary.round_trips,
            early_data: summary.early_data.name(),
            early_data_protection: summary.early_data_protection.map(EarlyDataProtection::name),
            fallback: summary.fallback.map(FallbackReason::text),
            sent: Direction::new(&summary.sent),
            received: Direction::new(&summary.received),
            retransmissions: summary.retransmissions,
            dropped: (summary.transport == Transport::Datagram).then_some(Dropped(summary.dropped)),
            handshake_ms: summary.handshake_ms,
            error,
        }
    }
}

impl<'a> Direction<'a> {
    fn new(traffic: &'a Traffic) -> Self {
        Self {
            messages: Messages(&traffic.messages),
            handshake_bytes: traffic.handshake_bytes,
            record_bytes: traffic.record_bytes,
            post_handshake_bytes: traffic.post_handshake_bytes,
            datagrams: traffic.datagrams,
        }
    }
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (message, len) in self.0 {
            map.serialize_entry(&message.to_string(), len)?;
        }
        map.end()
    }
}

impl Serialize for Dropped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.by_cause().into_iter().filter(|(_, count)| *count > 0))
    }
}

#[cfg(test)]
mod tests;
