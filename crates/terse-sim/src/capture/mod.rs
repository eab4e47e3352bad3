//! A capture holds what went over links, and is written as pcapng (draft-ietf-opsawg-pcapng), which Wireshark opens.
//!
//! Times are nanoseconds of virtual time. A frame that was lost is recorded at the time it was sent, with the comment
//! `lost`. The keys of TLS and DTLS go into the same file as a Decryption Secrets Block, so that no second file is
//! needed to decrypt it.

#[cfg(test)]
mod tests;

use core::time::Duration;
use std::borrow::Cow;
use std::io::{self, Write};

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::{DataLink, Endianness};

use crate::Time;
use crate::link::{Direction, Framing, Link, lorawan};

/// The layer at which a link is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// Each frame as it is on the link, with repetitions and acknowledgements of the link layer.
    Frames,
    /// Each IP packet, once, when its first frame is sent.
    Packets,
}

/// The frames or packets that went over one or more links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    interfaces: Vec<Interface>,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Interface {
    name: String,
    data_link: DataLink,
}

/// A frame or packet of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When its first bit was sent.
    pub at: Time,
    /// The way it went.
    pub direction: Direction,
    /// The bytes as they are in the file, after a LoRaTap header of 15 B on LoRa links.
    pub bytes: Vec<u8>,
    /// Whether the frame or packet never arrived.
    pub lost: bool,
    interface: u32,
}

impl Capture {
    /// Returns all entries in the order of time.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Moves all entries `by` later.
    pub fn delay(&mut self, by: Duration) {
        for entry in &mut self.entries {
            entry.at += by;
        }
    }

    /// Adds the interfaces and entries of another capture.
    pub fn merge(&mut self, other: Self) {
        let first = u32::try_from(self.interfaces.len()).expect("fewer interfaces than would fit into memory");
        self.interfaces.extend(other.interfaces);
        let renumbered = |entry: Entry| Entry { interface: entry.interface + first, ..entry };
        self.entries.extend(other.entries.into_iter().map(renumbered));
        self.entries.sort_by_key(|entry| entry.at);
    }

    /// Writes the capture as pcapng, with the lines of a key log (`SSLKEYLOGFILE`). An empty key log adds no block.
    pub fn write_pcapng(&self, out: impl Write, key_log: &str) -> io::Result<()> {
        let section = SectionHeaderBlock {
            // A fixed byte order gives the same file on every machine.
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication("terse".into())],
            ..SectionHeaderBlock::default()
        };
        let mut file = PcapNgWriter::with_section_header(out, section).map_err(io::Error::other)?;
        if !key_log.is_empty() {
            file.write_pcapng_block(secrets(key_log)?).map_err(io::Error::other)?;
        }
        for interface in &self.interfaces {
            let mut block = InterfaceDescriptionBlock::new(interface.data_link, 0);
            block.options = vec![
                InterfaceDescriptionOption::IfName(interface.name.as_str().into()),
                InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
            ];
            file.write_pcapng_block(block).map_err(io::Error::other)?;
        }
        for entry in &self.entries {
            file.write_pcapng_block(entry.block()?).map_err(io::Error::other)?;
        }
        file.into_inner().flush()
    }

    /// Returns the capture as pcapng in memory, with the lines of a key log (`SSLKEYLOGFILE`).
    pub fn to_pcapng(&self, key_log: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_pcapng(&mut bytes, key_log).expect("memory takes everything, and nothing here is too long");
        bytes
    }
}

impl Entry {
    fn block(&self) -> io::Result<EnhancedPacketBlock<'_>> {
        // pcapng's direction is the one that the first end of the link sees: 1 is inbound, 2 is outbound.
        let direction = match self.direction {
            Direction::Up => 2,
            Direction::Down => 1,
        };
        let mut options = Vec::new();
        if self.lost {
            options.push(EnhancedPacketOption::Common(CommonOption::Comment("lost".into())));
        }
        options.push(EnhancedPacketOption::Flags(direction));
        Ok(EnhancedPacketBlock {
            interface_id: self.interface,
            timestamp: self.at.since(Time::ZERO),
            original_len: u32::try_from(self.bytes.len()).map_err(io::Error::other)?,
            data: Cow::Borrowed(&self.bytes),
            options,
        })
    }
}

/// A tap on one link.
#[derive(Debug)]
pub(crate) struct Tap {
    view: View,
    /// The bytes that precede each frame in the file.
    header: Vec<u8>,
    capture: Capture,
}

impl Tap {
    pub(crate) fn new(link: &Link, view: View) -> Self {
        let (data_link, header) = match view {
            View::Packets => (DataLink::RAW, Vec::new()),
            View::Frames => data_link(&link.framing),
        };
        let name = match view {
            View::Frames => link.name.to_string(),
            View::Packets => format!("{} (IP)", link.name),
        };
        let interfaces = vec![Interface { name, data_link }];
        Self { view, header, capture: Capture { interfaces, entries: Vec::new() } }
    }

    /// Returns a tap on a mesh. Its frames bring their TAP headers along, each its own.
    pub(crate) fn of_mesh(name: String, view: View) -> Self {
        let data_link = match view {
            View::Packets => DataLink::RAW,
            View::Frames => DataLink::IEEE802_15_4_TAP,
        };
        let interfaces = vec![Interface { name, data_link }];
        Self { view, header: Vec::new(), capture: Capture { interfaces, entries: Vec::new() } }
    }

    pub(crate) const fn view(&self) -> View {
        self.view
    }

    /// Records a frame or packet, and returns its number, by which its loss can be reported later.
    pub(crate) fn note(&mut self, at: Time, direction: Direction, bytes: &[u8]) -> usize {
        let bytes = [&self.header, bytes].concat();
        self.capture.entries.push(Entry { at, direction, bytes, lost: false, interface: 0 });
        self.capture.entries.len() - 1
    }

    pub(crate) fn decide(&mut self, number: usize, lost: bool) {
        if let Some(entry) = self.capture.entries.get_mut(number) {
            entry.lost = lost;
        }
    }

    pub(crate) fn capture(&self) -> Capture {
        self.capture.clone()
    }
}

/// Returns the link type of a framing, and the header that is put before each frame.
fn data_link(framing: &Framing) -> (DataLink, Vec<u8>) {
    match framing {
        Framing::Ethernet => (DataLink::ETHERNET, Vec::new()),
        Framing::Ip => (DataLink::RAW, Vec::new()),
        Framing::Ieee802154(_) => (DataLink::IEEE802_15_4, Vec::new()),
        Framing::LoraWan(options) => (DataLink::LORATAP, lorawan::lora_tap(options)),
    }
}

/// Builds a Decryption Secrets Block (draft-ietf-opsawg-pcapng, 4.7).
fn secrets(key_log: &str) -> io::Result<UnknownBlock<'static>> {
    let len = u32::try_from(key_log.len()).map_err(io::Error::other)?;
    let mut value = TLS_KEY_LOG.to_le_bytes().to_vec();
    value.extend(len.to_le_bytes());
    value.extend(key_log.as_bytes());
    let length = len.saturating_add(20).next_multiple_of(4);
    Ok(UnknownBlock { type_: DECRYPTION_SECRETS_BLOCK, length, value: value.into() })
}

const DECRYPTION_SECRETS_BLOCK: u32 = 10;
/// The secrets type of an `SSLKEYLOGFILE`: "TLSK".
const TLS_KEY_LOG: u32 = 0x544C_534B;
