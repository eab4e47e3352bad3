//! Packets on their way through the mesh. Their bytes stand here once; frames, fragments and forwarders share them.
//!
//! What must always hold: a packet is in the table as long as a frame, a fragment that waits for others, or its arrival at a node
//! is left of it, and is counted once when nothing is.

use core::ops::Range;
use std::collections::BTreeMap;

use super::config::SixlowpanOptions;
use super::frame::Piece;
use super::slab::Slab;
use crate::cause::Cause;
use crate::conservation::Balance;
use crate::layers::Layers;
use crate::ledger::Kind;
use crate::packet::Packet;
use crate::sixlowpan::routing::{MAX_ROUTERS, Routing, skip, up_len};
use crate::sixlowpan::{Context, FRAG1_LEN, FRAGN_LEN, LONGEST, compress, cut, decompress, fragment_header};
use crate::tcp::Ecn;
use crate::verdict::Verdict;

/// A packet on its way.
#[derive(Clone, Debug)]
pub(super) struct Datagram {
    /// The number of the packet on this medium.
    pub(super) number: u64,
    pub(super) origin: u16,
    pub(super) destination: u16,
    /// The routers and the destination of a packet that goes down, from the first hop on; none for a packet that goes up.
    pub(super) route: Vec<u16>,
    pub(super) kind: Kind,
    len: usize,
    hop_limit: u8,
    /// The compressed packet, with the routing headers of the first hop.
    bytes: Vec<u8>,
    routing_len: usize,
    saved: usize,
    layers: Layers,
    cuts: Vec<Range<usize>>,
    tag: u16,
    context: Context,
    /// Whether a router has marked it (RFC 3168, 5), or need not any more.
    is_marked: bool,
    /// The frames, fragments and arrivals that are left.
    live: u32,
    has_arrived: bool,
    /// Why the first of its frames was lost, if one was.
    cause: Option<Cause>,
}

/// How a packet goes through the mesh.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) origin: u16,
    pub(super) destination: u16,
    pub(super) route: Vec<u16>,
    /// The interface identifiers of the routers on the way down.
    pub(super) routers: Vec<[u8; 8]>,
    /// The Rank of the origin, for a packet that goes up.
    pub(super) rank: u16,
}

impl Datagram {
    /// Compresses a packet, and cuts it into fragments if it is too long for a frame.
    pub(super) fn new(
        packet: &Packet,
        kind: Kind,
        way: Way,
        (number, tag): (u64, u16),
        options: &SixlowpanOptions,
    ) -> Result<Self, Cause> {
        if !packet.is_ipv6() {
            return Err(Cause::NotCarried);
        }
        if way.routers.len() > MAX_ROUTERS {
            return Err(Cause::Misdirected);
        }
        let compresses_udp = way.route.is_empty() || options.gateway_compresses_udp;
        let context = Context { from: None, to: None, prefix: Some(options.prefix), compresses_udp };
        let routing = match way.route.is_empty() {
            true => Routing::Up { sender_rank: way.rank, rank_error: false },
            false => Routing::Down { routers: &way.routers },
        };
        let compressed = compress(packet, &context);
        let routing_len = routing.len();
        let mut bytes = Vec::with_capacity(routing_len + compressed.bytes.len());
        routing.encode(&mut bytes);
        bytes.extend(&compressed.bytes);
        let saved = packet.len() - compressed.bytes.len();
        let layers = Layers { network: compressed.layers.network + routing_len, ..compressed.layers };
        let cuts: Vec<Range<usize>> = if bytes.len() <= options.unfragmented_len {
            core::iter::once(0..bytes.len()).collect()
        } else if packet.len() > usize::from(LONGEST) {
            return Err(Cause::TooLong);
        } else {
            // Offsets count from the beginning of the IPv6 header, in front of which nothing stands there.
            let (len, header_len) = (compressed.bytes.len(), compressed.header_len);
            let first = options.fragment_len.saturating_sub(routing_len);
            let cuts = cut(len, header_len, saved, [first, options.fragment_len]).ok_or(Cause::TooLong)?;
            let shifted = |(index, range): (usize, Range<usize>)| {
                let from = if index == 0 { 0 } else { range.start + routing_len };
                from..range.end + routing_len
            };
            cuts.into_iter().enumerate().map(shifted).collect()
        };
        if cuts.len() > MAX_PIECES {
            return Err(Cause::TooLong);
        }
        let Way { origin, destination, route, .. } = way;
        let (len, live, hop_limit) = (packet.len(), 0, packet.hop_limit());
        let (is_marked, has_arrived, cause) = (packet.ecn() == Ecn::NotEct, false, None);
        Ok(Self {
            number,
            origin,
            destination,
            route,
            kind,
            len,
            hop_limit,
            bytes,
            routing_len,
            saved,
            layers,
            cuts,
            tag,
            context,
            is_marked,
            live,
            has_arrived,
            cause,
        })
    }

    /// Returns the number of frames on each hop.
    pub(super) fn pieces(&self) -> u8 {
        self.cuts.len() as u8 // at most `MAX_PIECES`
    }

    /// Whether the packet is fragmented.
    pub(super) fn is_fragmented(&self) -> bool {
        self.cuts.len() > 1
    }

    /// Whether the packet goes up, to the gateway.
    pub(super) fn goes_up(&self) -> bool {
        self.route.is_empty()
    }

    /// Returns the layers of a frame with a piece; [`super::frame::OVERHEAD`] is part of it.
    pub(super) fn layers(&self, piece: &Piece) -> Layers {
        let Range { start, end } = self.cuts[usize::from(piece.index)].clone();
        let mut layers = self.layers.part(start, end);
        if piece.index == 0 {
            layers.network = layers.network + self.routing_len_of(piece) - self.routing_len;
            layers.network = layers.network + in_line(self.hop_limit_after(piece.hop)) - in_line(self.hop_limit);
        }
        if self.is_fragmented() {
            layers.network += if piece.index == 0 { FRAG1_LEN } else { FRAGN_LEN };
        }
        layers.link = super::frame::OVERHEAD;
        layers
    }

    /// Returns the hop limit after so many routers: each decrements it (RFC 8200, 3).
    pub(super) fn hop_limit_after(&self, routers: u8) -> u8 {
        self.hop_limit.saturating_sub(routers)
    }

    /// Returns what a frame carries after its MAC header, after so many routers.
    pub(super) fn payload(&self, piece: u8, hop: u8, routing: &Routing<'_>) -> Vec<u8> {
        let Range { start, end } = self.cuts[usize::from(piece)].clone();
        let mut bytes = Vec::new();
        if self.is_fragmented() {
            let offset = if piece == 0 { 0 } else { start - self.routing_len + self.saved };
            let size = self.len as u16; // not longer than `LONGEST`
            bytes.extend(fragment_header(size, self.tag, offset).unwrap_or_default());
        }
        if piece == 0 {
            routing.encode(&mut bytes);
            // Only 1, 64 and 255 are compressed, so that the headers may be a byte longer than they were.
            let end = end - self.routing_len + in_line(self.hop_limit_after(hop)) - in_line(self.hop_limit);
            let compressed = self.decode(hop).map(|packet| compress(&packet, &self.context).bytes);
            bytes.extend(compressed.as_ref().and_then(|bytes| bytes.get(..end)).unwrap_or_default());
        } else {
            bytes.extend(&self.bytes[start..end]);
        }
        bytes
    }

    /// Returns the packet, as it is decoded after so many routers.
    pub(super) fn decode(&self, routers: u8) -> Option<Packet> {
        let compressed = skip(&self.bytes)?;
        let size = self.is_fragmented().then_some(self.len);
        let mut packet = Packet::parse(decompress(compressed, size, &self.context)?).ok()?;
        packet.set_hop_limit(self.hop_limit_after(routers));
        Some(packet)
    }

    /// Marks the packet, if its transport understands that and it is not marked yet. Returns whether it did. The length stays: the
    /// traffic class was in line already.
    pub(super) fn mark_congestion(&mut self) -> bool {
        if core::mem::replace(&mut self.is_marked, true) {
            return false;
        }
        let Some(mut packet) = self.decode(0) else { return false };
        packet.mark_congestion();
        self.bytes.truncate(self.routing_len);
        self.bytes.extend(compress(&packet, &self.context).bytes);
        true
    }

    fn routing_len_of(&self, piece: &Piece) -> usize {
        let (hops, hop) = (self.route.len(), usize::from(piece.hop));
        match hops {
            0 => up_len(piece.information.sender_rank),
            _ => match hops - 1 - hop.min(hops - 1) {
                0 => 1,
                routers => 3 + 8 * routers,
            },
        }
    }
}

/// All packets on their way, and their balance.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    all: Slab<Datagram>,
    pub(super) balance: Balance,
    /// The packets that were dropped, by cause, without those of the network itself.
    pub(super) dropped: BTreeMap<Cause, u64>,
}

impl Datagrams {
    /// Adds a packet with so many frames.
    pub(super) fn insert(&mut self, datagram: Datagram) -> u32 {
        let live = datagram.pieces().into();
        self.all.insert(Datagram { live, ..datagram })
    }

    /// Returns a packet.
    pub(super) fn get(&self, place: u32) -> Option<&Datagram> {
        self.all.get(place)
    }

    /// Returns a packet for changes.
    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut Datagram> {
        self.all.get_mut(place)
    }

    /// Notes that there is one frame more: a node has a copy.
    pub(super) fn copied(&mut self, place: u32) {
        if let Some(datagram) = self.all.get_mut(place) {
            datagram.live += 1;
        }
    }

    /// Notes that so many frames are gone, which arrived or were lost for a `cause`.
    pub(super) fn gone(&mut self, place: u32, frames: u32, cause: Option<Cause>) {
        let Some(datagram) = self.all.get_mut(place) else { return };
        datagram.cause = datagram.cause.or(cause);
        datagram.live = datagram.live.saturating_sub(frames);
        if datagram.live == 0 {
            if !datagram.has_arrived {
                let (cause, len, kind) = (datagram.cause.unwrap_or(Cause::Lost), datagram.len, datagram.kind);
                self.drop_one(cause, len, Some(kind));
            }
            self.all.remove(place);
        }
    }

    /// Notes that a packet is dropped, whose kind may be known.
    pub(super) fn drop_one(&mut self, cause: Cause, len: usize, kind: Option<Kind>) {
        self.balance.drop_one(cause, len);
        if kind.is_none_or(|kind| !kind.is_of_network()) {
            *self.dropped.entry(cause).or_default() += 1;
        }
    }

    /// Notes the verdict of the node at which a packet arrived. That arrival counts as a frame that is gone.
    pub(super) fn arrived(&mut self, place: u32, verdict: Verdict) {
        let Some(datagram) = self.all.get_mut(place) else { return };
        // A frame whose acknowledgement was lost comes again, and a node that has begun anew does not know it any more.
        if core::mem::replace(&mut datagram.has_arrived, true) {
            self.balance.duplicated.add(datagram.len);
        }
        match verdict {
            Verdict::Delivered => self.balance.delivered.add(datagram.len),
            Verdict::Forwarded => self.balance.forwarded.add(datagram.len),
            Verdict::Dropped(cause) => {
                let (len, kind) = (datagram.len, datagram.kind);
                self.drop_one(cause, len, Some(kind));
            }
        }
        self.gone(place, 1, None);
    }

    /// Returns the balance with everything that is under way.
    pub(super) fn balance(&self) -> Balance {
        let mut balance = self.balance.clone();
        for datagram in self.all.iter().filter(|datagram| !datagram.has_arrived) {
            balance.queued.add(datagram.len);
        }
        balance
    }
}

/// Returns how many bytes a hop limit takes in LOWPAN_IPHC (RFC 6282, 3.1.1).
const fn in_line(hop_limit: u8) -> usize {
    match hop_limit {
        1 | 64 | 255 => 0,
        _ => 1,
    }
}

/// The most fragments of a packet: one bit of a word for each.
pub(super) const MAX_PIECES: usize = 64;

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::tsch::MeshConfig;

    #[test]
    fn a_packet_that_arrives_twice_is_counted_as_a_duplicate() {
        let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        let packet = Packet::udp(address("[bbbb::2]:61616"), address("[bbbb::1]:61617"), b"report").expect("a packet");
        let options = MeshConfig::openwsn([0xBB, 0xBB, 0, 0, 0, 0, 0, 0]).sixlowpan;
        let way = Way { origin: 1, destination: 0, route: Vec::new(), routers: Vec::new(), rank: 512 };
        let datagram = Datagram::new(&packet, Kind::Datagram, way, (7, 0), &options).expect("it fits into a frame");
        let mut datagrams = Datagrams::default();
        datagrams.balance.sent.add(packet.len());
        let place = datagrams.insert(datagram);
        datagrams.copied(place);
        for arrival in 0..2 {
            datagrams.arrived(place, Verdict::Delivered);
            assert!(datagrams.balance().holds(), "after arrival {arrival}: {:?}", datagrams.balance());
        }
        assert_eq!((datagrams.balance.duplicated.number, datagrams.balance.delivered.number), (1, 2));
        assert!(datagrams.get(place).is_none(), "nothing is left of it");
    }
}
