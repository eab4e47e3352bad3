//! Traffic on a link is taken apart by layer and by purpose, in captures of a kernel and of the simulator alike.

use core::ops::Add;
use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::path::Path;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};
use terse_sim::ledger::Layers;
use terse_sim::packet::Packet;
use terse_sim::tcp::{Segment, SequenceNumber};

/// The header of Ethernet (DIX): two addresses and a type.
const ETHERNET: usize = 14;

/// Packets of one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) packets: usize,
    pub(crate) layers: Layers,
}

/// One connection, in both directions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) syn: Sum,
    pub(crate) data: Sum,
    /// FINs without data.
    pub(crate) fin: Sum,
    pub(crate) pure_acks: Sum,
    /// Segments whose sequence numbers were sent before.
    pub(crate) retransmissions: Sum,
    pub(crate) resets: Sum,
    /// The payloads of the client's data, in order.
    pub(crate) from_client: Vec<usize>,
    /// The payloads of the server's data, in order.
    pub(crate) from_server: Vec<usize>,
    /// Whether both sides have finished, and know it of each other.
    pub(crate) is_over: bool,
}

impl Add for Sum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, layers: self.layers + other.layers }
    }
}

/// One direction of a connection.
#[derive(Clone, Copy, Default)]
struct Way {
    next: Option<SequenceNumber>,
    fin: Option<SequenceNumber>,
    acknowledged: Option<SequenceNumber>,
}

impl Traffic {
    /// Returns the last connection in a file of tcpdump, which may still be growing.
    pub(crate) fn of_tcpdump(path: &Path) -> Self {
        let mut frames = Vec::new();
        if let Ok(mut reader) = File::open(path).map_err(drop).and_then(|file| PcapReader::new(file).map_err(drop)) {
            while let Some(Ok(packet)) = reader.next_packet() {
                frames.push(packet.data().to_owned());
            }
        }
        Self::new(&frames)
    }

    /// Returns the connections in a file of `terse compare`, by the client's address: one for each row.
    pub(crate) fn of_compare(path: &Path) -> Vec<Self> {
        let mut rows: BTreeMap<IpAddr, Vec<Vec<u8>>> = BTreeMap::new();
        let mut reader = PcapNgReader::new(File::open(path).unwrap()).unwrap();
        while let Some(block) = reader.next_block() {
            if let (Block::EnhancedPacket(block), _) = block.unwrap() {
                let frame = block.data.into_owned();
                let packet = Packet::parse(frame[ETHERNET..].to_vec()).unwrap();
                let server_sends = Segment::parse(packet.payload()).unwrap().source_port < EPHEMERAL;
                let client = if server_sends { packet.destination() } else { packet.source() };
                rows.entry(client).or_default().push(frame);
            }
        }
        rows.values().map(|frames| Self::new(frames)).collect()
    }

    /// Parses all TCP segments in `frames`, which are of one connection.
    fn new(frames: &[Vec<u8>]) -> Self {
        let mut traffic = Self::default();
        let mut ways = [Way::default(); 2];
        for frame in frames {
            let packet = Packet::parse(frame[ETHERNET..].to_vec()).expect("an IP packet that fills its frame");
            assert!(packet.checksum_is_right(), "offloading must be off");
            let segment = Segment::parse(packet.payload()).expect("a segment of TCP");
            let from_server = segment.source_port < EPHEMERAL;
            let len = segment.payload.len();
            let seen = ways[usize::from(from_server)].next.is_some_and(|next| next.is_after(segment.sequence));
            let sum = if segment.flags.rst {
                &mut traffic.resets
            } else if segment.sequence_len() == 0 {
                &mut traffic.pure_acks
            } else if seen {
                &mut traffic.retransmissions
            } else if segment.flags.syn {
                &mut traffic.syn
            } else if len == 0 {
                &mut traffic.fin
            } else {
                if from_server { &mut traffic.from_server } else { &mut traffic.from_client }.push(len);
                &mut traffic.data
            };
            *sum = *sum + Sum { packets: 1, layers: Layers { link: ETHERNET, ..packet.layers() } };
            ways[usize::from(from_server)].note(&segment);
        }
        let [client, server] = ways;
        traffic.is_over = client.is_acknowledged_by(server) && server.is_acknowledged_by(client);
        traffic
    }

    /// Returns the sum of all packets but pure acknowledgements.
    pub(crate) fn counted(&self) -> Sum {
        self.syn + self.data + self.fin + self.retransmissions + self.resets
    }
}

impl Way {
    fn note(&mut self, segment: &Segment) {
        if segment.sequence_len() > 0 && !self.next.is_some_and(|next| next.is_after(segment.end())) {
            self.next = Some(segment.end());
        }
        if segment.flags.fin {
            self.fin = Some(segment.end());
        }
        self.acknowledged = segment.acknowledgement.or(self.acknowledged);
    }

    fn is_acknowledged_by(self, other: Self) -> bool {
        self.fin.is_some() && self.fin == other.acknowledged
    }
}

/// The first port of clients: Linux gives them ports from 32768 on, and servers have lower ones.
const EPHEMERAL: u16 = 32_768;
