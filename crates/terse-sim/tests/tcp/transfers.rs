//! In transfers between two connections every byte arrives once and in order, both sides close, and the transfer ends.

use super::pair::{Faults, Habits, Pair};
use core::time::Duration;
use proptest::prelude::*;
use terse_sim::Time;
use terse_sim::tcp::{Acknowledgements, Config, EcnMode, Nagle, RetransmissionTimers, State};

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|index| (index * 7 + index / 256) as u8).collect()
}

#[test]
fn a_transfer_without_losses_retransmits_nothing() {
    for (client, server) in [
        (Config::linux(), Config::linux()),
        (Config::constrained(), Config::linux()),
        (Config::linux(), Config::constrained()),
        (Config::constrained(), Config::constrained()),
    ] {
        let mut pair = Pair::new(1, (client, server), bytes(30_000), bytes(50_000));
        assert!(pair.run(Time::from_millis(600_000)), "it does not end");
        assert!(pair.client.received == bytes(50_000));
        assert!(pair.server.received == bytes(30_000));
        for side in [&pair.client, &pair.server] {
            assert_eq!(side.connection().state(), State::Closed);
            assert_eq!(side.connection().failure(), None);
            assert_eq!(side.connection().statistics().retransmissions, 0);
        }
    }
}

/// Returns a profile with random switches.
fn configs() -> impl Strategy<Value = Config> {
    let switches = any::<[bool; 10]>();
    let nagle = prop_oneof![Just(Nagle::Off), Just(Nagle::On), Just(Nagle::Minshall)];
    let ecn = prop_oneof![Just(EcnMode::Off), Just(EcnMode::WhenAsked), Just(EcnMode::On)];
    let sizes = (48_u16..1500, 100_usize..4000, 100_usize..4000, 1_usize..6, 0_usize..6);
    (any::<Option<bool>>(), switches, nagle, ecn, sizes).prop_map(|(profile, switches, nagle, ecn, sizes)| {
        let base = match profile {
            Some(true) => return Config::linux(),
            Some(false) => return Config::constrained(),
            None if switches[0] => Config::linux(),
            None => Config::constrained(),
        };
        let timers = if switches[1] { RetransmissionTimers::One } else { RetransmissionTimers::PerSegment };
        Config {
            maximum_segment_size: sizes.0,
            send_buffer: sizes.1,
            receive_window: sizes.2,
            maximum_in_flight: sizes.3,
            maximum_out_of_order: sizes.4,
            nagle,
            ecn,
            acknowledgements: if switches[2] { Acknowledgements::Immediate } else { base.acknowledgements },
            sack_sender: switches[3],
            sack_receiver: switches[4],
            timestamps: switches[5],
            window_scale: switches[6].then_some(3),
            congestion_control: switches[7],
            duplicate_ack_threshold: switches[8].then_some(3),
            free_sacked: switches[9],
            retransmission_timers: timers,
            ..base
        }
    })
}

fn habits() -> impl Strategy<Value = Habits> {
    let size = || prop_oneof![Just(usize::MAX), 1_usize..500];
    (size(), size(), prop_oneof![Just(0), 0_u64..300_000], prop_oneof![Just(0), 0_u64..2000]).prop_map(
        |(read_size, write_size, reads_from, pause)| Habits {
            read_size,
            write_size,
            reads_from: Time::from_millis(reads_from),
            pause: Duration::from_millis(pause),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        seed: u64,
        mut configs in (configs(), configs()),
        // A client that closes before its SYN is answered, and has nothing to send, deletes the connection.
        lens in (1_usize..6000, 0_usize..6000),
        faults in (0.0..0.25, 0.0..0.1, 0.0..0.3, 0.0..0.2),
        habits in (habits(), habits()),
    ) {
        for config in [&mut configs.0, &mut configs.1] {
            // Seven losses in a row do happen in so many cases, and no connection may fail here.
            (config.retries, config.syn_retries) = (1000, 1000);
        }
        let (loss, duplication, reordering, marking) = faults;
        let mut pair = Pair::new(seed, configs, bytes(lens.0), bytes(lens.1));
        pair.faults = Faults { loss, duplication, reordering, marking };
        (pair.client.habits, pair.server.habits) = habits;
        prop_assert!(pair.run(Time::from_millis(20_000_000)), "it does not end");
        prop_assert!(pair.client.received == bytes(lens.1), "the client has {} bytes", pair.client.received.len());
        prop_assert!(pair.server.received == bytes(lens.0), "the server has {} bytes", pair.server.received.len());
        for side in [&pair.client, &pair.server] {
            prop_assert_eq!(side.connection().failure(), None);
            prop_assert_eq!(side.connection().state(), State::Closed);
        }
    }
}
