use core::time::Duration;
use std::process::Command;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::options::{Target, Transit};
use super::super::trickle::Parameters;
use super::*;

const SOURCE: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0x1615, 0x92CC, 0, 2);
const ROOT: Ipv6Addr = Ipv6Addr::new(0xBBBB, 0, 0, 0, 0x1615, 0x92CC, 0, 1);
const NODE: Ipv6Addr = Ipv6Addr::new(0xBBBB, 0, 0, 0, 0x1615, 0x92CC, 0, 2);

pub(super) fn configuration() -> DodagConfiguration {
    DodagConfiguration {
        is_authenticated: false,
        path_control_size: 0,
        trickle: Parameters::RPL,
        max_rank_increase: 2_048,
        min_hop_rank_increase: 256,
        objective_code_point: 0,
        default_lifetime: 120,
        lifetime_unit: 60,
    }
}

fn dio() -> Dio {
    Dio {
        instance: 0,
        version: Sequence(240),
        rank: 768,
        is_grounded: true,
        mode_of_operation: NON_STORING,
        preference: 0,
        dtsn: Sequence(33),
        dodag_id: ROOT,
        configuration: Some(configuration()),
        prefix: None,
    }
}

fn dao() -> Dao {
    let transit =
        Transit { is_external: false, path_control: 0x80, path_sequence: 240, path_lifetime: 120, parent: Some(ROOT) };
    let targets = vec![Target { prefix_length: 128, prefix: NODE }];
    let advertisements = vec![Advertisement { targets, transits: vec![transit] }];
    Dao { instance: 0, expects_ack: true, dodag_id: None, sequence: Sequence(241), advertisements }
}

#[test]
fn messages_have_the_bytes_of_the_figures() {
    // RFC 6550, figures 6, 14 and 24, field by field.
    let bytes = Message::Dio(dio()).encode(SOURCE, ALL_RPL_NODES);
    let root = ROOT.octets();
    let expected = [
        &[155, 1][..],
        &bytes[2..4],
        &[0, 240, 3, 0, 0x88, 33, 0, 0],
        &root,
        &[4, 14, 0, 20, 3, 10, 8, 0, 1, 0, 0, 0, 0, 120, 0, 60],
    ]
    .concat();
    assert_eq!(bytes, expected);
    assert_eq!(bytes.len(), 4 + 24 + 16);
    // Figures 16, 25 and 26.
    let bytes = Message::Dao(dao()).encode(NODE, ROOT);
    let node = NODE.octets();
    let expected =
        [&[155, 2][..], &bytes[2..4], &[0, 0x80, 0, 241, 5, 18, 0, 128], &node, &[6, 20, 0, 0x80, 240, 120], &root]
            .concat();
    assert_eq!(bytes, expected);
    // Figures 13 and 17.
    let bytes = Message::Dis(Dis::default()).encode(SOURCE, ALL_RPL_NODES);
    assert_eq!([&bytes[..2], &bytes[4..]].concat(), [155, 0, 0, 0]);
    let ack = DaoAck { instance: 0, dodag_id: None, sequence: Sequence(241), status: 0 };
    let bytes = Message::DaoAck(ack).encode(ROOT, NODE);
    assert_eq!([&bytes[..2], &bytes[4..]].concat(), [155, 3, 0, 0, 241, 0]);
}

#[test]
fn what_is_wrong_with_a_message_is_said() {
    let read = |bytes: &[u8]| Message::parse(SOURCE, ALL_RPL_NODES, bytes);
    let good = Message::Dio(dio()).encode(SOURCE, ALL_RPL_NODES);
    assert_eq!(read(&good), Ok(Message::Dio(dio())));
    assert_eq!(Message::parse(NODE, ALL_RPL_NODES, &good), Err(MessageError::Checksum));
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        Icmpv6Packet::new_unchecked(&mut bytes[..]).fill_checksum(&SOURCE, &ALL_RPL_NODES);
        read(&bytes)
    };
    assert_eq!(with(&|bytes| bytes[0] = 128), Err(MessageError::NotRpl));
    assert_eq!(with(&|bytes| bytes[1] = 0x81), Err(MessageError::Code(0x81)));
    assert_eq!(with(&|bytes| bytes.truncate(27)), Err(MessageError::Truncated));
    assert_eq!(with(&|bytes| bytes.truncate(43)), Err(MessageError::Truncated));
    assert_eq!(with(&|bytes| bytes[36..38].fill(0)), Err(MessageError::Option(4)), "MinHopRankIncrease 0");
    // An option that nobody knows, and Pad1.
    assert_eq!(with(&|bytes| bytes.extend([0xEE, 1, 7, 0, 0])), Ok(Message::Dio(dio())));
    // Transit Information without a target, and a target without Transit Information.
    assert_eq!(with(&|bytes| bytes.extend([6, 4, 0, 0, 0, 0])), Err(MessageError::Option(6)));
    assert_eq!(with(&|bytes| bytes.extend([5, 2, 0, 0])), Err(MessageError::Option(5)));
    assert_eq!(with(&|bytes| bytes.extend([5, 2, 0, 200])), Err(MessageError::Option(5)));
    assert_eq!(read(&[]), Err(MessageError::Truncated));
}

prop_compose! {
    fn any_configuration()(
        (is_authenticated, path_control_size) in (any::<bool>(), 0..8_u8),
        (interval_min, doublings, redundancy) in any::<(u8, u8, u8)>(),
        (max_rank_increase, min_hop_rank_increase) in (any::<u16>(), 1..=u16::MAX),
        (objective_code_point, default_lifetime, lifetime_unit) in any::<(u16, u8, u16)>(),
    ) -> DodagConfiguration {
        DodagConfiguration {
            is_authenticated, path_control_size, trickle: Parameters { interval_min, doublings, redundancy },
            max_rank_increase, min_hop_rank_increase, objective_code_point, default_lifetime, lifetime_unit,
        }
    }
}

fn any_address() -> impl Strategy<Value = Ipv6Addr> {
    any::<[u8; 16]>().prop_map(Ipv6Addr::from)
}

prop_compose! {
    fn any_prefix()(
        (prefix_length, prefix) in (0..=128_u8, any_address()),
        (is_autonomous, is_router_address) in any::<(bool, bool)>(),
        (valid_lifetime, preferred_lifetime) in any::<(u32, u32)>(),
    ) -> PrefixInformation {
        PrefixInformation { prefix_length, is_autonomous, is_router_address, valid_lifetime, preferred_lifetime, prefix }
    }
}

prop_compose! {
    fn any_target()(prefix_length in 0..=128_u8, address in any::<u128>()) -> Target {
        let mask = u128::MAX.checked_shl(128 - u32::from(prefix_length)).unwrap_or(0);
        Target { prefix_length, prefix: (address & mask).into() }
    }
}

prop_compose! {
    fn any_transit()(
        is_external in any::<bool>(),
        (path_control, path_sequence, path_lifetime) in any::<(u8, u8, u8)>(),
        parent in option::of(any_address()),
    ) -> Transit {
        Transit { is_external, path_control, path_sequence, path_lifetime, parent }
    }
}

fn any_message() -> impl Strategy<Value = Message> {
    let solicited = (any::<Option<u8>>(), any::<Option<u8>>(), option::of(any_address()))
        .prop_map(|(version, instance, dodag_id)| SolicitedInformation { version, instance, dodag_id });
    let dis = option::of(solicited).prop_map(|solicited| Message::Dis(Dis { solicited }));
    let base = (any::<(u8, u8, u16, bool, u8)>(), 0..8_u8, 0..8_u8, any_address());
    let dio = (base, option::of(any_configuration()), option::of(any_prefix())).prop_map(
        |(
            ((instance, version, rank, is_grounded, dtsn), mode_of_operation, preference, dodag_id),
            configuration,
            prefix,
        )| {
            Message::Dio(Dio {
                instance,
                version: Sequence(version),
                rank,
                is_grounded,
                mode_of_operation,
                preference,
                dtsn: Sequence(dtsn),
                dodag_id,
                configuration,
                prefix,
            })
        },
    );
    let advertisement = (vec(any_target(), 1..4), vec(any_transit(), 1..4))
        .prop_map(|(targets, transits)| Advertisement { targets, transits });
    let dao = (any::<(u8, bool, u8)>(), option::of(any_address()), vec(advertisement, 0..4)).prop_map(
        |((instance, expects_ack, sequence), dodag_id, advertisements)| {
            Message::Dao(Dao { instance, expects_ack, dodag_id, sequence: Sequence(sequence), advertisements })
        },
    );
    let ack =
        (any::<(u8, u8, u8)>(), option::of(any_address())).prop_map(|((instance, sequence, status), dodag_id)| {
            Message::DaoAck(DaoAck { instance, dodag_id, sequence: Sequence(sequence), status })
        });
    prop_oneof![dis, dio, dao, ack]
}

proptest! {
    #[test]
    fn a_message_that_is_written_is_read_back(message in any_message()) {
        let bytes = message.encode(SOURCE, ROOT);
        prop_assert_eq!(Message::parse(SOURCE, ROOT, &bytes), Ok(message));
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        code in 0..5_u8,
        body in vec(prop_oneof![any::<u8>(), 0..9_u8], 0..120),
    ) {
        let mut bytes = [&[TYPE, code, 0, 0][..], &body].concat();
        Icmpv6Packet::new_unchecked(&mut bytes[..]).fill_checksum(&SOURCE, &ROOT);
        if let Ok(message) = Message::parse(SOURCE, ROOT, &bytes) {
            // What is read the first time is read again.
            prop_assert_eq!(Message::parse(SOURCE, ROOT, &message.encode(SOURCE, ROOT)), Ok(message));
        }
    }

    #[test]
    fn a_message_that_is_cut_or_changed_does_no_harm(message in any_message(), at in any::<prop::sample::Index>(), bits in 1..=255_u8) {
        let mut bytes = message.encode(SOURCE, ROOT);
        let at = at.index(bytes.len());
        bytes[at] ^= bits;
        prop_assert!(Message::parse(SOURCE, ROOT, &bytes).is_err(), "the checksum");
        Icmpv6Packet::new_unchecked(&mut bytes[..]).fill_checksum(&SOURCE, &ROOT);
        let _ = Message::parse(SOURCE, ROOT, &bytes);
        let _ = Message::parse(SOURCE, ROOT, &bytes[..at]);
    }
}

/// The messages in a capture of IPv6 packets, as tshark's fields.
fn tshark(messages: &[(Ipv6Addr, Ipv6Addr, Message)], fields: &[&str]) -> Option<Vec<String>> {
    if Command::new("tshark").arg("--version").output().is_err() {
        assert_ne!(std::env::var("TERSE_REQUIRE_ALL").as_deref(), Ok("1"), "tshark is required");
        eprintln!("skipped: tshark is not installed");
        return None;
    }
    let header = PcapHeader { datalink: DataLink::IPV6, ..PcapHeader::default() };
    let mut file = PcapWriter::with_header(Vec::new(), header).unwrap();
    for (source, destination, message) in messages {
        let bytes = message.encode(*source, *destination);
        let mut packet = vec![0x60, 0, 0, 0, 0, u8::try_from(bytes.len()).unwrap(), 58, 64];
        packet.extend(source.octets());
        packet.extend(destination.octets());
        packet.extend(bytes);
        let len = u32::try_from(packet.len()).unwrap();
        file.write_packet(&PcapPacket::new(Duration::ZERO, len, &packet).unwrap()).unwrap();
    }
    let path = std::env::temp_dir().join(format!("terse-{}-rpl.pcap", std::process::id()));
    std::fs::write(&path, file.into_inner()).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-T", "fields", "-E", "separator=|"]);
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let output = command.output().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[test]
fn tshark_reads_the_messages() {
    let prefix = PrefixInformation {
        prefix_length: 64,
        is_autonomous: true,
        is_router_address: true,
        valid_lifetime: u32::MAX,
        preferred_lifetime: 3_600,
        prefix: NODE,
    };
    let solicited = SolicitedInformation { version: Some(240), instance: Some(0), dodag_id: Some(ROOT) };
    let ack = DaoAck { instance: 0, dodag_id: Some(ROOT), sequence: Sequence(241), status: 0 };
    let messages = [
        (SOURCE, ALL_RPL_NODES, Message::Dis(Dis { solicited: Some(solicited) })),
        (SOURCE, ALL_RPL_NODES, Message::Dio(Dio { prefix: Some(prefix), ..dio() })),
        (NODE, ROOT, Message::Dao(dao())),
        (ROOT, NODE, Message::DaoAck(ack)),
    ];
    let fields = [
        "icmpv6.code",
        "icmpv6.checksum.status",
        "_ws.malformed",
        "icmpv6.rpl.dio.rank",
        "icmpv6.rpl.dio.flag.mop",
        "icmpv6.rpl.dio.dagid",
        "icmpv6.rpl.opt.config.min_hop_rank_inc",
        "icmpv6.rpl.opt.prefix",
        "icmpv6.rpl.opt.target.prefix",
        "icmpv6.rpl.opt.transit.parent",
        "icmpv6.rpl.opt.transit.pathlifetime",
        "icmpv6.rpl.daoack.sequence",
    ];
    let Some(lines) = tshark(&messages, &fields) else { return };
    let expected = [
        "0|1||||||||||",
        "1|1||768|0x01|bbbb::1615:92cc:0:1|256|bbbb::1615:92cc:0:2||||",
        "2|1|||||||bbbb::1615:92cc:0:2|bbbb::1615:92cc:0:1|120|",
        "3|1||||||||||241",
    ];
    assert_eq!(lines, expected);
}
