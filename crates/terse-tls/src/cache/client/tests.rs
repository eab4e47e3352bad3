//! What a client offers and learns: docs/caching.md, 4.2, 4.3 and 4.5, one connection at a time or several.

use alloc::sync::Arc;

use super::super::test_data::*;
use super::super::*;
use super::ClientSession;
use crate::time::Now;
use crate::wire::{CertificateType, ProtocolVersion};

/// A client with its cache, and a server that answers as each test says.
struct Client {
    store: Arc<MemoryClientStore>,
    cache: ClientCache,
    context: Context<'static>,
    scope: Scope,
    next_ticket: u64,
}

impl Client {
    fn new() -> Self {
        let store = Arc::new(MemoryClientStore::new(4));
        let cache = client_cache(store.clone());
        Self { store, cache, context: context(), scope: scope(), next_ticket: 0 }
    }

    fn begin(&self) -> ClientSession {
        ClientSession::begin(&self.cache, self.scope.clone(), self.context)
    }

    /// Up to the own Finished; the server selects whatever it is offered. The new ticket is the next number.
    fn finish(&mut self, session: &mut ClientSession) -> Ticket {
        session.selected(Selection {
            reduced: false,
            scheme: Some(Scheme::Bithac),
            server_certificate: session.offered_certificate().is_some(),
            certificate_request: session.offered_request().is_some(),
            client_certificate: session.offered_ticket().is_some(),
            uses_ticket: session.offered_ticket().is_some(),
        });
        session.server_finished(false);
        self.next_ticket += 1;
        let ticket = ticket(self.next_ticket);
        session.finished(learned(Some(ticket)));
        ticket
    }

    /// A whole connection; whether the server's first application data arrives is for the caller to say.
    fn connect(&mut self, confirmed: bool) -> Ticket {
        let mut session = self.begin();
        let ticket = self.finish(&mut session);
        if confirmed {
            session.confirmed();
        }
        ticket
    }

    fn time_out(&self) {
        self.begin().failed(Failure::TimeoutOrClose, self.context.now);
    }

    fn offers_anything(&self) -> bool {
        let session = self.begin();
        session.offered_ticket().is_some()
            || session.offered_certificate().is_some()
            || session.offered_request().is_some()
    }
}

#[test]
fn first_contact_offers_support_only_and_leaves_no_record() {
    let client = Client::new();
    let session = client.begin();
    assert!(session.supports(Scheme::Bithac));
    assert_eq!(session.offered_ticket(), None);
    assert_eq!(session.offered_certificate(), None);
    assert_eq!(session.offered_request(), None);
    assert_eq!(session.reason(), Some(FallbackReason::FirstContact));
    assert!(client.store.is_empty());
}

#[test]
fn second_contact_offers_everything() {
    let mut client = Client::new();
    let ticket = client.connect(true);
    let session = client.begin();
    assert_eq!(session.offered_ticket(), Some(ticket));
    assert_eq!(session.offered_certificate(), Some(SERVER));
    assert_eq!(session.offered_request(), Some(REQUEST));
    assert_eq!(session.server_certificate().map(PeerEntry::shared_peer), Some(peer()));
    assert_eq!(session.certificate_request().map(|request| request.signature_algorithms.len()), Some(2));
    assert_eq!(session.reason(), None);
}

#[test]
fn schemes_limit_what_is_offered() {
    let mut client = Client::new();
    client.connect(true);
    client.cache.schemes = Schemes::RFC7924;
    let session = client.begin();
    assert!(!session.supports(Scheme::Bithac));
    assert_eq!((session.offered_ticket(), session.offered_certificate()), (None, Some(SERVER)));
    drop(session);

    client.cache.schemes = Schemes::OFF;
    let mut session = client.begin();
    assert!(!session.supports(Scheme::Bithac) && !client.offers_anything());
    let before = client.store.records();
    session.finished(learned(Some(ticket(9))));
    session.confirmed();
    assert_eq!(client.store.records(), before);
}

#[test]
fn without_own_certificate_there_is_no_ticket_extension() {
    let mut client = Client::new();
    client.context.own_certificates = &[];
    client.connect(true);
    let session = client.begin();
    assert!(!session.supports(Scheme::Bithac));
    assert_eq!((session.offered_ticket(), session.offered_certificate()), (None, Some(SERVER)));
}

#[test]
fn request_is_offered_only_if_its_cached_form_is_shorter() {
    for (length, offered) in [(38, None), (39, Some(REQUEST))] {
        let client = Client::new();
        let mut session = client.begin();
        session.finished(Learned { certificate_request: Some(request(length)), ..learned(None) });
        drop(session);
        assert_eq!(client.begin().offered_request(), offered, "length {length}");
    }
}

#[test]
fn what_is_too_large_is_not_kept() {
    let client = Client::new();
    let large = peer_named([0; 0x4000].into());
    let schemes = [crate::wire::SignatureScheme(1); 129];
    let mut session = client.begin();
    session.finished(Learned {
        server_certificate: session.entry(SERVER, ProtocolVersion::TLS_1_3, &large),
        certificate_request: Some(RequestEntry { signature_algorithms: schemes.into(), ..request(500) }),
        ..learned(None)
    });
    drop(session);
    assert!(client.store.is_empty());
}

#[test]
fn confirmed_is_offered_until_it_was_used_three_times() {
    let mut client = Client::new();
    let confirmed = client.connect(true);
    let mut newest = client.connect(false); // sets `newer` first
    for use_of_confirmed in 1..=3 {
        assert_eq!(client.begin().offered_ticket(), Some(confirmed), "before use {use_of_confirmed}");
        newest = client.connect(false);
    }
    assert_eq!(client.begin().offered_ticket(), Some(newest));
}

#[test]
fn newer_is_offered_if_there_is_no_confirmed() {
    let mut client = Client::new();
    let newer = client.connect(false);
    assert_eq!(client.begin().offered_ticket(), Some(newer));
}

#[test]
fn application_data_confirms_and_empties_the_other_slot() {
    let mut client = Client::new();
    client.connect(true);
    client.connect(false);
    let confirmed = client.connect(true);
    assert_eq!(client.begin().offered_ticket(), Some(confirmed));
    let mut session = client.begin();
    session.server_finished(true);
    session.release();
    assert_eq!(client.begin().offered_ticket(), None, "the other slot was not empty");
}

#[test]
fn application_data_before_the_own_finished_confirms_nothing() {
    let mut client = Client::new();
    let confirmed = client.connect(true);
    client.begin().confirmed();
    assert_eq!(client.begin().offered_ticket(), Some(confirmed));
}

#[test]
fn selection_under_newer_confirms_it() {
    let mut client = Client::new();
    let first = client.connect(false);
    client.connect(false); // uses `first`, which is thereby known to the server; its own ticket is `newer`
    for _ in 0..3 {
        assert_eq!(client.begin().offered_ticket(), Some(first));
        client.connect(false);
    }
    assert_ne!(client.begin().offered_ticket(), Some(first));
}

#[test]
fn selection_without_verified_finished_confirms_nothing() {
    let mut client = Client::new();
    let confirmed = client.connect(true);
    for _ in 0..4 {
        client.connect(false);
    }
    let mut session = client.begin();
    assert_ne!(session.offered_ticket(), Some(confirmed), "`newer` is due");
    session.selected(ALL);
    let newer = session.offered_ticket();
    drop(session);
    let mut session = client.begin();
    assert_eq!(session.offered_ticket(), newer);
    session.server_finished(true); // unknown: `newer` goes, and the still unharmed `confirmed` is next
    drop(session);
    assert_eq!(client.begin().offered_ticket(), Some(confirmed));
}

#[test]
fn authenticated_unknown_drops_the_offered_ticket_only() {
    let mut client = Client::new();
    let confirmed = client.connect(true);
    let newer = client.connect(false);
    let mut session = client.begin();
    assert_eq!(session.offered_ticket(), Some(confirmed));
    session.selected(Selection::default());
    drop(session);
    assert_eq!(client.begin().offered_ticket(), Some(confirmed), "not authenticated yet");
    client.begin().server_finished(true);
    assert_eq!(client.begin().offered_ticket(), Some(newer));
}

#[test]
fn ticket_that_is_not_called_unknown_stays() {
    let mut client = Client::new();
    let confirmed = client.connect(true);
    client.begin().server_finished(false);
    assert_eq!(client.begin().offered_ticket(), Some(confirmed));
}

#[test]
fn alert_after_selection_drops_both_slots_and_what_was_selected() {
    let mut client = Client::new();
    client.connect(true);
    client.connect(false);
    let mut session = client.begin();
    session.selected(Selection { certificate_request: false, ..ALL });
    session.failed(Failure::AlertOrFailedCheck, client.context.now);
    let session = client.begin();
    assert!(session.supports(Scheme::Bithac));
    assert_eq!((session.offered_ticket(), session.offered_certificate()), (None, None));
    assert_eq!(session.offered_request(), Some(REQUEST), "was not selected");
}

#[test]
fn alert_after_the_own_finished_drops_both_slots() {
    let mut client = Client::new();
    client.connect(true);
    let mut session = client.begin();
    client.finish(&mut session);
    session.failed(Failure::AlertOrFailedCheck, client.context.now);
    assert_eq!(client.begin().offered_ticket(), None);
}

#[test]
fn alert_without_selection_or_after_confirmation_drops_nothing() {
    let mut client = Client::new();
    let first = client.connect(true);
    client.begin().failed(Failure::AlertOrFailedCheck, client.context.now);
    let mut session = client.begin();
    assert_eq!(session.offered_ticket(), Some(first));
    let second = client.finish(&mut session);
    session.confirmed();
    session.failed(Failure::AlertOrFailedCheck, client.context.now);
    let session = client.begin();
    assert_eq!((session.offered_ticket(), session.offered_certificate()), (Some(second), Some(SERVER)));
}

#[test]
fn after_two_unanswered_offers_attempts_alternate_until_one_succeeds() {
    let mut client = Client::new();
    client.connect(true);
    for attempt in 0..9 {
        let cached = attempt < 2 || attempt % 2 == 1;
        assert_eq!(client.offers_anything(), cached, "attempt {attempt}");
        assert!(client.begin().supports(Scheme::Bithac), "a full attempt brings a ticket");
        client.time_out();
    }
    client.connect(true); // cached, and it succeeds
    client.time_out();
    assert!(client.offers_anything(), "one failure is no reason");
}

#[test]
fn failures_without_an_offer_do_not_count() {
    let mut client = Client::new();
    (0..5).for_each(|_| client.time_out());
    assert!(client.store.is_empty());
    client.connect(true);
    client.time_out();
    assert!(client.offers_anything());
}

#[test]
fn losses_after_the_own_finished_count_as_unanswered() {
    let mut client = Client::new();
    client.connect(true);
    for _ in 0..2 {
        let mut session = client.begin();
        client.finish(&mut session);
        session.failed(Failure::TimeoutOrClose, client.context.now);
    }
    assert_eq!(client.begin().reason(), Some(FallbackReason::FullAttempt));
    assert!(!client.offers_anything());
}

/// Two cached attempts fail, a full one succeeds, a cached one fails again.
fn switched_off(context: Context<'static>) -> Client {
    let mut client = Client { context, ..Client::new() };
    client.connect(true);
    client.time_out();
    client.time_out();
    assert!(!client.offers_anything());
    let mut full = client.begin();
    full.server_finished(false);
    full.finished(Learned { server_certificate: None, certificate_request: None, ..learned(None) });
    full.confirmed();
    drop(full);
    assert!(client.offers_anything(), "cached again after full succeeded");
    client.time_out();
    client
}

#[test]
fn cached_that_fails_again_after_full_is_off_for_24_hours() {
    const DAY: u64 = 24 * 60 * 60;
    let mut client = switched_off(context());
    for (seconds, offers) in [(0, false), (DAY - 1, false), (DAY, true)] {
        client.context.now = at(TODAY + seconds);
        assert_eq!(client.offers_anything(), offers, "after {seconds} s");
    }
    assert_eq!(client.begin().reason(), None);
    client.time_out();
    client.context.now = at(TODAY + 2 * DAY - 1);
    assert_eq!(client.begin().reason(), Some(FallbackReason::SwitchedOff));
    assert!(!client.begin().supports(Scheme::Bithac));
    client.context.now = at(TODAY + 2 * DAY);
    client.connect(true);
    client.time_out();
    assert!(client.offers_anything(), "success clears the record");
}

#[test]
fn off_without_a_clock_lasts_24_connections() {
    let client = switched_off(Context { now: no_clock(), without_clock: true, ..context() });
    for connection in 0..24 {
        assert!(!client.offers_anything(), "connection {connection}");
    }
    assert!(client.offers_anything());
}

#[test]
fn off_under_a_clock_that_was_ahead_ends_a_day_after_it_was_set_right() {
    let ahead = Context { now: at(NOT_AFTER - 1), ..context() };
    let mut client = switched_off(ahead);
    client.context.now = at(TODAY);
    assert!(!client.offers_anything());
    client.context.now = at(TODAY + 24 * 60 * 60);
    assert!(client.offers_anything());
}

#[test]
fn parallel_connections_offer_no_ticket() {
    let mut client = Client::new();
    let ticket = client.connect(true);
    let mut running = client.begin();
    assert_eq!(running.offered_ticket(), Some(ticket));

    let parallel = client.begin();
    assert!(parallel.supports(Scheme::Bithac));
    assert_eq!((parallel.offered_ticket(), parallel.offered_certificate()), (None, Some(SERVER)));
    assert_eq!(parallel.reason(), Some(FallbackReason::TicketInUse));
    drop(parallel);

    let next = client.finish(&mut running);
    running.confirmed();
    assert_eq!(client.begin().offered_ticket(), None, "still running");
    running.release();
    assert_eq!(client.begin().offered_ticket(), Some(next));
}

#[test]
fn first_contact_holds_the_ticket_that_it_makes() {
    let mut client = Client::new();
    let mut running = client.begin();
    client.finish(&mut running);
    assert_eq!(client.begin().offered_ticket(), None);
    drop(running);
    assert!(client.begin().offered_ticket().is_some());
}

#[test]
fn failed_connection_releases_its_ticket() {
    let mut client = Client::new();
    let ticket = client.connect(true);
    let mut session = client.begin();
    session.failed(Failure::TimeoutOrClose, client.context.now);
    assert_eq!(client.begin().offered_ticket(), Some(ticket));
    drop(session);
    assert_eq!(client.begin().offered_ticket(), Some(ticket));
}

#[test]
fn failed_save_never_fails_a_connection() {
    #[derive(Debug)]
    struct Broken(MemoryClientStore);
    impl ClientStore for Broken {
        fn update(&self, scope: &Scope, change: &mut dyn FnMut(&mut ScopeRecord) -> Save) -> Result<(), NotSaved> {
            self.0.update(scope, change).and(Err(NotSaved))
        }
    }
    let mut client = Client::new();
    client.cache = client_cache(Arc::new(Broken(MemoryClientStore::new(1))));
    let ticket = client.connect(true);
    assert_eq!(client.begin().offered_ticket(), Some(ticket));
}

#[test]
fn no_two_connections_show_the_same_ticket() {
    let mut client = Client::new();
    let mut shown = alloc::collections::BTreeSet::new();
    for _ in 0..20 {
        let mut session = client.begin();
        let parallel = client.begin();
        for ticket in [session.offered_ticket(), parallel.offered_ticket()].into_iter().flatten() {
            assert!(shown.insert(ticket));
        }
        client.finish(&mut session);
        session.confirmed();
    }
    assert_eq!(shown.len(), 19);
}

#[test]
fn renewed_server_certificate_replaces_the_old_one() {
    let mut client = Client::new();
    client.connect(true);
    let mut session = client.begin();
    session.server_finished(false); // sent in full: nothing was selected
    let renewed = fingerprint(20);
    session.finished(Learned { server_certificate: Some(entry(renewed)), ..learned(None) });
    drop(session);
    assert_eq!(client.begin().offered_certificate(), Some(renewed));
}

#[test]
fn new_own_certificate_gets_no_old_ticket() {
    const OTHER: [Fingerprint; 1] = [Fingerprint([10; 32])];
    let mut client = Client::new();
    client.connect(true);
    client.context.own_certificates = &OTHER;
    assert_eq!(client.begin().offered_ticket(), None);
    client.scope.credential = Some(fingerprint(10));
    assert!(!client.offers_anything(), "another scope");
}

#[test]
fn changed_trust_uses_no_old_entry() {
    let mut client = Client::new();
    client.connect(true);
    client.context.trust_id = TrustId([8; 8]);
    let session = client.begin();
    assert_eq!(session.offered_certificate(), None);
    assert!(session.server_certificate().is_none());
    assert_eq!(session.reason(), Some(FallbackReason::TrustChanged));
}

#[test]
fn no_entry_crosses_scopes() {
    let mut client = Client::new();
    client.connect(true);
    let other = ServerId::from_host_name(Some(b"other.example")).expect("short");
    for scope in
        [Scope { server: other, ..scope() }, Scope { port: 444, ..scope() }, Scope { credential: None, ..scope() }]
    {
        client.scope = scope;
        assert!(!client.offers_anything());
    }
}

#[test]
fn expired_entry_is_deleted_and_early_clock_only_waits() {
    let mut client = Client::new();
    client.connect(true);
    let mut offered_at = |now: Now, without_clock| {
        client.context = Context { now, without_clock, ..context() };
        let session = client.begin();
        (session.offered_certificate().is_some(), session.reason())
    };
    assert_eq!(offered_at(at(0), false), (false, Some(FallbackReason::ClockNotPlausible)));
    assert_eq!(offered_at(no_clock(), false), (false, Some(FallbackReason::ClockUnknown)));
    assert_eq!(offered_at(no_clock(), true), (true, None));
    assert_eq!(offered_at(at(NOT_AFTER), false), (true, None));
    assert_eq!(offered_at(at(NOT_AFTER + 1), false), (false, Some(FallbackReason::Expired)));
    assert_eq!(offered_at(at(TODAY), false), (false, None), "it was deleted");
}

/// docs/caching.md, 3.1 and 4.5: usable only under an equal type of certificate; a raw public key only in its version.
#[test]
fn raw_public_key_is_offered_where_it_can_be_taken() {
    const BOTH: &[CertificateType] = &[CertificateType::RAW_PUBLIC_KEY, CertificateType::X509];
    let (raw, x509) = BOTH.split_at(1);
    const TLS12: &[ProtocolVersion] = &[ProtocolVersion::TLS_1_2];
    const TLS13: &[ProtocolVersion] = &[ProtocolVersion::TLS_1_3];
    let tls13 = ProtocolVersion::TLS_1_3;
    // What the handshake can take, and whether the chain and the key are offered.
    let table = [
        (x509, TLS13, [true, false]),
        (x509, TLS12, [true, false]),
        (raw, TLS13, [false, true]),
        (raw, TLS12, [false, false]),
        (BOTH, TLS13, [true, true]),
        (BOTH, TLS12, [true, false]),
        (BOTH, &[ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2], [true, true]),
    ];
    for (certificate_types, versions, offered) in table {
        let entries = [entry(SERVER), raw_entry(SERVER, tls13)];
        for (known, offered) in entries.into_iter().zip(offered) {
            let mut client = Client::new();
            let mut session = client.begin();
            let server_certificate = session.entry(SERVER, tls13, &known.shared_peer());
            assert_eq!(server_certificate.as_ref(), Some(&known));
            session.finished(Learned { server_certificate, ..learned(None) });
            drop(session);
            client.context = Context { certificate_types, versions, ..client.context };
            if known.certificate_type() == CertificateType::RAW_PUBLIC_KEY {
                client.context.now = no_clock(); // it has no dates, and needs no clock
            }
            let session = client.begin();
            assert_eq!(session.server_certificate(), Some(&known).filter(|_| offered));
            let reason = if offered { FallbackReason::NoTicket } else { FallbackReason::OtherCertificateType };
            assert_eq!(session.reason(), Some(reason));
        }
    }
}

/// `compact`: what a ticket names, and when it is offered.
mod compact;
