//! The radio, the MAC, the pool of packet buffers and 6LoWPAN.

use core::net::Ipv6Addr;
use core::time::Duration;

use super::Contradiction;
use super::topology::Topology;
use crate::scenario::visit::{Named, Visitor, choice, field, milliseconds, small};

/// How well motes hear each other.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioOptions {
    /// Where the quality of links comes from.
    pub model: RadioModel,
    /// The side of the square in which the Pister-hack model places motes, in metres.
    pub side: f64,
    /// The seed that the losses of the Pister-hack model follow from, and the places that are drawn; 0 for the seed of each run.
    pub field_seed: u64,
    /// The name of the file with a trace.
    pub trace: String,
    /// So long after its beginning the trace is begun with.
    pub trace_start: Duration,
    /// The probability that a frame arrives between a mote and its parent, or between motes that are next to each other in a grid,
    /// either way and on every channel.
    pub delivery: f64,
    /// Exceptions, of which later ones override earlier ones.
    pub links: Vec<LinkQuality>,
}

/// Where the quality of links comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioModel {
    /// The links between motes and their parents, or those next to each other in a grid, and those that are listed.
    Matrix,
    /// The Pister-hack model: motes in a grid, or placed at random in a square.
    PisterHack,
    /// A trace in the k7 format.
    Trace,
}

impl Named for RadioModel {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Matrix, "matrix"), (Self::PisterHack, "pister-hack"), (Self::Trace, "k7")];
}

/// The quality of one direction between two motes, on all channels or on one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkQuality {
    /// The mote that sends.
    pub from: u64,
    /// The mote that receives.
    pub to: u64,
    /// The channel; 0 stands for all.
    pub channel: u8,
    /// The probability that a frame arrives.
    pub delivery: f64,
}

/// What is lost after the MAC has acknowledged it: nothing repeats it but the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossOptions {
    /// The probability for each frame of a fragment, or of a whole packet that needs no fragments, on each hop.
    pub fragments: f64,
    /// The probability for each packet, once on its way.
    pub packets: f64,
}

/// The TSCH MAC (IEEE 802.15.4, 6.2.5.3 and 6.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacOptions {
    /// How often a frame is sent again before it is dropped.
    pub max_retries: u8,
    /// macMinBe.
    pub min_backoff_exponent: u8,
    /// macMaxBe.
    pub max_backoff_exponent: u8,
    /// Whether frames to one mote may use shared cells; otherwise these carry broadcasts only.
    pub shared_carries_unicast: bool,
}

/// The packet buffers of each mote: one pool for the queue and for received fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// The number of frames in it.
    pub frames: u8,
    /// The number of frames in the root's, which is often a larger machine; 0 if it has as many as the motes.
    pub root_frames: u8,
    /// From how many used frames on an allocation for anything above 6P fails.
    pub limit: u8,
    /// From what share of used frames on a router marks packets (RFC 3168), in percent; 0 if it never does.
    pub ecn_percent: u8,
}

/// 6LoWPAN (RFC 6282, RFC 4944, RFC 8138).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SixlowpanOptions {
    /// The PAN ID.
    pub pan_id: u16,
    /// The prefix of the mesh, 64 bits, which context 0 compresses.
    pub prefix: Ipv6Addr,
    /// The longest packet that is sent without fragments, in bytes after compression.
    pub unfragmented: u8,
    /// The most bytes of a packet in a later fragment: a multiple of 8.
    pub fragment: u8,
    /// How long a receiver waits for the rest of a packet.
    pub reassembly_timeout: Duration,
    /// Whether the gateway compresses headers of UDP, as motes do.
    pub gateway_compresses_udp: bool,
    /// How many packets a mote forwards in fragments at a time.
    pub reassembly_buffers: u8,
}

impl Default for RadioOptions {
    fn default() -> Self {
        let (model, side, field_seed) = (RadioModel::Matrix, 2_000.0, 0);
        let (trace, trace_start) = (String::new(), Duration::ZERO);
        Self { model, side, field_seed, trace, trace_start, delivery: 1.0, links: Vec::new() }
    }
}

impl Default for MacOptions {
    fn default() -> Self {
        Self { max_retries: 15, min_backoff_exponent: 2, max_backoff_exponent: 5, shared_carries_unicast: false }
    }
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self { frames: 20, root_frames: 0, limit: 16, ecn_percent: 0 }
    }
}

impl Default for SixlowpanOptions {
    fn default() -> Self {
        Self {
            pan_id: 0xcafe,
            prefix: Ipv6Addr::new(0xbbbb, 0, 0, 0, 0, 0, 0, 0),
            unfragmented: 101,
            fragment: 96,
            reassembly_timeout: Duration::from_secs(60),
            gateway_compresses_udp: false,
            reassembly_buffers: 2,
        }
    }
}

impl RadioOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        choice(visitor, field("model", "model of the radio", ""), &mut self.model);
        visitor.number(field("side_m", "side of a square", "metres"), &mut self.side, 1.0..=1e6);
        visitor.integer(field("field_seed", "seed", ""), &mut self.field_seed, 0..=i64::MAX.unsigned_abs());
        visitor.text(field("trace", "name of a file", ""), &mut self.trace, &|_| Ok(()));
        let start = field("trace_start_ms", "time", "milliseconds");
        milliseconds(visitor, start, &mut self.trace_start, 0.0..=1e12);
        visitor.number(field("delivery", "probability", ""), &mut self.delivery, 0.0..=1.0);
        let mut len = self.links.len();
        let links = &mut self.links;
        visitor.tables("link", &mut len, &mut |number, visitor| {
            if links.len() <= number {
                links.push(LinkQuality { from: 0, to: 0, channel: 0, delivery: 1.0 });
            }
            if let Some(link) = links.get_mut(number) {
                link.visit(visitor);
            }
        });
        self.links.truncate(len);
    }

    pub(super) fn check(&self, topology: &Topology, found: &mut Vec<Contradiction>) {
        if (self.model == RadioModel::Trace) == self.trace.is_empty() {
            let text = "the name of a file belongs to model = \"k7\", and the other way round".into();
            found.push(("radio.trace", text));
        }
        for LinkQuality { from, to, channel, .. } in &self.links {
            if *from > topology.motes() || *to > topology.motes() || from == to {
                let motes = topology.motes();
                found.push(("radio.link", format!("from {from} to {to} is no link: two of the motes 0 to {motes}")));
            }
            if (1..11).contains(channel) {
                found.push(("radio.link", format!("{channel} is no channel: 11 to 26, or 0 for all of them")));
            }
        }
    }
}

impl LinkQuality {
    fn visit(&mut self, visitor: &mut dyn Visitor) {
        visitor.integer(field("from", "mote", ""), &mut self.from, 0..=1_000);
        visitor.integer(field("to", "mote", ""), &mut self.to, 0..=1_000);
        small(visitor, field("channel", "channel", ""), &mut self.channel, 0..=26);
        visitor.number(field("delivery", "probability", ""), &mut self.delivery, 0.0..=1.0);
    }
}

impl LossOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        visitor.number(field("fragments", "probability", ""), &mut self.fragments, 0.0..=1.0);
        visitor.number(field("packets", "probability", ""), &mut self.packets, 0.0..=1.0);
    }
}

impl MacOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        small(visitor, field("max_retries", "number of retries", "retries"), &mut self.max_retries, 0..=64);
        let exponent = |key| field(key, "back-off exponent", "");
        small(visitor, exponent("min_backoff_exponent"), &mut self.min_backoff_exponent, 0..=8);
        small(visitor, exponent("max_backoff_exponent"), &mut self.max_backoff_exponent, 0..=8);
        visitor.flag(field("shared_carries_unicast", "flag", ""), &mut self.shared_carries_unicast);
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        let Self { min_backoff_exponent: least, max_backoff_exponent: most, .. } = self;
        if least > most {
            found.push(("mac.min_backoff_exponent", format!("{least} is more than max_backoff_exponent: 0 to {most}")));
        }
    }
}

impl PoolOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        small(visitor, field("frames", "size of a pool", "frames"), &mut self.frames, 1..=255);
        small(visitor, field("root_frames", "size of a pool", "frames"), &mut self.root_frames, 0..=255);
        small(visitor, field("limit", "limit of a pool", "frames"), &mut self.limit, 1..=255);
        small(visitor, field("ecn_percent", "share", "percent"), &mut self.ecn_percent, 0..=100);
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        let Self { frames, limit, .. } = self;
        if limit > frames {
            found.push(("pool.limit", format!("{limit} is more than the pool has: 1 to {frames}")));
        }
    }
}

impl SixlowpanOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        small(visitor, field("pan_id", "PAN ID", ""), &mut self.pan_id, 0..=0xfffe);
        let mut prefix = format!("{}/64", self.prefix);
        visitor.text(field("prefix", "prefix", ""), &mut prefix, &|text| parse_prefix(text).map(drop));
        self.prefix = parse_prefix(&prefix).unwrap_or(self.prefix);
        let bytes = |key, what| field(key, what, "bytes");
        small(visitor, bytes("unfragmented_bytes", "length of a packet"), &mut self.unfragmented, 40..=104);
        small(visitor, bytes("fragment_bytes", "length of a fragment"), &mut self.fragment, 40..=96);
        let timeout = field("reassembly_timeout_ms", "timeout", "milliseconds");
        milliseconds(visitor, timeout, &mut self.reassembly_timeout, 1.0..=3_600_000.0);
        visitor.flag(field("gateway_compresses_udp", "flag", ""), &mut self.gateway_compresses_udp);
        let buffers = field("reassembly_buffers", "number of buffers", "buffers");
        small(visitor, buffers, &mut self.reassembly_buffers, 1..=255);
    }

    pub(super) fn check(&self, found: &mut Vec<Contradiction>) {
        // RFC 4944, 5.3: the offset counts units of 8 bytes.
        if !self.fragment.is_multiple_of(8) {
            let text = format!("{} is no length of a fragment: a multiple of 8, up to 96", self.fragment);
            found.push(("sixlowpan.fragment_bytes", text));
        }
    }
}

/// Reads a prefix of 64 bits.
fn parse_prefix(text: &str) -> Result<Ipv6Addr, String> {
    let address = text.strip_suffix("/64").and_then(|address| address.parse::<Ipv6Addr>().ok());
    let has_no_identifier = |address: &Ipv6Addr| address.to_bits() as u64 == 0;
    address.filter(has_no_identifier).ok_or_else(|| "64 bits, such as \"bbbb::/64\"".into())
}
