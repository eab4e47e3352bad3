//! LDevIDs among certificates in any order.

use std::vec;

use terse_aws_lc::PROVIDER;
use terse_pki::{LdevidPolicy, LeafOptions, NewRequest, RequestOptions, Subject, Usage};

use super::*;
use crate::pledge::tests::pki::{NOW, PKI, at, authority, certificates, validity};

/// Returns an LDevID of the domain with its intermediate, and its key.
fn ldevid(domain: &terse_pki::Authority) -> (Vec<CertificateDer<'static>>, Arc<dyn SigningKey>) {
    let subject = Subject::of(&PKI.idevid.chain()[0]).unwrap();
    let request = NewRequest::new(&RequestOptions::new(subject.clone())).unwrap();
    let chain = domain.issue_ldevid(request.request(), &LdevidPolicy::new(subject, validity())).unwrap();
    let credential = request.into_credential(chain).unwrap();
    (credential.chain().to_vec(), PROVIDER.load_key(credential.key()).unwrap())
}

/// Takes an LDevID. Whether paths are built makes no difference.
fn take(
    ca: &CaCertificates,
    certificates: Vec<CertificateDer<'static>>,
    key: &Arc<dyn SigningKey>,
) -> Result<Vec<CertificateDer<'static>>, EnrollmentFailed> {
    let take = |paths: Paths| {
        let trust = ca.trust(paths)?;
        let credential = ca.credential(&PROVIDER, &trust, certificates.clone(), key.clone(), Some(at(NOW)))?;
        Ok(credential.chain().to_vec())
    };
    let taken = take(Trust::new);
    assert_eq!(take(Trust::without_path_building), taken);
    taken
}

#[test]
fn roots_are_anchors_and_the_pin_is_one_if_there_is_no_root() {
    let all = certificates(&PKI.domain);
    let ca = CaCertificates::new(all.clone(), Some(PKI.stranger.root())).unwrap();
    assert_eq!((ca.anchors, ca.others), (vec![all[0].clone()], vec![all[1].clone()]));
    let ca = CaCertificates::new(vec![all[1].clone()], Some(&all[0])).unwrap();
    assert_eq!((ca.anchors, ca.others), (vec![all[0].clone()], vec![all[1].clone()]));
    assert_eq!(CaCertificates::new(vec![all[1].clone()], None).err(), Some(EnrollmentFailed::NoAnchor));
}

#[test]
fn where_the_root_may_lack_the_highest_certificate_is_an_anchor() {
    let all = certificates(&authority("Deep", "p256x4"));
    let (root, below, lowest, other) = (&all[0], &all[1], &all[2], PKI.stranger.root());
    let sort = |certificates: &[&CertificateDer<'static>], pinned| {
        let ca = CaCertificates::maybe_without_root(certificates.iter().copied().cloned().collect(), pinned)?;
        Ok((ca.anchors, ca.others))
    };
    let expected = |anchors: &[&CertificateDer<'static>], others: &[&CertificateDer<'static>]| {
        Ok([anchors, others].map(|those| those.iter().copied().cloned().collect::<Vec<_>>()).into())
    };
    assert_eq!(sort(&[lowest, below, root], Some(other)), expected(&[root], &[lowest, below]));
    assert_eq!(sort(&[lowest, below], Some(root)), expected(&[below], &[lowest]));
    assert_eq!(sort(&[lowest, below], None), expected(&[below], &[lowest]));
    // The root of somebody else, which the domain trusts, does not take its place.
    assert_eq!(sort(&[lowest, below, other], None), expected(&[below, other], &[lowest]));
    assert_eq!(sort(&[], Some(root)), expected(&[root], &[]));
    assert_eq!(sort(&[], None), Err(EnrollmentFailed::NoAnchor));
}

#[test]
fn the_chain_is_put_in_order_and_has_no_root() {
    let domain = authority("Deep", "p256x4");
    let all = certificates(&domain);
    let (chain, key) = ldevid(&domain);
    assert_eq!(chain.len(), 3);
    let ca = CaCertificates::new(all.clone(), None).unwrap();
    // The leaf alone, the chain, and everything in any order.
    let mut shuffled = chain.clone();
    shuffled.extend(all);
    for certificates in [vec![chain[0].clone()], chain.clone()] {
        assert_eq!(take(&ca, certificates, &key).unwrap(), chain);
    }
    for _ in 0..shuffled.len() {
        shuffled.rotate_left(1);
        assert_eq!(take(&ca, shuffled.clone(), &key).unwrap(), chain);
        let reversed = shuffled.iter().rev().cloned().collect();
        assert_eq!(take(&ca, reversed, &key).unwrap(), chain);
    }
}

#[test]
fn an_ldevid_has_the_key_of_the_request_and_a_path_to_the_domain() {
    let (chain, key) = ldevid(&PKI.domain);
    let ca = CaCertificates::new(certificates(&PKI.domain), None).unwrap();
    let (others, _) = ldevid(&PKI.domain);
    assert_eq!(take(&ca, others, &key), Err(EnrollmentFailed::OtherKey));
    let stranger = CaCertificates::new(certificates(&PKI.stranger), None).unwrap();
    let unknown = EnrollmentFailed::Chain(CertificateError::UnknownIssuer);
    assert_eq!(take(&stranger, chain.clone(), &key), Err(unknown));
    // Without the intermediate there is no path.
    let root = CaCertificates::new(vec![PKI.domain.root().clone()], None).unwrap();
    assert_eq!(take(&root, vec![chain[0].clone()], &key), Err(unknown));
    // A certificate for servers alone does not authenticate the device.
    let options = LeafOptions { usage: Usage::Server, ..LeafOptions::new("server.plant.example", validity()) };
    let server = PKI.domain.issue(&options).unwrap();
    let key = PROVIDER.load_key(server.key()).unwrap();
    let server = take(&ca, server.chain().to_vec(), &key);
    assert_eq!(server, Err(EnrollmentFailed::Chain(CertificateError::WrongUsage)));
}

#[test]
fn dates_are_checked_if_there_is_a_clock() {
    let leaf = &PKI.registrar.chain()[0];
    let validity = validity();
    assert_eq!(is_valid_at(leaf, None), Ok(()));
    for time in [validity.not_before, validity.not_after] {
        assert_eq!(is_valid_at(leaf, Some(at(time))), Ok(()));
    }
    let not_yet = CertificateError::NotYetValid { depth: 0, not_before: Date::of(at(validity.not_before)) };
    assert_eq!(is_valid_at(leaf, Some(at(validity.not_before - 1))), Err(not_yet));
    let expired = CertificateError::Expired { depth: 0, not_after: Date::of(at(validity.not_after)) };
    assert_eq!(is_valid_at(leaf, Some(at(validity.not_after + 1))), Err(expired));
    assert_eq!(is_valid_at(&CertificateDer::from(vec![0x30, 0]), Some(at(NOW))), Err(CertificateError::Malformed));
}

/// The search ends at a path that is longer than any that is valid, however many certificates a stranger sends.
#[test]
fn a_chain_is_put_in_order_up_to_the_longest_path() {
    let domain = authority("Order", "p256x3");
    let (chain, _) = ldevid(&domain);
    let whole = [&chain[..], &[domain.root().clone()]].concat();
    let [leaf, above @ ..] = &whole[..] else { panic!("a leaf") };
    let strangers = certificates(&PKI.stranger);
    let shuffled: Vec<_> = [leaf].into_iter().chain(&strangers).chain(above.iter().rev()).cloned().collect();
    let ordered = in_order(&shuffled);
    assert_eq!(ordered[..whole.len()], whole);
    assert_eq!(ordered[whole.len()..], strangers);
    assert!(in_order(&[]).is_empty());
    // A root names itself as its issuer, so that its copies are a chain without an end.
    let roots = vec![domain.root().clone(); MAX_PATH + 4];
    let endless = [&roots[..1], &strangers[..1], &roots[1..]].concat();
    assert_eq!(in_order(&endless), [&roots[..MAX_PATH], &strangers[..1], &roots[MAX_PATH..]].concat());
}

/// A CA with name constraints (RFC 5280, 4.2.1.10) is refused by that name if paths are not built.
#[test]
fn an_anchor_with_name_constraints_needs_path_building() {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let permitted_subtrees = vec![rcgen::GeneralSubtree::DnsName("plant.example".into())];
    params.name_constraints = Some(rcgen::NameConstraints { permitted_subtrees, excluded_subtrees: vec![] });
    let key = rcgen::KeyPair::generate().unwrap();
    let anchors = [params.self_signed(&key).unwrap().der().clone()];
    assert!(domain_trust(&anchors, Trust::new, 2).is_ok());
    let refused = domain_trust(&anchors, Trust::without_path_building, 2).err();
    assert_eq!(refused, Some(CertificateError::NameConstraints { depth: 2 }));
}
