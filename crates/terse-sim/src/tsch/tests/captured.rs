//! Captures of networks that form themselves: every frame and every packet in them is read back as what the ledger says it is.

use std::collections::BTreeMap;

use smoltcp::wire::{Ieee802154Address, Ieee802154Frame, Ieee802154FrameType, IpProtocol, SixlowpanFragPacket};

use super::forming::{form, grid};
use super::*;
use crate::capture::{Entry, View};
use crate::direction::Direction;
use crate::link::ieee802154::with_fcs;
use crate::rpl::{self, link_local};
use crate::sixlowpan::routing::skip;
use crate::sixlowpan::{Context, decompress};
use crate::sixtop::message::{Body, Command, Message, ReturnCode};
use crate::synchronization::EnhancedBeacon;

/// What a frame is, by its bytes alone.
#[derive(Debug)]
enum Content {
    Acknowledgement,
    Beacon(EnhancedBeacon),
    KeepAlive,
    Sixp(Message),
    /// A whole packet.
    Packet(Packet),
    /// A fragment, and the packet if this was the last one of those that a node has sent to another one.
    Fragment(Option<Packet>),
}

/// A captured frame that was read.
#[derive(Debug)]
struct Read {
    at: Time,
    asn: Asn,
    channel: u8,
    from: u16,
    /// The receiver; `None` for all.
    to: Option<u16>,
    sequence: u8,
    is_lost: bool,
    content: Content,
}

/// Reads the frames of one network, in the order of time.
struct Reader {
    config: MeshConfig,
    /// The command of the latest request that a node has sent to another one with a sequence number.
    commands: BTreeMap<(u16, u16, u8), Command>,
    /// The fragments that a node has sent to another one with a tag, by their offsets.
    fragments: BTreeMap<(u16, u16, u16), BTreeMap<usize, Vec<u8>>>,
}

impl Reader {
    fn new(config: &MeshConfig) -> Self {
        Self { config: config.clone(), commands: BTreeMap::new(), fragments: BTreeMap::new() }
    }

    fn read(&mut self, entry: &Entry) -> Read {
        let (asn, channel, bytes) = tap(&entry.bytes);
        let (content, fcs) = bytes.split_at(bytes.len() - 2);
        assert_eq!(with_fcs(content.to_vec())[content.len()..], *fcs);
        let frame = Ieee802154Frame::new_checked(content).expect("a frame");
        assert!(!frame.security_enabled() && !frame.sequence_number_suppression() && !frame.frame_pending());
        assert_eq!(frame.dst_pan_id().map(|pan| pan.0), Some(self.config.mac.pan));
        assert_eq!(frame.src_pan_id(), None);
        let from = self.number_of(frame.src_addr()).expect("an extended address");
        let to = self.number_of(frame.dst_addr());
        let header_len = if to.is_some() { 21 } else { 15 };
        let rest = &content[header_len..];
        let is_data = frame.frame_type() == Ieee802154FrameType::Data;
        assert_eq!(frame.ack_request(), is_data && to.is_some());
        let content = match (frame.frame_type(), frame.ie_present(), to) {
            (Ieee802154FrameType::Acknowledgement, true, Some(_)) => Content::Acknowledgement,
            (Ieee802154FrameType::Beacon, true, None) => {
                Content::Beacon(EnhancedBeacon::parse(bytes).expect("a beacon"))
            }
            (Ieee802154FrameType::Data, true, Some(to)) => Content::Sixp(self.read_sixp(from, to, rest)),
            (Ieee802154FrameType::Data, false, Some(_)) if rest.is_empty() => Content::KeepAlive,
            (Ieee802154FrameType::Data, false, _) => self.read_packet(from, to, rest),
            other => panic!("{other:?}"),
        };
        let sequence = frame.sequence_number().expect("it is not suppressed");
        Read { at: entry.at, asn, channel, from, to, sequence, is_lost: entry.lost, content }
    }

    /// Returns the node with an address; `None` for all nodes.
    fn number_of(&self, address: Option<Ieee802154Address>) -> Option<u16> {
        match address {
            Some(Ieee802154Address::Extended(eui64)) => {
                let position = self.config.motes.iter().position(|mote| eui64_of(mote.address) == eui64);
                Some(position.expect("an address of a node") as u16)
            }
            Some(Ieee802154Address::Short([0xFF, 0xFF])) => None,
            other => panic!("{other:?}"),
        }
    }

    fn read_sixp(&mut self, from: u16, to: u16, elements: &[u8]) -> Message {
        // A request says its command itself.
        let message = Message::parse(elements, Command::Clear);
        if let Ok(Message { seq_num, body: Body::Request(request), .. }) = message {
            self.commands.insert((from, to, seq_num), request.command());
            return message.expect("it is one");
        }
        // Version and type, code, SFID, SeqNum after the header termination, the descriptor and the subtype.
        let (kind, code, seq_num) = (elements[5] >> 4, ReturnCode(elements[6]), elements[8]);
        let asker = if kind == 1 { (to, from, seq_num) } else { (from, to, seq_num) };
        let command = match self.commands.get(&asker) {
            Some(command) => *command,
            // RFC 8480, 3.4.6.2: the SeqNum is that of the sender. Nothing follows the header of an error.
            None if code == ReturnCode::RC_ERR_SEQNUM => Command::Clear,
            None => panic!("{from} answers {to} without a request: {elements:?}"),
        };
        let message = Message::parse(elements, command).expect("a 6P message");
        assert_eq!(matches!(message.body, Body::Response(..)), kind == 1);
        message
    }

    fn read_packet(&mut self, from: u16, to: Option<u16>, bytes: &[u8]) -> Content {
        let whole = |bytes: Vec<u8>| Packet::parse(bytes).expect("a whole packet");
        let Some(to) = to else {
            let eui64 = eui64_of(self.config.motes[usize::from(from)].address);
            let context = Context { from: Some(eui64), to: None, prefix: None, compresses_udp: true };
            return Content::Packet(whole(decompress(bytes, None, &context).expect("a compressed packet")));
        };
        let prefix = Some(self.config.sixlowpan.prefix);
        let context = Context { from: None, to: None, prefix, compresses_udp: true };
        let restore = |bytes: &[u8], size: Option<usize>| {
            let compressed = skip(bytes).expect("routing headers");
            decompress(compressed, size, &context).expect("a compressed packet")
        };
        // RFC 4944, 5.3.
        let (offset, content, size) = match (bytes[0] >> 3, SixlowpanFragPacket::new_checked(bytes)) {
            (0b1_1000, Ok(first)) => {
                let size = usize::from(first.datagram_size());
                (0, restore(first.payload(), Some(size)), size)
            }
            (0b1_1100, Ok(other)) => {
                let offset = 8 * usize::from(other.datagram_offset());
                (offset, other.payload().to_vec(), other.datagram_size().into())
            }
            _ => return Content::Packet(whole(restore(bytes, None))),
        };
        let tag = u16::from_be_bytes([bytes[2], bytes[3]]);
        let fragments = self.fragments.entry((from, to, tag)).or_default();
        fragments.insert(offset, content);
        let mut packet = Vec::new();
        for (offset, content) in fragments.iter() {
            assert!(*offset >= packet.len(), "fragments do not overlap");
            if *offset == packet.len() {
                packet.extend(content);
            }
        }
        assert!(packet.len() <= size);
        Content::Fragment((packet.len() == size).then(|| whole(packet)))
    }
}

/// Reads the header of link type 283, and returns the slot, the channel, and the frame.
fn tap(bytes: &[u8]) -> (Asn, u8, &[u8]) {
    assert_eq!(bytes[..2], [0, 0], "the version");
    let len = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
    let (mut list, frame) = (&bytes[4..len], &bytes[len..]);
    let (mut asn, mut channel) = (None, None);
    while let [kind, 0, len, 0, rest @ ..] = list {
        match (kind, len) {
            (0, 1) => assert_eq!(rest[0], 1, "an FCS of 16 bits"),
            (3, 3) => channel = Some(rest[0]),
            (7, 8) => asn = rest.first_chunk().map(|asn| Asn(u64::from_le_bytes(*asn))),
            other => panic!("{other:?}"),
        }
        list = &rest[usize::from(*len).next_multiple_of(4)..];
    }
    (asn.expect("a slot"), channel.expect("a channel"), frame)
}

impl Read {
    /// Returns the packet that is complete with this frame.
    const fn packet(&self) -> Option<&Packet> {
        match &self.content {
            Content::Packet(packet) | Content::Fragment(Some(packet)) => Some(packet),
            _ => None,
        }
    }

    /// Returns the kind of the frame; `None` for a fragment that leaves it open.
    fn kind(&self) -> Option<Kind> {
        Some(match &self.content {
            Content::Acknowledgement => Kind::LinkAcknowledgement,
            Content::Beacon(_) => Kind::Beacon,
            Content::KeepAlive => Kind::KeepAlive,
            Content::Sixp(_) => Kind::Sixp,
            Content::Fragment(None) => return None,
            Content::Packet(packet) | Content::Fragment(Some(packet)) => match packet.protocol() {
                IpProtocol::Udp => Kind::Datagram,
                _ => match message_of(packet) {
                    rpl::Message::Dis(_) => Kind::Dis,
                    rpl::Message::Dio(_) => Kind::Dio,
                    rpl::Message::Dao(_) => Kind::Dao,
                    rpl::Message::DaoAck(_) => Kind::DaoAck,
                },
            },
        })
    }
}

fn message_of(packet: &Packet) -> rpl::Message {
    assert_eq!(packet.protocol(), IpProtocol::Icmpv6);
    let (source, destination) = ends(packet);
    rpl::Message::parse(source, destination, packet.payload()).expect("a message of RPL")
}

fn ends(packet: &Packet) -> (Ipv6Addr, Ipv6Addr) {
    match (packet.source(), packet.destination()) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => (source, destination),
        other => panic!("{other:?}"),
    }
}

/// What a network has captured: all frames, the packets, and the frames of each node.
struct Captures {
    frames: Vec<Entry>,
    packets: Vec<Entry>,
    nodes: Vec<Vec<Entry>>,
}

fn begin(network: &mut Network<Script>, mesh: LinkId) {
    network.capture(mesh, View::Frames);
    network.capture(mesh, View::Packets);
    let nodes = network.mesh(mesh).expect("a mesh").config().motes.len();
    (0..nodes as u16).for_each(|node| network.capture_node(mesh, node));
}

fn end(network: &Network<Script>, mesh: LinkId) -> Captures {
    let mut all = network.mesh(mesh).expect("a mesh").captures().map(|capture| {
        let mut entries = capture.entries().to_vec();
        entries.sort_by_key(|entry| entry.at);
        entries
    });
    let (frames, packets) = (all.next().expect("a capture"), all.next().expect("a capture"));
    Captures { frames, packets, nodes: all.collect() }
}

/// Runs a network which does everything that one can: it forms itself, packets go both ways, a tunnel is opened, a node dies and
/// comes back.
fn busy(mut config: MeshConfig, seed: u64) -> (Network<Script>, LinkId, Captures) {
    config.slotframes = vec![31; 3];
    let last = config.motes.len() as u16 - 1;
    let (mut network, mesh, nodes) = world(config.clone(), seed);
    begin(&mut network, mesh);
    let formed = form(&mut network, mesh, 4_000);
    for node in 1..=last {
        let at = formed + Duration::from_secs(10 * u64::from(node));
        for len in [40, 300] {
            let (up, down) = (datagram(&config, node, true, len), datagram(&config, node, false, len));
            network.node_mut(nodes[usize::from(node)]).to_send.push_back((at, up));
            network.node_mut(nodes[0]).to_send.push_back((at, down));
        }
    }
    network.run_for(Duration::from_secs(100));
    assert!(network.open_tunnel(mesh, last, 2, Direction::Up));
    network.run_for(Duration::from_secs(200));
    let relay = network.mesh(mesh).and_then(|mesh| mesh.parent(last)).expect("a relay");
    network.switch_off(mesh, relay);
    network.run_for(Duration::from_secs(300));
    network.switch_on(mesh, relay);
    network.run_for(Duration::from_secs(300));
    let captures = end(&network, mesh);
    (network, mesh, captures)
}

/// How often something was captured.
#[derive(Debug, Default)]
struct Counts {
    kinds: BTreeMap<Kind, usize>,
    commands: BTreeMap<Command, usize>,
    answers: usize,
    /// Packets that came together from fragments, by their kinds.
    fragmented: BTreeMap<Kind, usize>,
}

/// The sequence numbers that nodes have used.
#[derive(Default)]
struct Sequences {
    beacons: BTreeMap<u16, u8>,
    data: BTreeMap<u16, u8>,
    /// The number of the latest frame from a node to another one, or to all.
    latest: BTreeMap<(u16, Option<u16>), u8>,
}

impl Sequences {
    /// Checks that each frame has the next number of its sender, and a repetition that of the frame before.
    fn check(&mut self, read: &Read, attempt: u8) {
        let next = match &read.content {
            Content::Acknowledgement => return,
            Content::Beacon(_) => self.beacons.entry(read.from).or_default(),
            _ if attempt > 0 => {
                return assert_eq!(self.latest.get(&(read.from, read.to)), Some(&read.sequence), "{read:?}");
            }
            _ => {
                self.latest.insert((read.from, read.to), read.sequence);
                self.data.entry(read.from).or_default()
            }
        };
        assert_eq!(read.sequence, *next, "{read:?}");
        *next = next.wrapping_add(1);
    }
}

/// Checks every captured frame against its record and the standards.
fn check_frames(config: MeshConfig, seed: u64, counts: &mut Counts) {
    let (network, mesh, captures) = busy(config, seed);
    let config = network.mesh(mesh).expect("a mesh").config();
    let address = |number: u16| config.motes[usize::from(number)].address;
    let mut records = network.ledger(mesh).records().to_vec();
    records.sort_by_key(|record| record.at);
    assert_eq!(captures.frames.len(), records.len());
    let mut reader = Reader::new(config);
    let mut slot: Vec<Read> = Vec::new();
    let mut sequences = Sequences::default();
    for (entry, record) in captures.frames.iter().zip(&records) {
        let read = reader.read(entry);
        let context = format!("{read:?} {record:?}");
        assert_eq!(tap(&entry.bytes).2.len(), record.layers.sum(), "{context}");
        assert_eq!((entry.at, entry.direction, read.from), (record.at, record.direction, record.sender), "{context}");
        assert_eq!(entry.lost, record.fate != Fate::Delivered, "{context}");
        assert_eq!(read.kind().unwrap_or(record.kind), record.kind, "{context}");
        *counts.kinds.entry(record.kind).or_default() += 1;
        let [begin, end] = [read.asn, read.asn + 1].map(|asn| config.timeslot.start(asn));
        assert!(begin < entry.at && entry.at < end && config.hopping.contains(&read.channel), "{context}");
        sequences.check(&read, record.attempt);
        slot.retain(|other| other.asn == read.asn);
        match &read.content {
            Content::Acknowledgement => {
                assert_eq!(record.fragment, None, "{context}");
                // The addresses are exchanged; the sequence number and the channel are those of the frame.
                let of = slot.iter().filter(|of| (Some(of.from), of.to) == (read.to, Some(read.from)));
                let of: Vec<_> = of.map(|of| (of.sequence, of.channel)).collect();
                assert_eq!(of, [(read.sequence, read.channel)], "{context}");
            }
            Content::Beacon(beacon) => {
                let (pan, length, metric) = (config.mac.pan, config.slotframes[0], beacon.join_metric);
                let eui64 = eui64_of(address(read.from));
                let expected = EnhancedBeacon::minimal(pan, eui64, read.asn.0, metric, length);
                assert_eq!(*beacon, EnhancedBeacon { sequence: read.sequence, ..expected }, "{context}");
                assert_eq!(metric == 0, read.from == 0, "the root's Rank is the lowest: {context}");
            }
            Content::Sixp(Message { body: Body::Request(request), .. }) => {
                *counts.commands.entry(request.command()).or_default() += 1;
            }
            Content::Sixp(_) => counts.answers += 1,
            Content::Packet(_) => assert_eq!(record.fragment, None, "{context}"),
            Content::Fragment(packet) => {
                assert!(record.fragment.is_some(), "{context}");
                *counts.fragmented.entry(record.kind).or_default() += usize::from(packet.is_some());
            }
            Content::KeepAlive => {}
        }
        if let Some(packet) = read.packet() {
            assert!(packet.checksum_is_right(), "{context}");
            let (source, destination) = ends(packet);
            let (goes_up, from) = (record.direction == Direction::Up, address(read.from));
            match record.kind {
                Kind::Dis | Kind::Dio => {
                    assert_eq!((read.to, source, destination), (None, link_local(from), ALL_RPL_NODES), "{context}");
                    assert_eq!(packet.hop_limit(), 255, "{context}");
                }
                _ => {
                    let gateway = if record.kind == Kind::Datagram { server() } else { address(0) };
                    let is_first_hop = if goes_up { source == from } else { read.from == 0 };
                    assert_eq!(if goes_up { destination } else { source }, gateway, "{context}");
                    // Each router takes one (RFC 8200, 3).
                    assert_eq!(packet.hop_limit() == 64, is_first_hop, "{context}");
                    assert!(packet.hop_limit() <= 64, "{context}");
                }
            }
            if record.kind == Kind::Dao
                && let rpl::Message::Dao(dao) = message_of(packet)
            {
                assert!(dao.advertisements.iter().flat_map(|all| &all.targets).all(|of| of.prefix == source));
            }
        }
        slot.extend((!matches!(read.content, Content::Acknowledgement)).then_some(read));
    }
}

#[test]
fn every_captured_frame_is_what_the_ledger_says() {
    let mut counts = Counts::default();
    for seed in 1..=4 {
        check_frames(grid(4, 2, 0.9), seed, &mut counts);
    }
    // With so many routers in its header, a DAO-ACK does not fit into a frame.
    check_frames(grid(12, 1, 0.95), 5, &mut counts);
    for kind in Kind::OF_NETWORK.into_iter().chain([Kind::LinkAcknowledgement, Kind::Datagram]) {
        assert!(counts.kinds.contains_key(&kind), "{kind:?} of {counts:?}");
    }
    let has = |command| counts.commands.contains_key(&command);
    assert!(has(Command::Add) && has(Command::Clear) && counts.answers > 0, "{counts:?}");
    let reassembled = |kind| counts.fragmented.get(&kind).is_some_and(|packets| *packets > 0);
    assert!(reassembled(Kind::Datagram) && reassembled(Kind::DaoAck), "{counts:?}");
}

#[test]
fn every_packet_at_the_gateway_is_read_back() {
    let (network, mesh, captures) = busy(grid(4, 2, 0.9), 2);
    let root = network.mesh(mesh).expect("a mesh").config().motes[0].address;
    let mut counts = [0; 4];
    for entry in &captures.packets {
        let packet = Packet::parse(entry.bytes.clone()).expect("a packet");
        assert!(packet.checksum_is_right());
        let (source, destination) = ends(&packet);
        let goes_up = entry.direction == Direction::Up;
        let index = match packet.protocol() {
            IpProtocol::Udp => usize::from(goes_up),
            _ => match message_of(&packet) {
                rpl::Message::Dao(_) if goes_up && destination == root => 2,
                rpl::Message::DaoAck(_) if !goes_up && source == root => 3,
                other => panic!("{other:?} {:?}", entry.direction),
            },
        };
        counts[index] += 1;
    }
    assert!(counts.iter().all(|count| *count > 4), "{counts:?}");
}

#[test]
fn the_capture_of_a_node_has_what_it_sent_and_received() {
    let (network, mesh, captures) = busy(grid(4, 2, 0.9), 3);
    let mut reader = Reader::new(network.mesh(mesh).expect("a mesh").config());
    let mut rest: Vec<_> = captures.nodes.iter().map(|entries| entries.iter().peekable()).collect();
    for entry in &captures.frames {
        let read = reader.read(entry);
        let nodes: Vec<u16> = (0..8).filter(|node| rest[usize::from(*node)].next_if_eq(&entry).is_some()).collect();
        match read.to {
            Some(to) => assert_eq!(nodes, [read.from.min(to), read.from.max(to)], "{read:?}"),
            None => {
                // Some of the neighbours have heard it, unless it was lost.
                assert!(nodes.contains(&read.from), "{read:?} {nodes:?}");
                assert_eq!(nodes.len() > 1, !read.is_lost, "{read:?} {nodes:?}");
                let of_mesh = network.mesh(mesh).expect("a mesh");
                let others = nodes.iter().filter(|node| **node != read.from);
                assert!(others.copied().all(|to| of_mesh.config().radio.delivery(read.from, to, read.channel) > 0.0));
            }
        }
    }
    assert!(rest.iter_mut().all(|rest| rest.next().is_none()), "no frame is in the capture of a node alone");
}

/// On a chain without losses, a node that listens hears every broadcast of a neighbour, unless others send in the same slot.
#[test]
fn the_capture_of_a_node_has_all_broadcasts_of_its_neighbours() {
    let (mut network, mesh, _) = world(grid(4, 1, 1.0), 4);
    begin(&mut network, mesh);
    form(&mut network, mesh, 2_000);
    network.run_for(Duration::from_secs(300));
    let captures = end(&network, mesh);
    let of_mesh = network.mesh(mesh).expect("a mesh");
    let mut reader = Reader::new(of_mesh.config());
    let reads: Vec<Read> = captures.frames.iter().map(|entry| reader.read(entry)).collect();
    for node in 0..4_u16 {
        let joined_at = of_mesh.statistics(node).and_then(|statistics| statistics.joined_at).unwrap_or(Time::ZERO);
        let mut counts = [0; 3];
        for (entry, read) in captures.frames.iter().zip(&reads) {
            let is_alone = reads.iter().filter(|other| other.at == read.at).count() == 1;
            if read.to.is_some() || read.from == node || !is_alone {
                continue;
            }
            let is_there = captures.nodes[usize::from(node)].contains(entry);
            let is_neighbour = read.from.abs_diff(node) == 1;
            if read.at < joined_at {
                // A node that scans listens on one channel, for beacons.
                assert!(!is_there || is_neighbour && matches!(read.content, Content::Beacon(_)), "{node}: {read:?}");
                counts[0] += usize::from(is_there);
            } else {
                assert_eq!(is_there, is_neighbour, "{node}: {read:?}");
                counts[if is_there { 1 } else { 2 }] += 1;
            }
        }
        assert_eq!(counts[0] > 0, node != 0, "it has joined by a beacon");
        assert!(counts[1] > 10 && counts[2] > 10, "{node}: {counts:?}");
    }
}

/// The group of all RPL nodes (RFC 6550, 6).
const ALL_RPL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1A);
