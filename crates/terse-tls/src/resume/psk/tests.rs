//! Tests of which keys are offered, and which identities are recognised.

use alloc::vec;

use super::super::test_data::*;
use super::*;

const KEY: [u8; 16] = [3; 16];
const BOTH: [PskHash; 2] = [PskHash::Sha256, PskHash::Sha384];

fn psk() -> ExternalPsk {
    ExternalPsk::new(b"sensor-17", &KEY).unwrap()
}

fn resolve(stored: ExternalPsk, identity: &[u8]) -> Option<Psk> {
    let store = MemoryPskStore::new([stored]);
    let store: &dyn PskStore = &store;
    store.resolve(identity, &PROVIDER, Transport::Stream).map(|(_, psk)| psk)
}

#[test]
fn short_keys_and_impossible_names_are_refused() {
    assert_eq!(ExternalPsk::new(b"x", &KEY[..15]).err(), Some(ApiMisuse::ShortPsk));
    assert_eq!(ExternalPsk::new(b"", &KEY).err(), Some(ApiMisuse::PskIdentity));
    assert!(ExternalPsk::new(&vec![b'x'; 0x1000], &KEY).unwrap().imported(&vec![0; 0x1000]).is_ok());
    assert_eq!(ExternalPsk::new(&vec![b'x'; 0x1001], &KEY).err(), Some(ApiMisuse::PskIdentity));
    assert_eq!(psk().imported(&vec![0; 0x1001]).err(), Some(ApiMisuse::PskIdentity));
}

#[test]
fn a_key_is_offered_with_its_one_hash() {
    let offers = psk().offers(&PROVIDER, &BOTH, Transport::Stream).unwrap();
    assert_eq!(offers.len(), 1);
    assert_eq!((offers[0].kind, offers[0].hash), (PskKind::External, PskHash::Sha256));
    assert_eq!((&offers[0].identity[..], &offers[0].key[..]), (&b"sensor-17"[..], &KEY[..]));
    let long = psk().with_hash(PskHash::Sha384);
    assert_eq!(long.offers(&PROVIDER, &BOTH, Transport::Stream).unwrap()[0].hash, PskHash::Sha384);
    assert!(long.offers(&PROVIDER, &[PskHash::Sha256], Transport::Stream).unwrap().is_empty(), "no suite fits");
}

#[test]
fn an_imported_key_is_offered_for_each_hash() {
    let psk = psk().imported(b"plant 4").unwrap();
    let offers = psk.offers(&PROVIDER, &BOTH, Transport::Stream).unwrap();
    assert_eq!([offers[0].hash, offers[1].hash], BOTH);
    for offer in &offers {
        assert_eq!((offer.kind, offer.key.len()), (PskKind::Imported, offer.hash.output_len()));
        let found = resolve(psk.clone(), &offer.identity).unwrap();
        assert_eq!((found.kind, found.hash, &found.key), (PskKind::Imported, offer.hash, &offer.key));
    }
    assert_ne!(offers[0].identity, offers[1].identity);
    assert_ne!(offers[0].key[..], offers[1].key[..32]);
}

#[test]
fn an_imported_identity_must_match_in_all() {
    let stored = psk().imported(b"plant 4").unwrap();
    let offer = |psk: ExternalPsk| psk.offers(&PROVIDER, &BOTH, Transport::Stream).unwrap().remove(0).identity;
    assert!(resolve(stored.clone(), &offer(stored.clone())).is_some());
    let other_name = ExternalPsk::new(b"sensor-18", &KEY).unwrap().imported(b"plant 4").unwrap();
    for other in [psk().imported(b"plant 5").unwrap(), psk().imported(b"").unwrap(), other_name] {
        assert!(resolve(stored.clone(), &offer(other)).is_none());
    }
    let mut other_version = offer(stored.clone());
    let at = other_version.len() - 3;
    other_version[at] = 3; // TLS 1.2
    assert!(resolve(stored.clone(), &other_version).is_none());
    let over_datagrams = stored.offers(&PROVIDER, &BOTH, Transport::Datagram).unwrap().remove(0);
    assert!(resolve(stored.clone(), &over_datagrams.identity).is_none());
    let mut long = offer(stored.clone());
    long.push(0);
    assert!(resolve(stored, &long).is_none());
}

#[test]
fn a_key_is_imported_or_not() {
    let imported = psk().imported(b"").unwrap();
    assert!(resolve(imported.clone(), b"sensor-17").is_none());
    assert!(resolve(psk(), &imported.offers(&PROVIDER, &BOTH, Transport::Stream).unwrap()[0].identity).is_none());
    assert_eq!((psk().tls12_key(), imported.tls12_key()), (Some(&KEY[..]), None));
}

#[test]
fn a_hash_that_the_provider_lacks_is_found_before_any_connection() {
    let without = PROVIDER.tls13_suites(&PROVIDER.tls13_suites[..1]);
    let long = psk().with_hash(PskHash::Sha384);
    assert!(matches!(long.check(&without), Err(ApiMisuse::Unsupported(_))));
    assert_eq!((long.check(&PROVIDER), psk().check(&without)), (Ok(()), Ok(())));
}

#[test]
fn nothing_secret_is_printed() {
    let printed = alloc::format!("{:?} {:?}", psk().imported(b"plant").unwrap(), MemoryPskStore::new([psk()]));
    assert!(!printed.contains("[3, 3"), "{printed}");
}
