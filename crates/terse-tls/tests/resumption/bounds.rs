//! These tests are about how long sessions live, how large they are, and what a clock has to do with it.

use alloc::sync::Arc;

use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::pki::{CLIENT_NAME, DAY, NOW, Pki, SERVER_NAME, credential, validity};
use terse_testkit::setup::Setup;
use terse_tls::resume::{ClientSessionStore, MAX_LIFETIME, MemoryClientSessions};
use terse_tls::summary::Mode;
use terse_tls::{
    CipherSuite, ClientAuthentication, Credential, HandshakeType, NamedGroup, Now, SignatureScheme, Trust,
};

use super::world::{CHAIN, Kept, LIFETIME, Sent, World, all, mode, shown_ticket};

/// The project's own bounds: 120 bytes for a ticket that names the client, 16 for a handle.
#[test]
fn tickets_are_small() {
    let provider = &terse_aws_lc::PROVIDER;
    for (setup, kept, expected) in [
        (Setup::new(provider, provider, CHAIN), Kept::InTickets, 70),
        (Setup::mutual(provider, provider, CHAIN), Kept::InTickets, 70 + 1 + CLIENT_NAME.len()),
        (Setup::mutual(provider, provider, CHAIN), Kept::InStore, 16),
    ] {
        let sent = Arc::new(Sent::default());
        let mut world = World::from(setup, kept);
        world.setup.server.trace(sent.clone());
        world.connect(0);
        let ticket = shown_ticket(&world.connect(1)).unwrap();
        assert_eq!(ticket.len(), expected);
        // header, lifetime, age_add, empty nonce, ticket, no extensions
        assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET), [4 + 4 + 4 + 1 + 2 + expected + 2; 2]);
    }
}

/// Mutual authentication, P-256, AES-128-GCM, SNI, one suite, group and signature scheme; all records of both sides, and
/// the new ticket: at most 720 bytes where the server keeps nothing, 560 where it does.
#[test]
fn a_resumed_handshake_is_small() {
    let provider = &terse_aws_lc::PROVIDER;
    for (kept, most) in [(Kept::InTickets, 720), (Kept::InStore, 560)] {
        let mut world = World::from(Setup::mutual(provider, provider, "p256x3"), kept);
        for side in Side::BOTH {
            let common = world.setup.common(side);
            common.set_suites(vec![CipherSuite::TLS_AES_128_GCM_SHA256]);
            common.set_groups(vec![NamedGroup::SECP256R1]);
            common.set_signature_schemes(vec![SignatureScheme::ECDSA_SECP256R1_SHA256]);
        }
        world.connect(0);
        let pair = world.connect(1);
        assert_eq!(mode(&pair), Mode::Resumed);
        let bytes: u64 = [pair.client.summary(), pair.server.summary()]
            .iter()
            .map(|summary| summary.sent.record_bytes + summary.sent.post_handshake_bytes)
            .sum();
        assert!(bytes <= most, "{kept:?}: {bytes}");
    }
}

/// A raw public key is the peer's identity, and a session keeps it like one.
#[test]
fn raw_public_keys_resume() {
    let provider = &terse_aws_lc::PROVIDER;
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        let pki = Pki::shared(CHAIN);
        let own = |issued: &terse_pki::Credential| {
            let key = provider.load_key(issued.key()).unwrap();
            Credential::raw_public_key(key).unwrap()
        };
        let (server, client) = (own(&pki.server), own(&pki.client));
        let trust = |peer: &Credential| Trust::raw_public_keys(&[peer.key().public_key()]).unwrap();
        world.setup.client.trust(trust(&server));
        world.setup.server.client_authentication(ClientAuthentication::Required(trust(&client)));
        world.setup.server.credentials(vec![server]);
        world.setup.client.credentials(vec![client]);
        let first = world.connect(0);
        let resumed = world.connect(1);
        assert_eq!((mode(&first), mode(&resumed)), (Mode::Full, Mode::Resumed));
        for side in [|pair: &Pair| pair.client.summary().clone(), |pair: &Pair| pair.server.summary().clone()] {
            assert_eq!(side(&first).peer.identity, side(&resumed).peer.identity);
            assert!(side(&resumed).peer.identity.is_some());
        }
    }
}

#[test]
fn a_ticket_ends_with_its_lifetime() {
    for kept in Kept::BOTH {
        for (age, expected) in [(u64::from(LIFETIME) - 1, Mode::Resumed), (LIFETIME.into(), Mode::Full)] {
            let mut world = World::new(kept);
            world.connect(0);
            assert_eq!(world.mode(age), expected, "{kept:?} {age}");
        }
    }
}

/// A client whose clock stands still shows a ticket that is over.
#[test]
fn the_server_keeps_the_lifetime_as_well() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        world.connect(0);
        let mut pair = world.pair(1);
        assert!(world.sessions.is_empty(), "it was offered");
        pair.now = at(LIFETIME.into());
        pair.handshake().unwrap();
        assert_eq!(mode(&pair), Mode::Full);
    }
}

/// No chain of resumptions outlives the handshake with certificates by more than seven days.
#[test]
fn a_chain_of_sessions_ends_after_seven_days() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        world.setup.server.resumption(Some(world.server_resumption(kept, MAX_LIFETIME)));
        assert_eq!(world.mode(0), Mode::Full);
        for day in 1..7 {
            assert_eq!(world.mode(day * DAY), Mode::Resumed, "{kept:?} {day}");
        }
        assert_eq!(world.mode(7 * DAY - 1), Mode::Resumed);
        assert_eq!(world.mode(7 * DAY), Mode::Full);
        assert_eq!(world.mode(8 * DAY), Mode::Resumed);
    }
}

/// A certificate that ends an hour after [`NOW`].
pub(crate) fn short_lived(chain: &str, name: &str, of: impl Fn(&terse_pki::Credential) -> Credential) -> Credential {
    let validity = terse_pki::Validity { not_after: NOW + 3600, ..validity() };
    of(&Pki::shared(chain).authority.issue(&terse_pki::LeafOptions::new(name, validity)).unwrap())
}

#[test]
fn a_session_ends_with_the_certificate_of_the_client() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        let provider = &terse_aws_lc::PROVIDER;
        world.setup.client.credentials(vec![short_lived(CHAIN, CLIENT_NAME, |leaf| credential(provider, leaf))]);
        assert_eq!([world.mode(0), world.mode(3599)], [Mode::Full, Mode::Resumed]);
        assert_eq!(world.mode(3600), Mode::Resumed, "the last second of its validity");
        let failed = world.refused(3601);
        assert!(matches!(failed.error, terse_tls::Error::Certificate(_)), "{failed:?}");
    }
}

#[test]
fn a_session_ends_with_the_certificate_of_the_server() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        let provider = &terse_aws_lc::PROVIDER;
        world.setup.server.credentials(vec![short_lived(CHAIN, SERVER_NAME, |leaf| credential(provider, leaf))]);
        assert_eq!([world.mode(0), world.mode(3600)], [Mode::Full, Mode::Resumed]);
        let failed = world.refused(3601);
        assert!(matches!(failed.error, terse_tls::Error::Certificate(_)), "{failed:?}");
    }
}

/// Without a clock no lifetime can be kept: neither side resumes.
#[test]
fn needs_a_clock() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        let no_clock = Now::new(at(0).monotonic, None);
        world.setup.client.trust(world.setup.client.config().trust().clone().accept_without_clock());
        let pki = Pki::shared(CHAIN).trust().accept_without_clock();
        world.setup.server.client_authentication(ClientAuthentication::Required(pki));
        let connect = |world: &World, now| {
            let (client, server) =
                (Arc::new(world.setup.client.build().unwrap()), Arc::new(world.setup.server.build().unwrap()));
            let mut pair = Pair::at(&client, &server, 77, now);
            pair.handshake().unwrap();
            mode(&pair)
        };
        assert_eq!(connect(&world, no_clock), Mode::Full);
        assert!(world.sessions.is_empty());
        assert_eq!(connect(&world, at(0)), Mode::Full);
        assert_eq!(connect(&world, no_clock), Mode::Full);
        assert_eq!(connect(&world, at(1)), Mode::Resumed, "the session was kept meanwhile");
    }
}

#[test]
fn a_clock_that_was_set_back_disables_sessions() {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(100);
        assert_eq!(world.mode(50), Mode::Full);
    }
}

#[test]
fn sessions_survive_in_bytes() {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        let bytes = world.sessions.to_bytes();
        let again = Arc::new(MemoryClientSessions::from_bytes(&bytes, 4).unwrap());
        let mut resumption = world.setup.client.config().resumption().unwrap().clone();
        resumption.store = again.clone() as Arc<dyn ClientSessionStore>;
        world.setup.client.resumption(resumption);
        assert_eq!(world.mode(1), Mode::Resumed);
    }
}

/// A configuration that cannot work is refused without a peer.
#[test]
fn lifetimes_are_checked_before_any_connection() {
    let world = World::new(Kept::InStore);
    let check = |lifetime| {
        let mut server = world.setup.server.clone();
        server.resumption(world.server_resumption(Kept::InStore, lifetime)).build().map(drop)
    };
    assert_eq!(check(MAX_LIFETIME), Ok(()));
    assert_eq!([0, MAX_LIFETIME + 1].map(check), [Err(terse_tls::ApiMisuse::TicketLifetime); 2]);
}
