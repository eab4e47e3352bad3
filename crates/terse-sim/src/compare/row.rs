//! What a comparison found: a row for each mode and setting, as the command line, tables and figures read it.

use serde::ser::{Serialize, SerializeMap, Serializer};
use terse_tls::HandshakeType;
use terse_tls::summary::Transport;

use super::setting::{Mode, Version};
use crate::probe::Party;

/// One mode in one setting. Of several runs it describes the one with the median total, as a whole.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    /// What was left out.
    pub mode: Mode,
    /// The version.
    pub version: Version,
    /// What it ran over.
    #[serde(serialize_with = "by_name")]
    pub transport: Transport,
    /// The certificates of both sides, as in `rsa2048x3`.
    pub certificates: String,
    /// The link.
    pub link: String,
    /// The largest IP packet on the link, in bytes.
    pub mtu: usize,
    /// Bytes by layer.
    pub bytes: Bytes,
    /// Frames on the link, both directions, lost ones included.
    pub packets: usize,
    /// TCP segments that do nothing but acknowledge, each once.
    pub pure_acks: usize,
    /// Segments and records that were sent again, by TCP or by DTLS; what a link sends again is not counted.
    pub retransmissions: usize,
    /// Of the frames: lost on the way.
    pub lost: usize,
    /// Round trips of the handshake before the client may send its message, as in a connection's summary.
    pub round_trips: u32,
    /// Those of the transport before that: 1 for TCP's SYN, none for UDP.
    pub transport_round_trips: u32,
    /// When it happened.
    pub time_ms: Times,
    /// Signatures in certificate chains that were verified.
    pub signatures_verified: Sides<u32>,
    /// And that were not, because the chain was verified before.
    pub signatures_saved: Sides<u32>,
    /// What the cache of each side has about the other, in bytes as in a cache file, names included.
    pub cache_entry_bytes: Sides<usize>,
    /// Computing, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// The most heap in use at once by the connection, in bytes, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_heap: Option<Sides<u64>>,
    /// Over all runs.
    pub runs: Runs,
}

/// Bytes by layer, both directions, from the first packet to the last of the close. `total` is the sum of `tls`,
/// `application`, `transport`, `network` and `link`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Bytes {
    /// Handshake messages by name, with their headers (4 bytes; in DTLS 12 for each fragment), without records.
    pub messages: Messages,
    /// Of them, what each side sent.
    pub sent: Sides<Messages>,
    /// Records of the handshake (in DTLS with what was sent again, and with what a server sent that kept nothing of the
    /// client yet: HelloVerifyRequest or HelloRetryRequest).
    pub tls: usize,
    /// Records of everything after it: the two messages of the application, tickets, `close_notify`.
    pub application: usize,
    /// Headers of TCP or UDP, options included; and what TCP sent again.
    pub transport: usize,
    /// Headers of IP, and of fragments below it.
    pub network: usize,
    /// Headers (and trailers, where a capture has them) of the link, its acknowledgements, and frames that it sent again.
    pub link: usize,
    /// All of it.
    pub total: usize,
}

/// Handshake messages in the order in which they were first seen, and their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages(pub Vec<(HandshakeType, u64)>);

/// Something of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Sides<T> {
    /// The client's.
    pub client: T,
    /// The server's.
    pub server: T,
}

/// Milliseconds of virtual time since the client's first packet. Computing takes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Times {
    /// The client's handshake was complete.
    pub connected: f64,
    /// The client had the reply.
    pub replied: f64,
    /// The last frame arrived (or was sent, if it was lost).
    pub closed: f64,
}

/// Computing in all calls of the engine, from the first packet to the last of the close: median of the runs for each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Cpu {
    /// The client's.
    pub client: u64,
    /// The server's.
    pub server: u64,
    /// What is counted: `ns` of the thread's processor time.
    pub unit: &'static str,
}

/// The spread over several runs, which differ in seed and keys. Bytes and times are of those that came to their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Runs {
    /// How many there were.
    pub count: usize,
    /// Of them, how many did not come to their end: a link that loses too much.
    pub failed: usize,
    /// The least total of bytes.
    pub min_total: usize,
    /// The greatest.
    pub max_total: usize,
    /// The median time until the client was connected, in milliseconds.
    pub median_connected_ms: f64,
    /// After this time nineteen of twenty were connected, in milliseconds.
    pub p95_connected_ms: f64,
}

impl<T> Sides<T> {
    /// That of one of them.
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

    /// The bytes of one message.
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
