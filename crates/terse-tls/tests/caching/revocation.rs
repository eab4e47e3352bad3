//! docs/caching.md, 4.5, revocation: CRLs that are replaced while both sides run end what they revoke, and nothing else.

use pki_types::CertificateRevocationListDer;
use terse_testkit::pair::Side;
use terse_testkit::pki::{DAY, Pki};
use terse_tls::FallbackReason;
use terse_tls::cache::{MemoryClientStore, MemoryServerStore, snapshot};
use terse_tls::summary::{AuthenticatedBy, CachedObject};
use terse_tls::{CertificateError, Error, LearnedIssuers, Summary, Trust};

use super::issued::{crl, crl_of_the_root, other_pki};
use super::world::*;

type Crls<'a> = [CertificateRevocationListDer<'a>];

/// Returns the trust in the shared CA, with CRLs.
fn trust(crls: &Crls<'_>) -> Trust {
    Pki::shared(CHAIN).trust().with_crls(crls).unwrap()
}

/// Returns a world in which `side` checks revocation, and everything is cached.
fn checking(setting: Setting, side: Side) -> World {
    let mut world = World::new(setting);
    set_trust(&mut world, side, trust(&[crl(&[], 7)]));
    world.connect().unwrap();
    world.assert_cached();
    world
}

fn set_trust(world: &mut World, side: Side, trust: Trust) {
    match side {
        Side::Client => {
            world.client.trust(trust);
        }
        Side::Server => world.server_trust(trust),
    }
}

fn replace(world: &World, side: Side, crls: &Crls<'_>) {
    let trust = match side {
        Side::Client => world.client.config().trust(),
        Side::Server => world.server.config().client_authentication().trust().unwrap(),
    };
    trust.revocation().unwrap().replace(crls).unwrap();
}

/// Returns the summary of `side`, and what it has cached of its peer, if anything.
fn view(done: &Done, side: Side) -> (&Summary, bool) {
    let (summary, object) = match side {
        Side::Client => (&done.client, CachedObject::ServerCertificate),
        Side::Server => (&done.server, CachedObject::ClientCertificate),
    };
    (summary, summary.cached.contains(&object))
}

/// What `side` keeps of its peer is not used, for this `reason`, and verified in full; afterwards it is used again.
fn assert_verified_again(world: &mut World, side: Side, reason: FallbackReason) {
    let done = world.connect().unwrap();
    let (summary, is_cached) = view(&done, side);
    assert!(!is_cached);
    assert_eq!(summary.fallback, Some(reason), "{side:?}");
    assert_eq!((summary.peer.authenticated_by, summary.signatures_verified), (AuthenticatedBy::Certificate, 2));
    world.assert_cached();
}

/// Checks that `side` refuses its peer as it would without a cache, and says in its summary why nothing cached was used.
fn assert_refused(world: &mut World, side: Side, expected: CertificateError, reason: FallbackReason) {
    let mut link = world.begin();
    let failed = link.run().unwrap_err();
    assert_eq!((failed.side, failed.error), (side, Error::Certificate(expected)));
    let connection = match side {
        Side::Client => &link.pair.client,
        Side::Server => &link.pair.server,
    };
    assert_eq!(connection.summary().fallback, Some(reason), "{side:?}");
    assert!(connection.summary().peer.identity.is_none());
}

fn for_each(test: impl Fn(Setting, Side)) {
    for setting in SETTINGS {
        Side::BOTH.into_iter().for_each(|side| test(setting, side));
    }
}

/// Returns the leaf that `side` verifies.
fn leaf_of_the_peer(pki: &Pki, side: Side) -> &terse_pki::Credential {
    if side == Side::Client { &pki.server } else { &pki.client }
}

#[test]
fn a_new_crl_ends_nothing_that_it_does_not_revoke() {
    for_each(|setting, side| {
        let mut world = checking(setting, side);
        let pki = Pki::shared(CHAIN);
        let others = leaf_of_the_peer(&pki, side.other());
        for crls in [vec![crl(&[], 8)], vec![crl(&[others], 9)], vec![crl_of_the_root(false), crl(&[others], 10)]] {
            replace(&world, side, &crls);
            world.assert_cached();
        }
    });
}

#[test]
fn a_new_crl_ends_what_it_revokes() {
    for_each(|setting, side| {
        let mut world = checking(setting, side);
        let pki = Pki::shared(CHAIN);
        replace(&world, side, &[crl(&[leaf_of_the_peer(&pki, side)], 8)]);
        assert_refused(&mut world, side, CertificateError::Revoked, FallbackReason::Revoked);
        // The old CRL is back. The entry is not.
        replace(&world, side, &[crl(&[], 9)]);
        let done = world.connect().unwrap();
        assert_eq!(view(&done, side).0.peer.authenticated_by, AuthenticatedBy::Certificate);
        world.assert_cached();
    });
}

#[test]
fn a_revoked_issuer_ends_what_it_issued() {
    for_each(|setting, side| {
        let mut world = checking(setting, side);
        replace(&world, side, &[crl(&[], 8), crl_of_the_root(true)]);
        assert_refused(&mut world, side, CertificateError::Revoked, FallbackReason::Revoked);
    });
}

/// Without a current CRL nothing cached is used, but nothing is lost either.
#[test]
fn without_a_current_crl_nothing_is_used_and_nothing_lost() {
    let no_crl = CertificateError::UnknownRevocationStatus;
    for (crls, seconds, expected) in [
        (vec![], 0, no_crl),
        (vec![crl_of_the_root(false)], 0, no_crl),
        (vec![crl(&[], 7)], 7 * DAY, CertificateError::CrlExpired),
    ] {
        for_each(|setting, side| {
            let mut world = checking(setting, side);
            let tickets = world.server_store.len();
            replace(&world, side, &crls);
            world.set_clocks(seconds);
            assert_refused(&mut world, side, expected, FallbackReason::NoCurrentCrl);
            replace(&world, side, &[crl(&[], 14)]);
            match side {
                Side::Client => assert!(view(&world.connect().unwrap(), side).1),
                // The client gave its ticket up when it was refused.
                Side::Server => assert_eq!(world.server_store.len(), tickets),
            }
            world.connect().unwrap();
            world.assert_cached();
        });
    }
}

/// An impostor's CRL has the right name, but not the right key.
#[test]
fn a_crl_of_an_impostor_counts_for_nothing() {
    for_each(|setting, side| {
        let mut world = checking(setting, side);
        let impostor = Pki::new(CHAIN);
        let forged = impostor.authority.crl(1, &[], terse_testkit::pki::validity()).unwrap();
        replace(&world, side, &[forged]);
        assert_refused(&mut world, side, CertificateError::UnknownRevocationStatus, FallbackReason::CrlNotVerified);
        let foreign = other_pki().authority.crl(1, &[], terse_testkit::pki::validity()).unwrap();
        replace(&world, side, &[crl(&[], 8), foreign]);
        world.connect().unwrap();
        world.assert_cached();
    });
}

/// After a restart the issuer is to be learned anew, which costs one full handshake, and not the entry.
#[test]
fn a_restart_forgets_who_issued_the_crl() {
    for_each(|setting, side| {
        let mut world = checking(setting, side);
        set_trust(&mut world, side, trust(&[crl(&[], 7)]));
        assert_verified_again(&mut world, side, FallbackReason::IssuerUnknown);
        // It is learned for all entries.
        set_trust(&mut world, side, trust(&[crl(&[], 7)]));
        let entry = world.client_store.clone();
        world.client_store = Disk::new();
        world.set_schemes(setting.schemes, setting.schemes);
        world.assert_full();
        world.client_store = entry;
        world.set_schemes(setting.schemes, setting.schemes);
        world.assert_cached();
    });
}

/// Where issuers are saved with the cache, a restart costs nothing. Who plants another key under their name has it forgotten.
#[test]
fn a_restart_with_the_cache_knows_who_issued_the_crl() {
    for_each(|setting, side| {
        let mut world = World::new(setting);
        let issuers = LearnedIssuers::new();
        set_trust(&mut world, side, trust(&[crl(&[], 7)]).with_issuers(&issuers));
        world.connect().unwrap();
        world.assert_cached();
        assert_eq!(issuers.len(), 1);
        let saved = snapshot::encode(&MemoryClientStore::new(0), &MemoryServerStore::new(0), &issuers).unwrap();
        let (.., loaded) = snapshot::decode(&saved, 1).unwrap();
        // Before the CRLs or after them.
        let trust_with = |issuers: &LearnedIssuers| {
            let trust = Pki::shared(CHAIN).trust().with_issuers(issuers);
            trust.with_crls(&[crl(&[], 7)]).unwrap()
        };
        set_trust(&mut world, side, trust_with(&loaded));
        world.assert_cached();
        let pki = Pki::shared(CHAIN);
        replace(&world, side, &[crl(&[leaf_of_the_peer(&pki, side)], 8)]);
        assert_refused(&mut world, side, CertificateError::Revoked, FallbackReason::Revoked);
        replace(&world, side, &[crl(&[], 9)]);
        world.connect().unwrap();
        world.assert_cached();

        let mut planted = saved;
        *planted.last_mut().unwrap() ^= 1; // of the key
        let (.., planted) = snapshot::decode(&planted, 1).unwrap();
        set_trust(&mut world, side, trust_with(&planted));
        assert_verified_again(&mut world, side, FallbackReason::IssuerUnknown);
    });
}

/// To begin with CRLs, or to do without, is another policy.
#[test]
fn whether_crls_are_required_is_part_of_the_policy() {
    for_each(|setting, side| {
        let mut world = World::cached(setting);
        set_trust(&mut world, side, trust(&[crl(&[], 7)]));
        assert_verified_again(&mut world, side, FallbackReason::TrustChanged);
        set_trust(&mut world, side, Pki::shared(CHAIN).trust());
        assert_verified_again(&mut world, side, FallbackReason::TrustChanged);
    });
}

/// A connection that has begun is judged by the lists of its beginning, or by the new ones where it verifies in full.
#[test]
fn a_crl_that_comes_while_a_connection_is_made_counts_for_the_next() {
    for_each(|setting, side| {
        let mut world = checking(setting, side);
        let pki = Pki::shared(CHAIN);
        let mut link = world.begin();
        link.carry_on(Side::Client).unwrap();
        replace(&world, side, &[crl(&[leaf_of_the_peer(&pki, side)], 8)]);
        link.run().unwrap();
        assert!(view(&link.done(), side).1, "selected before");
        // What that connection left behind is not used.
        assert_refused(&mut world, side, CertificateError::Revoked, FallbackReason::Revoked);
    });
}
