use rcgen::{BasicConstraints, IsCa, KeyPair};

use super::super::NamePolicy;
use super::super::tests::{authority, policy, request, subject};
use super::*;
use crate::NewRequest;

const NAMES: [&str; 2] = ["a.example", "10.0.0.1"];

fn wanted() -> LdevidPolicy {
    LdevidPolicy { names: NamePolicy::Required(NAMES.map(String::from).into()), ..policy() }
}

/// A certificate of a CA that follows a policy of its own.
fn issued(asked: &NewRequest, policy: &LdevidPolicy) -> CertificateDer<'static> {
    authority().issue_ldevid(asked.request(), policy).unwrap().swap_remove(0)
}

#[test]
fn the_certificate_for_a_request_has_its_key_subject_and_names() {
    let asked = request(subject(), &NAMES);
    let check = |policy: &LdevidPolicy| wanted().check_certificate(asked.request(), &issued(&asked, policy));
    let named = |names: &[&str]| LdevidPolicy {
        names: NamePolicy::Fixed(names.iter().map(|name| (*name).into()).collect()),
        ..policy()
    };
    assert_eq!(check(&wanted()), Ok(()));
    assert_eq!(check(&named(&["10.0.0.1", "A.example"])), Ok(()));

    for others in [&["a.example"][..], &["a.example", "10.0.0.1", "b.example"], &[]] {
        let found = others.iter().map(|name| (*name).into()).collect();
        assert_eq!(check(&named(others)), Err(NotAsRequested::Names(found)));
    }
    let other = Subject::common_name("root").unwrap();
    let renamed = LdevidPolicy { names: named(&NAMES).names, ..LdevidPolicy::new(other.clone(), policy().validity) };
    assert_eq!(check(&renamed), Err(NotAsRequested::Subject(other)));
    let of_another_key = issued(&request(subject(), &NAMES), &wanted());
    assert_eq!(wanted().check_certificate(asked.request(), &of_another_key), Err(NotAsRequested::Key));
    let garbage = CertificateDer::from(vec![0x30, 0]);
    assert_eq!(wanted().check_certificate(asked.request(), &garbage), Err(NotAsRequested::Malformed));
}

#[test]
fn a_request_that_the_policy_does_not_allow_is_not_passed_on() {
    assert_eq!(wanted().check_request(request(subject(), &NAMES).request()), Ok(()));
    let missing = wanted().check_request(request(subject(), &["a.example"]).request());
    assert_eq!(missing, Err(RequestError::NameMissing("10.0.0.1".into())));
}

#[test]
fn a_certificate_of_a_ca_is_none_for_a_device() {
    let key = KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "device");
    let asked = CertificationRequest::from_der(params.serialize_request(&key).unwrap().der()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    let subject = Subject::common_name("device").unwrap();
    let names = NamePolicy::Requested;
    let policy = LdevidPolicy { names, ..LdevidPolicy::new(subject, policy().validity) };
    assert_eq!(policy.check_certificate(&asked, certificate.der()), Err(NotAsRequested::Ca));
}
