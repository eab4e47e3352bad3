//! Whatever arrives, nothing panics, and the memory stays within the configuration.

use super::{Connection, State};
use crate::Time;
use crate::tcp::segment::tests::segments;
use crate::tcp::{Config, Ecn, EcnMode, Flags, Segment, SequenceNumber};
use core::time::Duration;
use proptest::prelude::*;

/// An event in a connection's life.
#[derive(Clone, Debug)]
enum Event {
    /// A segment with numbers that are close to the expected ones: relative to RCV.NXT and SND.UNA.
    Near(Segment, i16, i16),
    /// A segment with any numbers.
    Far(Segment),
    Send(usize),
    Read(usize),
    Close,
    Abort,
    /// Milliseconds of time that pass.
    Wait(u64),
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (segments(), -600_i16..600, -300_i16..600).prop_map(|(mut segment, sequence, acknowledgement)| {
            // Most segments do not end the connection.
            segment.flags.rst &= sequence % 8 == 0;
            segment.flags.syn &= sequence % 4 == 0;
            Event::Near(segment, sequence, acknowledgement)
        }),
        1 => segments().prop_map(Event::Far),
        2 => (0_usize..2000).prop_map(Event::Send),
        1 => (0_usize..2000).prop_map(Event::Read),
        1 => prop_oneof![1 => Just(Event::Close), 1 => Just(Event::Wait(0)), 1 => Just(Event::Abort)],
        3 => (0_u64..3000).prop_map(Event::Wait),
    ]
}

fn near(connection: &Connection, mut segment: Segment, sequence: i16, acknowledgement: i16) -> Segment {
    segment.sequence = connection.rcv.nxt + i32::from(sequence) as u32;
    segment.acknowledgement = segment.acknowledgement.map(|_| connection.snd.una + i32::from(acknowledgement) as u32);
    for (index, block) in segment.options.sack.iter_mut().enumerate() {
        block.left = connection.snd.una + (block.left.0 % 600) + index as u32;
        block.right = block.left + block.right.0 % 600;
    }
    if let Some((value, _)) = &mut segment.options.timestamps {
        *value = connection.agreed.timestamps.map_or(0, |(recent, _)| recent.wrapping_add(*value % 10));
    }
    segment
}

fn check(connection: &Connection) -> Result<(), TestCaseError> {
    let config = &connection.config;
    prop_assert!(connection.received.len() + connection.reassembly.len() <= config.receive_window);
    prop_assert!(connection.reassembly.blocks() <= config.maximum_out_of_order);
    prop_assert!(connection.send_buffer.len() <= 2 * config.send_buffer);
    prop_assert!(connection.scoreboard.len() <= 2 * config.maximum_in_flight.max(1));
    prop_assert!(!connection.snd.nxt.is_before(connection.snd.una));
    prop_assert!(!connection.rcv.edge.is_before(connection.rcv.nxt));
    if connection.state != State::Closed {
        prop_assert_eq!(connection.scoreboard.iter().map(|sent| sent.len()).sum::<u32>(), connection.flight());
        // Data in flight has a timer, or goes out with the next call.
        if connection.flight() > 0 && connection.state != State::TimeWait {
            prop_assert!(connection.poll_timeout().is_some());
        }
    }
    Ok(())
}

fn run(mut connection: Connection, events: Vec<Event>) -> Result<(), TestCaseError> {
    let mut now = Time::ZERO;
    for event in events {
        match event {
            Event::Near(segment, sequence, acknowledgement) => {
                let segment = near(&connection, segment, sequence, acknowledgement);
                connection.handle_segment(now, &segment, Ecn::from_bits(sequence as u8));
            }
            Event::Far(segment) => connection.handle_segment(now, &segment, Ecn::NotEct),
            Event::Send(len) => {
                connection.send(now, &vec![0; len]);
            }
            Event::Read(len) => {
                connection.recv(now, &mut vec![0; len]);
            }
            Event::Close => connection.close(now),
            Event::Abort => connection.abort(now),
            Event::Wait(milliseconds) => {
                now += Duration::from_millis(milliseconds);
                connection.handle_timeout(now);
            }
        }
        let mut burst = 0;
        while let Some(transmit) = connection.poll_transmit(now) {
            burst += 1;
            prop_assert!(burst < 5000, "it never stops sending");
            prop_assert!(transmit.segment.header_len() <= 60);
        }
        connection.handle_timeout(now);
        while connection.poll_transmit(now).is_some() {}
        prop_assert!(connection.poll_timeout().is_none_or(|time| time > now), "a timer of the past");
        check(&connection)?;
    }
    Ok(())
}

fn config(linux: bool) -> Config {
    let base = if linux { Config::linux() } else { Config::constrained() };
    Config { send_buffer: 1000, receive_window: 1200, maximum_in_flight: 20, ecn: EcnMode::On, ..base }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_client_survives(linux: bool, events in prop::collection::vec(events(), 0..150)) {
        run(Connection::connect(config(linux), 1, 2, 1000, Time::ZERO), events)?;
    }

    #[test]
    fn an_open_connection_survives(linux: bool, events in prop::collection::vec(events(), 0..150)) {
        let mut connection = Connection::connect(config(linux), 1, 2, 1000, Time::ZERO);
        connection.poll_transmit(Time::ZERO);
        let mut answer = Segment {
            sequence: SequenceNumber(u32::MAX - 300),
            acknowledgement: Some(SequenceNumber(1001)),
            flags: Flags { syn: true, ece: true, ..Flags::default() },
            window: 2000,
            ..Segment::default()
        };
        answer.options.sack_permitted = true;
        connection.handle_segment(Time::ZERO, &answer, Ecn::NotEct);
        prop_assert_eq!(connection.state(), State::Established);
        run(connection, events)?;
    }

    #[test]
    fn a_server_survives(linux: bool, mut syn in segments(), events in prop::collection::vec(events(), 0..150)) {
        syn.acknowledgement = None;
        syn.flags = Flags { syn: true, ..syn.flags };
        (syn.flags.fin, syn.flags.rst) = (false, false);
        run(Connection::accept(config(linux), &syn, u32::MAX - 1, Time::ZERO).expect("it is a SYN"), events)?;
    }
}
