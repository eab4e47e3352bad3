//! Who may issue what, and where a path ends.

use alloc::vec::Vec;

use pki_types::{CertificateDer, ServerName};
use rcgen::{BasicConstraints, GeneralSubtree, IsCa, KeyUsagePurpose, NameConstraints};
use terse_testkit::pki::SERVER_NAME;

use super::ca::{Holder, chain, good, judge, judge_alike, judge_both};
use crate::cert::{Expect, Trust};
use crate::error::{ApiMisuse, CertificateError};

/// The certificate of a device issues one for a server: it must say that it is a CA, and nothing else stands for that.
#[test]
fn a_certificate_that_is_no_ca_issues_nothing() {
    let root = Holder::root("Root");
    for (is_ca, expected) in [
        (IsCa::NoCa, Err(CertificateError::WrongUsage)),
        (IsCa::ExplicitNoCa, Err(CertificateError::WrongUsage)),
        (IsCa::Ca(BasicConstraints::Unconstrained), Ok(0)),
    ] {
        for usages in [&[][..], &[KeyUsagePurpose::KeyCertSign], &[KeyUsagePurpose::DigitalSignature]] {
            let device = root.server(|params| {
                params.is_ca = is_ca;
                params.key_usages = usages.to_vec();
            });
            let judged = judge_alike(&[&root.der], &chain(&[&device.server(good), &device]));
            let may_sign = usages.is_empty() || usages == [KeyUsagePurpose::KeyCertSign];
            let expected = if may_sign { expected } else { Err(CertificateError::WrongUsage) };
            assert_eq!(judged.map(|checked| checked.anchor), expected, "{is_ca:?}, {usages:?}");
        }
    }
}

/// The trust anchor of a private PKI is sometimes the certificate of the server itself.
#[test]
fn a_server_that_signs_itself_is_its_own_trust_anchor() {
    let server = Holder::root_with(SERVER_NAME, |params| {
        params.is_ca = IsCa::NoCa;
        params.key_usages = [KeyUsagePurpose::DigitalSignature].into();
        params.subject_alt_names = [rcgen::SanType::DnsName(SERVER_NAME.try_into().unwrap())].into();
    });
    assert_eq!(judge_alike(&[&server.der], &[&server.der]).unwrap().anchor, 0);
    let ca = Holder::root("Root");
    assert_eq!(judge_alike(&[&ca.der], &[&ca.der]), Err(CertificateError::WrongUsage), "a CA is no server");
}

/// RFC 5280, 4.2.1.9: how many CAs may follow, of which the self-issued ones count here as well.
#[test]
fn the_path_length() {
    let limit = |most| {
        move |params: &mut rcgen::CertificateParams| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(most))
    };
    let root = Holder::root("Root");
    for most in 0..4 {
        for others in 0..4 {
            for is_self_issued in [false, true] {
                let mut cas = Vec::from([root.sub("CA", limit(most))]);
                for number in 0..others {
                    let name = if is_self_issued { "CA".into() } else { alloc::format!("CA {number}") };
                    cas.push(cas[number].sub(&name, good));
                }
                let server = cas[others].server(good);
                let holders: Vec<_> = core::iter::once(&server).chain(cas.iter().rev()).collect();
                let name = ServerName::try_from(SERVER_NAME).unwrap();
                let [building, in_order] = judge_both(&[&root.der], &chain(&holders), Expect::Server(&name));
                let fits = others <= usize::from(most);
                let expected = if fits { Ok(0) } else { Err(CertificateError::ConstraintViolated) };
                let case = alloc::format!("{others} below one that allows {most}, self-issued: {is_self_issued}");
                assert_eq!(in_order.map(|checked| checked.anchor), expected, "{case}");
                // Where all have one name, path building tries ways around, and may end with another error.
                assert_eq!(building.is_ok(), fits, "{case}: {building:?}");
            }
        }
    }
}

#[test]
fn of_several_trust_anchors_with_one_name_any_may_have_issued() {
    let roots = [Holder::root("Root"), Holder::root("Root"), Holder::root("Root")];
    let anchors: Vec<_> = roots.iter().map(|root| &root.der[..]).collect();
    for (place, root) in roots.iter().enumerate() {
        let ca = root.sub("CA", good);
        let server = ca.server(good);
        assert_eq!(judge_alike(&anchors, &chain(&[&server, &ca])).unwrap().anchor, place);
        assert_eq!(judge_alike(&anchors, &chain(&[&root.server(good)])).unwrap().anchor, place);
    }
    let stranger = Holder::root("Root").server(good);
    assert_eq!(judge_alike(&anchors, &chain(&[&stranger])), Err(CertificateError::BadSignature));
}

/// What a root with a new key certifies: path building goes on to the old key, and the other does not.
#[test]
fn the_name_of_a_trust_anchor_ends_the_path() {
    let (old, new) = (Holder::root("Root"), Holder::root("Root"));
    let (server, roll_over) = (new.server(good), old.cross(&new));
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let [building, in_order] = judge_both(&[&old.der], &[&server.der, &roll_over], Expect::Server(&name));
    assert!(building.is_ok());
    assert_eq!(in_order, Err(CertificateError::BadSignature));
    assert_eq!(judge_alike(&[&old.der, &new.der], &[&server.der]).unwrap().anchor, 1);
}

#[test]
fn what_comes_after_the_path_is_not_looked_at() {
    let root = Holder::root("Root");
    let ca = root.sub("CA", good);
    let server = ca.server(good);
    for after in [&root.der[..], &server.der, &[], b"garbage"] {
        assert!(judge_alike(&[&root.der], &[&server.der, &ca.der, after]).is_ok());
    }
}

/// A CA that is on the path already is no step further, even when another certificate of it leads to a trust anchor.
#[test]
fn no_ca_comes_twice() {
    let root = Holder::root("Root");
    let ca = Holder::root("CA");
    let (server, by_root) = (ca.server(good), root.cross(&ca));
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let [building, in_order] = judge_both(&[&root.der], &[&server.der, &ca.der, &by_root], Expect::Server(&name));
    assert!(building.is_ok());
    assert_eq!(in_order, Err(CertificateError::UnknownIssuer));
    assert!(judge_alike(&[&root.der], &[&server.der, &by_root]).is_ok());
    // The same for a server whose own name and key are those of the CA above it.
    let mut twin = root.server(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
    let twin_ca = twin.der.clone();
    twin.params.is_ca = IsCa::NoCa;
    twin.der = twin.cross(&twin);
    assert_eq!(judge(&[&root.der], &[&twin.der, &twin_ca]), Err(CertificateError::UnknownIssuer));
}

#[test]
fn name_constraints_are_refused_and_said() {
    let constrain = |params: &mut rcgen::CertificateParams| {
        let permitted_subtrees = [GeneralSubtree::DnsName("plant.example".into())].into();
        params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
    };
    let root = Holder::root("Root");
    let constrained = root.sub("Constrained", constrain);
    let below = constrained.sub("Below", good);
    for (holders, depth) in [
        (chain(&[&constrained.server(good), &constrained]), 1),
        (chain(&[&below.server(good), &below, &constrained]), 2),
        (chain(&[&root.server(constrain)]), 0),
    ] {
        assert_eq!(judge(&[&root.der], &holders), Err(CertificateError::NameConstraints { depth }));
    }
    let constrained = CertificateDer::from(Holder::root_with("Root", constrain).der);
    assert!(Trust::new(core::slice::from_ref(&constrained)).is_ok());
    let refused = Trust::without_path_building(&[root.der.into(), constrained]);
    assert_eq!(refused.err(), Some(ApiMisuse::ConstrainedTrustAnchor));
}

#[test]
fn a_client_may_have_any_name() {
    let root = Holder::root("Root");
    let leaf = root.server(|params| {
        params.subject_alt_names.clear();
        params.extended_key_usages.clear();
    });
    for expect in [Expect::Client, Expect::AnyUsage] {
        let [building, in_order] = judge_both(&[&root.der], &[&leaf.der], expect);
        assert_eq!(building, in_order);
        assert!(in_order.is_ok());
    }
    assert_eq!(judge_alike(&[&root.der], &[&leaf.der]), Err(CertificateError::WrongName));
}

/// Without trust anchors there is no way to validate paths, and nobody is accepted.
#[test]
fn without_trust_anchors_nobody_is_accepted() {
    assert_eq!(Trust::without_path_building(&[]).err(), Some(ApiMisuse::NoTrustAnchors));
    let root = Holder::root("Root");
    let server = CertificateDer::from(root.server(good).der);
    let provider = crate::cert::tests::provider();
    let refused = Trust::nobody().check(&provider, &[server], Expect::AnyUsage, Some(terse_testkit::pki::unix_time(0)));
    assert_eq!(refused.err(), Some(CertificateError::UnknownIssuer));
}
