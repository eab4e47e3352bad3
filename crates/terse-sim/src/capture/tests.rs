//! A capture is read back by the library that wrote it. `tests/wireshark` tests that Wireshark reads it as well.

use pcap_file::pcapng::{Block, PcapNgReader};

use super::*;

/// Returns the blocks of a file.
fn blocks(file: &[u8]) -> Vec<Block<'static>> {
    let mut reader = PcapNgReader::new(file).expect("a section header");
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block() {
        blocks.push(block.expect("a whole block").0.into_owned());
    }
    blocks
}

#[test]
fn a_capture_can_be_read_back() {
    let mut tap = Tap::new(&Link::lossless(), View::Frames);
    tap.note(Time::from_nanos(1_234_567_891), Direction::Up, &[1; 14]);
    let lost = tap.note(Time::from_millis(2000), Direction::Down, &[2; 61]);
    tap.decide(lost, true);
    let mut capture = tap.capture();
    let mut packets = Tap::new(&Link::lossless(), View::Packets);
    packets.note(Time::from_millis(1500), Direction::Up, &[0x45]);
    capture.merge(packets.capture());

    let key_log = "CLIENT_RANDOM 00 11\n";
    let file = capture.to_pcapng(key_log);
    assert_eq!(file, capture.to_pcapng(key_log), "the same bytes again");
    let blocks = blocks(&file);
    let interfaces: Vec<_> = blocks.iter().filter_map(Block::as_interface_description).collect();
    assert_eq!(interfaces.iter().map(|it| it.linktype).collect::<Vec<_>>(), [DataLink::ETHERNET, DataLink::RAW]);
    assert!(interfaces[0].options.contains(&InterfaceDescriptionOption::IfName("lossless".into())));
    let packets: Vec<_> = blocks.iter().filter_map(Block::as_enhanced_packet).collect();
    let facts: Vec<_> = packets.iter().map(|it| (it.interface_id, it.timestamp.as_nanos(), it.data.len())).collect();
    assert_eq!(facts, [(0, 1_234_567_891, 14), (1, 1_500_000_000, 1), (0, 2_000_000_000, 61)]);
    let comment = EnhancedPacketOption::Common(CommonOption::Comment("lost".into()));
    assert_eq!(packets.iter().map(|it| it.options.contains(&comment)).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn the_key_log_is_a_block_of_the_file() {
    let key_log = "CLIENT_RANDOM 00 11\n";
    let file = Capture::default().to_pcapng(key_log);
    let blocks = blocks(&file);
    let Some(Block::Unknown(secrets)) = blocks.last() else { panic!("no block of secrets in {blocks:?}") };
    assert_eq!(secrets.type_, 10);
    assert_eq!(secrets.value[..4], *b"KSLT", "TLSK, little-endian");
    assert_eq!(secrets.value[4..8], [20, 0, 0, 0]);
    assert_eq!(secrets.value[8..28], *key_log.as_bytes());
    assert!(!Capture::default().to_pcapng("").windows(4).any(|window| window == b"KSLT"));
}
