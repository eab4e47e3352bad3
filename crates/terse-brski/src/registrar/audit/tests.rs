use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

use pki_types::UnixTime;

use super::AuditRefused::{LaterVersion, Nonceless, NotNamed, NotRequested, Truncated, UnknownDomain};
use super::{AuditPolicy, AuditRefused, History, NoncelessEvents, NoncelessRequest};
use crate::audit_log::{AuditLog, Event};
use crate::voucher::{Assertion, Nonce};

const OWN: &[u8] = b"own domain";
const SELLER: &[u8] = b"seller";
const STRANGER: &[u8] = b"stranger";

fn event(date: u64, domain: &[u8], nonce: Option<&[u8]>) -> Event {
    let date = UnixTime::since_unix_epoch(Duration::from_secs(date));
    Event::new(date, domain.into(), nonce.map(|nonce| Nonce::new(nonce).unwrap()), Assertion::Proximity)
}

/// The nonce of the voucher that the domain has just had.
fn own_nonce() -> Nonce {
    Nonce::new(b"nonce 1").unwrap()
}

/// A log with the own event, and others.
fn log(others: &[Event]) -> AuditLog {
    let mut events = Vec::from([event(1_000, OWN, Some(b"nonce 1"))]);
    events.extend(others.iter().cloned());
    AuditLog { version: 1, events, ..AuditLog::default() }
}

fn check(policy: &AuditPolicy, log: &AuditLog) -> Result<(), AuditRefused> {
    policy.check(log, &History { domain_ids: &[OWN], nonce: Some(&own_nonce()), nonces: None, nonceless: &[] })
}

#[test]
fn a_new_device_is_good() {
    assert_eq!(check(&AuditPolicy::default(), &log(&[])), Ok(()));
    assert_eq!(check(&AuditPolicy::default(), &log(&[event(1, OWN, None)])), Ok(()));
}

#[test]
fn a_log_without_the_own_voucher_is_refused() {
    let policy = AuditPolicy { accepts_unknown_domains: true, ..AuditPolicy::default() };
    let mut log = log(&[event(1, STRANGER, Some(b"nonce 2"))]);
    assert_eq!(check(&policy, &log), Ok(()));
    log.events.remove(0);
    assert_eq!(check(&policy, &log), Err(NotNamed));
    assert_eq!(check(&policy, &AuditLog::default()), Err(NotNamed));
}

#[test]
fn an_earlier_voucher_of_the_own_domain_does_not_stand_for_the_last_one() {
    for nonce in [Some(&b"nonce 0"[..]), None] {
        let mut log = log(&[event(900, OWN, nonce)]);
        assert_eq!(check(&AuditPolicy::default(), &log), Ok(()));
        log.events.remove(0);
        assert_eq!(check(&AuditPolicy::default(), &log), Err(NotNamed), "{nonce:?}");
    }
}

#[test]
fn earlier_owners_are_compared_with_the_policy() {
    let default = AuditPolicy::default();
    let known = AuditPolicy { known_domains: Vec::from([SELLER.into()]), ..default.clone() };
    let any = AuditPolicy { accepts_unknown_domains: true, ..default.clone() };
    let sold = log(&[event(900, SELLER, Some(b"nonce 2"))]);
    let stolen = log(&[event(900, STRANGER, Some(b"nonce 2"))]);
    assert_eq!(check(&default, &sold), Err(UnknownDomain));
    assert_eq!(check(&known, &sold), Ok(()));
    assert_eq!(check(&any, &sold), Ok(()));
    assert_eq!(check(&known, &stolen), Err(UnknownDomain));
    assert_eq!(check(&any, &stolen), Ok(()));
}

#[test]
fn vouchers_without_a_nonce_are_compared_with_the_policy() {
    let known = AuditPolicy { known_domains: Vec::from([SELLER.into()]), ..AuditPolicy::default() };
    let cases = [
        (NoncelessEvents::Own, [Ok(()), Err(Nonceless), Err(Nonceless)]),
        (NoncelessEvents::Known, [Ok(()), Ok(()), Err(Nonceless)]),
        (NoncelessEvents::All, [Ok(()), Ok(()), Err(UnknownDomain)]),
    ];
    for (nonceless, expected) in cases {
        let policy = AuditPolicy { nonceless, ..known.clone() };
        let found = [OWN, SELLER, STRANGER].map(|domain| check(&policy, &log(&[event(1, domain, None)])));
        assert_eq!(found, expected, "{nonceless:?}");
    }
    let all = AuditPolicy { nonceless: NoncelessEvents::All, accepts_unknown_domains: true, ..known };
    assert_eq!(check(&all, &log(&[event(1, STRANGER, None)])), Ok(()));
    let own = AuditPolicy { nonceless: NoncelessEvents::Own, ..all };
    assert_eq!(check(&own, &log(&[event(1, STRANGER, None)])), Err(Nonceless));
}

#[test]
fn events_before_the_purchase_do_not_count() {
    let at = |seconds| Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)));
    let log = log(&[event(500, STRANGER, None)]);
    assert_eq!(check(&AuditPolicy { since: at(500), ..AuditPolicy::default() }, &log), Err(Nonceless));
    assert_eq!(check(&AuditPolicy { since: at(501), ..AuditPolicy::default() }, &log), Ok(()));
}

#[test]
fn removed_events_count_only_if_a_later_one_stands_for_them() {
    let duplicates = AuditLog { nonced_duplicates: 3, nonceless_duplicates: 4, ..log(&[]) };
    assert_eq!(check(&AuditPolicy::default(), &duplicates), Ok(()));
    let arbitrary = AuditLog { arbitrary: 1, ..log(&[]) };
    assert_eq!(check(&AuditPolicy::default(), &arbitrary), Err(Truncated));
    let policy = AuditPolicy { accepts_arbitrary_truncation: true, ..AuditPolicy::default() };
    assert_eq!(check(&policy, &arbitrary), Ok(()));
}

#[test]
fn a_later_version_is_an_operators_matter() {
    let later = AuditLog { version: 2, ..log(&[]) };
    assert_eq!(check(&AuditPolicy::default(), &later), Err(LaterVersion));
    let policy = AuditPolicy { accepts_later_versions: true, ..AuditPolicy::default() };
    assert_eq!(check(&policy, &later), Ok(()));
}

#[test]
fn a_stranger_cannot_hide_behind_the_own_domain_id() {
    let requested = [own_nonce()];
    let history = History { domain_ids: &[OWN], nonce: Some(&own_nonce()), nonces: Some(&requested), nonceless: &[] };
    let policy = AuditPolicy::default();
    assert_eq!(policy.check(&log(&[]), &history), Ok(()));
    let forged = log(&[event(900, OWN, Some(b"nonce 2"))]);
    assert_eq!(policy.check(&forged, &history), Err(NotRequested));
    let nonceless = log(&[event(900, OWN, None)]);
    let policies =
        [NoncelessEvents::Own, NoncelessEvents::All].map(|nonceless| AuditPolicy { nonceless, ..policy.clone() });
    for policy in policies {
        assert_eq!(policy.check(&nonceless, &history), Err(NotRequested));
    }
    assert_eq!(check(&policy, &nonceless), Ok(()), "without a history there is nothing to compare");
    assert_eq!(check(&policy, &forged), Ok(()), "without a history there is nothing to compare");
    // Each certificate of the domain that was ever pinned has a domainID.
    let both = History { domain_ids: &[STRANGER, OWN], nonce: Some(&own_nonce()), nonces: None, nonceless: &[] };
    assert_eq!(policy.check(&log(&[event(900, STRANGER, Some(b"nonce 3"))]), &both), Ok(()));
}

/// Checks a log of the own domain, which has requested vouchers without a nonce at these times.
fn check_nonceless(requests: &[(u64, u64)], events: &[Event], nonce: Option<&Nonce>) -> Result<(), AuditRefused> {
    let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let requests: Vec<_> = requests
        .iter()
        .map(|(first, last)| NoncelessRequest { first_sent: at(*first), last_sent: at(*last) })
        .collect();
    let history = History { domain_ids: &[OWN], nonce, nonces: Some(&[own_nonce()]), nonceless: &requests };
    AuditPolicy::default().check(&log(events), &history)
}

#[test]
fn own_vouchers_without_a_nonce_are_known_by_number_and_date() {
    let nonceless = |date| event(date, OWN, None);
    let nonce = own_nonce();
    let check = |requests: &[(u64, u64)], events: &[Event]| check_nonceless(requests, events, Some(&nonce));
    assert_eq!(check(&[(10_000, 10_000)], &[nonceless(10_001)]), Ok(()));
    // One that did not reach the MASA has no event.
    assert_eq!(check(&[(10_000, 10_000), (20_000, 20_000)], &[nonceless(20_001)]), Ok(()));
    // Clocks may differ, and an answer may take its time.
    for date in [9_700, 10_360] {
        assert_eq!(check(&[(10_000, 10_000)], &[nonceless(date)]), Ok(()), "{date}");
    }
    for date in [9_699, 10_361] {
        assert_eq!(check(&[(10_000, 10_000)], &[nonceless(date)]), Err(NotRequested), "{date}");
    }
    // The same request that was sent again has one event, at any time in between.
    assert_eq!(check(&[(10_000, 20_000)], &[nonceless(15_000)]), Ok(()));
    assert_eq!(check(&[(10_000, 20_000)], &[nonceless(15_000), nonceless(15_001)]), Err(NotRequested));
    // Somebody else has had one as well: at another time, or at the same.
    assert_eq!(check(&[(10_000, 10_000)], &[nonceless(10_001), nonceless(50_000)]), Err(NotRequested));
    assert_eq!(check(&[(10_000, 10_000)], &[nonceless(10_001), nonceless(10_001)]), Err(NotRequested));
    // Times that overlap: each event finds its own.
    let overlapping = [(10_000, 20_000), (10_100, 10_100)];
    assert_eq!(check(&overlapping, &[nonceless(10_150), nonceless(19_000)]), Ok(()));
    assert_eq!(check(&overlapping, &[nonceless(18_000), nonceless(19_000)]), Err(NotRequested));
}

#[test]
fn own_vouchers_without_a_nonce_that_were_removed_from_the_log_are_counted() {
    let last = |truncated| Event { truncated, ..event(20_001, OWN, None) };
    let nonce = own_nonce();
    let requests = [(10_000, 10_000), (20_000, 20_000)];
    assert_eq!(check_nonceless(&requests, &[last(1)], Some(&nonce)), Ok(()));
    for truncated in [2, u64::MAX] {
        assert_eq!(check_nonceless(&requests, &[last(truncated)], Some(&nonce)), Err(NotRequested));
    }
}

#[test]
fn a_log_names_the_voucher_without_a_nonce_that_was_just_had() {
    let requests = [(10_000, 10_000)];
    assert_eq!(check_nonceless(&requests, &[event(10_000, OWN, None)], None), Ok(()));
    assert_eq!(check_nonceless(&requests, &[], None), Err(NotNamed));
    assert_eq!(check_nonceless(&requests, &[event(10_000, STRANGER, None)], None), Err(NotNamed));
}

#[test]
fn a_log_can_be_ignored() {
    let policy = AuditPolicy { is_ignored: true, ..AuditPolicy::default() };
    assert_eq!(check(&policy, &AuditLog { version: 9, arbitrary: 9, ..AuditLog::default() }), Ok(()));
}

#[test]
fn every_refusal_has_a_text_of_its_own() {
    let all = [LaterVersion, NotNamed, UnknownDomain, Nonceless, Truncated, NotRequested];
    let mut texts: Vec<_> = all.iter().map(ToString::to_string).collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all.len());
}
