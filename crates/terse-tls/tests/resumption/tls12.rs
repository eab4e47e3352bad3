//! Sessions of TLS 1.2 are resumed by id (RFC 5246, 7.3) or ticket (RFC 5077). A session is used again and again until its
//! time is over, because a resumed handshake makes no new one.

use alloc::sync::Arc;

use terse_testkit::forge::KeyLogLines;
use terse_testkit::pair::Side;
use terse_testkit::pki::{CLIENT_NAME, Pki, SERVER_NAME};
use terse_testkit::setup::Setup;
use terse_tls::crypto::Tls12KeyExchange;
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{ClientAuthentication, HandshakeType, ProtocolVersion};

use super::resumed::{PROVIDERS, check_peers};
use super::world::{CHAIN, Kept, Sent, World, hellos, mode, shown12};

const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;

fn world(kept: Kept) -> World {
    World::of(TLS12, kept)
}

#[test]
fn has_the_same_peers_without_certificates() {
    use HandshakeType as Kind;
    for (kept, client, server) in
        Kept::BOTH.into_iter().flat_map(|kept| PROVIDERS.map(|client| (kept, client, PROVIDERS[kept as usize])))
    {
        let mut world = World::from(Setup::mutual(client, server, CHAIN), kept).only(TLS12);
        let first = world.connect(0);
        assert_eq!((mode(&first), first.client.summary().round_trips), (Mode::Full, 2));
        check_peers(&first);
        for seconds in [60, 120, 180] {
            let pair = world.connect(seconds);
            assert_eq!(mode(&pair), Mode::Resumed);
            check_peers(&pair);
            for (summary, hello) in
                [(pair.client.summary(), Kind::CLIENT_HELLO), (pair.server.summary(), Kind::SERVER_HELLO)]
            {
                let sent: Vec<_> = summary.sent.messages.iter().map(|(kind, _)| *kind).collect();
                assert_eq!(sent, [hello, Kind::FINISHED]);
                assert_eq!((summary.version, summary.round_trips), (Some(TLS12), 1));
                assert_eq!(summary.cipher_suite, first.client.summary().cipher_suite);
                assert_eq!((summary.signatures_verified, summary.signatures_saved), (0, 2));
                assert_eq!((summary.fallback, &summary.cached[..]), (None, &[][..]));
            }
        }
        assert_eq!(world.sessions.len(), 1);
    }
}

/// A handle that the store knows comes first in an id of 32 bytes; a ticket has an id that the client chose (RFC 5077,
/// 3.4).
#[test]
fn the_client_shows_what_the_server_gave() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        let none = shown12(&world.connect(0));
        assert_eq!(none, (vec![], Some(vec![])), "it would take a ticket");
        let [(first_id, first), (second_id, second)] = [1, 2].map(|seconds| shown12(&world.connect(seconds)));
        let (first, second) = (first.unwrap(), second.unwrap());
        assert_eq!(first, second, "the session may be used again");
        match kept {
            Kept::InStore => assert_eq!((first_id.len(), first.len(), first_id == second_id), (32, 0, true)),
            Kept::InTickets => assert!(first_id.len() == 8 && !first.is_empty() && first_id != second_id),
        }
    }
}

/// A session that the client keeps has no name at the server (RFC 5077, 3.4).
#[test]
fn a_ticket_takes_the_place_of_a_session_id() {
    for (kept, len) in [(Kept::InTickets, 0), (Kept::InStore, 32)] {
        let pair = world(kept).connect(0);
        // The session id comes after the headers of record and message, the version and the random.
        assert_eq!(pair.from_server[5 + 4 + 2 + 32], len, "{kept:?}");
    }
}

#[test]
fn a_ticket_counts_after_the_handshake_only() {
    for kept in Kept::BOTH {
        let sent = Arc::new(Sent::default());
        let mut world = world(kept);
        world.setup.server.trace(sent.clone());
        for seconds in 0..3 {
            let mut pair = world.pair(seconds);
            pair.handshake().unwrap();
            let [client, server] = [pair.client.summary(), pair.server.summary()];
            for (from, to, stream) in [(client, server, &pair.from_client), (server, client, &pair.from_server)] {
                assert_eq!(from.sent.record_bytes, to.received.record_bytes);
                assert_eq!(from.sent.post_handshake_bytes, to.received.post_handshake_bytes);
                assert_eq!(from.sent.handshake_bytes, to.received.handshake_bytes);
                assert_eq!(from.sent.record_bytes + from.sent.post_handshake_bytes, stream.len() as u64);
            }
            let tickets = sent.of(HandshakeType::NEW_SESSION_TICKET);
            let expected = if seconds == 0 { tickets.iter().sum::<usize>() } else { 0 };
            assert_eq!(expected > 0, kept == Kept::InTickets && seconds == 0);
            assert_eq!(server.sent.post_handshake_bytes, expected as u64);
            assert!(server.sent.messages.iter().all(|(kind, _)| *kind != HandshakeType::NEW_SESSION_TICKET));
        }
        assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET).len(), usize::from(kept == Kept::InTickets));
    }
}

#[test]
fn every_suite_with_certificates() {
    for (client, kept) in PROVIDERS.into_iter().flat_map(|client| Kept::BOTH.map(|kept| (client, kept))) {
        for suite in client.tls12_suites.iter().filter(|suite| suite.key_exchange.has_certificates()) {
            let is_rsa = suite.key_exchange == Tls12KeyExchange::EcdheRsa;
            let (chain, server) = if is_rsa { ("rsa2048x2", PROVIDERS[0]) } else { (CHAIN, client) };
            let mut setup = Setup::new(server, server, chain);
            setup.client = terse_tls::ClientConfig::builder(client);
            setup.client.trust(Pki::shared(chain).trust());
            setup.client.suites(vec![suite.id]);
            let mut world = World::from(setup, kept).only(TLS12);
            let modes = [0, 1, 2].map(|seconds| world.mode(seconds));
            assert_eq!(modes, [Mode::Full, Mode::Resumed, Mode::Resumed], "{} {kept:?}", suite.id);
            assert_eq!(world.connect(3).server.summary().cipher_suite, Some(suite.id));
        }
    }
}

#[test]
fn every_policy_of_client_authentication() {
    let trust = || Pki::shared(CHAIN).trust();
    type Policy = ClientAuthentication;
    for kept in Kept::BOTH {
        for (policy, has_certificate, name) in [
            (Policy::None, true, None),
            (Policy::Optional(trust()), false, None),
            (Policy::Optional(trust()), true, Some(CLIENT_NAME)),
            (Policy::Required(trust()), true, Some(CLIENT_NAME)),
        ] {
            let mut world = world(kept);
            world.setup.server.client_authentication(policy);
            world.setup.client.edit_credentials(|own| own.retain(|_| has_certificate));
            for expected in [Mode::Full, Mode::Resumed, Mode::Resumed] {
                let pair = world.connect(0);
                let summary = pair.server.summary();
                assert_eq!((mode(&pair), summary.peer.name().as_deref()), (expected, name));
                let by = name.map_or(AuthenticatedBy::None, |_| AuthenticatedBy::Certificate);
                assert_eq!(summary.peer.authenticated_by, by);
                let saved = u32::from(expected == Mode::Resumed && name.is_some()) * 2;
                assert_eq!(summary.signatures_saved, saved);
            }
        }
    }
}

/// The master secret stays, but the keys are new, and so are exporters.
#[test]
fn both_sides_have_new_keys() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        let logs = Side::BOTH.map(|side| {
            let log = Arc::new(KeyLogLines::default());
            world.setup.common(side).set_key_log(log.clone());
            log
        });
        let mut exported = Vec::new();
        let mut randoms = Vec::new();
        for seconds in 0..3 {
            let pair = world.connect(seconds);
            let [client, server] = [&pair.client, &pair.server].map(|side| {
                let mut secret = [0; 32];
                side.export_keying_material(b"EXPORTER-test", None, &mut secret).unwrap();
                secret
            });
            assert_eq!(client, server);
            exported.push(client);
            randoms.push(hellos(&pair)[0][6..38].to_vec());
        }
        exported.sort();
        exported.dedup();
        assert_eq!(exported.len(), 3);
        let [client, server] = logs.map(|log| log.lines());
        assert_eq!(client, server);
        assert!(client.iter().all(|line| line.label == "CLIENT_RANDOM" && line.secret == client[0].secret));
        assert_eq!(client.iter().map(|line| line.client_random.to_vec()).collect::<Vec<_>>(), randoms);
    }
}

#[test]
fn has_the_same_application_protocol() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        for side in Side::BOTH {
            world.setup.common(side).set_alpn_protocols(vec![b"mqtt".to_vec()]);
        }
        for expected in [Mode::Full, Mode::Resumed, Mode::Resumed] {
            let pair = world.connect(0);
            assert_eq!(mode(&pair), expected);
            for connection in [&pair.client, &pair.server] {
                assert_eq!(connection.alpn_protocol(), Some(&b"mqtt"[..]));
            }
            assert_eq!(pair.server.server_name(), Some(SERVER_NAME));
        }
    }
}

#[test]
fn works_byte_by_byte() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        for expected in [Mode::Full, Mode::Resumed] {
            let mut pair = world.pair(0);
            pair.stretch = 1;
            pair.handshake().unwrap();
            assert_eq!(mode(&pair), expected);
        }
    }
}

/// The second takes the session only when the first has given it back.
#[test]
fn connections_at_once() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        world.connect(0);
        let mut pairs = [0; 3].map(|_| world.pair(1));
        pairs.iter_mut().for_each(|pair| pair.handshake().unwrap());
        assert_eq!(pairs.each_ref().map(mode), [Mode::Resumed, Mode::Full, Mode::Full]);
        let mut pairs = [0; 3].map(|_| world.pair(2));
        pairs.iter_mut().for_each(|pair| pair.handshake().unwrap());
        assert_eq!(pairs.each_ref().map(mode), [Mode::Resumed; 3]);
    }
}
