//! Tests of sealing and opening tickets, and of key rotation.

use super::super::test_data::*;
use super::*;
use crate::crypto::Secret;
use crate::test_crypto::SUITE;
use crate::wire::ProtocolVersion;

fn keys() -> TicketKeys {
    TicketKeys::new(SUITE.aead, HOUR, 4).unwrap()
}

fn tls13() -> Binding {
    binding(ProtocolVersion::TLS_1_3)
}

fn seal(keys: &TicketKeys, created: u64, rng: &mut Counter) -> Vec<u8> {
    keys.seal(&Session { created, end: created + 7 * DAY, ..session() }, &tls13(), rng).unwrap()
}

#[test]
fn a_ticket_has_70_bytes_and_opens_in_its_context() {
    let keys = keys();
    let ticket = seal(&keys, TODAY, &mut Counter(0));
    assert_eq!(ticket.len(), 70);
    let opened = keys.open(&ticket, &tls13(), TODAY + 10).unwrap();
    assert_eq!((opened.created, opened.secret.as_ref()), (TODAY, &[5; 32][..]));
    assert!(!ticket.windows(8).any(|bytes| bytes == [5; 8]), "the secret shows");
}

#[test]
fn a_tls_1_2_ticket_has_86_bytes_and_is_of_no_use_in_tls_1_3() {
    let keys = keys();
    let session = Session { secret: Secret::new(&[6; 48]), ..session() };
    let ticket = keys.seal(&session, &binding(ProtocolVersion::TLS_1_2), &mut Counter(0)).unwrap();
    assert_eq!(ticket.len(), 86);
    assert!(keys.open(&ticket, &binding(ProtocolVersion::TLS_1_2), TODAY).is_some());
    assert!(keys.open(&ticket, &tls13(), TODAY).is_none());
}

#[test]
fn every_bit_counts() {
    let keys = keys();
    let ticket = seal(&keys, TODAY, &mut Counter(0));
    for at in 0..ticket.len() {
        let mut wrong = ticket.clone();
        wrong[at] ^= 1;
        assert!(keys.open(&wrong, &tls13(), TODAY).is_none(), "{at}");
        assert!(keys.open(&ticket[..at], &tls13(), TODAY).is_none(), "{at}");
    }
    let server = keys;
    assert!(keys_of_another_server().open(&ticket, &tls13(), TODAY).is_none());
    assert!(server.open(&ticket, &tls13(), TODAY).is_some());
}

fn keys_of_another_server() -> TicketKeys {
    let keys = keys();
    seal(&keys, TODAY, &mut Counter(100));
    keys
}

#[test]
fn a_ticket_ends_with_its_lifetime() {
    let keys = keys();
    let ticket = seal(&keys, TODAY, &mut Counter(0));
    let opens = |now| keys.open(&ticket, &tls13(), now).is_some();
    assert!(!opens(TODAY - 1), "a clock that is wrong");
    assert!(opens(TODAY + 3599));
    assert!(!opens(TODAY + 3600));
}

#[test]
fn keys_take_turns() {
    let (keys, mut rng) = (keys(), Counter(0));
    let hour = u64::from(HOUR);
    let first = seal(&keys, TODAY, &mut rng);
    let late = seal(&keys, TODAY + hour - 1, &mut rng);
    // The key of both tickets is the previous one from here on, and opens tickets that have not expired.
    let next = seal(&keys, TODAY + hour, &mut rng);
    assert!(keys.open(&first, &tls13(), TODAY + hour).is_none());
    assert!(keys.open(&late, &tls13(), TODAY + hour).is_some());
    assert!(keys.open(&late, &tls13(), TODAY + 2 * hour - 2).is_some(), "to the last second");
    assert!(keys.open(&next, &tls13(), TODAY + 2 * hour - 2).is_some());
    assert!(keys.keys.lock().previous.is_some());
    assert!(keys.open(&next, &tls13(), TODAY + 2 * hour).is_none());
    assert!(keys.keys.lock().previous.as_ref().is_some_and(|key| key.since == TODAY + hour), "the oldest key is gone");
    keys.open(&next, &tls13(), TODAY + 5 * hour);
    let all = keys.keys.lock();
    assert!(all.current.is_none() && all.previous.is_none());
}

#[test]
fn a_clock_that_is_set_back_keeps_the_keys() {
    let (keys, mut rng) = (keys(), Counter(0));
    let ticket = seal(&keys, TODAY, &mut rng);
    seal(&keys, TODAY - DAY, &mut rng);
    assert!(keys.open(&ticket, &tls13(), TODAY).is_some());
}

#[test]
fn a_worn_key_is_replaced() {
    let (keys, mut rng) = (keys(), Counter(0));
    let before = seal(&keys, TODAY, &mut rng);
    keys.keys.lock().current.as_mut().unwrap().sealed = MAX_SEALED - 1;
    let last = seal(&keys, TODAY, &mut rng);
    let after = seal(&keys, TODAY, &mut rng);
    assert_eq!(keys.keys.lock().current.as_ref().unwrap().sealed, 1);
    for ticket in [before, last, after] {
        assert!(keys.open(&ticket, &tls13(), TODAY).is_some());
    }
}

#[test]
fn a_failed_draw_fails_one_call() {
    struct Broken;
    impl Rng for Broken {
        fn fill(&mut self, _: &mut [u8]) -> Result<(), CryptoError> {
            Err(CryptoError::RandomFailed)
        }
    }
    let keys = keys();
    assert_eq!(keys.seal(&session(), &tls13(), &mut Broken).err(), Some(CryptoError::RandomFailed));
    assert!(keys.open(&seal(&keys, TODAY, &mut Counter(0)), &tls13(), TODAY).is_some());
}

#[test]
fn lifetimes_have_bounds() {
    for lifetime in [0, MAX_LIFETIME + 1, u32::MAX] {
        assert_eq!(TicketKeys::new(SUITE.aead, lifetime, 0).err(), Some(ApiMisuse::TicketLifetime));
    }
    assert!(TicketKeys::new(SUITE.aead, MAX_LIFETIME, 0).is_ok());
}

#[test]
fn a_short_tag_is_not_for_tickets() {
    struct ShortTag;
    impl Aead for ShortTag {
        fn key_len(&self) -> usize {
            16
        }
        fn tag_len(&self) -> usize {
            8
        }
        fn key(&self, _: &[u8]) -> Result<Box<dyn AeadKey>, CryptoError> {
            Err(CryptoError::InvalidLength)
        }
    }
    assert!(matches!(TicketKeys::new(&ShortTag, HOUR, 0).err(), Some(ApiMisuse::Unsupported(_))));
}
