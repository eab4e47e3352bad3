//! Tests of the encoding of a session, and of its lifetime.

use proptest::prelude::*;

use super::super::test_data::*;
use super::*;
use crate::crypto::MAX_HASH_LEN;
use crate::test_crypto::SHA256;

fn again(session: &Session) -> Session {
    Session::parse_all(&session.to_bytes()).unwrap()
}

fn same(a: &Session, b: &Session) -> bool {
    (a.suite, a.created, a.end) == (b.suite, b.created, b.end)
        && a.client == b.client
        && a.secret.as_ref() == b.secret.as_ref()
}

fn with_client(identity: PeerIdentity) -> Session {
    Session { client: Some(ResumedClient { identity, signatures: 2, links: Links::default() }), ..session() }
}

/// Returns the links of a chain of `count` certificates.
fn links(count: u8) -> Links {
    let bytes: Vec<_> = [count * 16].into_iter().chain((0..count).flat_map(|at| [at; 16])).collect();
    Links::parse_all(&bytes).unwrap()
}

#[test]
fn is_small() {
    assert_eq!(session().to_bytes().len(), 10 + 32);
    let named = with_client(named_identity("sensor-17.plant.example"));
    assert_eq!(named.to_bytes().len(), 10 + 32 + 1 + "sensor-17.plant.example".len());
    assert!(same(&again(&named), &named));
    let client = named.client.clone().map(|client| ResumedClient { links: links(2), ..client });
    let checked = Session { client, ..named.clone() };
    assert_eq!(checked.to_bytes().len(), named.to_bytes().len() + 1 + 2 * 16, "only where revocation is checked");
    assert!(same(&again(&checked), &checked));
}

#[test]
fn an_identity_that_is_more_than_a_name_is_kept_in_full() {
    let one = named_identity("sensor-17.plant.example");
    let other = named_identity("sensor-18.plant.example");
    let mut subject = one.subject_der().to_vec();
    subject[11] = 0x13; // PrintableString
    let printable = identity(&subject, one.subject_alt_name_der());
    let long = identity(&[0x30; 300], &[0x31; 400]);
    let mixed = identity(one.subject_der(), other.subject_alt_name_der());
    let no_names = identity(one.subject_der(), &[]);
    let raw_public_key = PeerIdentity::RawPublicKey([0x30; 91].into());
    for identity in [printable, long, mixed, no_names, raw_public_key] {
        let session = with_client(identity);
        assert!(same(&again(&session), &session));
    }
}

#[test]
fn names_of_any_length_come_back() {
    for len in [0, 1, 64, 115, 116, 117, 130] {
        let name = "x".repeat(len);
        let session = with_client(named_identity_of_any_length(&name));
        assert!(same(&again(&session), &session), "{len}");
    }
}

/// Returns an identity in DER, in which a length from 128 on takes two bytes or more.
fn named_identity_of_any_length(name: &str) -> PeerIdentity {
    let wrap = |tag: u8, content: &[u8]| {
        let len = content.len() as u8;
        if len < 0x80 { [&[tag, len], content].concat() } else { [&[tag, 0x81, len], content].concat() }
    };
    let attribute = [&[6, 3, 0x55, 4, 3], &wrap(0x0c, name.as_bytes())[..]].concat();
    identity(&wrap(0x30, &wrap(0x31, &wrap(0x30, &attribute))), &wrap(0x30, &wrap(0x82, name.as_bytes())))
}

#[test]
fn what_is_cut_short_or_too_long_is_refused() {
    let bytes = with_client(named_identity("sensor-17.plant.example")).to_bytes();
    for len in 0..bytes.len() {
        assert!(Session::parse_all(&bytes[..len]).is_err(), "{len}");
    }
    let long = [&bytes[..], &[0]].concat();
    assert_eq!(Session::parse_all(&long).err(), Some(InvalidMessage::TrailingData));
    let mut both = bytes.clone();
    both[2] |= flags::CLIENT;
    assert!(Session::parse_all(&both).is_err());
}

#[test]
fn lives_as_long_as_its_ticket_and_its_origin() {
    let alive = |session: &Session, now| session.is_alive(HOUR, now);
    let session = session();
    assert_eq!(
        [TODAY - 1, TODAY, TODAY + 3599, TODAY + 3600].map(|now| alive(&session, now)),
        [false, true, true, false]
    );
    let short = Session { end: TODAY + 60, ..session };
    assert_eq!([TODAY + 59, TODAY + 60].map(|now| alive(&short, now)), [true, false]);
    assert_eq!((short.lifetime(HOUR), short.lifetime(30)), (60, 30));
    let over = Session { end: TODAY - 1, ..short };
    assert_eq!((over.lifetime(HOUR), alive(&over, TODAY)), (0, false));
}

#[test]
fn ticket_age_add_follows_from_the_secret() {
    // The expected value was computed with Python's `hmac`.
    assert_eq!(session().ticket_age_add(SHA256), 0x0ae8_6466);
    let other = Session { secret: Secret::new(&[6; 32]), ..session() };
    assert_ne!(other.ticket_age_add(SHA256), 0x0ae8_6466);
}

#[test]
fn large_identities_are_not_kept() {
    let of = |len| with_client(identity(&alloc::vec![0; len], &[0; 48]));
    assert!(of(2000).fits());
    assert!(!of(2001).fits());
}

#[test]
fn no_secret_is_printed() {
    assert!(!alloc::format!("{:?}", session()).contains("5, 5"));
}

proptest! {
    #[test]
    fn whatever_it_is_comes_back(
        suite in any::<u16>(),
        long in any::<bool>(),
        created in any::<u32>(),
        left in 0..=u64::from(MAX_LIFETIME),
        names in prop::option::of((prop::collection::vec(any::<u8>(), 0..40), prop::collection::vec(any::<u8>(), 0..40))),
        signatures in 0..16_u8,
        certificates in 0..8_u8,
    ) {
        let client = names.map(|(subject, subject_alt_name)| ResumedClient {
            identity: identity(&subject, &subject_alt_name),
            signatures,
            links: links(certificates),
        });
        let secret = Secret::new(&[9; MAX_HASH_LEN][..if long { 48 } else { 32 }]);
        let created = created.into();
        let session =
            Session { suite: CipherSuite(suite), secret, created, end: created + left, client };
        prop_assert!(same(&again(&session), &session));
    }

    #[test]
    fn nothing_makes_parsing_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = Session::parse_all(&bytes);
    }
}
