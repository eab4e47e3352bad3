//! Tests of the identifiers of issuers and certificates, and of the table of issuers.

use alloc::format;
use alloc::sync::Arc;

use pki_types::ServerName;
use proptest::prelude::*;
use terse_testkit::pki::{Pki, SERVER_NAME, unix_time, validity};

use super::*;
use crate::cert::tests::provider;
use crate::cert::{Expect, Trust, VerifiedPeer};

const FINISHED: FinishedProof = FinishedProof::after_finished();

fn issuer(name: &str) -> Issuer {
    Issuer::new(name.as_bytes(), &[7; 91], true)
}

fn table(anchors: &[&str]) -> IssuerTable {
    IssuerTable::new(anchors.iter().map(|name| issuer(name)), LearnedIssuers::new())
}

fn trust(pki: &Pki) -> Trust {
    Trust::new(&[pki.root()]).unwrap()
}

/// Verifies the chain of the server of `pki`, with revocation.
fn verified(pki: &Pki) -> VerifiedPeer {
    let crl = pki.authority.crl(1, &[], validity()).unwrap();
    let trust = trust(pki).with_crls(&[crl]).unwrap();
    verify(pki, &trust)
}

fn verify(pki: &Pki, trust: &Trust) -> VerifiedPeer {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let algorithms = provider().signatures.all;
    trust.verify(pki.server.chain(), Expect::Server(&name), algorithms, Some(unix_time(0))).unwrap().peer
}

#[test]
fn a_chain_has_a_link_for_each_certificate() {
    let pki = Pki::shared("p256x3");
    let issued = *verified(&pki).issued.unwrap();
    let fields: Vec<_> = pki.server.chain().iter().map(|der| Fields::read(der).unwrap()).collect();
    let root = pki.root();
    let root = Fields::read(&root).unwrap();
    let [leaf, intermediate] = &fields[..] else { panic!("a chain of three, without the root") };
    let issuers =
        [Issuer::new(leaf.issuer, intermediate.public_key, true), Issuer::new(root.issuer, root.public_key, true)];
    let serial_numbers = [leaf.serial_number, intermediate.serial_number];
    let expected = issuers
        .iter()
        .zip(serial_numbers)
        .map(|(issuer, serial_number)| Link { certificate: issuer.certificates()(serial_number), issuer: issuer.id() });
    assert_eq!(issued.links, Links(expected.collect()));
    assert_eq!(issued.issuers, [issuers[0].clone()], "the root is known anyway");
}

#[test]
fn where_revocation_is_not_checked_nothing_is_kept() {
    let pki = Pki::shared("p256x3");
    let plain = verify(&pki, &trust(&pki));
    assert_eq!(plain.issued, None);
    let checked = Arc::new(verified(&pki)).kept();
    assert_eq!(checked.to_vec().unwrap().len() - plain.to_vec().unwrap().len(), 1 + 2 * 16);
}

#[test]
fn what_came_with_a_peer_in_one_handshake_is_not_kept() {
    let mut peer = Arc::new(verified(&Pki::shared("p256x3")));
    Arc::make_mut(&mut peer).stapled_until(7);
    assert_eq!(peer.validity_with_staple().not_after(), 7);
    let kept = peer.kept();
    assert!(!peer.issuers().is_empty() && kept.issuers().is_empty());
    assert_eq!((kept.links(), kept.validity_with_staple()), (peer.links(), *peer.validity()));
    assert!(Arc::ptr_eq(&kept, &kept.kept()), "nothing more to leave out: shared");
}

#[test]
fn a_peer_comes_back_with_its_links_and_without_the_issuers() {
    let peer = verified(&Pki::shared("p256x3"));
    let again = VerifiedPeer::parse_all(&peer.to_vec().unwrap()).unwrap();
    assert!(!peer.issuers().is_empty() && again.issuers().is_empty());
    assert_eq!((again.links(), again.identity(), again.validity), (peer.links(), peer.identity(), peer.validity));
}

#[test]
fn each_part_makes_another_name() {
    let names = [
        issuer("a").id(),
        issuer("b").id(),
        Issuer::new(b"a", &[8; 91], true).id(),
        Issuer::new(b"a", &[7; 91], false).id(),
    ];
    for (index, name) in names.iter().enumerate() {
        assert!(!names[..index].contains(name));
    }
    let certificates = [issuer("a").certificates()(&[2, 1, 1]), issuer("a").certificates()(&[2, 1, 2])];
    assert_ne!(certificates[0], certificates[1]);
    // RFC 5280, 4.1.2.2: issuer and serialNumber identify a certificate, whatever the issuer's keyUsage.
    assert_eq!(Issuer::new(b"a", &[7; 91], false).certificates()(&[2, 1, 1]), certificates[0]);
}

#[test]
fn anchors_are_known_and_others_are_learned() {
    let table = table(&["root"]);
    let id = |name| issuer(name).id();
    assert!(table.find(id("root")).is_some_and(|known| *known == issuer("root")));
    assert!(table.find(id("a")).is_none());
    table.learn(&FINISHED, &[issuer("a"), issuer("root")]);
    assert!(table.find(id("a")).is_some_and(|known| *known == issuer("a")));
    assert_eq!(table.learned.len(), 1);
}

#[test]
fn the_table_is_bounded_and_forgets_what_is_not_used() {
    let table = table(&["root"]);
    let id = |n: usize| issuer(&format!("{n}")).id();
    for n in 0..2 * MAX_LEARNED {
        table.learn(&FINISHED, &[issuer(&format!("{n}"))]);
        assert!(table.find(id(0)).is_some(), "used each time");
    }
    assert_eq!(table.learned.len(), MAX_LEARNED);
    assert!(table.find(id(1)).is_none());
    assert!(table.find(issuer("root").id()).is_some());
    let large = Issuer::new(&[0; MAX_LEN], &[7], true);
    table.learn(&FINISHED, core::slice::from_ref(&large));
    assert!(table.find(large.id()).is_none());
}

/// A cache file keeps the order of use, the limit, and the identifiers.
#[test]
fn what_was_saved_is_known_again() {
    let table = table(&["root"]);
    let id = |name| issuer(name).id();
    table.learn(&FINISHED, &["a", "b", "c"].map(issuer));
    assert!(table.find(id("a")).is_some(), "used last");
    let saved = table.learned.to_vec().unwrap();
    let loaded = LearnedIssuers::parse_all(&saved).unwrap();
    assert_eq!(loaded.to_vec().unwrap(), saved);
    let order: Vec<_> = loaded.0.lock().oldest_first().map(|(id, _)| *id).collect();
    assert_eq!(order, ["b", "c", "a"].map(id));

    let restarted = self::table(&["root"]).with_learned(loaded.clone());
    assert!(restarted.find(id("b")).is_some_and(|known| *known == issuer("b")));
    restarted.learn(&FINISHED, &[issuer("d")]);
    assert_eq!(loaded.len(), 4, "it is learned where the application keeps it");
}

/// A file may have a CA under the identifier of another one, which is forgotten.
#[test]
fn a_key_under_another_name_is_forgotten() {
    let saved = |id: IssuerId| {
        let learned = LearnedIssuers::new();
        learned.0.lock().insert(id, Arc::new(issuer("planted")));
        learned.0.lock().insert(issuer("a").id(), Arc::new(issuer("a")));
        LearnedIssuers::parse_all(&learned.to_vec().unwrap()).unwrap()
    };
    let id = issuer("b").id();
    let loaded = saved(id);
    let table = table(&["root"]).with_learned(loaded.clone());
    assert!(table.find(id).is_none() && table.find(issuer("a").id()).is_some());
    assert_eq!(loaded.len(), 1);
    assert_eq!(saved(issuer("planted").id()).check().len(), 2);
}

#[test]
fn no_more_are_loaded_than_are_kept() {
    let encoded = |count: u8, len: usize, signs_crls: u8| {
        let one = |n: u8| {
            let name = alloc::vec![n; len];
            [&[n; 8][..], &[signs_crls], &(len as u16).to_be_bytes(), &name, &[0, 0]].concat()
        };
        [&[count][..], &(0..count).flat_map(one).collect::<Vec<_>>()].concat()
    };
    assert_eq!(LearnedIssuers::parse_all(&encoded(MAX_LEARNED as u8, 3, 1)).map(|learned| learned.len()), Ok(64));
    assert_eq!(LearnedIssuers::parse_all(&encoded(1, MAX_LEN, 0)).map(|learned| learned.len()), Ok(1));
    let twice = [&[2][..], &encoded(1, 3, 1)[1..], &encoded(1, 3, 1)[1..]].concat();
    for bytes in [encoded(MAX_LEARNED as u8 + 1, 3, 1), encoded(1, MAX_LEN + 1, 1), encoded(1, 3, 2), twice] {
        assert!(LearnedIssuers::parse_all(&bytes).is_err());
    }
}

proptest! {
    #[test]
    fn links_come_back(links in prop::collection::vec(any::<([u8; 8], [u8; 8])>(), 0..15)) {
        let links = links.into_iter().map(|(certificate, issuer)| Link {
            certificate: CertificateId(certificate),
            issuer: IssuerId(issuer),
        });
        let links = Links(links.collect());
        prop_assert_eq!(Links::parse_all(&links.to_vec().unwrap()), Ok(links));
    }
}
