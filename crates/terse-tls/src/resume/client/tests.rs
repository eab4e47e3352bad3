//! When a session may be used, its age, and its encoding.

use alloc::vec;

use proptest::prelude::*;

use super::super::test_data::*;
use super::*;

fn requirements(now: u64) -> SessionRequirements<'static> {
    SessionRequirements { now: at(now), trust_id: TRUST, revocation: None, is_enabled: &|_| true }
}

fn usable(session: &StoredSession, now: u64) -> Result<(), Unusable> {
    session.usable(now, &requirements(now))
}

fn again(session: &StoredSession) -> StoredSession {
    StoredSession::from_bytes(&session.to_bytes()).unwrap()
}

const EXPIRED: Result<(), Unusable> = Err(Unusable::ForGood(FallbackReason::SessionExpired));
const CLOCK: Result<(), Unusable> = Err(Unusable::Now(FallbackReason::ClockNotPlausible));

#[test]
fn ends_with_its_ticket() {
    let session = stored();
    assert_eq!([TODAY, TODAY + 3599].map(|now| usable(&session, now)), [Ok(()); 2]);
    assert_eq!(usable(&session, TODAY + 3600), EXPIRED);
    assert_eq!(usable(&session, TODAY - 1), CLOCK);
}

#[test]
fn ends_after_seven_days_whatever_the_server_says() {
    let session = StoredSession { lifetime: u32::MAX, ..stored() };
    assert_eq!(usable(&session, TODAY + 7 * DAY - 1), Ok(()));
    assert_eq!(usable(&session, TODAY + 7 * DAY), EXPIRED);
}

#[test]
fn a_chain_of_resumptions_ends_seven_days_after_its_origin() {
    let mut session = StoredSession { received: TODAY + 6 * DAY, lifetime: 7 * DAY as u32, ..stored() };
    assert_eq!(usable(&session, TODAY + 7 * DAY - 1), Ok(()));
    assert_eq!(usable(&session, TODAY + 7 * DAY), EXPIRED);
    session.origin.authenticated += 6 * DAY;
    assert_eq!(usable(&session, TODAY + 13 * DAY - 1), Ok(()));
}

#[test]
fn ends_with_the_certificates_of_the_server() {
    let mut session = stored();
    session.origin.validity.not_after = TODAY + 60;
    assert_eq!([60, 61].map(|seconds| usable(&session, TODAY + seconds)), [Ok(()), EXPIRED]);
    session.origin.validity.not_before = TODAY + 10;
    assert_eq!([9, 10].map(|seconds| usable(&session, TODAY + seconds)), [CLOCK, Ok(())]);
}

#[test]
fn needs_the_same_trust_and_an_enabled_suite() {
    let session = stored();
    let other_trust = SessionRequirements { trust_id: TrustId([8; 8]), ..requirements(TODAY) };
    assert_eq!(session.usable(TODAY, &other_trust), Err(Unusable::ForGood(FallbackReason::TrustChanged)));
    let other_suites = SessionRequirements { is_enabled: &|suite| suite != session.suite, ..requirements(TODAY) };
    assert_eq!(session.usable(TODAY, &other_suites), Err(Unusable::ForGood(FallbackReason::SuiteDisabled)));
}

fn take(
    store: &Arc<MemoryClientSessions>,
    requirements: &SessionRequirements<'_>,
) -> Result<StoredSession, FallbackReason> {
    ClientResumption::new(store.clone()).take(&scope(1), requirements)
}

#[test]
fn what_cannot_be_used_again_is_dropped_on_the_way() {
    let store = Arc::new(MemoryClientSessions::new(4));
    let requirements = requirements(TODAY + 10);
    assert_eq!(take(&store, &requirements).err(), Some(FallbackReason::NoSession));
    store.put(&scope(1), StoredSession { received: TODAY + 1, ..stored() });
    store.put(&scope(1), StoredSession { lifetime: 5, ..stored() });
    assert_eq!(take(&store, &requirements).unwrap().received, TODAY + 1);
    assert!(store.is_empty());
    store.put(&scope(1), StoredSession { lifetime: 5, ..stored() });
    assert_eq!(take(&store, &requirements).err(), Some(FallbackReason::SessionExpired));
    assert!(store.is_empty());
}

#[test]
fn without_a_clock_nothing_is_taken_or_lost() {
    let store = Arc::new(MemoryClientSessions::new(4));
    store.put(&scope(1), stored());
    let no_clock = SessionRequirements { now: Now { unix: None, ..at(TODAY) }, ..requirements(TODAY) };
    assert_eq!(take(&store, &no_clock).err(), Some(FallbackReason::ClockUnknown));
    assert!(take(&store, &requirements(TODAY)).is_ok());
}

#[test]
fn with_a_clock_that_is_wrong_sessions_stay_in_their_order() {
    let store = Arc::new(MemoryClientSessions::new(4));
    let all = [TODAY + 10, TODAY + 30, TODAY + 20];
    all.iter().for_each(|received| store.put(&scope(1), StoredSession { received: *received, ..stored() }));
    assert_eq!(take(&store, &requirements(TODAY)).err(), Some(FallbackReason::ClockNotPlausible));
    assert_eq!(take(&store, &requirements(TODAY + 15)).unwrap().received, TODAY + 10, "behind two that are later");
    assert_eq!(take(&store, &requirements(TODAY + 60)).unwrap().received, TODAY + 20);
    assert_eq!(take(&store, &requirements(TODAY + 60)).unwrap().received, TODAY + 30);
    assert!(store.is_empty());
}

#[test]
fn the_age_is_hidden() {
    let session = stored();
    assert_eq!(session.obfuscated_ticket_age(at(TODAY)), 0xffff_ff00);
    assert_eq!(session.obfuscated_ticket_age(at(TODAY + 2)), 2000 - 256);
}

#[test]
fn what_is_worthless_or_large_is_not_kept() {
    assert!(stored().fits());
    assert!(!StoredSession { lifetime: 0, ..stored() }.fits());
    let names = stored().server().len();
    let with_ticket = |len| StoredSession { ticket: vec![0; len].into(), ..stored() };
    assert!(with_ticket(0x4000 - names).fits());
    assert!(!with_ticket(0x4001 - names).fits());
}

#[test]
fn nothing_secret_is_printed() {
    let printed = alloc::format!("{:?}", stored());
    assert!(!printed.contains("5, 5") && !printed.contains("9, 9"), "{printed}");
}

#[test]
fn a_tls_1_2_session_comes_back() {
    let kind = SessionKind::Tls12 { session_id: [1; 32].into() };
    let session = StoredSession { kind: kind.clone(), ticket: Box::default(), ..stored() };
    let again = again(&session);
    assert_eq!((again.version(), again.kind), (ProtocolVersion::TLS_1_2, kind));
}

#[test]
fn bytes_that_are_not_whole_are_refused() {
    let bytes = stored().to_bytes();
    for len in 0..bytes.len() {
        assert!(StoredSession::from_bytes(&bytes[..len]).is_err());
    }
    let mut other_format = bytes.clone();
    other_format[0] += 1;
    assert!(StoredSession::from_bytes(&other_format).is_err());
}

proptest! {
    #[test]
    fn whatever_it_is_comes_back(
        numbers in any::<(u16, u32, u32, u16, u64, u32, u64)>(),
        ticket in prop::collection::vec(any::<u8>(), 0..80),
        protocol in prop::option::of(prop::collection::vec(any::<u8>(), 1..10)),
        signatures in any::<u8>(),
    ) {
        let (suite, ticket_age_add, max_early_data_size, record_limit, received, lifetime, authenticated) = numbers;
        let mut session = StoredSession {
            suite: CipherSuite(suite),
            kind: SessionKind::Tls13 { ticket_age_add, max_early_data_size, record_limit },
            ticket: ticket.into(),
            received,
            lifetime,
            ..stored()
        };
        session.origin.authenticated = authenticated;
        session.origin.signatures = signatures;
        session.origin.application_protocol = protocol.map(Into::into);
        let again = again(&session);
        prop_assert_eq!((again.suite, &again.kind, &again.ticket), (session.suite, &session.kind, &session.ticket));
        prop_assert_eq!((again.received, again.lifetime, &again.origin), (received, lifetime, &session.origin));
        prop_assert_eq!(again.secret.as_ref(), session.secret.as_ref());
    }

    #[test]
    fn nothing_makes_parsing_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = StoredSession::from_bytes(&bytes);
        let _ = MemoryClientSessions::from_bytes(&bytes, 4);
    }
}
