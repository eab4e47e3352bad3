//! What a server leaves out under `compact`, and what it keeps of clients with and without a certificate.

use super::*;
use crate::proof::FinishedProof;

const SEEN: ServerObjects = ServerObjects { certificate: SERVER, request: Some(REQUEST) };

fn compact(store: Arc<MemoryServerStore>) -> ServerCache {
    ServerCache { store, schemes: Schemes::COMPACT }
}

fn begin_compact(cache: &ServerCache, own: ServerObjects, asked: Option<RequestedCertificate>) -> ServerSession {
    ServerSession::begin_compact(cache, own, asked.filter(|_| own.request.is_some()), HOST, at(TODAY), false)
}

/// A handshake that shows the ticket `used`, and proves `certificate`. Returns what was selected.
fn meet(cache: &ServerCache, own: ServerObjects, used: u64, new: u64, certificate: Option<Fingerprint>) -> [bool; 3] {
    let mut session = begin_compact(cache, own, Some(ASKED));
    let selection = session.select_everything(look_up(&*cache.store, [ticket(used)]));
    session.commit(FinishedProof::after_finished(), ticket(new), certificate.map(entry)).done().expect("in memory");
    bits(selection)
}

fn bits(selection: Selection) -> [bool; 3] {
    assert_eq!(selection.scheme, Some(Scheme::Compact));
    [selection.server_certificate, selection.certificate_request, selection.client_certificate]
}

#[test]
fn leaves_out_what_the_client_has_seen_and_what_it_would_accept() {
    let (store, _) = store();
    let cache = compact(store);
    meet(&cache, SEEN, 0, 1, Some(OWN)); // knows all
    meet(&cache, SEEN, 0, 2, None); // answered with nothing
    meet(&cache, ServerObjects { request: None, ..SEEN }, 0, 3, None); // was not asked
    let renewed = ServerObjects { certificate: fingerprint(20), ..SEEN };
    let asks_otherwise = ServerObjects { request: Some(fingerprint(21)), ..SEEN };
    let does_not_ask = ServerObjects { request: None, ..SEEN };
    for (n, own, expected) in [
        (1, SEEN, [true, true, true]),
        (1, renewed, [false, true, true]),
        (1, asks_otherwise, [true, false, true]),
        (1, does_not_ask, [true, false, false]),
        (2, SEEN, [true, true, false]),
        (2, renewed, [false, true, false]),
        (2, does_not_ask, [true, false, false]),
        (3, SEEN, [true, false, false]),
        (3, renewed, [false, false, false]),
        (3, does_not_ask, [true, false, false]),
        (4, SEEN, [false, false, false]),
    ] {
        let mut session = begin_compact(&cache, own, Some(ASKED));
        let selection = session.select_everything(look_up(&*cache.store, [ticket(n)]));
        assert_eq!(bits(selection), expected, "ticket {n}, {own:?}");
        let client = session.left_out_certificate().map(PeerEntry::fingerprint);
        assert_eq!(client, expected[2].then_some(OWN));
        assert_eq!(session.client_certificate().is_some(), expected[2]);
    }
}

#[test]
fn no_use_of_the_client_under_another_policy() {
    let (store, _) = store();
    let cache = compact(store.clone());
    meet(&cache, SEEN, 0, 1, Some(OWN));
    let select = |asked: RequestedCertificate, host, now: Now| {
        let mut session = ServerSession::begin_compact(&cache, SEEN, Some(asked), host, now, false);
        let selection = session.select_everything(look_up(&*cache.store, [ticket(1)]));
        assert!(!selection.client_certificate && session.client_certificate().is_none());
        (bits(selection)[0], session.reason())
    };
    // What the client has seen of the server, it has seen.
    let other = RequestedCertificate { trust_id: TrustId([8; 8]), ..ASKED };
    assert_eq!(select(other, HOST, at(TODAY)), (true, Some(FallbackReason::TrustChanged)));
    assert_eq!(select(ASKED, Some(b"other.example"), at(TODAY)), (true, Some(FallbackReason::OtherServerName)));
    assert_eq!(select(ASKED, HOST, at(0)), (true, Some(FallbackReason::ClockNotPlausible)));
    assert_eq!(select(ASKED, Some([b'a'; 254].as_slice()), at(TODAY)), (false, None), "no name, no place");
    assert_eq!(known(&store), [1]);
    assert_eq!(select(ASKED, HOST, at(NOT_AFTER + 1)), (true, Some(FallbackReason::Expired)));
    assert!(store.is_empty());
}

#[test]
fn tickets_of_the_two_schemes_are_not_taken_for_each_other() {
    let (store, _) = store();
    let cache = compact(store);
    connect(&cache, 0, 1, OWN);
    meet(&cache, SEEN, 0, 2, Some(OWN));
    let mut session = begin_compact(&cache, SEEN, Some(ASKED));
    assert_eq!(bits(session.select_everything(look_up(&*cache.store, [ticket(1)]))), [false; 3]);
    assert_eq!(session.reason(), Some(FallbackReason::TicketNotFound));
    assert_eq!(begin(&cache).select(look_up(&*cache.store, [ticket(2)])), None);
    assert_eq!(begin(&cache).select(look_up(&*cache.store, [ticket(1)])), Some(0));
}

#[test]
fn names_everything_of_the_handshake() {
    let (store, _) = store();
    let session = begin_compact(&compact(store), SEEN, Some(ASKED));
    let parts = |client_certificate| Parts {
        server_certificate: SERVER,
        certificate_request: Some(REQUEST),
        client_certificate,
    };
    assert_eq!(session.names(None), Some(TicketSubject::Static(parts(None))));
    assert_eq!(session.names(Some(OWN)), Some(TicketSubject::Static(parts(Some(OWN)))));
}

#[test]
fn lineages_are_those_of_the_client_certificate() {
    let (store, _) = store();
    let cache = compact(store.clone());
    meet(&cache, SEEN, 0, 1, Some(OWN));
    assert_eq!(meet(&cache, SEEN, 1, 2, Some(OWN)), [true; 3]);
    assert_eq!(known(&store), [1, 2]);
    meet(&cache, SEEN, 2, 3, Some(OWN));
    assert_eq!(known(&store), [2, 3]);
    // Its entry was not used, but it proved the same certificate.
    let other = ServerObjects { request: None, ..SEEN };
    let mut session = begin_compact(&cache, other, None);
    assert_eq!(bits(session.select_everything(look_up(&*cache.store, [ticket(3)]))), [true, false, false]);
    session.commit(FinishedProof::after_finished(), ticket(4), Some(entry(OWN))).done().expect("in memory");
    assert_eq!(known(&store), [3, 4]);
    // Another certificate, or none, stands alone.
    meet(&cache, SEEN, 4, 5, Some(fingerprint(9)));
    meet(&cache, SEEN, 4, 6, None);
    assert_eq!(known(&store), [3, 4, 5, 6]);
    // A ticket that was of no use is no parent.
    let unlike = ServerObjects { certificate: fingerprint(30), request: None };
    meet(&cache, unlike, 5, 7, Some(fingerprint(9)));
    meet(&cache, unlike, 7, 8, Some(fingerprint(9)));
    assert_eq!(known(&store), [3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_failed_handshake_changes_nothing() {
    let (store, _) = store();
    let cache = compact(store.clone());
    meet(&cache, SEEN, 0, 1, Some(OWN));
    let mut session = begin_compact(&cache, SEEN, Some(ASKED));
    assert_eq!(bits(session.select_everything(look_up(&*cache.store, [ticket(1)]))), [true; 3]);
    drop(session);
    assert_eq!(known(&store), [1]);
}

/// What cannot be kept of the client does not keep it from what it has seen.
#[test]
fn a_client_that_is_too_large_is_kept_without() {
    let (store, _) = store();
    let cache = compact(store.clone());
    let mut session = begin_compact(&cache, SEEN, Some(ASKED));
    let large = session.entry(OWN, &peer_named([0; 0x4000].into()));
    session.commit(FinishedProof::after_finished(), ticket(1), large).done().expect("in memory");
    let row = store.find(&ticket(1)).expect("kept");
    assert_eq!((row.entry, row.seen), (None, Some(SEEN)));
}
