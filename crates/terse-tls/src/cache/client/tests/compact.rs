//! What a client offers under `compact`, and which scheme it offers at all.

use super::*;
use crate::proof::FinishedProof;

/// What an honest server and this client agree on.
const PARTS: Parts =
    Parts { server_certificate: SERVER, certificate_request: Some(REQUEST), client_certificate: Some(OWN) };

/// A connection, after which the scope is as an honest server left it.
struct Contact {
    parts: Parts,
    selection: Selection,
    server_certificate: Option<PeerEntry>,
    certificate_request: Option<RequestEntry>,
}

/// Everything is sent.
fn full() -> Contact {
    Contact {
        parts: PARTS,
        selection: Selection { scheme: Some(Scheme::Compact), ..Selection::default() },
        server_certificate: Some(entry(SERVER)),
        certificate_request: Some(request(20)),
    }
}

/// Nothing is sent.
fn cached() -> Contact {
    let selection = Selection { scheme: Some(Scheme::Compact), ..ALL };
    Contact { selection, server_certificate: None, certificate_request: None, ..full() }
}

fn client() -> Client {
    let mut client = Client::new();
    client.cache.schemes = Schemes::COMPACT;
    client
}

impl Contact {
    fn finish(self, client: &mut Client, session: &mut ClientSession) -> Ticket {
        let Self { parts, selection, server_certificate, certificate_request } = self;
        session.selected(selection);
        session.server_finished(!selection.uses_ticket);
        client.next_ticket += 1;
        let ticket = ticket(client.next_ticket);
        let subject = session.names(parts);
        assert_eq!(subject, Some(TicketSubject::Static(parts)));
        let proof = FinishedProof::after_finished();
        let ticket_and_named = subject.map(|subject| (ticket, subject));
        session.finished(Learned { proof, server_certificate, certificate_request, ticket: ticket_and_named });
        ticket
    }

    fn connect(self, client: &mut Client) -> Ticket {
        let mut session = client.begin();
        let ticket = self.finish(client, &mut session);
        session.confirmed();
        ticket
    }
}

fn offers(session: &ClientSession) -> [bool; 4] {
    [
        session.ticket_of(Scheme::Compact).is_some(),
        session.ticket_of(Scheme::Bithac).is_some(),
        session.offered_certificate().is_some(),
        session.offered_request().is_some(),
    ]
}

const NOTHING: [bool; 4] = [false; 4];
const TICKET: [bool; 4] = [true, false, false, false];
const BITHAC: [bool; 4] = [false, true, true, true];

#[test]
fn both_extensions_are_sent_and_one_of_them_has_a_ticket() {
    let mut client = client();
    let session = client.begin();
    assert_eq!([Scheme::Compact, Scheme::Bithac].map(|scheme| session.supports(scheme)), [true, true]);
    assert_eq!(offers(&session), NOTHING);
    drop(session);
    let ticket = full().connect(&mut client);
    let session = client.begin();
    assert_eq!([Scheme::Compact, Scheme::Bithac].map(|scheme| session.supports(scheme)), [true, true]);
    assert_eq!((offers(&session), session.offered_ticket()), (TICKET, Some(ticket)));
    // What the ticket names is at hand, whether it pays to leave it out or not.
    assert_eq!(session.server_certificate().map(PeerEntry::fingerprint), Some(SERVER));
    assert_eq!(session.certificate_request().map(|request| request.fingerprint), Some(REQUEST));
    assert_eq!(session.named_own_certificate(), Some(OWN));
    assert_eq!(session.reason(), None);
}

#[test]
fn what_the_server_answered_last_is_offered() {
    let mut client = client();
    full().connect(&mut client);
    assert_eq!(offers(&client.begin()), TICKET);
    // It forgets `compact`. Of `bithac`, a ticket is only for the certificate.
    let mut session = client.begin();
    session.selected(Selection { scheme: Some(Scheme::Bithac), ..Selection::default() });
    session.server_finished(true);
    assert_eq!(session.names(PARTS), Some(TicketSubject::Client(OWN)));
    session.finished(learned(Some(ticket(50))));
    session.confirmed();
    drop(session);
    let session = client.begin();
    assert_eq!((offers(&session), session.offered_ticket()), (BITHAC, Some(ticket(50))));
    drop(session);
    // It answers nothing any more: what can be answered without an extension for it is `rfc7924`.
    let mut session = client.begin();
    session.server_finished(true);
    assert_eq!(session.names(PARTS), None);
    session.finished(Learned { server_certificate: None, certificate_request: None, ..learned(None) });
    drop(session);
    assert_eq!(offers(&client.begin()), [false, false, true, true]);
    // And it learns it again.
    full().connect(&mut client);
    assert_eq!(offers(&client.begin()), TICKET);
}

#[test]
fn a_client_of_one_scheme_never_shows_the_ticket_of_the_other() {
    let mut client = client();
    full().connect(&mut client);
    client.cache.schemes = Schemes::BITHAC;
    let session = client.begin();
    assert_eq!((offers(&session), session.supports(Scheme::Compact)), ([false, false, true, false], false));
    drop(session);
    client.connect(true); // makes a ticket of `bithac`
    client.cache.schemes = Schemes::COMPACT;
    assert_eq!(offers(&client.begin()), BITHAC);
}

#[test]
fn a_ticket_without_the_client_is_offered_by_a_client_without_a_certificate() {
    let mut client = client();
    client.context = Context { own_certificates: &[], answers: &|_, own| own.is_none(), ..context() };
    let parts = Parts { certificate_request: None, client_certificate: None, ..PARTS };
    let ticket = Contact { parts, certificate_request: None, ..full() }.connect(&mut client);
    let session = client.begin();
    assert_eq!((offers(&session), session.offered_ticket()), (TICKET, Some(ticket)));
    assert!(!session.supports(Scheme::Bithac));
    assert!(session.certificate_request().is_none());
}

#[test]
fn a_ticket_with_a_request_is_offered_while_it_would_be_answered_as_recorded() {
    type Answers = &'static dyn Fn(&RequestEntry, Option<Fingerprint>) -> bool;
    let (own, none, other): (Answers, Answers, Answers) =
        (&|_, own| own == Some(OWN), &|_, own| own.is_none(), &|_, own| own == Some(fingerprint(77)));
    for (recorded, answers, offered) in [
        (Some(OWN), own, TICKET),
        (Some(OWN), none, NOTHING),
        (Some(OWN), other, NOTHING),
        (None, none, TICKET),
        (None, own, NOTHING),
    ] {
        let mut client = client();
        let parts = Parts { client_certificate: recorded, ..PARTS };
        Contact { parts, ..full() }.connect(&mut client);
        client.context.answers = answers;
        assert_eq!(offers(&client.begin()), offered, "{recorded:?}");
    }
}

#[test]
fn a_ticket_with_a_request_is_offered_where_its_version_can_be_negotiated() {
    let mut client = client();
    full().connect(&mut client);
    for (versions, offered) in [
        (&[ProtocolVersion::TLS_1_3][..], TICKET),
        (&[ProtocolVersion::TLS_1_2], NOTHING),
        (&[ProtocolVersion::TLS_1_3, ProtocolVersion::TLS_1_2], TICKET),
    ] {
        client.context.versions = versions;
        assert_eq!(offers(&client.begin()), offered, "{versions:?}");
    }
}

#[test]
fn a_ticket_is_offered_only_while_what_it_names_passes_its_checks() {
    let mut client = client();
    full().connect(&mut client);
    let good = client.context;
    for (context, reason) in [
        (Context { trust_id: TrustId([8; 8]), ..good }, FallbackReason::TrustChanged),
        (Context { now: at(0), ..good }, FallbackReason::ClockNotPlausible),
        (Context { now: no_clock(), ..good }, FallbackReason::ClockUnknown),
        (
            Context { certificate_types: &[CertificateType::RAW_PUBLIC_KEY], ..good },
            FallbackReason::OtherCertificateType,
        ),
    ] {
        client.context = context;
        let session = client.begin();
        assert_eq!((offers(&session), session.reason()), (NOTHING, Some(reason)));
    }
    client.context = good;
    assert_eq!(offers(&client.begin()), TICKET, "nothing was lost");
    client.context.now = at(NOT_AFTER + 1);
    assert_eq!((offers(&client.begin()), client.begin().reason()), (NOTHING, Some(FallbackReason::NoTicket)));
    client.context = good;
    assert_eq!(offers(&client.begin()), NOTHING, "it was deleted");
}

#[test]
fn a_ticket_goes_when_what_it_names_is_replaced() {
    type Change = fn(&mut Contact);
    let changes: [(Change, [bool; 4]); 4] = [
        (|_| (), TICKET),
        (|contact| contact.server_certificate = Some(entry(fingerprint(20))), NOTHING),
        (
            |contact| contact.certificate_request = Some(RequestEntry { fingerprint: fingerprint(21), ..request(20) }),
            NOTHING,
        ),
        (
            |contact| {
                let version = ProtocolVersion::TLS_1_2;
                contact.certificate_request =
                    Some(RequestEntry { fingerprint: fingerprint(21), version, ..request(20) });
            },
            TICKET,
        ),
    ];
    for (nth, (change, offered)) in changes.into_iter().enumerate() {
        let mut client = client();
        full().connect(&mut client);
        // A parallel connection, which makes no ticket.
        let mut contact = full();
        change(&mut contact);
        let mut session = client.begin();
        session.selected(contact.selection);
        let Contact { server_certificate, certificate_request, .. } = contact;
        session.finished(Learned { server_certificate, certificate_request, ..learned(None) });
        drop(session);
        assert_eq!(offers(&client.begin()), offered, "change {nth}");
    }
}

/// What a parallel connection learned meanwhile is not what this one's ticket names.
#[test]
fn a_ticket_is_not_kept_if_what_it_names_is_not() {
    let mut client = client();
    full().connect(&mut client);
    let mut running = client.begin();
    let mut parallel = client.begin();
    let renewed = Parts { server_certificate: fingerprint(20), ..PARTS };
    let kept = Contact { parts: renewed, server_certificate: Some(entry(fingerprint(20))), ..full() }
        .finish(&mut client, &mut parallel);
    parallel.confirmed();
    drop(parallel);
    cached().finish(&mut client, &mut running);
    running.confirmed();
    drop(running);
    let session = client.begin();
    assert_eq!((session.offered_ticket(), offers(&session)), (Some(kept), TICKET));
    drop(session);
    // And what cannot be kept at all is not named.
    let mut session = client.begin();
    let selection = Selection { server_certificate: false, ..cached().selection };
    Contact { parts: Parts { server_certificate: fingerprint(30), ..PARTS }, selection, ..cached() }
        .finish(&mut client, &mut session);
    session.confirmed();
    drop(session);
    assert_eq!(client.begin().offered_ticket(), Some(kept));
}

#[test]
fn a_ticket_is_known_by_any_bit_and_unknown_without() {
    for bit in 0..3 {
        let mut client = client();
        full().connect(&mut client);
        let mut session = client.begin();
        let offered = session.offered_ticket();
        let selection = Selection {
            server_certificate: bit == 0,
            certificate_request: bit == 1,
            client_certificate: bit == 2,
            uses_ticket: true,
            ..full().selection
        };
        session.selected(selection);
        session.server_finished(!selection.uses_ticket);
        drop(session);
        assert_eq!(client.begin().offered_ticket(), offered, "bit {bit}");
    }
    let mut client = client();
    full().connect(&mut client);
    let mut session = client.begin();
    session.selected(full().selection);
    session.server_finished(true);
    drop(session);
    assert_eq!(client.begin().offered_ticket(), None);
}

#[test]
fn the_two_slots_are_those_of_every_scheme() {
    let mut client = client();
    let confirmed = full().connect(&mut client);
    for _ in 0..4 {
        let mut session = client.begin();
        assert_eq!(session.offered_ticket(), Some(confirmed));
        cached().finish(&mut client, &mut session);
    }
    assert_ne!(client.begin().offered_ticket(), Some(confirmed), "`newer` is due");
    let mut parallel = (client.begin(), client.begin());
    assert_eq!((offers(&parallel.0), offers(&parallel.1)), (TICKET, NOTHING));
    assert_eq!(parallel.1.reason(), Some(FallbackReason::TicketInUse));
    parallel.0.selected(cached().selection);
    parallel.0.failed(Failure::AlertOrFailedCheck, client.context.now);
    drop(parallel);
    assert_eq!(offers(&client.begin()), NOTHING, "both slots are gone, and what was selected");
    assert!(client.begin().supports(Scheme::Compact));
}

#[test]
fn beside_a_session_nothing_but_support_is_said() {
    let mut client = client();
    full().connect(&mut client);
    client.context.resumes = true;
    let session = client.begin();
    assert_eq!((offers(&session), session.supports(Scheme::Compact)), (NOTHING, true));
}
