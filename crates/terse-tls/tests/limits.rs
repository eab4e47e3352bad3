//! Limits: nothing larger than configured is buffered, and nothing useless is accepted for ever. These tests also bound the
//! heap of a connection under every kind of flood.

use alloc::sync::Arc;

use terse_testkit::allocator::{Heap, measure};
use terse_testkit::fault::{add_extension, edit_extensions, first, message, set_extension};
use terse_testkit::forge::{Forge, KeyLogLines, header, plaintext};
use terse_testkit::pair::{Failed, Pair, Side, at};
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::crypto::Rng;
use terse_tls::{
    AlertDescription, Connection, ContentType, Error, ExtensionType as Ext, HandshakeType, InvalidMessage,
    PeerMisbehaved,
};

const DATA: ContentType = ContentType::APPLICATION_DATA;
const HANDSHAKE: ContentType = ContentType::HANDSHAKE;

/// The length of a record of the largest size, in bytes.
const RECORD: i64 = 0x4000 + 256 + 5;

fn setup() -> Setup {
    Setup::mutual(&terse_rustcrypto::PROVIDER, &terse_rustcrypto::PROVIDER, "ed25519x3")
}

/// Like [`setup`], for a device with little memory.
fn small() -> Setup {
    let mut setup = setup();
    for side in Side::BOTH {
        let common = setup.common(side);
        common.set_max_handshake_message(0x800);
        common.set_max_send_buffer(0x400);
        common.set_record_size_limit(Some(0x200));
    }
    setup
}

/// Finishes a handshake, and returns it with what makes records of the victim's peer.
fn connected(setup: &Setup, victim: Side) -> (Pair, Forge) {
    let mut setup = setup.clone();
    let log = Arc::<KeyLogLines>::default();
    setup.server.key_log(log.clone());
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    let sender = if victim == Side::Server { "CLIENT" } else { "SERVER" };
    let suite = terse_rustcrypto::PROVIDER.tls13_suites[0]; // preferred by both
    (pair, Forge::new(suite, &log.secret(&format!("{sender}_TRAFFIC_SECRET_0"))))
}

fn key_update(requested: bool) -> Vec<u8> {
    message(HandshakeType::KEY_UPDATE, &[requested.into()])
}

/// Hands records to one side, as long as it takes them; returns its error, or the application data.
fn feed(pair: &mut Pair, victim: Side, record: Vec<u8>) -> Result<Vec<u8>, Error> {
    pair.receive(victim, record).map_err(|failed| failed.error)
}

/// A handshake message that is too long is refused as soon as its header has come; the rest is not waited for.
#[test]
fn handshake_messages() {
    let mut setup = setup();
    let limit = 1000;
    setup.common(Side::Server).set_max_handshake_message(limit);
    let hello = |len: usize| plaintext(HANDSHAKE, &[1, 0, (len >> 8) as u8, len as u8]);
    let mut pair = setup.pair(1);
    assert_eq!(feed(&mut pair, Side::Server, hello(limit)), Ok(Vec::new()));
    let mut pair = setup.pair(1);
    assert_eq!(feed(&mut pair, Side::Server, hello(limit + 1)), Err(InvalidMessage::HandshakeTooLarge.into()));

    // In the handshake: the server's Certificate just fits, or is one byte too long for the client.
    let (sender, lengths) = std::sync::mpsc::channel();
    let mut setup = self::setup();
    setup.server.fault(Some(first(HandshakeType::CERTIFICATE, move |message| sender.send(message.len() - 4).unwrap())));
    setup.pair(1).handshake().unwrap();
    setup.server.fault(None);
    setup.client.max_handshake_message(lengths.recv().unwrap());
    setup.pair(1).handshake().unwrap();
    let longest = setup.client.config().common().max_handshake_message();
    setup.client.max_handshake_message(longest - 1);
    let failed = setup.pair(1).handshake().unwrap_err();
    assert_eq!(failed, Failed { side: Side::Client, error: InvalidMessage::HandshakeTooLarge.into() });
}

/// A record that is too long for the negotiated limit is refused at its header (RFC 8449, 4).
#[test]
fn record_size_limit() {
    for victim in Side::BOTH {
        let (mut pair, mut forge) = connected(&small(), victim);
        let largest = forge.record(DATA, &[b'x'; 0x1ff]);
        assert_eq!(feed(&mut pair, victim, largest).unwrap().len(), 0x1ff);
        let larger = forge.record(DATA, &[b'x'; 0x200]);
        let too_large = Err(InvalidMessage::RecordTooLarge.into());
        assert_eq!(feed(&mut pair, victim, larger), too_large);

        let (mut pair, _) = connected(&small(), victim);
        assert_eq!(feed(&mut pair, victim, header(DATA, 0x200 + 255).to_vec()), Ok(Vec::new()));
        let (mut pair, _) = connected(&small(), victim);
        assert_eq!(feed(&mut pair, victim, header(DATA, 0x200 + 256).to_vec()), too_large);
    }
}

#[test]
fn empty_records() {
    for victim in Side::BOTH {
        for (content_type, content) in [(DATA, &b""[..]), (ContentType::ALERT, &[1, 90])] {
            let (mut pair, mut forge) = connected(&setup(), victim);
            for _ in 0..3 {
                for _ in 0..32 {
                    let empty = forge.record(content_type, content);
                    assert_eq!(feed(&mut pair, victim, empty), Ok(Vec::new()));
                }
                let data = forge.record(DATA, b"data");
                assert_eq!(feed(&mut pair, victim, data).unwrap(), b"data");
            }
            for _ in 0..32 {
                let empty = forge.record(content_type, content);
                assert_eq!(feed(&mut pair, victim, empty), Ok(Vec::new()));
            }
            let last = forge.record(content_type, content);
            assert_eq!(feed(&mut pair, victim, last), Err(PeerMisbehaved::TooManyEmptyRecords.into()));
        }
    }
}

#[test]
fn key_updates() {
    for victim in Side::BOTH {
        for requested in [false, true] {
            let (mut pair, mut forge) = connected(&setup(), victim);
            let update = |pair: &mut Pair, forge: &mut Forge| {
                let record = forge.record(HANDSHAKE, &key_update(requested));
                forge.update();
                feed(pair, victim, record)
            };
            for _ in 0..3 {
                for _ in 0..32 {
                    update(&mut pair, &mut forge).unwrap();
                }
                let data = forge.record(DATA, b"data");
                assert_eq!(feed(&mut pair, victim, data).unwrap(), b"data");
            }
            for _ in 0..32 {
                update(&mut pair, &mut forge).unwrap();
            }
            assert_eq!(update(&mut pair, &mut forge), Err(PeerMisbehaved::TooManyKeyUpdates.into()));
        }
    }
}

/// RFC 9846, 4.7.3: requests that come while this side cannot send are answered once, before its next data.
#[test]
fn key_update_requests_are_answered_once() {
    let (mut pair, mut forge) = connected(&setup(), Side::Server);
    let sent = pair.server.summary().sent.post_handshake_bytes;
    for _ in 0..20 {
        let record = forge.record(HANDSHAKE, &key_update(true));
        forge.update();
        feed(&mut pair, Side::Server, record).unwrap();
    }
    let one_answer = pair.server.summary().sent.post_handshake_bytes - sent;
    assert!(one_answer > 0);
    assert_eq!(pair.transmit(Side::Server).len() as u64, one_answer);
    // The rest is owed until there is something to say.
    assert_eq!(pair.server.send(b"data"), Ok(4));
    let bytes = pair.transmit(Side::Server);
    assert_eq!(pair.server.summary().sent.post_handshake_bytes - sent, 2 * one_answer);
    assert!(bytes.len() as u64 > one_answer);
}

#[test]
fn send_buffer() {
    for (setup, limit, record) in [(setup(), 0x1_0000, RECORD), (small(), 0x400, 0x200 + 0x20)] {
        for sender in Side::BOTH {
            let (mut pair, _) = connected(&setup, sender);
            let data = vec![b'x'; 0x4_0000];
            let taken = pair.side(sender).0.send(&data).unwrap();
            assert!(taken > 0 && taken < data.len());
            assert_eq!(pair.side(sender).0.send(&data), Ok(0), "the buffer is full");
            let waiting = pair.transmit(sender);
            assert!(waiting.len() as i64 >= limit && waiting.len() as i64 <= limit + record, "{}", waiting.len());
            assert_eq!(pair.receive(sender.other(), waiting).unwrap(), data[..taken]);
            assert!(pair.side(sender).0.send(&data).unwrap() > 0, "and empty again");
        }
    }
}

/// Measures the victim alone while it takes `records`, in stretches of at most `stretch` bytes.
fn flood(
    pair: &mut Pair,
    victim: Side,
    stretch: usize,
    mut records: impl Iterator<Item = Vec<u8>>,
) -> (Result<(), Error>, Heap) {
    let (connection, rng) = pair.side(victim);
    let mut result = Ok(());
    let mut worst = Heap::default();
    while let Some(mut record) = records.next().filter(|_| result.is_ok()) {
        for part in record.chunks_mut(stretch) {
            let (taken, heap) = measure(|| take(connection, rng, part));
            worst = Heap { kept: worst.kept + heap.kept, peak: worst.peak.max(worst.kept + heap.peak) };
            result = result.and(taken);
        }
    }
    (result, worst)
}

/// Feeds all of `input`, and reads what comes out.
fn take(connection: &mut Connection, rng: &mut SeededRng, mut input: &mut [u8]) -> Result<(), Error> {
    let mut out = [0; 512];
    while !input.is_empty() {
        let taken = connection.handle_input(at(0), rng, input)?;
        input = &mut input[taken..];
        while connection.recv(&mut out) > 0 {}
    }
    Ok(())
}

/// The heap may hold twice the content of a vector that grows, and a copy of that while it moves.
const GROWTH: i64 = 3;

#[test]
fn heap_of_unfinished_messages() {
    for (setup, max_message) in [(setup(), 0x1_0000), (small(), 0x800)] {
        for victim in Side::BOTH {
            // Never the last byte of a message of the largest size, in records of every size.
            for size in [1, 100, 0x1000, 0x4000] {
                let mut hello = [&[2 - victim as u8, 0, 0, 0], &vec![0; max_message - 1][..]].concat();
                hello[1..4].copy_from_slice(&(max_message as u32).to_be_bytes()[1..]);
                let fragments = hello.chunks(size).map(|fragment| plaintext(HANDSHAKE, fragment));
                let (result, heap) = flood(&mut setup.pair(1), victim, usize::MAX, fragments);
                assert_eq!(result, Ok(()));
                assert!(heap.peak < GROWTH * (max_message as i64 + RECORD), "{victim:?}, {size}: {heap:?}");
            }
        }
    }
}

#[test]
fn heap_of_unfinished_records() {
    for victim in Side::BOTH {
        let mut record = plaintext(HANDSHAKE, &[1; 0x4000]);
        record.pop();
        let (result, heap) = flood(&mut setup().pair(1), victim, 1, core::iter::once(record));
        assert_eq!(result, Ok(()));
        assert!(heap.peak < GROWTH * RECORD, "{heap:?}");

        let (mut pair, _) = connected(&small(), victim);
        let record = [&header(DATA, 0x200 + 255)[..], &[0; 0x200 + 254]].concat();
        let (result, heap) = flood(&mut pair, victim, 1, core::iter::once(record));
        assert_eq!(result, Ok(()));
        assert!(heap.peak < GROWTH * 0x304, "{heap:?}");
    }
}

/// Messages begin in one record and end in the next: no part of them may stay in memory.
#[test]
fn heap_of_straddling_tickets() {
    let ticket =
        message(HandshakeType::NEW_SESSION_TICKET, &[&[0; 8][..], &[0, 0x01, 0x00], &[7; 0x100], &[0, 0]].concat());
    let (mut pair, mut forge) = connected(&setup(), Side::Client);
    let mut stream = ticket.repeat(4000);
    stream.pop();
    let records = stream.chunks(ticket.len() * 3 + 1).map(|fragment| forge.record(HANDSHAKE, fragment));
    let (result, heap) = flood(&mut pair, Side::Client, usize::MAX, records);
    assert_eq!(result, Ok(()));
    assert!(heap.peak < 0x2000, "{heap:?}");
}

/// A peer asks for KeyUpdates, sends a byte, and never reads.
#[test]
fn heap_of_key_update_requests() {
    for victim in Side::BOTH {
        let (mut pair, mut forge) = connected(&setup(), victim);
        let records = (0..4000).map(|round| {
            let update = forge.record(HANDSHAKE, &key_update(round % 3 != 0));
            forge.update();
            [update, forge.record(DATA, b"x")].concat()
        });
        let (result, heap) = flood(&mut pair, victim, usize::MAX, records);
        assert_eq!(result, Ok(()));
        assert!(heap.peak < 0x2000, "{victim:?}: {heap:?}");
    }
}

/// Application data that nobody reads is not taken.
#[test]
fn heap_of_unread_data() {
    let (mut pair, mut forge) = connected(&setup(), Side::Server);
    let mut input: Vec<u8> = (0..100).flat_map(|_| forge.record(DATA, &[b'x'; 0x4000])).collect();
    let (connection, rng) = pair.side(Side::Server);
    let (taken, heap) = measure(|| connection.handle_input(at(0), rng, &mut input).unwrap());
    assert_eq!(taken, input.len() / 100);
    assert_eq!(connection.handle_input(at(0), rng, &mut input[taken..]), Ok(0));
    assert!(heap.peak < 2 * RECORD, "{heap:?}");
    let mut data = vec![0; 0x8000];
    assert_eq!(connection.recv(&mut data), 0x4000);
    assert_eq!(connection.handle_input(at(0), rng, &mut input[taken..]), Ok(taken));
}

/// The ClientHellos are as large as they may be, and full of whatever can repeat.
#[test]
fn heap_of_large_hellos() {
    let list = |items: &[u8], len: usize| {
        let items = items.repeat(len / items.len());
        [&(items.len() as u16).to_be_bytes()[..], &items].concat()
    };
    let many_extensions = |message: &mut Vec<u8>| {
        edit_extensions(message, |all| {
            all.splice(0..0, (1000..0x3800).map(|kind| (Ext(kind), Vec::new()))).for_each(drop)
        });
    };
    type Alter<'a> = &'a dyn Fn(&mut Vec<u8>);
    let alter: [Alter<'_>; 6] = [
        &many_extensions,
        &|m| set_extension(m, Ext::SUPPORTED_GROUPS, &list(&[0x7f, 1], 60_000)),
        &|m| set_extension(m, Ext::SIGNATURE_ALGORITHMS, &list(&[0x7f, 1], 60_000)),
        &|m| add_extension(m, Ext::APPLICATION_LAYER_PROTOCOL_NEGOTIATION, &list(&[1, b'x'], 60_000)),
        &|m| add_extension(m, Ext::CERTIFICATE_AUTHORITIES, &list(&[0, 1, 7], 60_000)),
        &|m| set_extension(m, Ext::KEY_SHARE, &list(&[0x7f, 1, 0, 1, 7], 60_000)),
    ];
    for (number, alter) in alter.into_iter().enumerate() {
        let setup = setup();
        let mut with_fault = setup.clone();
        let (sender, hello) = std::sync::mpsc::channel();
        with_fault.client.fault(Some(first(HandshakeType::CLIENT_HELLO, move |m| sender.send(m.clone()).unwrap())));
        let mut pair = with_fault.pair(1);
        let mut hello = hello.recv().unwrap();
        alter(&mut hello);
        assert!(hello.len() < 0x1_0000, "{number}");
        let records = hello.chunks(0x4000).map(|fragment| plaintext(HANDSHAKE, fragment));
        let (_, heap) = flood(&mut pair, Side::Server, usize::MAX, records);
        assert!(heap.peak < GROWTH * (0x1_0000 + RECORD), "{number}: {heap:?}");
    }
}

/// Garbage of all kinds arrives at every point of a connection. In the end, none of it is kept.
#[test]
fn heap_of_garbage() {
    let mut rng = SeededRng::new(5);
    for round in 0..300 {
        let victim = Side::BOTH[round % 2];
        let (mut pair, mut forge) =
            if round % 3 == 0 { connected(&setup(), victim) } else { (setup().pair(1), dummy_forge()) };
        let mut garbage = vec![0; 0x2_0000];
        rng.fill(&mut garbage).unwrap();
        let records = garbage.chunks(1 + rng.below(0x4000)).map(|content| match round % 4 {
            0 => content.to_vec(),
            1 => plaintext(ContentType(20 + content[0] % 4), content),
            2 => forge.record(ContentType(20 + content[0] % 4), content),
            _ => plaintext(HANDSHAKE, &[&[1, 0, content[0], 0], content][..].concat()[..content.len()]),
        });
        let (result, heap) = flood(&mut pair, victim, 1 + rng.below(0x4000), records);
        assert!(heap.peak < GROWTH * (0x1_0000 + RECORD), "{round}: {heap:?}, {result:?}");
        if let Err(error) = result {
            assert!(!matches!(error, Error::ApiMisuse(_)));
            assert_ne!(error.alert(), Some(AlertDescription::INTERNAL_ERROR));
        }
    }
}

fn dummy_forge() -> Forge {
    Forge::new(terse_rustcrypto::PROVIDER.tls13_suites[0], &[0; 32])
}

/// An idle connection holds secrets, keys, and the peer's identity. Its own size comes on top.
#[test]
fn heap_of_an_idle_connection() {
    let setup = setup();
    let (client, server) = (Arc::new(setup.client.build().unwrap()), Arc::new(setup.server.build().unwrap()));
    for side in Side::BOTH {
        let (mut pair, mut kept);
        pair = Pair::new(&client, &server, 1);
        let now = pair.now;
        if side == Side::Server {
            let (connection, heap) = measure(|| Connection::server(server.clone(), now).unwrap());
            (pair.server, kept) = (connection, heap.kept);
        } else {
            let (connection, heap) =
                measure(|| Connection::client(client.clone(), server_address(), now, &mut SeededRng::new(1)).unwrap());
            (pair.client, kept) = (connection, heap.kept);
        }
        for sender in [Side::Client, Side::Server, Side::Client] {
            let (mut bytes, heap) = measure(|| {
                let mut out = vec![0; 0x4000];
                let len = pair.side(sender).0.poll_transmit(now, &mut out).unwrap();
                out.truncate(len);
                out
            });
            kept += if sender == side { heap.kept - bytes.capacity() as i64 } else { 0 };
            let (connection, rng) = pair.side(sender.other());
            let (taken, heap) = measure(|| connection.handle_input(now, rng, &mut bytes));
            assert_eq!(taken, Ok(bytes.len()));
            kept += if sender == side { 0 } else { heap.kept };
        }
        pair.handshake().unwrap();
        assert!(kept > 0 && kept < 0x1000, "{side:?}: {kept}");
    }
}
