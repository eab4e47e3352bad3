//! The configuration of a mesh: everything is data, and [`MeshConfig::check`] says what is wrong with it.

use core::fmt;
use core::time::Duration;
use std::net::Ipv6Addr;

use super::clock::Timeslot;
use super::formation::FormationOptions;
use super::schedule::{Cell, CellKind, period};
use crate::radio::{Connectivity, RadioChange};
use crate::sixtop::EcnOptions;

/// A 6TiSCH network: one that forms itself, or one with a static schedule and static routes.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshConfig {
    /// The name, also of the interface in a capture.
    pub name: String,
    /// The durations within a timeslot.
    pub timeslot: Timeslot,
    /// The length of each slotframe in slots. The index is its handle: where cells of two slotframes meet, the lower one wins
    /// (IEEE 802.15.4-2020, 6.2.6.4).
    pub slotframes: Vec<u16>,
    /// The channels in the order of hopping, numbers from 11 to 26 (macHoppingSequenceList).
    pub hopping: Vec<u8>,
    /// The options of the MAC.
    pub mac: MacOptions,
    /// The frames that a node has room for.
    pub pool: PoolOptions,
    /// The pool of the root, if it is another one.
    pub root_pool: Option<PoolOptions>,
    /// The options of 6LoWPAN.
    pub sixlowpan: SixlowpanOptions,
    /// The line between the root and the gateway.
    pub serial: SerialOptions,
    /// The nodes. The first one is the root: its end of the medium is the gateway, behind the serial line.
    pub motes: Vec<MoteOptions>,
    /// Who hears whom on the air.
    pub radio: Connectivity,
    /// How that changes, in the order of time.
    pub radio_changes: Vec<RadioChange>,
    /// What is lost after the MAC has acknowledged it.
    pub loss: LossOptions,
    /// Whether routers mark packets when their buffers fill (RFC 3168).
    pub ecn: Option<EcnOptions>,
    /// How the network forms itself. Parents and cells of nodes do not count then. `None`: the schedule and the routes are those
    /// of the nodes.
    pub formation: Option<FormationOptions>,
    /// The length of the longest IPv6 packet, header included, in bytes.
    pub mtu: usize,
    /// Whether every slot is stepped through, also those in which nothing can happen. The results are the same.
    pub steps_every_slot: bool,
}

/// The options of the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacOptions {
    /// The PAN identifier.
    pub pan: u16,
    /// How often a frame is sent again that was not acknowledged (macMaxFrameRetries). OpenWSN: 15.
    pub max_retries: u8,
    /// The least back-off exponent in shared cells (macMinBe).
    pub min_be: u8,
    /// The greatest back-off exponent in shared cells (macMaxBe).
    pub max_be: u8,
    /// Whether frames to one neighbour also go in shared cells; otherwise those are for broadcasts alone.
    pub unicast_in_shared_cells: bool,
}

/// The frames that a node has room for: those that wait to be sent, and received fragments until their packet is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// The number of frames.
    pub frames: u8,
    /// From so many frames in use on, nothing more is taken from upper layers. OpenWSN: 16 of 20.
    pub upper_layers_fail_from: u8,
}

/// The options of 6LoWPAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SixlowpanOptions {
    /// Context 0: the prefix of the mesh, which is not sent.
    pub prefix: [u8; 8],
    /// The longest compressed packet that is not fragmented, in bytes.
    pub unfragmented_len: usize,
    /// The most bytes of a compressed packet in a fragment.
    pub fragment_len: usize,
    /// How long a node waits for missing fragments (RFC 4944, 5.3: 60 s at most).
    pub reassembly_timeout: Duration,
    /// Whether the gateway compresses headers of UDP (RFC 6282, 4.3). OpenVisualizer does not.
    pub gateway_compresses_udp: bool,
    /// How many packets a node forwards by fragments at a time (virtual reassembly buffers, RFC 8930).
    pub forwarding_buffers: usize,
}

/// The line between the root and the gateway, which sends one frame at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialOptions {
    /// How long a frame takes to the gateway.
    pub up: Duration,
    /// How long the gateway waits after each frame before it sends the next one.
    pub down: Duration,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoteOptions {
    /// The IPv6 address. Its interface identifier gives the EUI-64 (RFC 4291, appendix A).
    pub address: Ipv6Addr,
    /// The node that forwards to the root: `None` for the root alone.
    pub parent: Option<u16>,
    /// The cells of the schedule.
    pub cells: Vec<Cell>,
}

/// What is lost after the MAC has acknowledged it: a node that has no room, or whose software loses something.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossOptions {
    /// The probability that a node loses a frame which it has acknowledged, for each hop.
    pub frames: f64,
    /// The probability that a whole packet is lost once all of it has arrived.
    pub packets: f64,
}

impl MeshConfig {
    /// Returns the network of the paper on TLS over 6TiSCH with one root and no other nodes, whose cells are to be added: timeslots
    /// of 20 ms as OpenWSN has them on the OpenMote, one slotframe of 5 slots, its MAC, its pool and its fragments.
    pub fn openwsn(prefix: [u8; 8]) -> Self {
        let root = MoteOptions { address: mote_address(prefix, 0), parent: None, cells: Vec::new() };
        Self {
            name: "6tisch".into(),
            timeslot: Timeslot::OPENWSN_20_MS,
            slotframes: vec![5],
            hopping: HOPPING.into(),
            mac: MacOptions { pan: 0xCAFE, max_retries: 15, min_be: 2, max_be: 5, unicast_in_shared_cells: false },
            pool: PoolOptions { frames: 20, upper_layers_fail_from: 16 },
            root_pool: None,
            sixlowpan: SixlowpanOptions {
                prefix,
                unfragmented_len: 101,
                fragment_len: 96,
                reassembly_timeout: Duration::from_secs(60),
                gateway_compresses_udp: false,
                forwarding_buffers: 2,
            },
            serial: SerialOptions { up: Duration::from_millis(10), down: Duration::from_millis(10) },
            motes: vec![root],
            radio: Connectivity::new(),
            radio_changes: Vec::new(),
            loss: LossOptions::default(),
            ecn: None,
            formation: None,
            mtu: 1280,
            steps_every_slot: false,
        }
    }

    /// Returns a network that forms itself as RFC 9033 has it, with one root and no other nodes, which are to be
    /// [added](Self::add_node): timeslots of 10 ms, slotframes of 101 slots, everything else as [`Self::openwsn`].
    pub fn forming(prefix: [u8; 8]) -> Self {
        Self {
            timeslot: Timeslot::STANDARD_10_MS,
            slotframes: vec![SLOTFRAME_LENGTH; 3],
            formation: Some(FormationOptions::rfc_9033()),
            ..Self::openwsn(prefix)
        }
    }

    /// Adds a node without a parent, and returns its number.
    ///
    /// # Panics
    ///
    /// Panics after 65,534 nodes.
    pub fn add_node(&mut self) -> u16 {
        let number = self.add_mote(0);
        if let Some(mote) = self.motes.last_mut() {
            mote.parent = None;
        }
        number
    }

    /// Adds a node below `parent`, and returns its number.
    ///
    /// # Panics
    ///
    /// Panics after 65,535 nodes.
    pub fn add_mote(&mut self, parent: u16) -> u16 {
        let number = u16::try_from(self.motes.len()).expect("the docs name the limit");
        let address = mote_address(self.sixlowpan.prefix, number);
        self.motes.push(MoteOptions { address, parent: Some(parent), cells: Vec::new() });
        number
    }

    /// Adds a cell in which one node sends to another: the two cells of both schedules.
    pub fn add_cell(&mut self, slotframe: u8, slot: u16, channel_offset: u8, from: u16, to: u16) {
        let cell = |kind, peer| Cell { slotframe, slot, channel_offset, kind, peer: Some(peer) };
        for (mote, cell) in [(from, cell(CellKind::Tx, to)), (to, cell(CellKind::Rx, from))] {
            if let Some(mote) = self.motes.get_mut(usize::from(mote)) {
                mote.cells.push(cell);
            }
        }
    }

    /// Adds a cell that all nodes share.
    pub fn add_shared_cell(&mut self, slotframe: u8, slot: u16, channel_offset: u8) {
        let cell = Cell { slotframe, slot, channel_offset, kind: CellKind::Shared, peer: None };
        self.motes.iter_mut().for_each(|mote| mote.cells.push(cell));
    }

    /// Checks that the configuration can be simulated.
    pub fn check(&self) -> Result<(), ConfigError> {
        let ok = |holds: bool, error| if holds { Ok(()) } else { Err(error) };
        ok(!self.slotframes.is_empty() && !self.slotframes.contains(&0), ConfigError::SlotframeLength)?;
        ok(self.slotframes.len() <= usize::from(u8::MAX), ConfigError::SlotframeLength)?;
        ok(period(&self.slotframes) <= LONGEST_PERIOD, ConfigError::Period)?;
        let is_channel = |channel: &u8| (11..=26).contains(channel);
        ok(!self.hopping.is_empty() && self.hopping.iter().all(is_channel), ConfigError::Hopping)?;
        ok(self.timeslot.is_possible(), ConfigError::Timeslot)?;
        let mut pools = core::iter::once(self.pool).chain(self.root_pool);
        ok(pools.all(|pool| pool.frames > 0 && pool.upper_layers_fail_from <= pool.frames), ConfigError::Pool)?;
        ok(self.mac.min_be <= self.mac.max_be && self.mac.max_be <= 8, ConfigError::BackOff)?;
        let sixlowpan = &self.sixlowpan;
        // With fewer than 40 bytes compressed headers may not fit, and with more than these a frame is longer than 127 bytes.
        ok((40..=99).contains(&sixlowpan.fragment_len), ConfigError::FragmentLength)?;
        ok((40..=104).contains(&sixlowpan.unfragmented_len), ConfigError::FragmentLength)?;
        ok((1280..=2047).contains(&self.mtu), ConfigError::Mtu)?;
        let is_probability = |share: f64| (0.0..=1.0).contains(&share);
        ok(is_probability(self.loss.frames) && is_probability(self.loss.packets), ConfigError::Probability)?;
        ok(self.radio.links().all(|(.., share)| is_probability(share)), ConfigError::Probability)?;
        ok(self.radio_changes.iter().all(|change| is_probability(change.delivery)), ConfigError::Probability)?;
        ok(!self.motes.is_empty() && self.motes.len() < usize::from(u16::MAX), ConfigError::Motes)?;
        if self.formation.is_some() {
            // Tunnels name nodes by 15 bits.
            ok(self.motes.len() < 1 << 15, ConfigError::Motes)?;
            let (first, others) = self.slotframes.split_first().ok_or(ConfigError::SlotframeLength)?;
            let is_enough = *first >= LEAST_SLOTFRAME && others.iter().all(|other| other == first) && others.len() == 2;
            return ok(is_enough, ConfigError::Slotframes);
        }
        for (number, mote) in (0..).zip(&self.motes) {
            ok(self.reaches_root(number), ConfigError::Parent(number))?;
            ok(mote.cells.iter().all(|cell| self.is_cell(number, cell)), ConfigError::Cell(number))?;
        }
        Ok(())
    }

    fn is_cell(&self, number: u16, cell: &Cell) -> bool {
        let length = self.slotframes.get(usize::from(cell.slotframe)).copied().unwrap_or(0);
        let has_peer = cell.peer.is_some_and(|peer| usize::from(peer) < self.motes.len() && peer != number);
        cell.slot < length && cell.channel_offset < 16 && (has_peer || cell.kind == CellKind::Shared)
    }

    /// Whether the parents of a node lead to the root, and to the root alone.
    fn reaches_root(&self, number: u16) -> bool {
        let mut at = number;
        for _ in 0..=super::MAX_HOPS {
            match self.motes.get(usize::from(at)).map(|mote| mote.parent) {
                Some(None) => return at == 0,
                Some(Some(parent)) => at = parent,
                None => return false,
            }
        }
        false
    }
}

/// Why a mesh cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A slotframe has 1 to 65,535 slots, and there are 1 to 255 slotframes.
    SlotframeLength,
    /// All slotframes begin together again after a million slots at most.
    Period,
    /// A network that forms itself has three slotframes of one length, of 8 slots at least.
    Slotframes,
    /// The hopping sequence has channels from 11 to 26, at least one.
    Hopping,
    /// A timeslot has room for the longest frame and its acknowledgement.
    Timeslot,
    /// A pool has 1 to 255 frames, and upper layers may use as many at most.
    Pool,
    /// The back-off exponents are at most 8, and the least is not above the greatest.
    BackOff,
    /// A fragment has 40 to 99 bytes of a packet, and a packet that is not fragmented 40 to 104.
    FragmentLength,
    /// The MTU is 1,280 to 2,047 bytes (RFC 4944, 4 and 5.3).
    Mtu,
    /// A probability is from 0 to 1.
    Probability,
    /// There are 1 to 65,534 nodes (32,767 if they form a network themselves), and hosts belong to some of them.
    Motes,
    /// The parents of this node do not lead to the root within 33 hops.
    Parent(u16),
    /// A cell of this node is in no slotframe, has a channel offset above 15, or no peer.
    Cell(u16),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SlotframeLength => {
                out.write_str("a slotframe has 1 to 65535 slots, and there are 1 to 255 slotframes")
            }
            Self::Period => out.write_str("all slotframes must begin together again after a million slots at most"),
            Self::Slotframes => out.write_str(
                "a network that forms itself has three slotframes of one length, of 8 slots at least: minimal, autonomous, \
                 negotiated cells",
            ),
            Self::Hopping => out.write_str("a hopping sequence has channels from 11 to 26, at least one"),
            Self::Timeslot => out.write_str("a timeslot must have room for the longest frame and its acknowledgement"),
            Self::Pool => out.write_str("a pool has 1 to 255 frames, and upper layers may use as many at most"),
            Self::BackOff => out.write_str("back-off exponents are at most 8, and the least is not above the greatest"),
            Self::FragmentLength => out
                .write_str("a fragment has 40 to 99 bytes of a packet, and a packet that is not fragmented 40 to 104"),
            Self::Mtu => out.write_str("the MTU of 6LoWPAN is 1280 to 2047 bytes"),
            Self::Probability => out.write_str("a probability is from 0 to 1"),
            Self::Motes => out.write_str("there are 1 to 65534 nodes (32767 if they form a network themselves), and hosts belong to some of them"),
            Self::Parent(mote) => write!(out, "the parents of node {mote} do not lead to the root within 33 hops"),
            Self::Cell(mote) => {
                write!(out, "a cell of node {mote} is in no slotframe, has a channel offset above 15, or no peer")
            }
        }
    }
}

impl core::error::Error for ConfigError {}

/// Returns the address of a node: interface identifiers are those of OpenWSN's motes, 14:15:92:cc:00:00:00:01 and so on.
fn mote_address(prefix: [u8; 8], number: u16) -> Ipv6Addr {
    let mut octets = [0; 16];
    octets[..8].copy_from_slice(&prefix);
    octets[8..14].copy_from_slice(&[0x16, 0x15, 0x92, 0xCC, 0, 0]);
    octets[14..].copy_from_slice(&number.wrapping_add(1).to_be_bytes());
    octets.into()
}

/// The default hopping sequence of the standard for 2.4 GHz (IEEE 802.15.4-2020, 6.2.10; RFC 8180, 4.1, uses it).
const HOPPING: [u8; 16] = [16, 17, 23, 18, 26, 15, 25, 22, 19, 11, 12, 13, 24, 14, 20, 21];

/// SLOTFRAME_LENGTH (RFC 9033, 14).
const SLOTFRAME_LENGTH: u16 = 101;

/// The minimal cell, the autonomous one, a negotiated one, and candidates for another.
const LEAST_SLOTFRAME: u16 = 8;

/// The most slots after which all slotframes begin together again: where a node listens is laid out for as many.
const LONGEST_PERIOD: u64 = 1_000_000;
