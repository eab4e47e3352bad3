use core::time::Duration;
use std::process::Command;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const EUI64: [u8; 8] = [0x14, 0x15, 0x92, 0xCC, 0, 0, 0, 2];

fn beacon() -> EnhancedBeacon {
    EnhancedBeacon::minimal(0xCAFE, EUI64, 0x05_0403_0201, 7, 101)
}

#[test]
fn the_elements_are_those_of_the_example() {
    // RFC 8180, A.1.
    let elements = [
        0x00, 0x3F, 0x1A, 0x88, 0x06, 0x1A, 0x01, 0x02, 0x03, 0x04, 0x05, 7, 0x01, 0x1C, 0x00, 0x01, 0xC8, 0x00, 0x0A,
        0x1B, 0x01, 0x00, 0x65, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x0F,
    ];
    let frame = beacon().encode().unwrap();
    assert_eq!(frame[HEADER_LEN..frame.len() - FCS_LEN], elements);
    assert_eq!(frame[..HEADER_LEN], [0x40, 0xEA, 0, 0xFE, 0xCA, 0xFF, 0xFF, 2, 0, 0, 0, 0xCC, 0x92, 0x15, 0x14]);
    assert_eq!(frame.len(), 47);
    assert_eq!(EnhancedBeacon::parse(&frame), Some(beacon()));
}

#[test]
fn a_beacon_lacks_neither_time_nor_schedule() {
    let frame = beacon().encode().unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut content = frame[..frame.len() - FCS_LEN].to_vec();
        change(&mut content);
        EnhancedBeacon::parse(&with_fcs(content))
    };
    assert!(with(&|_| {}).is_some());
    assert!(with(&|content| content[0] = 0x41).is_none(), "a data frame");
    assert!(with(&|content| content[20] = 0x1F).is_none(), "no synchronization IE");
    assert!(with(&|content| content[34] = 0x1F).is_none(), "no slotframe and link IE");
    assert!(with(&|content| content[35] = 2).is_none(), "two slotframes, of which one is there");
    assert!(with(&|content| content.truncate(40)).is_none());
    // Vendor-specific content after the MLME's.
    assert_eq!(with(&|content| content.extend([0x02, 0x90, 1, 2])), Some(beacon()));
    let mut damaged = frame.clone();
    damaged[21] ^= 1;
    assert_eq!(EnhancedBeacon::parse(&damaged), None, "the FCS");
}

#[test]
fn a_schedule_must_fit_into_a_frame() {
    let link = Link { slot: 1, channel_offset: 2, options: 1 };
    let with = |links: usize| {
        let slotframes = vec![Slotframe { handle: 0, size: 101, links: vec![link; links] }];
        EnhancedBeacon { slotframes, ..beacon() }.encode()
    };
    assert_eq!(with(17).map(|frame| frame.len()), Some(127));
    assert_eq!(with(18), None);
    assert_eq!(with(10_000), None);
}

prop_compose! {
    fn any_slotframe()(
        handle in any::<u8>(),
        size in any::<u16>(),
        links in vec(any::<(u16, u16, u8)>(), 0..5),
    ) -> Slotframe {
        let link = |(slot, channel_offset, options)| Link { slot, channel_offset, options };
        Slotframe { handle, size, links: links.into_iter().map(link).collect() }
    }
}

prop_compose! {
    fn any_beacon()(
        (pan, source, sequence, join_metric) in any::<(u16, [u8; 8], u8, u8)>(),
        asn in 0..1_u64 << 40,
        (timeslot, hopping_sequence) in any::<(u8, u8)>(),
        slotframes in vec(any_slotframe(), 0..4),
    ) -> EnhancedBeacon {
        EnhancedBeacon { pan, source, sequence, asn, join_metric, timeslot, hopping_sequence, slotframes }
    }
}

proptest! {
    #[test]
    fn a_beacon_that_is_written_is_read_back(beacon in any_beacon()) {
        prop_assert_eq!(beacon.encode().and_then(|frame| EnhancedBeacon::parse(&frame)), Some(beacon));
    }

    #[test]
    fn any_bytes_are_read_or_refused(tail in vec(any::<u8>(), 0..112), cut in 0..30_usize) {
        let frame = beacon().encode().unwrap();
        for begin in [&frame[..HEADER_LEN], &frame[..HEADER_LEN + cut]] {
            let content = [begin, &tail].concat();
            if let Some(beacon) = EnhancedBeacon::parse(&with_fcs(content)) {
                prop_assert!(beacon.asn < 1 << 40);
            }
        }
        prop_assert_eq!(EnhancedBeacon::parse(&tail), None);
    }
}

#[test]
fn tshark_reads_a_beacon() {
    if Command::new("tshark").arg("--version").output().is_err() {
        assert_ne!(std::env::var("TERSE_REQUIRE_ALL").as_deref(), Ok("1"), "tshark is required");
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let header = PcapHeader { datalink: DataLink::IEEE802_15_4, ..PcapHeader::default() };
    let mut file = PcapWriter::with_header(Vec::new(), header).unwrap();
    let frame = beacon().encode().unwrap();
    let len = u32::try_from(frame.len()).unwrap();
    file.write_packet(&PcapPacket::new(Duration::ZERO, len, &frame).unwrap()).unwrap();
    let path = std::env::temp_dir().join(format!("terse-{}-beacon.pcap", std::process::id()));
    std::fs::write(&path, file.into_inner()).unwrap();
    let fields = FIELDS.iter().flat_map(|field| ["-e", field]);
    let output =
        Command::new("tshark").arg("-r").arg(&path).args(["-T", "fields", "-E", "separator=|"]).args(fields).output();
    std::fs::remove_file(&path).unwrap();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim_end(),
        "0x0000|1||14:15:92:cc:00:00:00:02|21542142465|7|0x00|0x00|101|0|0|0x0f"
    );
}

const FIELDS: [&str; 12] = [
    "wpan.frame_type",
    "wpan.fcs_ok",
    "_ws.malformed",
    "wpan.src64",
    "wpan.tsch.asn",
    "wpan.tsch.join_metric",
    "wpan.tsch.timeslot.id",
    "wpan.tsch.hopping_sequence_id",
    "wpan.tsch.slotframe_size",
    "wpan.tsch.link_timeslot",
    "wpan.tsch.channel_offset",
    "wpan.tsch.link_options",
];
