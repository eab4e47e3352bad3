//! A changed world ends what was kept of the old one (docs/caching.md, 4.5), over datagrams as over streams:
//! certificates and sessions, in both versions, each way of keeping them, and on either side.

use core::time::Duration;
use std::sync::LazyLock;

use pki_types::{CertificateRevocationListDer, UnixTime};
use terse_pki::{Authority, AuthorityOptions, LeafOptions, Revocation, Usage, Validity};
use terse_testkit::datagrams::DatagramPair;
use terse_testkit::pair::{Side, at};
use terse_testkit::pki::{CLIENT_NAME, DAY, NOW, Pki, SERVER_NAME, credential, validity};
use terse_tls::FallbackReason;
use terse_tls::summary::Mode;
use terse_tls::{CertificateError, ClientAuthentication, Date, Error, Now, Summary, Trust};

use super::caching::{Keeps, World, all};
use super::modes::{CHAIN, PROVIDER};

static OTHER: LazyLock<Pki> = LazyLock::new(|| Pki::named(CHAIN, "Other CA"));

/// Returns a world after two connections of each kind.
fn for_each(test: impl Fn(&mut World, Keeps, Side)) {
    for (version, keeps) in all() {
        for side in Side::BOTH {
            println!("{version} {keeps:?} {side:?}"); // is shown if a test fails
            test(&mut World::after(version, keeps, 2), keeps, side);
        }
    }
}

fn summary(pair: &DatagramPair, side: Side) -> &Summary {
    match side {
        Side::Client => pair.client.summary(),
        Side::Server => pair.server.summary(),
    }
}

fn trust_of(world: &mut World, side: Side, trust: Trust) {
    match side {
        Side::Client => {
            world.setup.client.trust(trust);
        }
        Side::Server => {
            world.setup.server.client_authentication(ClientAuthentication::Required(trust));
        }
    }
}

/// Checks that `side` verifies its peer in full in the next connection, and no longer after that.
fn assert_verified_again(world: &mut World, side: Side) {
    let mut pair = world.begin();
    pair.run_well().unwrap();
    assert_eq!(summary(&pair, side).signatures_verified, 2);
    pair.send(Side::Server, b"data").unwrap();
    pair.run_well().unwrap();
    drop(pair); // as long as it lives, it holds its ticket
    assert_eq!([world.connect(), world.connect()], [world.best; 2]);
}

/// Checks that `side` refuses its peer, as it would if nothing were kept.
fn assert_refused(world: &mut World, side: Side, now: Now, expected: &Error) {
    let mut pair = world.begin_at(now);
    let failed = pair.run_well().unwrap_err();
    assert_eq!((failed.side, &failed.error), (side, expected));
    assert_eq!(summary(&pair, side).peer.identity, None);
}

fn soon() -> Now {
    at(3_000)
}

fn error(error: CertificateError) -> Error {
    Error::Certificate(error)
}

/// Gives `side` another certificate, for its key or a new one.
fn renew(world: &mut World, side: Side, with_key: bool) {
    let pki = Pki::shared(CHAIN);
    let (old, name, usage) = match side {
        Side::Client => (&pki.client, CLIENT_NAME, Usage::Client),
        Side::Server => (&pki.server, SERVER_NAME, Usage::Server),
    };
    let options = LeafOptions { usage, ..LeafOptions::new(name, validity()) };
    let new = if with_key { pki.authority.issue(&options) } else { pki.authority.renew(old, &options) };
    let new = credential(PROVIDER, &new.unwrap());
    match side {
        Side::Client => {
            world.setup.client.credentials(vec![new]);
        }
        Side::Server => {
            world.setup.server.credentials(vec![new]);
        }
    }
}

#[test]
fn a_renewed_certificate_with_the_old_key_or_a_new_one() {
    for with_key in [false, true] {
        for_each(|world, _, side| {
            renew(world, side.other(), with_key);
            assert_verified_again(world, side);
        });
    }
}

#[test]
fn a_trust_anchor_that_is_removed() {
    for_each(|world, _, side| {
        let both = [Pki::shared(CHAIN).root(), OTHER.root()];
        trust_of(world, side, Trust::new(&both).unwrap());
        assert_verified_again(world, side);
        // The removed anchor is not the one that the peer needs, but its removal is a reason to verify again.
        trust_of(world, side, Pki::shared(CHAIN).trust());
        assert_verified_again(world, side);
        trust_of(world, side, OTHER.trust());
        assert_refused(world, side, soon(), &error(CertificateError::UnknownIssuer));
    });
}

/// Returns a CRL of the CA that issues leaves.
fn crl(revoked: Option<&terse_pki::Credential>) -> CertificateRevocationListDer<'static> {
    let revoked: Vec<_> = revoked.iter().map(|leaf| Revocation::new(leaf.leaf(), NOW).unwrap()).collect();
    Pki::shared(CHAIN).authority.crl(1, &revoked, validity()).unwrap()
}

#[test]
fn a_new_crl() {
    for_each(|world, _, side| {
        let pki = Pki::shared(CHAIN);
        let (peer, own) = if side == Side::Client { (&pki.server, &pki.client) } else { (&pki.client, &pki.server) };
        let trust = pki.trust().with_crls(&[crl(None)]).unwrap();
        let revocation = trust.revocation().unwrap().clone();
        trust_of(world, side, trust);
        assert_verified_again(world, side);
        revocation.replace(&[crl(Some(own))]).unwrap();
        assert_eq!(world.connect(), world.best, "nothing that concerns it");
        revocation.replace(&[crl(Some(peer))]).unwrap();
        let mut pair = world.begin();
        let failed = pair.run_well().unwrap_err();
        assert_eq!((failed.side, failed.error), (side, error(CertificateError::Revoked)));
        assert_eq!(summary(&pair, side).fallback, Some(FallbackReason::Revoked));
    });
}

#[test]
fn another_policy_of_client_authentication() {
    for_each(|world, keeps, side| {
        let trust = || Pki::shared(CHAIN).trust();
        let policies = [ClientAuthentication::None, ClientAuthentication::Optional(OTHER.trust())];
        let foreign = side == Side::Server;
        world.setup.server.client_authentication(policies[usize::from(foreign)].clone());
        if foreign {
            return assert_refused(world, Side::Server, soon(), &error(CertificateError::UnknownIssuer));
        }
        let mut pair = world.begin();
        pair.run_well().unwrap();
        assert!(pair.server.summary().peer.identity.is_none(), "nobody asked");
        assert_ne!(pair.server.summary().mode, Mode::Resumed, "{keeps:?}");
        world.setup.server.client_authentication(ClientAuthentication::Required(trust()));
        let mut pair = world.begin();
        pair.run_well().unwrap();
        assert!(pair.server.summary().peer.identity.is_some(), "and now somebody does");
    });
}

#[test]
fn two_virtual_hosts_with_different_client_cas_on_one_store() {
    for (version, keeps) in all() {
        let mut world = World::after(version, keeps, 2);
        let first = world.setup.server.config().client_authentication().clone();
        world.setup.server.client_authentication(ClientAuthentication::Required(OTHER.trust()));
        assert_refused(&mut world, Side::Server, soon(), &error(CertificateError::UnknownIssuer));
        // A client of the second CA is not believed by the first host either, whatever it shows.
        world.setup.client.credentials(vec![OTHER.client(PROVIDER)]);
        assert_eq!([world.connect(), world.connect()], [Mode::Full, world.best], "{version} {keeps:?}");
        world.setup.server.client_authentication(first);
        assert_refused(&mut world, Side::Server, soon(), &error(CertificateError::UnknownIssuer));
    }
}

#[test]
fn a_certificate_that_has_expired() {
    let short = Validity { not_before: NOW - DAY, not_after: NOW + 2_000 };
    let authority = Authority::new(&AuthorityOptions::new(CHAIN.parse().unwrap(), validity())).unwrap();
    let server =
        authority.issue(&LeafOptions { usage: Usage::Server, ..LeafOptions::new(SERVER_NAME, short) }).unwrap();
    for (version, keeps) in all() {
        let mut world = World::after(version, keeps, 0);
        world.setup.client.trust(Trust::new(&[authority.root().clone()]).unwrap());
        world.setup.server.credentials(vec![credential(PROVIDER, &server)]);
        assert_eq!([world.connect(), world.connect()], [Mode::Full, world.best], "{version} {keeps:?}");
        let end = UnixTime::since_unix_epoch(Duration::from_secs(NOW + 2_000));
        let expired = error(CertificateError::Expired { depth: 0, not_after: Date::of(end) });
        assert_refused(&mut world, Side::Client, at(2_001), &expired);
        // A deleted entry does not come back with the time.
        let mut pair = world.begin_at(at(1_900));
        pair.run_well().unwrap();
        assert_eq!(pair.client.summary().signatures_verified, 2, "{version} {keeps:?}");
    }
}

/// Devices boot in 1970: such a clock only disables the use of what is kept.
#[test]
fn a_clock_that_is_not_plausible() {
    for (version, keeps) in all() {
        println!("{version} {keeps:?}");
        let mut world = World::after(version, keeps, 2);
        let early = Now::new(at(0).monotonic, Some(UnixTime::since_unix_epoch(Duration::from_secs(3_600))));
        let failed = world.begin_at(early).run_well().unwrap_err();
        assert!(matches!(failed.error, Error::Certificate(CertificateError::NotYetValid { .. })), "{failed:?}");
        assert_eq!(world.connect(), world.best);
    }
}

#[test]
fn without_a_clock_as_configured() {
    for (version, keeps) in all() {
        println!("{version} {keeps:?}");
        let no_clock = Now::new(at(0).monotonic, None);
        let mut world = World::after(version, keeps, 2);
        assert_refused(&mut world, Side::Client, no_clock, &error(CertificateError::NoTime));
        for side in Side::BOTH {
            trust_of(&mut world, side, Pki::shared(CHAIN).trust().accept_without_clock());
        }
        let mut pair = world.begin_at(no_clock);
        pair.run_well().unwrap();
        let is_session = matches!(keeps, Keeps::Sessions | Keeps::Tickets);
        let summary = pair.client.summary();
        assert!(summary.peer.time_unchecked);
        // Without the time, a session would have no end.
        assert_eq!(summary.mode, if is_session { Mode::Full } else { world.best });
    }
}
