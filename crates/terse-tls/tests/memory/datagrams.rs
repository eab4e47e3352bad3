//! The memory of connections over datagrams is bounded: fragments, early records, and flights that are kept.

use alloc::sync::Arc;

use terse_arena::Arena;
use terse_testkit::allocator::measure;
use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair};
use terse_testkit::forge::{DatagramForge, KeyLogLines};
use terse_testkit::pair::Side;
use terse_testkit::pki::Pki;
use terse_testkit::setup::Setup;
use terse_tls::{Connection, ContentType, Datagrams, Memory, ProtocolVersion};

use crate::arenas::{self, arena, peak, worst};

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3];

/// Returns configurations of both versions, with the heap that they announce.
fn configurations() -> Vec<(String, Setup, Memory)> {
    VERSIONS.into_iter().flat_map(configurations_of).collect()
}

fn configurations_of(version: ProtocolVersion) -> Vec<(String, Setup, Memory)> {
    let provider = &terse_rustcrypto::PROVIDER;
    let mut all = Vec::new();
    let small = Memory::DEVICE.tls12(version == ProtocolVersion::TLS_1_2).datagrams(true);
    let mut device = Setup::mutual(provider, provider, "p256x3").over(version, Datagrams::constrained());
    for side in Side::BOTH {
        let common = device.common(side);
        common.set_max_handshake_message(small.max_handshake_message);
        common.set_max_record(small.max_record);
        common.set_max_send_buffer(small.max_send_buffer);
        common.set_record_size_limit(Some(small.max_record as u16));
    }
    all.push((format!("D{version}, device"), device, small));

    let ed25519 = Setup::mutual(provider, provider, "ed25519x3");
    // RustCrypto verifies with RSA keys, and does not sign with them.
    let (pki, signer) = (Pki::shared("rsa2048x3"), &terse_aws_lc::PROVIDER);
    let mut rsa = Setup::new(provider, signer, "p256x3");
    rsa.client.trust(pki.trust()).credentials(vec![]);
    rsa.server.credentials(vec![pki.server(signer)]);
    for (name, setup, own_flight, cryptography) in
        [("ed25519x3", ed25519, 1_500, Memory::ELLIPTIC_CURVES), ("rsa2048x3", rsa, 3_000, Memory::RSA)]
    {
        let mut setup = setup.over(version, Datagrams::default());
        let memory = Memory::of(setup.common(Side::Client), own_flight, cryptography);
        assert!(memory.datagrams && memory.tls12 == small.tls12);
        all.push((format!("D{version}, {name}"), setup, memory));
    }
    all
}

/// One side of a pair, with an arena from which it has all of its memory.
pub(crate) struct Victim {
    pub(crate) pair: DatagramPair,
    side: Side,
    arena: &'static Arena,
    out: Vec<u8>,
}

impl Victim {
    /// Makes a victim whose arena is for `heap` bytes in use.
    fn new(setup: &Setup, side: Side, heap: usize) -> Self {
        Self::in_arena(setup, side, arena(heap), 1)
    }

    pub(crate) fn in_arena(setup: &Setup, side: Side, arena: &'static Arena, seed: u64) -> Self {
        let mut pair = arenas::without_stores(setup, side).datagram_pair(seed);
        let (client, server) = (Arc::new(setup.client.build().unwrap()), Arc::new(setup.server.build().unwrap()));
        let now = pair.now;
        let address = terse_testkit::pki::server_address();
        let connection = {
            let (_, rng) = pair.side(side);
            arena.run(|| match side {
                Side::Client => Connection::client(client, address, now, rng).unwrap(),
                Side::Server => Connection::server(server, now).unwrap(),
            })
        };
        *pair.side(side).0 = connection;
        Self { pair, side, arena, out: vec![0; 0x1_0000] }
    }

    /// Calls the victim, in its arena.
    fn call<T>(&mut self, call: impl FnOnce(&mut Connection, &mut terse_testkit::rng::SeededRng) -> T) -> T {
        let (connection, rng) = self.pair.side(self.side);
        self.arena.run(|| call(connection, rng))
    }

    /// Returns the most bytes that were in use, none of them outside of the arena.
    fn peak(&self) -> i64 {
        peak(self.arena)
    }

    /// Takes data of the peer, which shows a client that the server has its Finished.
    pub(crate) fn hears_data(&mut self) {
        let other = self.side.other();
        self.pair.send(other, b"confirmed").unwrap();
        let mut sent = Vec::new();
        self.pair.transmit(other, &mut |datagram: &Datagram| {
            sent.push(datagram.bytes.clone());
            Vec::new()
        });
        sent.into_iter().for_each(|datagram| self.take(datagram));
    }

    fn take(&mut self, mut datagram: Vec<u8>) {
        let now = self.pair.now;
        let mut taken = 0;
        while taken < datagram.len() {
            taken += self.call(|connection, rng| connection.handle_input(now, rng, &mut datagram[taken..])).unwrap();
            while self.call(|connection, _| connection.recv(&mut [0; 512])) > 0 {}
        }
    }

    fn transmit(&mut self) -> Vec<Vec<u8>> {
        let mut out = core::mem::take(&mut self.out);
        let now = self.pair.now;
        let mut datagrams = Vec::new();
        while let Some(len) = self.call(|connection, _| connection.poll_transmit(now, &mut out)) {
            datagrams.push(out[..len].to_vec());
        }
        self.out = out;
        datagrams
    }

    /// A handshake in which the victim gets every datagram twice, and has to send each of its flights again, twice.
    pub(crate) fn handshake(&mut self) {
        let other = self.side.other();
        for _ in 0..60 {
            let mut sent = self.transmit();
            let deadline = self.pair.side(self.side).0.poll_timeout();
            if let Some(deadline) = deadline.filter(|_| self.pair.now.monotonic.0 < 5_000) {
                self.pair.now.monotonic = deadline;
                let now = self.pair.now;
                self.call(|connection, _| connection.handle_timeout(now)).unwrap();
                sent = self.transmit();
            }
            self.pair.now.monotonic.0 += DELAY;
            for datagram in sent {
                self.pair.deliver(other, datagram).unwrap();
            }
            let mut answer = Vec::new();
            self.pair.transmit(other, &mut |datagram: &Datagram| {
                answer.push(datagram.bytes.clone());
                Vec::new()
            });
            for datagram in answer.iter().rev().chain(&answer) {
                self.take(datagram.clone());
            }
        }
        assert!(self.pair.side(self.side).0.is_connected());
    }
}

/// Makes a record as anybody without keys can make it.
fn record(content_type: u8, epoch: u16, number: u64, content: &[u8]) -> Vec<u8> {
    let number = u64::from(epoch) << 48 | number;
    let len = (content.len() as u16).to_be_bytes();
    [&[content_type, 254, 253][..], &number.to_be_bytes(), &len, content].concat()
}

/// Makes the shortest record that claims to be of a later epoch.
fn early(version: ProtocolVersion, number: u8) -> Vec<u8> {
    match version {
        ProtocolVersion::TLS_1_2 => record(23, 1, number.into(), &[]),
        _ => vec![0b0010_0010, number],
    }
}

/// Makes the shortest record of DTLS 1.3 that may be authentic.
fn unified(epoch: u8, number: u8) -> Vec<u8> {
    [&[0b0010_0000 | epoch, number][..], &[number; 16]].concat()
}

/// Makes an ACK of so many records, under no keys.
fn ack(count: u64) -> Vec<u8> {
    let numbers = (0..count).flat_map(|number| [0, number].map(u64::to_be_bytes).concat());
    record(26, 0, 1, &[&(16 * count as u16).to_be_bytes()[..], &numbers.collect::<Vec<_>>()].concat())
}

/// Makes a fragment of `len` zeros at `at`, of message `seq`, which has `total` bytes.
fn fragment(seq: u16, total: usize, at: usize, len: usize) -> Vec<u8> {
    let u24 = |value: usize| (value as u32).to_be_bytes()[1..].to_vec();
    let header = [vec![11], u24(total), seq.to_be_bytes().to_vec(), u24(at), u24(len)].concat();
    record(22, 0, 1, &[header, vec![0; len]].concat())
}

/// Runs with datagrams of the usual size, and of a size that makes many records of a flight.
#[test]
fn handshakes() {
    for (name, setup, memory) in configurations() {
        for (side, max_datagram) in Side::BOTH.into_iter().flat_map(|side| [1_232, 79].map(|size| (side, size))) {
            let settings = setup.client.config().common().datagrams().expect("it is for datagrams");
            let setup = setup.clone().in_datagrams(settings.max_datagram(max_datagram));
            let peak = worst(memory.heap(), |heap| {
                let mut victim = Victim::new(&setup, side, heap);
                victim.handshake();
                victim.peak()
            });
            println!("{name}, {side:?}, {max_datagram}: {peak} of {}", memory.heap());
            assert!(peak <= memory.heap() as i64, "{name}, {side:?}: {peak} of {}", memory.heap());
        }
    }
}

/// A peer sends all at once whatever is kept: nearly all of the message that is due and of those after it, in as many
/// pieces as possible, and records that are too early, as small as possible.
#[test]
fn floods() {
    for (name, setup, memory) in configurations() {
        let (heap, max) = (memory.heap() as i64, memory.max_handshake_message);
        let version = setup.client.config().common().versions()[0];
        let mut worst = 0;
        for side in Side::BOTH {
            for (piece, is_ahead) in [(1, true), (7, true), (100, true), (1_000, false), (1_000, true)] {
                let mut victim = Victim::new(&setup, side, memory.heap());
                victim.transmit();
                for number in 0..2_000 {
                    victim.take(early(version, number as u8));
                }
                for number in 0..400 {
                    victim.take(unified(2, number as u8));
                    victim.take(ack(if number % 100 == 0 { 1_000 } else { 0 }));
                }
                for seq in (0..12).rev().filter(|seq| *seq == 0 || is_ahead) {
                    let total = if seq == 0 { max } else { max / 8 };
                    // Every other piece, from the end, and then those between.
                    for at in (0..total - 1).step_by(2 * piece).rev().chain((piece..total - 1).step_by(2 * piece)) {
                        victim.take(fragment(seq, total, at, piece.min(total - 1 - at)));
                    }
                }
                victim.take(record(20, 0, 0, &[1]));
                worst = worst.max(victim.peak());
            }
        }
        println!("{name}: {worst} of {heap}");
        assert!(worst <= heap, "{name}: {worst} of {heap}");
        assert!(worst * 16 >= heap, "{name}: only {worst} of {heap}");
        // The bound of the reassembler itself: twice the longest message.
        assert!(worst >= max as i64, "{name}: {worst}");
    }
}

/// A flight goes out again and again, in small datagrams, until it is given up: each part of it is remembered.
#[test]
fn flights_that_nobody_answers() {
    for (name, setup, memory) in configurations() {
        let settings = setup.client.config().common().datagrams().expect("it is for datagrams");
        let setup = setup.clone().in_datagrams(settings.max_datagram(79));
        for side in Side::BOTH {
            let peak = worst(memory.heap(), |heap| {
                let mut victim = Victim::new(&setup, side, heap);
                let mut hello = Vec::new();
                if side == Side::Server {
                    victim.pair.transmit(Side::Client, &mut |datagram: &Datagram| {
                        hello.push(datagram.bytes.clone());
                        Vec::new()
                    });
                }
                hello.into_iter().for_each(|datagram| victim.take(datagram));
                victim.transmit();
                while let Some(deadline) = victim.pair.side(side).0.poll_timeout() {
                    victim.pair.now.monotonic = deadline;
                    let now = victim.pair.now;
                    let _ = victim.call(|connection, _| connection.handle_timeout(now));
                    victim.transmit();
                }
                victim.peak()
            });
            println!("{name}, {side:?}: {peak} of {}", memory.heap());
            assert!(peak <= memory.heap() as i64, "{name}, {side:?}: {peak} of {}", memory.heap());
        }
    }
}

/// A client that has the keys does all at once: the server's flight was sent until it was nearly given up, records wait for
/// the next keys, fragments wait for the messages before them, and received records wait to be acknowledged.
#[test]
fn a_hostile_client() {
    for (name, setup, memory) in configurations_of(ProtocolVersion::TLS_1_3) {
        let (heap, max) = (memory.heap() as i64, memory.max_handshake_message);
        let mut worst = 0;
        for piece in [1, 7, 40] {
            let mut setup = setup.clone();
            let settings = setup.client.config().common().datagrams().expect("it is for datagrams");
            let log = Arc::<KeyLogLines>::default();
            setup.server.key_log(log.clone());
            setup = setup.in_datagrams(settings.max_datagram(79));
            let mut victim = Victim::new(&setup, Side::Server, memory.heap());
            let mut hello = Vec::new();
            victim.pair.transmit(Side::Client, &mut |datagram: &Datagram| {
                hello.push(datagram.bytes.clone());
                Vec::new()
            });
            hello.into_iter().for_each(|datagram| victim.take(datagram));
            victim.transmit();
            for _ in 0..settings.max_retransmissions {
                victim.pair.now.monotonic = victim.pair.server.poll_timeout().expect("it waits for an answer");
                let now = victim.pair.now;
                victim.call(|connection, _| connection.handle_timeout(now)).unwrap();
                victim.transmit();
            }
            let suite = victim.pair.server.summary().cipher_suite.expect("a ServerHello");
            let suite = setup.server.config().common().provider().tls13_suite(suite).expect("a suite of the provider");
            let mut client = DatagramForge::new(suite, &log.secret("CLIENT_HANDSHAKE_TRAFFIC_SECRET"), 2);
            for number in 0..400 {
                victim.take(unified(3, number as u8));
            }
            for seq in (1..13).rev() {
                let total = if seq == 1 { max } else { max / 8 };
                for at in (0..total - 1).step_by(2 * piece).rev().chain((piece..total - 1).step_by(2 * piece)) {
                    let fragment = fragment(seq, total, at, piece.min(total - 1 - at)).split_off(13);
                    victim.take(client.record(ContentType::HANDSHAKE, &fragment));
                }
            }
            let limit = memory.max_record as u64;
            let numbers = ack(limit / 16 - 1).split_off(13);
            victim.take(client.record(ContentType::ACK, &numbers));
            victim.transmit();
            worst = worst.max(victim.peak());
        }
        println!("{name}: {worst} of {heap}");
        assert!(worst <= heap, "{name}: {worst} of {heap}");
    }
}

/// Data and the last flight wait to be sent while the network takes nothing.
#[test]
fn full_buffers() {
    for (name, setup, memory) in configurations() {
        for side in Side::BOTH {
            for size in [1, 100, 900] {
                let peak = worst(memory.heap(), |heap| {
                    let mut victim = Victim::new(&setup, side, heap);
                    victim.handshake();
                    while victim.call(|connection, _| connection.send(&[7; 900][..size])).unwrap() > 0 {}
                    victim.peak()
                });
                assert!(peak <= memory.heap() as i64, "{name}: {peak} of {}", memory.heap());
            }
        }
    }
}

/// Datagrams carry as much application data as they can.
#[test]
fn large_datagrams() {
    let (_, mut setup, memory) = configurations().swap_remove(1);
    for side in Side::BOTH {
        setup.common(side).set_datagrams(Some(Datagrams::default().max_datagram(17_000)));
    }
    for side in Side::BOTH {
        let mut victim = Victim::new(&setup, side, memory.heap());
        victim.handshake();
        let other = side.other();
        for _ in 0..4 {
            victim.pair.send(other, &[7; 16_000]).unwrap();
            let mut sent = Vec::new();
            victim.pair.transmit(other, &mut |datagram: &Datagram| {
                sent.push(datagram.bytes.clone());
                Vec::new()
            });
            sent.into_iter().for_each(|datagram| victim.take(datagram));
        }
        assert!((16_000..=memory.heap() as i64).contains(&victim.peak()));
    }
}

/// All of a connection's heap goes with it, whatever it went through.
#[test]
fn nothing_outlives_the_connection() {
    let (_, setup, _) = configurations().swap_remove(1);
    for percent in [0, 30, 100] {
        // What is made once for all connections is made by the first.
        for is_first in [true, false] {
            let setup = setup.clone();
            let ((), heap) = measure(|| {
                let mut pair = setup.datagram_pair(3);
                let mut number = 0_usize;
                let _ = pair.run(|datagram| {
                    number += 37;
                    if number % 100 < percent { Vec::new() } else { datagram.arrives() }
                });
                for seq in 0..5 {
                    let _ = pair.deliver(Side::Server, fragment(seq, 500, 3, 20));
                    let _ = pair.deliver(Side::Client, record(23, 1, 9, &[0; 100]));
                }
            });
            assert!(is_first || heap.kept == 0, "{percent} %: {} bytes are left", heap.kept);
        }
    }
}
