//! Records of epochs that are over, or are still to come, and records whose numbers jump (RFC 9147, 4.2, 5.6 and 6.1).

use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair, Fate};
use terse_testkit::pair::Side;
use terse_tls::summary::Dropped;
use terse_tls::{ContentType, Datagrams, ProtocolVersion};

use super::key_updates::{carries, connected, setup};
use super::modes::{CHAIN, EARLY_DATA, mutual};
use super::outcome::SEED;
use super::wire::{forge, listen};

const DATA: ContentType = ContentType::APPLICATION_DATA;

/// Lets so many seconds pass, and whatever is due then.
fn wait(pair: &mut DatagramPair, seconds: u64) {
    pair.now.monotonic.0 += 1_000 * seconds;
    pair.run_well().unwrap();
}

/// RFC 9147, 4.2.1: for the longest life of a segment, from the first record under the new key on (8).
#[test]
fn data_under_the_key_before_is_taken_for_two_minutes() {
    for (seconds, is_taken) in [(0, true), (1, true), (119, true), (121, false), (100_000, false)] {
        let (mut pair, log) = connected(setup());
        let mut old = forge(&pair, &log, Side::Client, 3).unwrap();
        pair.client.update_keys(false).unwrap();
        pair.run_well().unwrap();
        let mut late = |pair: &mut DatagramPair, number| {
            pair.deliver(Side::Server, old.at(number).record(DATA, b"late")).unwrap();
        };
        // Nothing came under the new key: maybe the client does not know yet that it may use it.
        wait(&mut pair, 100_000);
        late(&mut pair, 7);
        assert_eq!(pair.received[Side::Server as usize], [b"late"]);
        carries(&mut pair, Side::Client);
        wait(&mut pair, seconds);
        late(&mut pair, 8);
        let came = pair.received[Side::Server as usize].len();
        assert_eq!(came, if is_taken { 3 } else { 2 }, "after {seconds} s");
        assert_eq!(pair.server.summary().dropped.wrong_epoch, u32::from(!is_taken));
        late(&mut pair, 7);
        assert_eq!(pair.received[Side::Server as usize].len(), came, "not twice");
        carries(&mut pair, Side::Client);
    }
}

/// One epoch is kept besides the one in force, and no other.
#[test]
fn of_the_epochs_before_one_is_kept() {
    let (mut pair, log) = connected(setup());
    let mut forges: Vec<_> = (3..9).map(|epoch| forge(&pair, &log, Side::Client, epoch).unwrap()).collect();
    for in_force in 4..9_u64 {
        pair.client.update_keys(false).unwrap();
        pair.run_well().unwrap();
        for forge in &mut forges {
            let before = pair.received[Side::Server as usize].len();
            let dropped = pair.server.summary().dropped.total();
            let epoch = forge.epoch();
            pair.deliver(Side::Server, forge.at(20 + in_force).record(DATA, b"data")).unwrap();
            let is_taken = pair.received[Side::Server as usize].len() > before;
            assert_eq!(is_taken, epoch == in_force || epoch + 1 == in_force, "{epoch} when {in_force} is in force");
            assert_eq!(pair.server.summary().dropped.total() - dropped, u32::from(!is_taken));
        }
    }
}

/// Data of the client that overtakes its last flight is kept for as long as it has to be, little of it.
#[test]
fn data_that_overtakes_the_last_flight_is_taken_after_it() {
    for size in [10, 400] {
        let mut pair = setup().datagram_pair(SEED);
        while !pair.client.is_connected() {
            pair.step(&mut Datagram::arrives, u64::MAX).unwrap().unwrap();
        }
        let mut late = |datagram: &Datagram| match datagram.from == Side::Client && datagram.bytes.len() > 500 {
            true => datagram.arrives_after(3 * DELAY),
            false => datagram.arrives(),
        };
        pair.transmit(Side::Client, &mut late);
        let data: Vec<_> = (0..10).map(|number| vec![number; size]).collect();
        for data in &data {
            pair.send(Side::Client, data).unwrap();
        }
        pair.run(&mut late).unwrap();
        assert!(pair.server.is_connected());
        let fits = if size == 10 { 10 } else { 1_500 / (size + 19) };
        assert_eq!(pair.received[Side::Server as usize], data[..fits]);
        assert_eq!(pair.server.summary().dropped.wrong_epoch as usize, 10 - fits);
        carries(&mut pair, Side::Client);
    }
}

/// RFC 9147, 5.6: early data that comes after the end of the handshake is dropped.
#[test]
fn early_data_that_comes_late_is_dropped() {
    for (delay, is_taken) in [(DELAY, true), (DELAY + 30, true), (3 * DELAY + 1, false), (5_000, false)] {
        let mut pair = setup().with_frozen_stateful_session(EARLY_DATA).datagram_pair(SEED);
        let is_early = |datagram: &Datagram| datagram.bytes[0] & 0b1110_0011 == 0b0010_0001;
        pair.run(|datagram| datagram.arrives_after(if is_early(datagram) { delay } else { DELAY })).unwrap();
        assert!(pair.client.is_connected() && pair.server.is_connected());
        assert_eq!(pair.early_data.len(), usize::from(is_taken), "{delay} ms");
        assert_eq!(pair.server.summary().dropped.wrong_epoch, u32::from(!is_taken), "{delay} ms");
        assert_eq!(pair.received, [const { Vec::<Vec<u8>>::new() }; 2], "it is nothing else either");
    }
}

/// The server takes 4,096 bytes of it, but no part of what the application sent as one.
#[test]
fn early_data_is_not_cut_at_its_limit() {
    let mut setup = setup().with_frozen_stateful_session(EARLY_DATA);
    setup.early_data.clear();
    let mut pair = setup.datagram_pair(SEED);
    for (len, taken) in [(1_200, 1_200), (1_200, 1_200), (1_200, 1_200), (497, 0), (496, 496), (1, 0)] {
        assert_eq!(pair.client.send_early_data(&vec![7; len]), Ok(taken));
    }
    pair.run_well().unwrap();
    assert_eq!(pair.early_data.iter().map(Vec::len).collect::<Vec<_>>(), [1_200, 1_200, 1_200, 496]);
}

/// Early data before its ClientHello waits for it.
#[test]
fn early_data_that_overtakes_the_client_hello_is_taken_after_it() {
    let mut pair = setup().with_frozen_stateful_session(EARLY_DATA).datagram_pair(SEED);
    pair.run(|datagram| datagram.arrives_after(if datagram.number == 0 { 2 * DELAY } else { DELAY })).unwrap();
    assert_eq!(pair.early_data, [EARLY_DATA]);
    assert_eq!(pair.server.summary().dropped, Dropped::default());
}

/// Whoever has the keys of the handshake may not use them for data, nor those of early data for messages.
#[test]
fn each_epoch_is_for_its_own() {
    let mut setup = setup().with_frozen_stateful_session(EARLY_DATA);
    let log = listen(&mut setup);
    let mut pair = setup.datagram_pair(SEED);
    // Up to where the client has the server's flight.
    while pair.client.is_handshaking() {
        pair.step(&mut Datagram::arrives, u64::MAX).unwrap().unwrap();
    }
    let mut dropped = 0;
    for (epoch, content_type) in [
        (1, ContentType::HANDSHAKE),
        (1, ContentType::CHANGE_CIPHER_SPEC),
        (2, DATA),
        (2, ContentType::CHANGE_CIPHER_SPEC),
        (2, ContentType(99)),
    ] {
        let mut forge = forge(&pair, &log, Side::Client, epoch).unwrap();
        let message = [&[20][..], &[0, 0, 32, 0, 1, 0, 0, 0, 0, 0, 32], &[0; 32]].concat();
        pair.deliver(Side::Server, forge.at(20 + dropped).record(content_type, &message)).unwrap();
        dropped += 1;
        assert_eq!(u64::from(pair.server.summary().dropped.not_due), dropped, "{content_type} under {epoch}");
    }
    pair.run_well().unwrap();
    assert!(pair.server.is_connected());
    assert_eq!(pair.early_data, [EARLY_DATA]);
    carries(&mut pair, Side::Client);
}

/// RFC 9147, 4.2.2: however many records are lost in a row, a few more at most are not understood. `heard`: the other
/// direction works, so the sender has no reason to send more of its numbers.
#[test]
fn after_many_lost_records_the_numbers_are_found_again() {
    for (lost, heard) in (1..400).step_by(7).flat_map(|lost| [(lost, false), (lost, true)]) {
        let (mut pair, _) = connected(mutual(CHAIN).over(ProtocolVersion::TLS_1_3, Datagrams::default()));
        let mut is_lost = |datagram: &Datagram| match datagram.from {
            Side::Client => Fate::new(),
            Side::Server => datagram.arrives(),
        };
        for _ in 0..lost {
            pair.send(Side::Client, b"lost").unwrap();
            if heard {
                pair.send(Side::Server, b"heard").unwrap();
            }
            while pair.step(&mut is_lost, pair.now.monotonic.0 + DELAY).is_some() {}
        }
        let (mut missed, server) = (0, Side::Server as usize);
        while pair.received[server].is_empty() {
            pair.send(Side::Client, b"found").unwrap();
            pair.run_well().unwrap();
            missed += 1;
        }
        let most = if lost < 128 || !heard { 1 } else { 32 };
        assert!(missed <= most, "{lost} lost, heard {heard}: {missed}");
        assert_eq!(u64::from(pair.server.summary().dropped.not_authentic), missed - 1);
        for _ in 0..100 {
            carries(&mut pair, Side::Client);
        }
    }
}
