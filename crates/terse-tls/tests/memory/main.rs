//! These tests hold [`Memory`] to its promises, byte by byte, against what hostile and honest peers make a connection take; and
//! [`Arena::size_for`], since the connections run in arenas.

extern crate alloc;

mod arenas;
mod cache;
mod caching;
mod chains;
mod datagrams;
mod endpoint;
mod identity;
mod strangers;

use alloc::sync::Arc;

use terse_arena::{Allocator, Arena};
use terse_testkit::fault::message;
use terse_testkit::forge::{Forge, KeyLogLines, header, plaintext};
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::pki::{Pki, server_address};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::{
    ApiMisuse, ClientAuthentication, Connection, ContentType, Error, HandshakeType, InvalidMessage, Memory,
    ProtocolVersion,
};

use arenas::{Beyond, arena, peak, worst};

#[global_allocator]
static ALLOCATOR: Allocator<Beyond> = Allocator::new(Beyond);

/// One side of a pair, with an arena from which it has all of its memory.
struct Victim {
    pair: Pair,
    side: Side,
    arena: &'static Arena,
}

impl Victim {
    /// Makes a victim whose arena is for `heap` bytes in use.
    fn new(setup: &Setup, side: Side, heap: usize) -> Self {
        Self::in_arena(setup, side, arena(heap), 1)
    }

    fn in_arena(setup: &Setup, side: Side, arena: &'static Arena, seed: u64) -> Self {
        let mut pair = arenas::without_stores(setup, side).pair(seed);
        let config = (Arc::new(setup.client.build().unwrap()), Arc::new(setup.server.build().unwrap()));
        let mut rng = SeededRng::new(seed);
        let connection = arena.run(|| match side {
            Side::Client => Connection::client(config.0, server_address(), at(0), &mut rng).unwrap(),
            Side::Server => Connection::server(config.1, at(0)).unwrap(),
        });
        match side {
            Side::Client => pair.client = connection,
            Side::Server => pair.server = connection,
        }
        Self { pair, side, arena }
    }

    /// Calls the victim, in its arena.
    fn call<T>(&mut self, call: impl FnOnce(&mut Connection, &mut SeededRng) -> T) -> T {
        let (connection, rng) = self.pair.side(self.side);
        self.arena.run(|| call(connection, rng))
    }

    /// Returns the most bytes that were in use, none of them outside of the arena.
    fn peak(&self) -> i64 {
        peak(self.arena)
    }

    /// Returns the bytes that are in use.
    fn kept(&self) -> i64 {
        self.arena.in_use() as i64
    }

    /// Takes data of the peer, which shows a client that the server has its Finished.
    fn hears_data(&mut self) {
        let other = self.side.other();
        self.pair.side(other).0.send(b"confirmed").unwrap();
        let mut data = self.pair.transmit(other);
        self.take(&mut data, usize::MAX).unwrap();
    }

    fn transmit(&mut self) -> Vec<u8> {
        let mut out = vec![0; 0x4_0000];
        let len = self.call(|connection, _| connection.poll_transmit(at(0), &mut out).unwrap_or(0));
        out.truncate(len);
        out
    }

    /// Feeds `input` in stretches, and reads what comes out.
    fn take(&mut self, input: &mut [u8], stretch: usize) -> Result<(), Error> {
        let mut data = [0; 512];
        for part in input.chunks_mut(stretch) {
            let mut taken = 0;
            while taken < part.len() {
                taken += self.call(|connection, rng| connection.handle_input(at(0), rng, &mut part[taken..]))?;
                while self.call(|connection, _| connection.recv(&mut data)) > 0 {}
            }
        }
        Ok(())
    }

    fn handshake(&mut self, stretch: usize) {
        self.try_handshake(stretch).unwrap();
        assert!(self.pair.side(self.side).0.is_connected());
    }

    /// Exchanges flights until the handshake is complete or the victim refuses what came.
    fn try_handshake(&mut self, stretch: usize) -> Result<(), Error> {
        for _ in 0..8 {
            let mut sent = self.transmit();
            let other = self.side.other();
            self.pair.deliver(other, core::mem::take(&mut sent)).unwrap();
            let mut received = self.pair.transmit(other);
            self.take(&mut received, stretch)?;
        }
        Ok(())
    }
}

/// A configuration, and the heap that it announces.
fn configurations() -> Vec<(&'static str, Setup, Memory)> {
    let provider = &terse_rustcrypto::PROVIDER;
    let of = |chain, version| match chain {
        // RustCrypto verifies with RSA keys, and does not sign with them.
        "rsa2048x3" => {
            let (pki, signer) = (Pki::shared(chain), &terse_aws_lc::PROVIDER);
            let mut setup = Setup::new(provider, signer, "p256x3").only(version);
            setup.client.trust(pki.trust()).credentials(vec![]);
            setup.server.credentials(vec![pki.server(signer)]);
            setup
        }
        _ => Setup::mutual(provider, provider, chain).only(version),
    };
    let mut all = Vec::new();
    for (version, tls12) in [(ProtocolVersion::TLS_1_3, false), (ProtocolVersion::TLS_1_2, true)] {
        let mut device = of("p256x3", version);
        let memory = Memory::DEVICE.tls12(tls12);
        for side in Side::BOTH {
            let common = device.common(side);
            common.set_max_handshake_message(memory.max_handshake_message);
            common.set_max_record(memory.max_record);
            common.set_max_send_buffer(memory.max_send_buffer);
            common.set_record_size_limit(Some(memory.max_record as u16));
        }
        all.push(("device", device, memory));
        for (chain, own_flight, cryptography) in
            [("ed25519x3", 1_500, Memory::ELLIPTIC_CURVES), ("rsa2048x3", 3_000, Memory::RSA)]
        {
            let mut setup = of(chain, version);
            let memory = Memory::of(setup.common(Side::Client), own_flight, cryptography);
            assert_eq!(memory.tls12, tls12);
            all.push((chain, setup, memory));
        }
    }
    all
}

/// Runs `attack` on both sides under each configuration, in arenas for the heap that it is told. What it takes stays below the bound,
/// and the bound is not just a large number: the worst of all attacks comes within a factor of `slack`.
fn bounded(attack: impl Fn(&Setup, &Memory, Side, usize) -> i64, slack: i64) {
    for (name, setup, memory) in configurations() {
        let heap = memory.heap() as i64;
        let worst = Side::BOTH.map(|side| worst(memory.heap(), |heap| attack(&setup, &memory, side, heap)));
        let worst = worst.into_iter().max().unwrap_or(0);
        assert!(worst <= heap, "{name}, TLS 1.2 {}: {worst} of {heap}", memory.tls12);
        assert!(worst * slack >= heap, "{name}, TLS 1.2 {}: only {worst} of {heap}", memory.tls12);
    }
}

#[test]
fn handshakes() {
    for (name, setup, memory) in configurations() {
        for (side, stretch) in [(Side::Client, 1), (Side::Client, usize::MAX), (Side::Server, 1)] {
            let peak = worst(memory.heap(), |heap| {
                let mut victim = Victim::new(&setup, side, heap);
                victim.handshake(stretch);
                victim.peak()
            });
            assert!(peak <= memory.heap() as i64, "{name}: {peak} of {}", memory.heap());
        }
    }
}

/// Where revocation is checked, who issued a chain is kept until the peer's Finished is verified.
#[test]
fn handshakes_with_crls() {
    for (name, mut setup, memory) in configurations() {
        let pki = Pki::shared(if name == "device" { "p256x3" } else { name });
        let crl = pki.authority.crl(1, &[], terse_testkit::pki::validity()).unwrap();
        let trust = pki.trust().with_crls(&[crl]).unwrap();
        setup.client.trust(trust.clone());
        if !setup.client.config().credentials().is_empty() {
            setup.server.client_authentication(ClientAuthentication::Required(trust));
        }
        for side in Side::BOTH {
            let mut victim = Victim::new(&setup, side, memory.heap());
            victim.handshake(1);
            assert!(victim.peak() <= memory.heap() as i64, "{name}: {} of {}", victim.peak(), memory.heap());
        }
    }
}

/// A peer sends the longest accepted message except for its last byte, in records of every size, and then the longest record.
#[test]
fn unfinished_messages_and_records() {
    bounded(
        |setup, memory, side, heap| {
            let (message_len, record_len) = (memory.max_handshake_message, memory.max_record);
            let mut worst = 0;
            for (size, stretch) in [(1, 1), (100, 7), (record_len - 1, usize::MAX), (record_len, 1)] {
                let mut victim = Victim::new(setup, side, heap);
                let mut hello = [&[2 - side as u8, 0, 0, 0], &vec![0; message_len - 1][..]].concat();
                hello[1..4].copy_from_slice(&(message_len as u32).to_be_bytes()[1..]);
                for fragment in hello.chunks(size) {
                    victim.take(&mut plaintext(ContentType::HANDSHAKE, fragment), stretch).unwrap();
                }
                // and one more record, which is never whole
                let mut record = header(ContentType::HANDSHAKE, record_len).to_vec();
                record.resize(5 + record_len - 1, 0);
                victim.take(&mut record, 1).unwrap();
                worst = worst.max(victim.peak());
            }
            worst
        },
        24,
    );
}

/// Data waits to be sent while a peer does not read, and sends whatever it may.
#[test]
fn full_buffers() {
    bounded(
        |setup, memory, side, heap| {
            let mut setup = setup.clone();
            let log = Arc::<KeyLogLines>::default();
            setup.server.key_log(log.clone());
            let mut victim = Victim::new(&setup, side, heap);
            victim.handshake(usize::MAX);
            let data = vec![b'x'; 0x4_0000];
            for size in [1, 100, data.len()] {
                while victim.call(|connection, _| connection.send(&data[..size])).unwrap() > 0 {}
            }
            if !memory.tls12 {
                let sender = if side == Side::Server { "CLIENT" } else { "SERVER" };
                let secret = log.secret(&format!("{sender}_TRAFFIC_SECRET_0"));
                let mut forge = Forge::new(terse_rustcrypto::PROVIDER.tls13_suites[0], &secret);
                let limit = memory.max_record - 1;
                let ticket = message(HandshakeType::NEW_SESSION_TICKET, &vec![0; memory.max_handshake_message]);
                for fragment in ticket[..ticket.len() - 1].chunks(limit) {
                    // a client reads tickets until their end is missing; a server refuses them
                    if victim.take(&mut forge.record(ContentType::HANDSHAKE, fragment), 1).is_err() {
                        break;
                    }
                }
            }
            victim.peak()
        },
        16,
    );
}

/// A peer that cannot hold to `max_record` is refused at the header, before the keys are known and after.
#[test]
fn larger_records() {
    let (_, setup, memory) = configurations().swap_remove(0);
    for side in Side::BOTH {
        let mut victim = Victim::new(&setup, side, memory.heap());
        let mut first = header(ContentType::HANDSHAKE, memory.max_record + 1).to_vec();
        assert_eq!(victim.take(&mut first, 1), Err(InvalidMessage::RecordTooLarge.into()));
    }
}

/// Peers must hear of it.
#[test]
fn max_record_goes_with_an_extension() {
    let (_, setup, memory) = configurations().swap_remove(0);
    let refused = |change: &dyn Fn(&mut terse_tls::Common)| {
        let (mut client, mut server) = (setup.client.clone(), setup.server.clone());
        change(client.common_mut());
        change(server.common_mut());
        let error = client.build().unwrap_err();
        assert_eq!(server.build().map(drop), Err(error));
        error
    };
    assert_eq!(refused(&|common| _ = common.set_record_size_limit(None)), ApiMisuse::MaxRecordOutOfRange);
    let larger = memory.max_record as u16 + 2;
    assert_eq!(refused(&|common| _ = common.set_record_size_limit(larger)), ApiMisuse::MaxRecordOutOfRange);
    assert_eq!(refused(&|common| _ = common.set_max_record(0x4001)), ApiMisuse::MaxRecordOutOfRange);
    assert_eq!(refused(&|common| _ = common.set_max_record(63)), ApiMisuse::MaxRecordOutOfRange);
    let mut client = setup.client.clone();
    client.record_size_limit(None);
    client.max_fragment_length(terse_tls::MaxFragmentLength::from_bytes(1024));
    assert_eq!(client.build().map(drop), Ok(()));
}
