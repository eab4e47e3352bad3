//! Round trips, and hostile bytes.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::ServerName;
use proptest::prelude::*;

use super::super::health::Health;
use super::super::record::{Entries, History, Slot};
use super::super::test_data::*;
use super::super::*;
use super::{decode, encode};
use crate::cert::SuitableCredentials;
use crate::cert::{CertificateIdentity, LearnedIssuers, Validity, VerifiedPeer};
use crate::summary::Transport;
use crate::wire::{Parse, ProtocolVersion, SignatureScheme};

/// Two CAs that were learned; the names are not of those keys, which is for others to judge.
fn issuers() -> LearnedIssuers {
    let one = |n: u8| [&[n; 8][..], &[n % 2], &[0, 3], &[n; 3], &[0, 91], &[n; 91]].concat();
    LearnedIssuers::parse_all(&[&[2][..], &one(1), &one(2)].concat()).expect("two")
}

/// A store of each kind with everything in it that a record can have.
fn example() -> (MemoryClientStore, MemoryServerStore) {
    let client = MemoryClientStore::new(4);
    for (n, server) in (1..).zip(["device.example", "10.0.0.1", "2001:db8::1"]) {
        let scope = Scope { server: subject(server), ..scope() };
        let mut record = ScopeRecord::default();
        let server_certificate = if n == 3 { raw_entry(SERVER, ProtocolVersion::TLS_1_2) } else { entry(SERVER) };
        record.learn_certificate(server_certificate);
        record.learn_request(request(300));
        record.scheme = [None, Some(Scheme::Rfc7924), Some(Scheme::Bithac), Some(Scheme::Compact)][n as usize];
        record.confirm(Slot { ticket: ticket(n), own_certificate: Some(OWN), entries: None });
        let request = (n == 2).then_some(ProtocolVersion::TLS_1_3);
        let entries = Some(Entries { request });
        record.learn_ticket(Slot { ticket: ticket(n + 10), own_certificate: None, entries }, None);
        record.health = Health::Off { until: Some(TODAY), connections: 24 };
        client.insert(&scope, &record);
    }
    let server = MemoryServerStore::new(4);
    let row = row(entry(OWN));
    for (n, parent) in [(1, None), (2, Some(1)), (3, Some(2))] {
        let commit = Commit { ticket: ticket(n), row: row.clone(), parent: parent.map(ticket), time: None };
        server.commit(commit).expect("in memory");
    }
    for (n, request) in [(7, None), (8, Some(REQUEST)), (9, None)] {
        let seen = Some(ServerObjects { certificate: SERVER, request });
        let address = (n == 8).then_some(AddressId([192, 0, 2, 1]));
        let row = if n == 9 { Row { seen, ..row.clone() } } else { Row { entry: None, seen, address } };
        server.commit(Commit { ticket: ticket(n), row, parent: None, time: None }).expect("in memory");
    }
    (client, server)
}

fn rows(store: &MemoryServerStore) -> Vec<(Ticket, Row, Option<Ticket>)> {
    commits(store).into_iter().map(|commit| (commit.ticket, commit.row, commit.parent)).collect()
}

#[test]
fn round_trip_keeps_contents_and_order() {
    let (client, server) = example();
    let bytes = encode(&client, &server, &issuers()).expect("small");
    let (client_again, server_again, issuers_again) = decode(&bytes, 4).expect("whole");
    assert_eq!(client_again.records(), client.records());
    assert_eq!(rows(&server_again), rows(&server));
    assert_eq!(encode(&client_again, &server_again, &issuers_again).expect("small"), bytes);
}

#[test]
fn lineage_goes_on_after_a_restart() {
    let (client, server) = example();
    let (_, server, _) = decode(&encode(&client, &server, &issuers()).expect("small"), 4).expect("whole");
    let row = row(entry(OWN));
    server.commit(Commit { ticket: ticket(4), row, parent: Some(ticket(2)), time: None }).expect("in memory");
    let kept: Vec<_> = commits(&server).iter().map(|commit| commit.ticket).collect();
    assert_eq!(kept, [9, 2, 4, 7, 8].map(ticket), "3 was the parent's other child");
}

#[test]
fn smaller_capacity_keeps_the_most_recently_used() {
    let (client, server) = example();
    let bytes = encode(&client, &server, &issuers()).expect("small");
    let (client_again, server_again, _) = decode(&bytes, 1).expect("whole");
    assert_eq!(client_again.records(), client.records()[2..]);
    let kept: Vec<_> = commits(&server_again).iter().map(|commit| commit.ticket).collect();
    assert_eq!(kept, [9, 8].map(ticket), "one of each kind");
}

#[test]
fn holds_are_never_saved() {
    let client = MemoryClientStore::new(1);
    let mut held = ScopeRecord::default();
    held.holders = 1;
    client.insert(&scope(), &held);
    let server = MemoryServerStore::new(1);
    let bytes = encode(&client, &server, &LearnedIssuers::new()).expect("small");
    assert_eq!(bytes, [0; 16], "three empty tables, and no issuers");
    let (client, server) = example();
    let before = encode(&client, &server, &issuers()).expect("small");
    client
        .update(&scope(), &mut |record| {
            record.holders = 3;
            Save::Later
        })
        .expect("in memory");
    let (client, ..) = decode(&encode(&client, &server, &issuers()).expect("small"), 4).expect("whole");
    client
        .update(&scope(), &mut |record| {
            assert_eq!(record.holders, 0);
            Save::Later
        })
        .expect("in memory");
    assert_eq!(encode(&client, &server, &issuers()).expect("small").len(), before.len());
}

#[test]
fn truncated_at_every_length_is_refused() {
    let (client, server) = example();
    let bytes = encode(&client, &server, &issuers()).expect("small");
    for len in 0..bytes.len() {
        assert!(decode(&bytes[..len], 4).is_err(), "{len} bytes");
    }
    assert!(decode(&[bytes.as_slice(), &[0]].concat(), 4).is_err());
}

#[test]
fn every_bit_flip_is_refused_or_gives_a_store_in_order() {
    let (client, server) = example();
    let bytes = encode(&client, &server, &issuers()).expect("small");
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok((client, server, issuers)) = decode(&bytes, 4) {
            assert_stable(&client, &server, &issuers);
        }
    }
}

/// Encodes, and comes back as it is.
fn assert_stable(client: &MemoryClientStore, server: &MemoryServerStore, issuers: &LearnedIssuers) {
    let bytes = encode(client, server, issuers).expect("small");
    let (client, server, issuers) = decode(&bytes, 100).expect("own encoding");
    assert_eq!(encode(&client, &server, &issuers).expect("small"), bytes);
}

fn some_fingerprint() -> impl Strategy<Value = Fingerprint> {
    any::<[u8; 32]>().prop_map(Fingerprint)
}

fn some_bytes() -> impl Strategy<Value = alloc::boxed::Box<[u8]>> {
    prop::collection::vec(any::<u8>(), 0..20).prop_map(Vec::into_boxed_slice)
}

fn subject(server: &str) -> ServerId {
    ServerId::new(&ServerName::try_from(server).expect("a name"))
}

fn some_server() -> impl Strategy<Value = ServerId> {
    prop_oneof![
        any::<core::net::IpAddr>().prop_map(|address| subject(&address.to_string())),
        prop::option::of(some_bytes()).prop_map(|name| ServerId::from_host_name(name.as_deref()).expect("short")),
    ]
}

fn some_entry(server: impl Strategy<Value = ServerId>) -> impl Strategy<Value = PeerEntry> {
    let validity = (any::<u32>(), 0..8_u8, any::<u32>(), 0..8_u8).prop_map(
        |(not_before, not_before_depth, not_after, not_after_depth)| Validity {
            not_before: not_before.into(),
            not_before_depth,
            not_after: not_after.into(),
            not_after_depth,
        },
    );
    let peer = (some_bytes(), validity, some_bytes(), some_bytes(), 0..0x80_u8).prop_map(
        |(public_key, validity, subject, subject_alt_name, signatures)| {
            VerifiedPeer::of_chain(public_key, validity, CertificateIdentity { subject, subject_alt_name }, signatures)
        },
    );
    let peer = prop_oneof![peer, some_bytes().prop_map(VerifiedPeer::of_raw_public_key)];
    (some_fingerprint(), any::<u16>(), any::<[u8; 8]>(), server, peer).prop_map(
        |(fingerprint, version, trust_id, server, peer)| {
            PeerEntry::new(fingerprint, ProtocolVersion(version), TrustId(trust_id), server, &Arc::new(peer))
        },
    )
}

fn some_health() -> impl Strategy<Value = Health> {
    prop_oneof![
        (0..2_u8).prop_map(|unanswered| Health::Working { unanswered }),
        any::<bool>().prop_map(|cached_next| Health::Alternating { cached_next }),
        Just(Health::OnTrial),
        (any::<Option<u64>>(), any::<u8>()).prop_map(|(until, connections)| Health::Off { until, connections }),
    ]
}

fn some_record() -> impl Strategy<Value = (Scope, ScopeRecord)> {
    let request = (any::<u16>(), some_fingerprint(), prop::collection::vec(any::<u16>(), 0..6), any::<u16>()).prop_map(
        |(version, fingerprint, schemes, length)| RequestEntry {
            asks_status: length % 2 == 1,
            suitable: SuitableCredentials { issuers: length % 3, chains: length % 5 },
            version: ProtocolVersion(version),
            fingerprint,
            signature_algorithms: schemes.into_iter().map(SignatureScheme).collect(),
            length,
        },
    );
    let version = prop::sample::select(vec![None, Some(ProtocolVersion::TLS_1_2), Some(ProtocolVersion::TLS_1_3)]);
    let entries = prop::option::of(version.prop_map(|request| Entries { request }));
    let own = || prop::sample::select(vec![None, Some(OWN), Some(fingerprint(9))]);
    let slot =
        move || {
            prop::option::of((any::<[u8; 8]>(), own(), entries.clone()).prop_map(
                |(ticket, own_certificate, entries)| Slot { ticket: Ticket(ticket), own_certificate, entries },
            ))
        };
    let transport = prop::sample::select(vec![Transport::Stream, Transport::Datagram]);
    let scope =
        (some_server(), any::<u16>(), transport, prop::sample::select(vec![None, Some(OWN), Some(fingerprint(9))]))
            .prop_map(|(server, port, transport, credential)| Scope { server, port, transport, credential });
    let scope_and_entry = scope.prop_flat_map(|scope| {
        let entry = prop::option::of(some_entry(Just(scope.server.clone())));
        (Just(scope), entry)
    });
    let history = (any::<u32>(), any::<u32>(), 0..16_u8).prop_map(|(made, used, reason)| History {
        made,
        used,
        reason: FallbackReason::from_number(reason),
    });
    let requests = prop::collection::vec(request, 0..6);
    let scheme = prop::sample::select(vec![None, Some(Scheme::Rfc7924), Some(Scheme::Bithac), Some(Scheme::Compact)]);
    (scope_and_entry, requests, scheme, slot(), slot(), some_health(), history).prop_map(
        |((scope, server_certificate), requests, scheme, confirmed, newer, health, history)| {
            let mut record = ScopeRecord::default();
            (record.health, record.history) = (health, history);
            server_certificate.into_iter().for_each(|entry| record.learn_certificate(entry));
            record.scheme = scheme;
            requests.into_iter().for_each(|request| record.learn_request(request));
            confirmed.into_iter().for_each(|slot| record.confirm(slot));
            newer.into_iter().for_each(|slot| record.learn_ticket(slot, None));
            (scope, record)
        },
    )
}

proptest! {
    #[test]
    fn round_trip(
        records in prop::collection::vec(some_record(), 0..6),
        entries in prop::collection::vec(some_entry(some_server()), 1..4),
        links in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, Option<(bool, bool)>)>(), 0..12),
    ) {
        let client = MemoryClientStore::new(100);
        for (scope, record) in records.into_iter().filter(|(_, record)| !record.is_empty()) {
            client.insert(&scope, &record);
        }
        let entries: Vec<_> = entries.into_iter().map(Arc::new).collect();
        let server = MemoryServerStore::new(100);
        for (n, (entry, parent, seen)) in (1..).zip(links) {
            let entry = Some(entries[entry.index(entries.len())].clone());
            let request = |asks: bool| asks.then_some(REQUEST);
            let row = match seen {
                None => Row { entry, seen: None, address: None },
                Some((proven, asks)) => Row {
                    entry: entry.filter(|_| proven),
                    seen: Some(ServerObjects { certificate: SERVER, request: request(asks) }),
                    address: asks.then_some(AddressId([n as u8; 4])),
                },
            };
            // 0 is not there, and of the others some are not there any more.
            let parent = Some(ticket(parent.index(n) as u64));
            let commit = Commit { ticket: ticket(n as u64), row, parent, time: None };
            prop_assert_eq!(server.commit(commit), Ok(()));
        }
        for (scope, record) in client.records() {
            let bytes = record.to_bytes(&scope).expect("small");
            prop_assert_eq!(ScopeRecord::from_bytes(&bytes), Ok((scope, record)));
        }
        for commit in commits(&server) {
            prop_assert_eq!(Row::from_bytes(&commit.row.to_bytes().expect("small")), Ok(commit.row));
        }
        let bytes = encode(&client, &server, &issuers()).expect("small");
        let (client_again, server_again, _) = decode(&bytes, 100).expect("whole");
        prop_assert_eq!(client_again.records(), client.records());
        prop_assert_eq!(rows(&server_again), rows(&server));
    }

    #[test]
    fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok((client, server, issuers)) = decode(&bytes, 4) {
            assert_stable(&client, &server, &issuers);
        }
        let _ = Row::from_bytes(&bytes);
        let _ = ScopeRecord::from_bytes(&bytes);
    }

    #[test]
    fn overwritten_bytes_never_panic(writes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let (client, server) = example();
        let mut bytes = encode(&client, &server, &issuers()).expect("small");
        for (place, value) in writes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Ok((client, server, issuers)) = decode(&bytes, 4) {
            assert_stable(&client, &server, &issuers);
        }
    }
}

/// docs/caching.md: what a client with several credentials takes more.
#[test]
fn what_several_credentials_take() {
    let len = |scope: &Scope, suitable| {
        let mut record = ScopeRecord::default();
        record.learn_certificate(entry(SERVER));
        record.learn_request(RequestEntry { suitable, ..request(100) });
        record.confirm(Slot { ticket: ticket(1), own_certificate: Some(OWN), entries: None });
        record.to_bytes(scope).unwrap().len()
    };
    let one = Scope { credential: Some(OWN), ..scope() };
    let several = Scope { credential: Some(fingerprint(77)), ..scope() };
    assert_eq!(len(&several, SuitableCredentials::default()) - len(&one, SuitableCredentials::default()), 32);
    assert_eq!(
        len(&several, SuitableCredentials { issuers: 2, chains: 3 }) - len(&several, SuitableCredentials::default()),
        4
    );
}
