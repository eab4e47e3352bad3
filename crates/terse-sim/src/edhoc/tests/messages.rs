//! Messages, secrets, computing.

use super::{Setting, device, slow};
use crate::Random;
use crate::Time;
use crate::computing::{Counts, Operation};
use crate::edhoc::coap::{self, Message};
use crate::edhoc::{Identity, Sizes, Transfer};
use crate::script::Outcome;
use core::time::Duration;
use terse_tls::NamedGroup;

/// RFC 9528, 1.2 (table 1), has 37, 45 and 19 bytes with references; CoAP adds a header of 4 bytes, options of 20 or 2, a marker,
/// and `true` or C_R.
#[test]
fn messages_have_the_sizes_of_the_rfc() {
    let sizes = |transfer| {
        let mut world = Setting::new(transfer, slow(), 1).world();
        world.run();
        world.connected("a slow link");
        world.client().sizes().to_vec()
    };
    let size = |name, edhoc, coap| Sizes { name, edhoc, coap };
    assert_eq!(
        sizes(Transfer::Reference),
        [
            size("message_1", 37, 37 + 26),
            size("message_2", 45, 45 + 7),
            size("message_3", 19, 19 + 26),
            size("ok", 0, 4),
        ]
    );
    // A credential of 95 or 107 bytes with two bytes around it, in the place of a kid of one. That message_3 is a string of more
    // than 23 bytes then takes another.
    assert_eq!(
        sizes(Transfer::Value),
        [
            size("message_1", 37, 37 + 26),
            size("message_2", 141, 141 + 7),
            size("message_3", 128, 128 + 26),
            size("ok", 0, 4),
        ]
    );
}

/// Twice there and back, 50 ms each way: without devices computing takes no time.
#[test]
fn the_client_is_connected_after_two_round_trips() {
    for transfer in [Transfer::Reference, Transfer::Value] {
        let mut world = Setting::new(transfer, slow(), 1).world();
        world.run();
        assert_eq!(world.connected("a slow link"), Time::from_millis(200));
        let server: Vec<Outcome> = world.server().outcomes().cloned().collect();
        assert_eq!((server[0].began, server[0].connected), (Some(Time::from_millis(50)), Some(Time::from_millis(150))));
    }
}

/// A seed gives the same messages and secrets, another seed others.
#[test]
fn randomness_comes_from_the_seed() {
    let run = |seed| {
        let mut world = Setting::new(Transfer::Reference, slow(), seed).world();
        world.network.capture(world.link, crate::capture::View::Packets);
        world.run();
        world.connected("a slow link");
        (world.client().secret(), world.network.captured().to_pcapng(""))
    };
    assert!(run(1) == run(1));
    assert!(run(1).0 != run(2).0);
}

/// Each side makes a key pair and agrees three times: G_XY, G_RX and G_IY.
#[test]
fn computing_takes_the_time_of_a_device() {
    let mut setting = Setting::new(Transfer::Reference, slow(), 1);
    setting.devices = [device("cortex-m4"), device("server")];
    let mut world = setting.world();
    world.run();
    let connected = world.connected("devices");
    let (generate, agree) = (Operation::Generate(NamedGroup::SECP256R1), Operation::Agree(NamedGroup::SECP256R1));
    let m4 = device("cortex-m4").expect("it is built in");
    let (counts, time) = world.client().computed();
    let (counts, time): (Counts, Duration) = (counts.clone(), time);
    assert_eq!((counts.of(generate), counts.of(agree)), (1, 3));
    assert_eq!(counts.of(Operation::Aes128Ccm), 10, "PLAINTEXT_3: a kid of one byte and MAC_3 of nine");
    assert!(counts.of(Operation::Sha256) > 3000, "{counts:?}");
    let of_curve = m4.time_of(generate).expect("a time") + 3 * m4.time_of(agree).expect("a time");
    assert!(time > of_curve && time < of_curve + of_curve / 20, "{time:?} of which {of_curve:?} on the curve");
    let (of_server, server_time) = world.server().computed();
    assert_eq!((of_server.of(generate), of_server.of(agree)), (1, 3));
    let waits = connected.since(Time::ZERO);
    assert!(waits >= Duration::from_millis(200) + time, "{waits:?}");
    assert!(waits <= Duration::from_millis(201) + time + server_time, "{waits:?}");
}

#[test]
fn an_unknown_client_is_refused() {
    for transfer in [Transfer::Reference, Transfer::Value] {
        let mut world = Setting { is_known: false, ..Setting::new(transfer, slow(), 1) }.world();
        world.run();
        assert_eq!(world.client().outcome().failure.as_deref(), Some("the server answered 4.00"), "{transfer:?}");
        assert_eq!(world.client().secret(), None);
        let failure = world.server().outcomes().next().expect("a client").failure.clone().expect("it failed");
        let cause =
            if transfer == Transfer::Value { "the client is not known" } else { "EDHOC: MacVerificationFailed" };
        assert_eq!(failure, cause);
    }
}

#[test]
fn other_datagrams_are_dropped_or_refused() {
    assert_eq!(coap::parse(&[]), None);
    assert_eq!(coap::parse(&[0x40, 0x02, 0, 1]), None, "a POST to nothing");
    let post = coap::post(0x1234, vec![0xF5, 1, 2]);
    assert_eq!(post[..4], [0x40, 0x02, 0x12, 0x34], "CON, no token, 0.02");
    assert_eq!(coap::parse(&post), Some(Message::Post(0x1234, vec![0xF5, 1, 2])));
    let ok = coap::changed(7, Vec::new());
    assert_eq!(ok, [0x60, 0x44, 0, 7], "ACK, no token, 2.04");
    assert_eq!(coap::parse(&coap::bad_request(7)), Some(Message::Refused(7, "4.00".into())));

    // Whatever stands in a request: the server answers 4.00, and does not panic.
    let mut random = Random::new(1, 1);
    for round in 0..20_u16 {
        let mut world = Setting::new(Transfer::Reference, slow(), 1).world();
        world.network.run_until(Time::from_millis(10));
        let len = 1 + random.next_u32() as usize % 60;
        let mut payload: Vec<u8> = (0..len).map(|_| random.next_u32() as u8).collect();
        if round % 2 == 0 {
            payload.splice(..1, [0xF5, 3, 2, 0x58, 0x20]);
        }
        let id = world.client;
        let now = world.network.now();
        world.network.node_mut(id).act(now, |_, sockets| {
            let socket = sockets.bind(9).expect("a port");
            sockets
                .send_to(socket, (super::address(2), crate::edhoc::PORT).into(), &coap::post(round, payload))
                .expect("sent");
        });
        world.run();
        assert!(world.client().secret().is_some(), "the exchange beside it is not disturbed");
        let failed = world.server().outcomes().filter(|outcome| outcome.failure.is_some()).count();
        assert_eq!(failed, usize::from(round % 2 == 0), "only what looks like message_1 leaves a trace");
    }
}

#[test]
fn a_credential_may_be_too_long() {
    let make = |subject: &str, kid: &[u8]| Identity::generate(subject, kid, Random::new(1, 1));
    assert_eq!(make("example.edu", &[0x32]).expect("it fits").credential().len(), 95);
    assert!(make(&"x".repeat(24), &[0x32]).is_err());
    assert!(make(&"x".repeat(23), &[1, 2]).is_err(), "108 bytes");
    let debug = format!("{:?}", make("example.edu", &[0x32]).expect("it fits"));
    assert!(debug.starts_with("Identity { credential: [162, 2, ") && debug.ends_with(", .. }"), "{debug}");
}
