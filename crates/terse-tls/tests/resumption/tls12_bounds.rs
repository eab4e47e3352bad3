//! What does not become a session of TLS 1.2, how long one lives, and what a session of another server, version or time
//! is worth: a full handshake.

use alloc::sync::Arc;

use terse_testkit::fault::{first, remove_extension, set_extension};
use terse_testkit::pair::{Pair, Side, at};
use terse_testkit::pki::{CLIENT_NAME, DAY, Pki, SERVER_NAME, credential};
use terse_tls::resume::{MAX_LIFETIME, MemoryClientSessions, MemorySessionStore, ServerResumption};
use terse_tls::summary::Mode;
use terse_tls::{ClientAuthentication, ExtensionType, HandshakeType, Now, ProtocolVersion};

use super::bounds::short_lived;
use super::resumed::PROVIDERS;
use super::world::{CHAIN, Kept, LIFETIME, Sent, World, mode, shown_ticket, shown12, shows_session};

const TLS12: ProtocolVersion = ProtocolVersion::TLS_1_2;
const TLS13: ProtocolVersion = ProtocolVersion::TLS_1_3;

fn world(kept: Kept) -> World {
    World::of(TLS12, kept)
}

/// Replaces what the client keeps by nothing; what it kept.
fn forget(world: &mut World) -> Arc<MemoryClientSessions> {
    let old = core::mem::replace(&mut world.sessions, Arc::new(MemoryClientSessions::new(4)));
    let sessions = world.sessions.clone();
    world.setup.client.edit_resumption(|resumption| resumption.store = sessions);
    old
}

#[test]
fn who_does_not_resume_keeps_nothing() {
    for kept in Kept::BOTH {
        let sent = Arc::new(Sent::default());
        let mut without = world(kept);
        without.setup.server.trace(sent.clone());
        without.setup.client.resumption(None);
        let modes = [0, 1].map(|seconds| {
            let pair = without.connect(seconds);
            assert_eq!(shown12(&pair), (vec![], None));
            mode(&pair)
        });
        assert_eq!(modes, [Mode::Full; 2]);
        assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET), [0_usize; 0]);

        let mut without = world(kept);
        without.setup.server.trace(sent.clone());
        without.setup.server.resumption(None);
        assert_eq!([0, 1].map(|seconds| without.mode(seconds)), [Mode::Full; 2]);
        assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET), [0_usize; 0]);
        assert!(without.sessions.is_empty());
    }
}

/// Without a clock no lifetime can be kept: neither side resumes.
#[test]
fn needs_a_clock() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        world.setup.client.trust(world.setup.client.config().trust().clone().accept_without_clock());
        let trust = Pki::shared(CHAIN).trust().accept_without_clock();
        world.setup.server.client_authentication(ClientAuthentication::Required(trust));
        let connect = |world: &World, now: Now| {
            let (client, server) =
                (Arc::new(world.setup.client.build().unwrap()), Arc::new(world.setup.server.build().unwrap()));
            let mut pair = Pair::at(&client, &server, 77, now);
            pair.handshake().unwrap();
            mode(&pair)
        };
        let no_clock = Now::new(at(0).monotonic, None);
        assert_eq!(connect(&world, no_clock), Mode::Full);
        assert!(world.sessions.is_empty());
        assert_eq!(connect(&world, at(0)), Mode::Full);
        assert_eq!(connect(&world, no_clock), Mode::Full);
        assert_eq!(connect(&world, at(1)), Mode::Resumed, "the session was kept meanwhile");
    }
}

/// RFC 7627, 5.4: nothing of such a connection is ever resumed.
#[test]
fn nothing_is_kept_without_the_extended_master_secret() {
    for kept in Kept::BOTH {
        let sent = Arc::new(Sent::default());
        let mut world = world(kept);
        for side in Side::BOTH {
            world.setup.common(side).set_require_extended_master_secret(false);
        }
        let store = Arc::new(MemorySessionStore::new(4));
        if kept == Kept::InStore {
            let resumption = ServerResumption::Stateful { store: store.clone(), lifetime_seconds: LIFETIME };
            world.setup.server.resumption(Some(resumption));
        }
        world.setup.server.trace(sent.clone());
        world.setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, |hello| {
            remove_extension(hello, ExtensionType::EXTENDED_MASTER_SECRET);
        })));
        assert_eq!(world.mode(0), Mode::Full);
        assert!(world.sessions.is_empty() && store.is_empty());
        assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET), [0_usize; 0]);
        world.setup.client.fault(None);
        assert_eq!([1, 2].map(|seconds| world.mode(seconds)), [Mode::Full, Mode::Resumed]);
    }
}

/// The lifetime counts from the full handshake on.
#[test]
fn a_session_ends_with_its_lifetime() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        let end = u64::from(LIFETIME);
        let modes = [0, end / 2, end - 1, end, end + 1].map(|seconds| world.mode(seconds));
        assert_eq!(modes, [Mode::Full, Mode::Resumed, Mode::Resumed, Mode::Full, Mode::Resumed], "{kept:?}");

        // A client whose clock stands still shows a session that is over.
        let mut pair = world.pair(end + 2);
        pair.now = at(2 * end);
        pair.handshake().unwrap();
        assert!(shows_session(&pair));
        assert_eq!(mode(&pair), Mode::Full);
    }
}

#[test]
fn a_session_ends_after_seven_days() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        world.setup.server.resumption(Some(world.server_resumption(kept, MAX_LIFETIME)));
        let modes = [0, DAY, 7 * DAY - 1, 7 * DAY].map(|seconds| world.mode(seconds));
        assert_eq!(modes, [Mode::Full, Mode::Resumed, Mode::Resumed, Mode::Full], "{kept:?}");
    }
}

/// A session ends with the certificate of either side, after the last second of its validity.
#[test]
fn a_session_ends_with_a_certificate() {
    for (kept, side) in Kept::BOTH.into_iter().flat_map(|kept| Side::BOTH.map(|side| (kept, side))) {
        let mut world = world(kept);
        let own = |leaf: &terse_pki::Credential| credential(PROVIDERS[0], leaf);
        match side {
            Side::Client => {
                world.setup.client.credentials(vec![short_lived(CHAIN, CLIENT_NAME, own)]);
            }
            Side::Server => {
                world.setup.server.credentials(vec![short_lived(CHAIN, SERVER_NAME, own)]);
            }
        }
        let modes = [0, 3599, 3600].map(|seconds| world.mode(seconds));
        assert_eq!(modes, [Mode::Full, Mode::Resumed, Mode::Resumed]);
        let failed = world.refused(3601);
        assert!(matches!(failed.error, terse_tls::Error::Certificate(_)), "{failed:?}");
    }
}

#[test]
fn a_handle_that_the_store_gave_up() {
    let mut world = world(Kept::InStore);
    let store = Arc::new(MemorySessionStore::new(1));
    world.setup.server.resumption(Some(ServerResumption::Stateful { store, lifetime_seconds: LIFETIME }));
    world.connect(0);
    let old = forget(&mut world);
    world.connect(1);
    let mut resumption = world.setup.client.config().resumption().unwrap().clone();
    resumption.store = old;
    world.setup.client.resumption(resumption);
    let pair = world.connect(2);
    assert!(shows_session(&pair));
    assert_eq!(mode(&pair), Mode::Full);
    assert_eq!(world.mode(3), Mode::Resumed);
}

/// Damaged on the way into the client's store, say: any byte of it.
#[test]
fn a_damaged_ticket_or_handle() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        world.connect(0);
        let stored = world.sessions.to_bytes();
        let (id, ticket) = shown12(&world.connect(1));
        let shown = if kept == Kept::InTickets { ticket.unwrap() } else { id[..16].to_vec() };
        let at = stored.windows(shown.len()).position(|window| window == shown).unwrap();
        for byte in at..at + shown.len() {
            let mut damaged = stored.to_vec();
            damaged[byte] ^= 0x10;
            let damaged = MemoryClientSessions::from_bytes(&damaged, 4).unwrap();
            let mut resumption = world.setup.client.config().resumption().unwrap().clone();
            resumption.store = Arc::new(damaged);
            world.setup.client.resumption(resumption);
            let mut pair = world.pair(2);
            pair.handshake().unwrap();
            assert!(shows_session(&pair));
            assert_eq!(mode(&pair), Mode::Full, "{byte}");
        }
    }
}

/// A session belongs to one version, whichever side gave up the other one.
#[test]
fn versions_that_change() {
    for (old, new) in [(TLS12, TLS13), (TLS13, TLS12)] {
        for kept in Kept::BOTH {
            for side in Side::BOTH {
                let mut world = World::of(old, kept);
                world.connect(0);
                world.setup.common(side.other()).set_versions(vec![TLS13, TLS12]);
                world.setup.common(side).set_versions(vec![new]);
                for expected in [Mode::Full, Mode::Resumed] {
                    let pair = world.connect(1);
                    assert_eq!((mode(&pair), pair.client.summary().version), (expected, Some(new)), "{side:?}");
                    let is_offered = expected == Mode::Resumed || side == Side::Server;
                    assert_eq!(shows_session(&pair), is_offered, "{side:?}: {old} to {new}");
                }
            }
        }
    }
}

/// The server takes both versions, and the client comes with the session of the older one.
#[test]
fn a_server_that_learns_tls13() {
    for kept in Kept::BOTH {
        let mut world = world(kept);
        world.setup.client.versions(vec![TLS13, TLS12]);
        world.connect(0);
        world.setup.server.versions(vec![TLS13, TLS12]);
        let pair = world.connect(1);
        assert_eq!((mode(&pair), pair.client.summary().version), (Mode::Full, Some(TLS13)));
        assert!(shown_ticket(&pair).is_none() && shows_session(&pair));
        assert_eq!(world.mode(2), Mode::Resumed);
    }
}

/// What a session of TLS 1.3 is called means nothing in TLS 1.2.
#[test]
fn a_ticket_of_tls13_in_its_place() {
    for kept in Kept::BOTH {
        let mut world = World::of(TLS13, kept);
        world.connect(0);
        // Shown, but never used up.
        let mut unused = world.pair(1);
        unused.transmit(Side::Client);
        let ticket = shown_ticket(&unused).unwrap();
        world = world.only(TLS12);
        world.setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, move |hello| match kept {
            Kept::InTickets => set_extension(hello, ExtensionType::SESSION_TICKET, &ticket),
            Kept::InStore => {
                let id = [&[32][..], &ticket, &[0; 16]].concat();
                hello.splice(38..39, id);
                terse_testkit::fault::fix_length(hello);
            }
        })));
        assert_eq!(world.mode(2), Mode::Full, "{kept:?}");
    }
}
