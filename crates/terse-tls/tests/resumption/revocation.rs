//! CRLs that are replaced while both sides run: a revoked peer's sessions end, on either side, in tickets and in stores
//! (docs/caching.md, 3.1).

use pki_types::CertificateRevocationListDer;
use terse_pki::{Revocation, Validity};
use terse_testkit::pair::{Pair, Side};
use terse_testkit::pki::{DAY, NOW, Pki, validity};
use terse_tls::FallbackReason;
use terse_tls::summary::Mode;
use terse_tls::{CertificateError, ClientAuthentication, Error, Summary, Trust};

use super::world::{CHAIN, World, all, mode};

/// Returns a CRL of the CA that issues leaves, or of the impostor `of`.
fn crl(of: &Pki, revoked: &[&terse_pki::Credential]) -> CertificateRevocationListDer<'static> {
    let revoked: Vec<_> = revoked.iter().map(|leaf| Revocation::new(leaf.leaf(), NOW).unwrap()).collect();
    of.authority.crl(1, &revoked, validity()).unwrap()
}

fn nobody() -> CertificateRevocationListDer<'static> {
    crl(&Pki::shared(CHAIN), &[])
}

/// Returns a CRL that revokes the peer of `side`.
fn revoking(side: Side) -> CertificateRevocationListDer<'static> {
    let pki = Pki::shared(CHAIN);
    crl(&pki, &[if side == Side::Client { &pki.server } else { &pki.client }])
}

fn trust() -> Trust {
    Pki::shared(CHAIN).trust().with_crls(&[nobody()]).unwrap()
}

fn set_trust(world: &mut World, side: Side) {
    match side {
        Side::Client => {
            world.setup.client.trust(trust());
        }
        Side::Server => {
            world.setup.server.client_authentication(ClientAuthentication::Required(trust()));
        }
    }
}

fn replace(world: &World, side: Side, crls: &[CertificateRevocationListDer<'_>]) {
    let trust = match side {
        Side::Client => world.setup.client.config().trust(),
        Side::Server => world.setup.server.config().client_authentication().trust().unwrap(),
    };
    trust.revocation().unwrap().replace(crls).unwrap();
}

fn summary(pair: &Pair, side: Side) -> &Summary {
    match side {
        Side::Client => pair.client.summary(),
        Side::Server => pair.server.summary(),
    }
}

/// In both versions, both ways of keeping sessions, and where either side checks revocation: after a connection that was
/// resumed from another one.
fn for_each(test: impl Fn(&mut World, Side)) {
    for (version, kept) in all() {
        for side in Side::BOTH {
            println!("{version} {kept:?} {side:?}"); // is shown if a test fails
            let mut world = World::of(version, kept);
            set_trust(&mut world, side);
            world.connect(0);
            assert_eq!(world.mode(1), Mode::Resumed);
            test(&mut world, side);
        }
    }
}

/// Checks that `side` refuses a peer whose session it does not resume.
fn assert_refused(world: &mut World, side: Side, seconds: u64, expected: CertificateError, reason: FallbackReason) {
    let mut pair = world.pair(seconds);
    let failed = pair.run().unwrap_err();
    assert_eq!((failed.side, failed.error), (side, Error::Certificate(expected)));
    assert_eq!((summary(&pair, side).mode, summary(&pair, side).fallback), (Mode::Full, Some(reason)));
    assert_eq!(summary(&pair, side).peer.identity, None);
}

#[test]
fn a_new_crl_ends_no_session_that_it_does_not_revoke() {
    for_each(|world, side| {
        replace(world, side, &[revoking(side.other())]);
        assert_eq!([world.mode(2), world.mode(3)], [Mode::Resumed; 2]);
    });
}

#[test]
fn a_new_crl_ends_the_sessions_that_it_revokes() {
    for_each(|world, side| {
        replace(world, side, &[revoking(side)]);
        assert_refused(world, side, 2, CertificateError::Revoked, FallbackReason::Revoked);
        if side == Side::Client {
            assert!(world.sessions.is_empty());
        }
        // The old CRL is back. The deleted sessions are not.
        replace(world, side, &[nobody()]);
        let resumed = world.mode(3) == Mode::Resumed;
        assert!(!resumed || side == Side::Server, "the client's session is deleted");
        assert_eq!(world.mode(4), Mode::Resumed);
    });
}

/// A handle is shown twice: what the first one deleted is not there for the second.
#[test]
fn a_revoked_session_leaves_the_store() {
    for (version, kept) in all().filter(|(_, kept)| *kept == super::world::Kept::InStore) {
        let mut world = World::of(version, kept);
        set_trust(&mut world, Side::Server);
        world.connect(0);
        let copy = world.sessions.to_bytes();
        replace(&world, Side::Server, &[revoking(Side::Server)]);
        assert_refused(&mut world, Side::Server, 1, CertificateError::Revoked, FallbackReason::Revoked);
        replace(&world, Side::Server, &[nobody()]);
        world.put_back(&copy);
        let pair = world.connect(2);
        assert_eq!((mode(&pair), super::world::shows_session(&pair)), (Mode::Full, true));
    }
}

#[test]
fn without_a_current_crl_no_session_is_used_and_none_lost() {
    let unknown = CertificateError::UnknownRevocationStatus;
    for_each(|world, side| {
        replace(world, side, &[]);
        assert_refused(world, side, 2, unknown, FallbackReason::NoCurrentCrl);
        replace(world, side, &[crl(&Pki::new(CHAIN), &[])]);
        if side == Side::Client {
            assert_refused(world, side, 3, unknown, FallbackReason::CrlNotVerified);
            replace(world, side, &[nobody()]);
            assert_eq!(world.mode(4), Mode::Resumed, "the session is still there");
        }
    });
}

#[test]
fn a_crl_that_has_expired() {
    for_each(|world, side| {
        let short = Validity { not_before: NOW - DAY, not_after: NOW + 60 };
        let short = Pki::shared(CHAIN).authority.crl(1, &[], short).unwrap();
        replace(world, side, &[short]);
        assert_eq!(world.mode(59), Mode::Resumed);
        assert_refused(world, side, 60, CertificateError::CrlExpired, FallbackReason::NoCurrentCrl);
    });
}

#[test]
fn after_a_restart_the_issuer_is_learned_anew() {
    for_each(|world, side| {
        set_trust(world, side);
        let pair = world.connect(2);
        assert_eq!(mode(&pair), Mode::Full);
        assert_eq!(summary(&pair, side).fallback, Some(FallbackReason::IssuerUnknown));
        assert_eq!(world.mode(3), Mode::Resumed);
    });
}

#[test]
fn whether_crls_are_required_is_part_of_the_context() {
    for (version, kept) in all() {
        for side in Side::BOTH {
            let mut world = World::of(version, kept);
            world.connect(0);
            set_trust(&mut world, side);
            assert_eq!([world.mode(1), world.mode(2)], [Mode::Full, Mode::Resumed], "{version} {kept:?} {side:?}");
        }
    }
}
