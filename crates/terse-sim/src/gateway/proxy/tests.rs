//! Whatever arrives: nothing panics, the bounds hold, and the indexes equal a look at all connections.

use std::net::{IpAddr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::tcp::{Ecn, Flags, Options, SequenceNumber, Transmit};

/// A segment between one of a few devices and one of two servers, or the passing of time.
#[derive(Clone, Debug)]
enum Step {
    Segment { from: usize, device: u16, server: u16, segment: Segment, answers: bool },
    Wait(u64),
}

fn segments() -> impl Strategy<Value = Segment> {
    let flags = (any::<[bool; 3]>(), 0_u8..4).prop_map(|([fin, rst, psh], syn)| Flags {
        fin: fin && psh,
        syn: syn == 0,
        rst: rst && fin,
        psh,
        ..Flags::default()
    });
    let numbers = (0_u32..3000, proptest::option::of(0_u32..3000), any::<u16>());
    (flags, numbers, proptest::collection::vec(any::<u8>(), 0..40), any::<bool>()).prop_map(
        |(flags, (sequence, acknowledgement, window), payload, sack_permitted)| Segment {
            sequence: SequenceNumber(sequence),
            acknowledgement: acknowledgement.map(SequenceNumber),
            flags,
            window,
            options: Options { sack_permitted, ..Options::default() },
            payload,
            ..Segment::default()
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let segment = (0_usize..2, 0_u16..4, 0_u16..2, segments(), prop::bool::weighted(0.7));
    let step = prop_oneof![
        5 => segment.prop_map(|(from, device, server, segment, answers)| {
            Step::Segment { from, device, server, segment, answers }
        }),
        1 => (0_u64..20).prop_map(|exponent| Step::Wait(1 << exponent)),
    ];
    proptest::collection::vec(step, 1..80)
}

fn address(last: u16) -> IpAddr {
    Ipv6Addr::new(0xbbbb, 0, 0, 0, 0, 0, 0, last).into()
}

fn check(proxy: &Proxy) -> Result<(), TestCaseError> {
    prop_assert!(proxy.connections.len() <= proxy.config.maximum_connections);
    let (mut deadlines, mut over) = (Deadlines::default(), Deadlines::default());
    for (pair, connection) in &proxy.connections {
        deadlines.set(*pair, connection.poll_timeout(proxy.config.idle_timeout));
        over.set(*pair, connection.over_since());
        for (side, config) in [(connection.mesh(), &proxy.config.mesh), (connection.internet(), &proxy.config.internet)]
        {
            prop_assert!(side.readable() <= config.receive_window);
        }
        let is_over = connection.mesh().is_closed() && connection.internet().is_closed();
        prop_assert_eq!(connection.is_over(), is_over);
    }
    let later = Time::from_millis(u64::MAX);
    prop_assert_eq!((proxy.deadlines.next(), proxy.deadlines.due(later)), (deadlines.next(), deadlines.due(later)));
    prop_assert_eq!((proxy.over.first(), proxy.over.due(later)), (over.first(), over.due(later)));
    Ok(())
}

proptest! {
    #[test]
    fn nothing_that_arrives_breaks_it(steps in steps(), seed in any::<u64>()) {
        let config = ProxyConfig { maximum_connections: 2, ..ProxyConfig::default() };
        let mut proxy = Proxy::new(config, Random::new(seed, 0));
        let (mut now, mut outbox) = (Time::ZERO, VecDeque::new());
        // What the proxy has sent last in each direction, so that some answers are acceptable.
        let mut heard: [Option<Segment>; 2] = [None, None];
        for step in steps {
            match step {
                Step::Wait(milliseconds) => {
                    now += Duration::from_millis(milliseconds);
                    proxy.handle_timeout(now, &mut outbox);
                    prop_assert!(proxy.poll_timeout().is_none_or(|at| at > now), "the timers move on");
                }
                Step::Segment { from, device, server, mut segment, answers } => {
                    (segment.source_port, segment.destination_port) = (50_000, 443);
                    let (mut source, mut destination) = (address(100 + device), address(1 + server));
                    if from == INTERNET {
                        core::mem::swap(&mut source, &mut destination);
                        core::mem::swap(&mut segment.source_port, &mut segment.destination_port);
                    }
                    if let Some(sent) = heard[from].as_ref().filter(|_| answers) {
                        segment.acknowledgement = Some(sent.end());
                        if let Some(next) = sent.acknowledgement {
                            segment.sequence = next;
                        }
                    }
                    let packet = Packet::tcp(source, destination, &Transmit { segment, ecn: Ecn::NotEct });
                    let packet = packet.expect("one family");
                    proxy.handle_packet(now, (from, 1 - from), &packet, [1280, 1500], &mut outbox);
                }
            }
            for (interface, packet) in outbox.drain(..) {
                heard[interface] = Some(Segment::parse(packet.payload()).expect("a segment"));
            }
            check(&proxy)?;
        }
        // With nobody there, everything ends.
        while let Some(at) = proxy.poll_timeout() {
            prop_assert!(at >= now);
            now = at;
            proxy.handle_timeout(now, &mut outbox);
            check(&proxy)?;
        }
        prop_assert_eq!(proxy.connections().count(), 0);
    }
}
