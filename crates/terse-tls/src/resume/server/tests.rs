//! Tests of both ways of keeping sessions, of the binding, and of early data.

use alloc::vec;

use pki_types::ServerName;

use super::super::test_data::*;
use super::super::{ClientPolicy, Context, MemorySessionStore};
use super::*;
use crate::cache::{Fingerprint, NotSaved, ServerId, TrustId};
use crate::test_crypto::{SHA256, SUITE};
use crate::wire::ProtocolVersion;

fn stateless() -> ServerResumption {
    ServerResumption::Stateless(Arc::new(TicketKeys::new(SUITE.aead, HOUR, 4).unwrap()))
}

fn stateful() -> ServerResumption {
    ServerResumption::Stateful { store: Arc::new(MemorySessionStore::new(4)), lifetime_seconds: HOUR }
}

fn issue(resumption: &ServerResumption, session: Session, binding: &Binding, seed: u8) -> Option<NewTicket> {
    resumption.issue(session, binding, &mut Counter(seed)).unwrap()
}

#[test]
fn a_session_is_found_in_its_context_only() {
    let (name, other_name) = (server_id(), ServerId::new(&ServerName::try_from("other.example").unwrap()));
    let own = Context {
        credentials: &[Fingerprint([1; 32])],
        client_policy: ClientPolicy::Required(TrustId([1; 8])),
        application_protocol: Some(b"mqtt"),
        early_data: Some(ServerEarlyData::new(1000)),
        ..context(ProtocolVersion::TLS_1_3, &name)
    };
    let others = [
        Context { version: ProtocolVersion::TLS_1_2, ..own },
        Context { server: &other_name, ..own },
        Context { credentials: &[Fingerprint([2; 32])], ..own },
        Context { credentials: &[Fingerprint([1; 32]), Fingerprint([2; 32])], ..own },
        Context { credentials: &[], ..own },
        Context { client_policy: ClientPolicy::None, ..own },
        Context { client_policy: ClientPolicy::Optional(TrustId([1; 8])), ..own },
        Context { client_policy: ClientPolicy::Required(TrustId([2; 8])), ..own },
        Context { application_protocol: Some(b"coap"), ..own },
        Context { application_protocol: None, ..own },
        Context { early_data: None, ..own },
        Context { early_data: Some(ServerEarlyData::new(1001)), ..own },
        Context { early_data: Some(ServerEarlyData { window_seconds: 11, ..ServerEarlyData::new(1000) }), ..own },
    ];
    let binding = |context: &Context<'_>| Binding::new(SHA256, context);
    for resumption in [stateless(), stateful()] {
        let NewTicket { ticket, .. } = issue(&resumption, session(), &binding(&own), 0).unwrap();
        for other in &others {
            assert!(resumption.find(&ticket, &binding(other), TODAY).is_none(), "{other:?}");
        }
        assert!(resumption.find(&ticket, &binding(&own), TODAY).is_some());
    }
}

#[test]
fn a_handle_has_16_bytes_and_serves_once() {
    let (resumption, binding) = (stateful(), binding(ProtocolVersion::TLS_1_3));
    let new = issue(&resumption, session(), &binding, 6).unwrap();
    assert_eq!(new, NewTicket { ticket: vec![7; 16], lifetime: HOUR });
    assert!(resumption.find(&new.ticket, &binding, TODAY).is_some());
    assert!(resumption.find(&new.ticket, &binding, TODAY).is_some(), "looking does not use it up");
    assert!(resumption.find(&new.ticket, &binding, TODAY + 3600).is_none());
    assert!(resumption.find(&new.ticket[..15], &binding, TODAY).is_none());
    assert!(resumption.claim(&new.ticket));
    assert!(!resumption.claim(&new.ticket));
    assert!(resumption.find(&new.ticket, &binding, TODAY).is_none());
}

#[test]
fn a_tls_1_2_session_is_kept_under_the_id_that_was_announced() {
    let (resumption, binding) = (stateful(), binding(ProtocolVersion::TLS_1_2));
    assert!(resumption.keep(SessionId([4; 16]), session(), &binding));
    assert!(resumption.find(&[4; 16], &binding, TODAY).is_some());
    assert!(!stateless().keep(SessionId([4; 16]), session(), &binding));
    assert!(!resumption.keep(SessionId([5; 16]), Session { end: TODAY, ..session() }, &binding));
    assert!(resumption.find(&[5; 16], &binding, TODAY).is_none());
}

#[test]
fn the_end_of_the_chain_is_announced_and_kept() {
    let binding = binding(ProtocolVersion::TLS_1_3);
    for resumption in [stateless(), stateful()] {
        let session = Session { end: TODAY + 60, ..session() };
        let new = issue(&resumption, session.clone(), &binding, 0).unwrap();
        assert_eq!(new.lifetime, 60);
        assert!(resumption.find(&new.ticket, &binding, TODAY + 59).is_some());
        assert!(resumption.find(&new.ticket, &binding, TODAY + 60).is_none());
        assert_eq!(issue(&resumption, Session { end: TODAY, ..session }, &binding, 0), None);
    }
}

#[test]
fn a_store_that_fails_gives_no_ticket() {
    struct Broken;
    impl ServerSessionStore for Broken {
        fn put(&self, _: SessionId, _: SessionRecord) -> Result<(), NotSaved> {
            Err(NotSaved)
        }
        fn find(&self, _: &SessionId) -> Option<SessionRecord> {
            None
        }
        fn take(&self, _: &SessionId) -> Option<SessionRecord> {
            None
        }
    }
    let resumption = ServerResumption::Stateful { store: Arc::new(Broken), lifetime_seconds: HOUR };
    assert_eq!(issue(&resumption, session(), &binding(ProtocolVersion::TLS_1_3), 0), None);
}

#[test]
fn early_data_needs_a_fresh_client_hello() {
    let early_data = ServerEarlyData::new(1000);
    for (age_ms, now, fresh) in [
        (0, TODAY, true),
        (0, TODAY + 10, true),
        (0, TODAY + 11, false),
        (60_000, TODAY + 50, true),
        (60_000, TODAY + 49, false),
        (60_999, TODAY + 70, true),
        (60_000, TODAY + 71, false),
        (u32::MAX, TODAY, false),
    ] {
        for (n, resumption) in (0..).zip([stateless(), stateful()]) {
            let accepted = resumption.accepts_early_data(early_data, &session(), age_ms, &[n; 32], now);
            assert_eq!(accepted, fresh, "{age_ms} {now} {resumption:?}");
        }
    }
}

#[test]
fn early_data_is_accepted_once() {
    let (resumption, early_data) = (stateless(), ServerEarlyData::new(1000));
    let accepts = |binder: u8, now| resumption.accepts_early_data(early_data, &session(), 60_000, &[binder; 32], now);
    assert!(accepts(1, TODAY + 60));
    for now in TODAY + 40..TODAY + 80 {
        assert!(!accepts(1, now), "{now}");
    }
    assert!(accepts(2, TODAY + 60));
}

#[test]
fn lifetimes_have_bounds() {
    let check = |lifetime_seconds| {
        ServerResumption::Stateful { store: Arc::new(MemorySessionStore::new(1)), lifetime_seconds }.check()
    };
    assert_eq!([1, MAX_LIFETIME].map(check), [Ok(()), Ok(())]);
    assert_eq!([0, MAX_LIFETIME + 1].map(check), [Err(ApiMisuse::TicketLifetime); 2]);
    assert_eq!(stateless().check(), Ok(()));
}
