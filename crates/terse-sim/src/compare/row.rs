//! The result of a comparison: a row for each mode and setting, for the command line, tables and figures.

use serde::ser::{Serialize, SerializeMap, Serializer};
use terse_tls::HandshakeType;
use terse_tls::summary::Transport;

use super::setting::{Mode, Version};
use crate::probe::Party;

/// One mode in one setting. If there were several runs, the whole row describes the one with the median total.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    /// The mode: what the handshake leaves out.
    pub mode: Mode,
    /// The protocol version.
    pub version: Version,
    /// The transport below it.
    #[serde(serialize_with = "by_name")]
    pub transport: Transport,
    /// The certificates of both sides, for example `rsa2048x3`.
    pub certificates: String,
    /// The name of the link.
    pub link: String,
    /// The largest IP packet on the link, in bytes.
    pub mtu: usize,
    /// Bytes on the link, by layer.
    pub bytes: Bytes,
    /// Frames on the link, both directions, lost ones included.
    pub packets: usize,
    /// TCP segments that only acknowledge, each counted once.
    pub pure_acks: usize,
    /// Segments and records that TCP or DTLS sent again. Repetitions by the link layer are not counted.
    pub retransmissions: usize,
    /// The number of frames that were lost on the way.
    pub lost: usize,
    /// Round trips of the handshake before the client may send its message, as in a connection's summary.
    pub round_trips: u32,
    /// Round trips of the transport before the handshake: 1 for TCP's SYN, none for UDP.
    pub transport_round_trips: u32,
    /// The names of the devices on which the sides computed, if computing took time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Sides<String>>,
    /// How long the sides computed, from the first packet to the last of the close, in milliseconds of virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub computing_ms: Option<Sides<f64>>,
    /// The times of the connection's milestones.
    pub time_ms: Times,
    /// Whether the request went as early data, with the client's first flight.
    pub early_data: bool,
    /// The number of certificate signatures that were verified.
    pub signatures_verified: Sides<u32>,
    /// The number of certificate signatures that were not verified, because the chain had been verified before.
    pub signatures_saved: Sides<u32>,
    /// The size of each side's cache entry about the other, in bytes as in a cache file, names included.
    pub cache_entry_bytes: Sides<usize>,
    /// Processor time, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The most heap in use at once by the connection, in bytes, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_heap: Option<Sides<u64>>,
    /// The spread over all runs.
    pub runs: Runs,
}

/// Bytes by layer, both directions, from the first packet to the last of the close. `total` is the sum of `tls`,
/// `application`, `transport`, `network` and `link`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Bytes {
    /// Handshake messages by name, with their headers (4 bytes; in DTLS 12 for each fragment), without records.
    pub messages: Messages,
    /// The part of `messages` that each side sent.
    pub sent: Sides<Messages>,
    /// Records of the handshake (in DTLS with what was sent again, and with what a server sent that kept nothing of the
    /// client yet: HelloVerifyRequest or HelloRetryRequest). Where a link gave up fragments, and so never sent the rest of
    /// a packet, this is an upper bound, and `application` a lower one.
    pub tls: usize,
    /// Records after the handshake: the two messages of the application, tickets, `close_notify`.
    pub application: usize,
    /// Headers of TCP or UDP, options included; and everything that TCP sent again.
    pub transport: usize,
    /// Headers of IP, and of the fragments below it.
    pub network: usize,
    /// Headers and trailers of the link, its acknowledgements, and frames that it sent again. Only what a capture has
    /// counts.
    pub link: usize,
    /// The sum of all layers.
    pub total: usize,
    /// The part of `total` that was sent before the server's application had the request.
    pub until_request: usize,
}

/// Handshake messages in the order in which they were first seen, and their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages(pub Vec<(HandshakeType, u64)>);

/// A value of each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Sides<T> {
    /// The client's.
    pub client: T,
    /// The server's.
    pub server: T,
}

/// Milliseconds of virtual time since the client's first packet, unless a field says otherwise. Computing takes virtual time
/// only on devices: see [`Setting::devices`](super::Setting::devices).
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Times {
    /// The time when the client's handshake was complete.
    pub connected: f64,
    /// The time when the client had the reply.
    pub replied: f64,
    /// The time when the last frame arrived, or was sent if it was lost.
    pub closed: f64,
    /// The time when the server's application had the request.
    pub requested: f64,
    /// How long the server took from the first bytes of the first ClientHello that its program read until its handshake was
    /// complete. This is the handshake latency of iTLS, V-B: "measured on the server side as the time from receiving the
    /// ClientHello message until the handshake is considered complete". TCP's handshake and the client's work before its
    /// first message are no part of it.
    pub server_connected: f64,
}

/// The processor time of all calls of the engine, from the first packet to the last of the close: the median of the
/// runs for each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cpu {
    /// The client's processor time.
    pub client: u64,
    /// The server's processor time.
    pub server: u64,
    /// The unit: `ns` of the thread's processor time.
    pub unit: &'static str,
}

/// The spread over several runs, which differ in seed and keys. Bytes and times cover the runs that came to their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Runs {
    /// The number of runs.
    pub count: usize,
    /// The number of runs that did not come to their end, because the link lost too much.
    pub failed: usize,
    /// The least total of bytes.
    pub min_total: usize,
    /// The greatest total of bytes.
    pub max_total: usize,
    /// The median of the time when the server's application had the request, over the runs that did not fail.
    pub median_requested_ms: f64,
    /// The time after which 95 % of the runs that did not fail had the request with the server's application.
    pub p95_requested_ms: f64,
    /// The median time until the client was connected, in milliseconds.
    pub median_connected_ms: f64,
    /// The time within which nineteen of twenty clients were connected, in milliseconds.
    pub p95_connected_ms: f64,
}

impl<T> Sides<T> {
    /// Returns what `of` makes of both values.
    pub fn map<U>(self, of: impl Fn(T) -> U) -> Sides<U> {
        Sides { client: of(self.client), server: of(self.server) }
    }

    /// Returns the value of `party`.
    pub const fn of(&self, party: Party) -> &T {
        match party {
            Party::Client => &self.client,
            Party::Server => &self.server,
        }
    }

    /// Returns the value of `party`, to be changed.
    pub const fn of_mut(&mut self, party: Party) -> &mut T {
        match party {
            Party::Client => &mut self.client,
            Party::Server => &mut self.server,
        }
    }
}

impl Messages {
    /// Adds `bytes` of a message.
    pub fn add(&mut self, message: HandshakeType, bytes: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == message) {
            Some((_, sum)) => *sum += bytes,
            None => self.0.push((message, bytes)),
        }
    }

    /// Returns the bytes of `message`.
    pub fn of(&self, message: HandshakeType) -> u64 {
        self.0.iter().find(|(known, _)| *known == message).map_or(0, |(_, bytes)| *bytes)
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (message, bytes) in &self.0 {
            map.serialize_entry(&message.to_string(), bytes)?;
        }
        map.end()
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

fn by_name<S: Serializer>(transport: &Transport, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(transport.name())
}
