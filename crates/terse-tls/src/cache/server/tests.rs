//! What a server selects and commits: docs/caching.md, 4.2 and 4.5.

use crate::proof::FinishedProof;
use alloc::sync::Arc;

use super::super::test_data::*;
use super::super::*;
use crate::time::Now;
use crate::wire::{CertificateType, ProtocolVersion};

const HOST: Option<&[u8]> = Some(b"device.example");

fn store() -> (Arc<MemoryServerStore>, ServerCache) {
    let store = Arc::new(MemoryServerStore::new(8));
    (store.clone(), ServerCache { store, schemes: Schemes::BITHAC })
}

fn begin(cache: &ServerCache) -> ServerSession {
    ServerSession::begin_bithac(cache, Some(ASKED), HOST, at(TODAY), false)
}

/// A handshake that uses the ticket `used`, if it can, and proves `certificate`.
fn connect(cache: &ServerCache, used: u64, new: u64, certificate: Fingerprint) {
    let mut session = begin(cache);
    session.select(look_up(&*cache.store, [ticket(used)]));
    session.commit(FinishedProof::after_finished(), ticket(new), Some(entry(certificate))).done().expect("in memory");
}

fn known(store: &MemoryServerStore) -> alloc::vec::Vec<u64> {
    (0..20).filter(|n| commits(store).iter().any(|commit| commit.ticket == ticket(*n))).collect()
}

#[test]
fn selects_the_first_usable_ticket() {
    let (_, cache) = store();
    connect(&cache, 0, 5, OWN);
    let mut session = begin(&cache);
    assert_eq!(session.select(look_up(&*cache.store, [3, 4, 5, 5].map(ticket))), Some(2));
    assert_eq!(session.client_certificate().map(PeerEntry::fingerprint), Some(OWN));
    assert_eq!(session.reason(), None);
    assert_eq!(session.select(look_up(&*cache.store, [ticket(6)])), None, "each ClientHello is judged anew");
    assert!(session.client_certificate().is_none());
    assert_eq!(session.reason(), Some(FallbackReason::TicketNotFound));
}

#[test]
fn looks_up_eight_tickets_at_most() {
    let (_, cache) = store();
    connect(&cache, 0, 100, OWN);
    assert_eq!(begin(&cache).select(look_up(&*cache.store, (93..=100).map(ticket))), Some(7));
    assert_eq!(begin(&cache).select(look_up(&*cache.store, (92..=100).map(ticket))), None);
}

#[test]
fn failed_handshake_changes_nothing() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    let before = commits(&store).len();
    let mut session = begin(&cache);
    assert_eq!(session.select(look_up(&*cache.store, [ticket(1)])), Some(0));
    drop(session);
    assert_eq!(commits(&store).len(), before);
    assert_eq!(begin(&cache).select(look_up(&*cache.store, [ticket(1)])), Some(0));
}

#[test]
fn new_ticket_deletes_the_parents_parent() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    connect(&cache, 1, 2, OWN);
    assert_eq!(known(&store), [1, 2], "the parent stays: the last flight may be lost to the client");
    connect(&cache, 2, 3, OWN);
    assert_eq!(known(&store), [2, 3]);
}

#[test]
fn new_ticket_deletes_the_parents_other_child() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    connect(&cache, 1, 2, OWN);
    connect(&cache, 1, 3, OWN);
    assert_eq!(known(&store), [1, 3]);
}

#[test]
fn another_certificate_does_not_join_the_lineage() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    connect(&cache, 1, 2, OWN);
    connect(&cache, 2, 3, fingerprint(9));
    assert_eq!(known(&store), [1, 2, 3]);
}

#[test]
fn rows_are_per_ticket_never_per_certificate() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    connect(&cache, 0, 2, OWN);
    connect(&cache, 1, 11, OWN);
    connect(&cache, 2, 12, OWN);
    assert_eq!(known(&store), [1, 2, 11, 12]);
}

#[test]
fn ticket_of_a_parent_that_is_gone_stands_alone() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    let mut session = begin(&cache);
    session.select(look_up(&*cache.store, [ticket(1)]));
    store.remove(&ticket(1)).expect("in memory");
    session.commit(FinishedProof::after_finished(), ticket(2), Some(entry(OWN))).done().expect("in memory");
    assert_eq!(known(&store), [2]);
    assert_eq!(commits(&store)[0].parent, None);
}

#[test]
fn parent_and_child_share_their_entry() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    connect(&cache, 1, 2, OWN);
    assert_eq!((store.lineages().len(), store.len()), (1, 2));
    assert_eq!(store.find(&ticket(1)), store.find(&ticket(2)));
}

#[test]
fn no_use_under_another_policy() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    let refused = |trust_id: Option<_>, host, reason| {
        let asked = trust_id.map(|trust_id| RequestedCertificate { trust_id, ..ASKED });
        let mut session = ServerSession::begin_bithac(&cache, asked, host, at(TODAY), false);
        assert_eq!(session.select(look_up(&*cache.store, [ticket(1)])), None);
        assert_eq!(session.reason(), reason);
    };
    // A trust anchor was removed, or another virtual host with other client CAs has the same store.
    refused(Some(TrustId([8; 8])), HOST, Some(FallbackReason::TrustChanged));
    refused(Some(TRUST), Some(b"other.example".as_slice()), Some(FallbackReason::OtherServerName));
    refused(Some(TRUST), None, Some(FallbackReason::OtherServerName));
    refused(Some(TRUST), Some([b'a'; 254].as_slice()), None);
    // Clients are no longer asked for a certificate.
    refused(None, HOST, None);
    assert_eq!(known(&store), [1]);
    assert_eq!(begin(&cache).select(look_up(&*cache.store, [ticket(1)])), Some(0));
}

#[test]
fn changed_client_key_gets_no_use_of_the_old_entry() {
    let (_, cache) = store();
    connect(&cache, 0, 1, OWN);
    connect(&cache, 1, 2, fingerprint(9));
    let mut session = begin(&cache);
    session.select(look_up(&*cache.store, [ticket(2)]));
    assert_eq!(session.client_certificate().map(PeerEntry::fingerprint), Some(fingerprint(9)));
}

#[test]
fn without_client_authentication_or_bithac_nothing_is_kept() {
    let (store, cache) = store();
    for (asked, schemes) in [(None, Schemes::BITHAC), (Some(ASKED), Schemes::RFC7924), (Some(ASKED), Schemes::OFF)] {
        let cache = ServerCache { schemes, ..cache.clone() };
        let mut session = ServerSession::begin_bithac(&cache, asked, HOST, at(TODAY), false);
        assert!(session.entry(OWN, &peer()).is_none());
        session.commit(FinishedProof::after_finished(), ticket(1), Some(entry(OWN))).done().expect("nothing to do");
    }
    assert!(store.is_empty());
}

#[test]
fn what_is_too_large_is_not_kept() {
    let (store, cache) = store();
    let mut session = begin(&cache);
    let entry = session.entry(OWN, &peer_named([0; 0x4000].into())).expect("bithac is on");
    session.commit(FinishedProof::after_finished(), ticket(1), Some(entry)).done().expect("nothing to do");
    assert!(store.is_empty());
}

#[test]
fn expired_entry_is_deleted_and_early_clock_only_waits() {
    let (store, cache) = store();
    connect(&cache, 0, 1, OWN);
    let select = |now: Now, without_clock| {
        ServerSession::begin_bithac(&cache, Some(ASKED), HOST, now, without_clock)
            .select(look_up(&*cache.store, [ticket(1)]))
            .is_some()
    };
    assert!(!select(at(0), false));
    assert!(!select(no_clock(), false));
    assert!(select(no_clock(), true));
    assert!(select(at(NOT_AFTER), false));
    assert!(!select(at(NOT_AFTER + 1), false));
    assert!(store.is_empty());
}

#[test]
fn server_names_compare_without_case() {
    let (_, cache) = store();
    connect(&cache, 0, 1, OWN);
    let host: Option<&[u8]> = Some(b"DEVICE.example.");
    let mut session = ServerSession::begin_bithac(&cache, Some(ASKED), host, at(TODAY), false);
    assert_eq!(session.select(look_up(&*cache.store, [ticket(1)])), Some(0));
}

/// docs/caching.md, 3.1 and 4.5: usable only under an equal type of certificate; a raw public key only in its version.
#[test]
fn raw_public_key_is_used_as_such_and_in_its_version() {
    let (_, cache) = store();
    let commit = |n, entry| {
        begin(&cache).commit(FinishedProof::after_finished(), ticket(n), Some(entry)).done().expect("in memory")
    };
    let (tls12, tls13) = (ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3);
    commit(1, entry(OWN));
    commit(2, raw_entry(fingerprint(5), tls12));
    commit(3, raw_entry(fingerprint(6), tls13));
    let (x509, raw) = (CertificateType::X509, CertificateType::RAW_PUBLIC_KEY);
    let table = [(x509, tls12, 1), (x509, tls13, 1), (raw, tls12, 2), (raw, tls13, 3), (CertificateType(1), tls13, 0)];
    for (certificate_type, version, usable) in table {
        for n in 1..=3 {
            let asked = RequestedCertificate { certificate_type, version, ..ASKED };
            // A raw public key has no dates, and needs no clock.
            let now = if n == 1 { at(TODAY) } else { no_clock() };
            let mut session = ServerSession::begin_bithac(&cache, Some(asked), HOST, now, false);
            assert_eq!(
                session.select(look_up(&*cache.store, [ticket(n)])).is_some(),
                n == usable,
                "{n}: {certificate_type}, {version}"
            );
            assert_eq!(session.reason(), (n != usable).then_some(FallbackReason::OtherCertificateType));
        }
    }
}

#[test]
fn an_entry_is_of_the_version_that_was_asked_in() {
    let (_, cache) = store();
    let asked = RequestedCertificate {
        certificate_type: CertificateType::RAW_PUBLIC_KEY,
        version: ProtocolVersion::TLS_1_2,
        ..ASKED
    };
    let session = ServerSession::begin_bithac(&cache, Some(asked), HOST, at(TODAY), false);
    let expected = raw_entry(OWN, ProtocolVersion::TLS_1_2);
    assert_eq!(session.entry(OWN, &expected.shared_peer()), Some(expected));
    assert_eq!(session.entry(OWN, &peer()), Some(entry(OWN)), "a chain is of every version");
}

/// `compact`: rows with what the client has seen.
mod compact;
