use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{
    Authority, DeniedIdentities, Identity, IdentityAlgorithm, IdentityError, IdentityParameters, IdentityType,
    KnownPeers, SecretTicket,
};
use crate::proof::FinishedProof;

fn identity(text: &str) -> Identity {
    text.parse().expect("an identity")
}

#[test]
fn texts_of_identities() {
    for text in ["dns:broker.example", "device:pump 7", "eui64:0200000000000001"] {
        assert_eq!(identity(text).to_string(), text);
        assert_eq!(Identity::decode(identity(text).encoded()), Ok(identity(text)));
    }
    assert_eq!(identity("dns:Broker.Example."), identity("dns:broker.example"));
    assert_eq!(identity("eui64:02-00-00-00-00-00-00-01"), Identity::eui64([2, 0, 0, 0, 0, 0, 0, 1]));
    assert_eq!(Identity::new(IdentityType(9), &[0xab]).expect("any type").to_string(), "type9:ab");
    let error = |text: &str| text.parse::<Identity>().expect_err("no identity");
    assert_eq!(error("broker.example"), IdentityError::UnknownType);
    assert_eq!(error("mail:a"), IdentityError::UnknownType);
    assert_eq!(error("dns:-"), IdentityError::DnsName);
    assert_eq!(error("eui64:123"), IdentityError::Eui64);
    assert_eq!(error("eui64:+200000000000001"), IdentityError::Eui64);
    assert_eq!(error("device:"), IdentityError::Length);
    assert_eq!(error(&("device:".to_string() + &"x".repeat(255))), IdentityError::Length);
}

/// A device name comes from a peer, and is printed on terminals and in logs.
#[test]
fn control_characters_of_a_name_are_escaped() {
    let name = Identity::new(IdentityType::DEVICE_NAME, b"a\x1b[2J\nb").expect("any bytes");
    assert_eq!(name.to_string(), "device:a\\u{1b}[2J\\nb");
}

#[test]
fn dns_names_have_one_encoding() {
    for name in [&b"Broker.example"[..], b"broker.example.", b"br\xc3\xb6ker.example", b"a..b"] {
        assert_eq!(Identity::new(IdentityType::DNS_NAME, name), Err(IdentityError::DnsName));
    }
}

/// docs/identity-format.md, 1
#[test]
fn hashed_form() {
    let hashed = identity("device:ab").hashed(0x0102_0304);
    assert_eq!(hashed, [2, 0, 2, b'a', b'b', 1, 2, 3, 4]);
}

#[test]
fn parameters_are_read_back_and_refused_with_another_length() {
    for algorithm in IdentityAlgorithm::ALL {
        let key = alloc::vec![7; algorithm.authority_key_len()];
        let parameters = IdentityParameters::new(algorithm, &key, 3, 4_102_444_800).expect("the right length");
        let encoded = parameters.encode();
        assert_eq!(IdentityParameters::decode(&encoded), Some(parameters.clone()));
        assert_eq!(parameters.authority().0, parameters.hash()[..8]);
        let mut longer = encoded.clone();
        longer.push(0);
        assert_eq!(IdentityParameters::decode(&longer), None);
        assert_eq!(IdentityParameters::decode(&encoded[1..]), None);
        let next = IdentityParameters::new(algorithm, &key, 4, 4_102_444_800).expect("the right length");
        assert_ne!(next.authority(), parameters.authority());
    }
    assert_eq!(IdentityParameters::decode(&[]), None);
}

const AUTHORITY: Authority = Authority([1; 8]);
const OWN: &[u8] = &[5; 32];
const THEIRS: &[u8] = &[6; 32];

fn proof() -> FinishedProof {
    FinishedProof::after_finished()
}

/// docs/identity.md: a kept public part that is wrong heals itself.
#[test]
fn what_was_relied_on_in_vain_is_asked_for_again() {
    let (known, server) = (KnownPeers::new(4), identity("dns:a.example"));
    let first = known.begin(AUTHORITY, &server, OWN);
    assert!(first.public_part.is_none() && first.sends_own);
    known.confirm(&proof(), AUTHORITY, &server, THEIRS, OWN);
    let second = known.begin(AUTHORITY, &server, OWN);
    assert_eq!((second.public_part.as_deref(), second.sends_own), (Some(THEIRS), false));
    // That handshake is not confirmed.
    let third = known.begin(AUTHORITY, &server, OWN);
    assert!(third.public_part.is_none() && third.sends_own);
    known.confirm(&proof(), AUTHORITY, &server, &[8; 32], OWN);
    let fourth = known.begin(AUTHORITY, &server, OWN);
    assert_eq!((fourth.public_part.as_deref(), fourth.sends_own), (Some(&[8; 32][..]), false));
    assert!(known.begin(Authority([2; 8]), &server, OWN).public_part.is_none());
}

#[test]
fn a_new_key_of_this_side_is_sent() {
    let (known, server) = (KnownPeers::new(4), identity("dns:a.example"));
    known.confirm(&proof(), AUTHORITY, &server, THEIRS, OWN);
    let begun = known.begin(AUTHORITY, &server, &[9; 32]);
    assert_eq!((begun.public_part.as_deref(), begun.sends_own), (Some(THEIRS), true));
}

#[test]
fn certificates_are_used_for_a_day_whatever_the_clock_does() {
    let (known, server) = (KnownPeers::new(4), identity("dns:a.example"));
    assert!(!known.uses_certificates(AUTHORITY, &server, 1_000_000));
    known.used_certificates(&proof(), AUTHORITY, &server, 1_000_000);
    for (now, expected) in [(1_000_000, true), (1_086_400, true), (1_086_401, false), (999_999, false), (0, false)] {
        assert_eq!(known.uses_certificates(AUTHORITY, &server, now), expected, "{now}");
    }
}

#[test]
fn the_least_recently_used_peer_makes_room() {
    let known = KnownPeers::new(2);
    let [a, b, c] = ["device:a", "device:b", "device:c"].map(identity);
    known.keep(&proof(), AUTHORITY, &a, OWN);
    known.keep(&proof(), AUTHORITY, &b, OWN);
    assert!(known.find(AUTHORITY, &a).is_some());
    known.keep(&proof(), AUTHORITY, &c, OWN);
    assert_eq!(known.len(), 2);
    assert!(known.find(AUTHORITY, &b).is_none() && known.find(AUTHORITY, &a).is_some());
}

#[test]
fn a_snapshot_holds_everything() {
    let (known, server) = (KnownPeers::new(4), identity("dns:a.example"));
    known.confirm(&proof(), AUTHORITY, &server, THEIRS, OWN);
    known.used_certificates(&proof(), AUTHORITY, &server, 77);
    known.provide(AUTHORITY, &identity("device:b"), OWN);
    known.begin(AUTHORITY, &identity("device:b"), OWN);
    known.keep_ticket(AUTHORITY, &server, ticket(false));
    known.keep_ticket(AUTHORITY, &identity("device:b"), ticket(true));
    let snapshot = known.snapshot();
    let read = KnownPeers::from_snapshot(4, &snapshot).expect("well-formed");
    assert_eq!(read.snapshot(), snapshot);
    assert_eq!(KnownPeers::from_snapshot(1, &snapshot).expect("well-formed").len(), 1);
    for len in 1..snapshot.len() {
        let whole = KnownPeers::from_snapshot(4, &snapshot[..len]);
        assert!(whole.is_none_or(|read| read.len() < 2), "{len}");
    }
    assert!(KnownPeers::from_snapshot(4, &[]).is_none() && KnownPeers::from_snapshot(4, &[3]).is_none());
}

fn ticket(is_datagram: bool) -> SecretTicket {
    SecretTicket {
        ticket: [1; 16].into(),
        key_exchange: [2; 32].into(),
        is_datagram,
        application_protocol: Some(b"coap".as_slice().into()),
        max_size: 0x0102_0304,
        record_limit: 0x0506,
        expires: 100,
    }
}

#[test]
fn a_ticket_is_taken_once_before_it_expires_and_over_its_transport() {
    let (known, server) = (KnownPeers::new(4), identity("dns:a.example"));
    let take = |is_datagram, now| known.take_ticket(AUTHORITY, &server, is_datagram, now);
    assert_eq!(take(false, 0), None);
    known.keep_ticket(AUTHORITY, &server, ticket(false));
    assert_eq!(take(true, 99), None);
    assert_eq!(take(false, 99), Some(ticket(false)));
    assert_eq!(take(false, 99), None);
    known.keep_ticket(AUTHORITY, &server, ticket(false));
    assert_eq!(take(false, 100), None, "it has expired");
    assert_eq!(take(false, 99), None, "and is gone");
}

#[test]
fn a_list_of_the_denied_can_change() {
    let denied = Arc::new(DeniedIdentities::new([identity("device:a")]));
    assert!(denied.contains(&identity("device:a")) && !denied.contains(&identity("dns:a")));
    denied.replace([identity("dns:a")]);
    assert!(!denied.contains(&identity("device:a")) && denied.contains(&identity("dns:a")));
}

proptest! {
    #[test]
    fn any_bytes_are_an_identity_or_an_error(bytes: Vec<u8>) {
        if let Ok(identity) = Identity::decode(&bytes) {
            prop_assert_eq!(identity.encoded(), &bytes[..]);
            let _ = identity.to_string();
        }
        let _ = IdentityParameters::decode(&bytes);
        let _ = KnownPeers::from_snapshot(3, &bytes);

    }
}
