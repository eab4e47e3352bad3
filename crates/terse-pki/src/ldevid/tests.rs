use rcgen::{CustomExtension, KeyPair};

use super::*;
use crate::authority::is_issued_by;
use crate::authority::tests::{NOW, options, verify};
use crate::{AuthorityOptions, IdevidOptions, NameAttribute, NewRequest, RequestOptions, identifier};

const VALIDITY: Validity = Validity { not_before: NOW, not_after: NOW + 9 * 86_400 };

pub(crate) fn authority() -> Authority {
    Authority::new(&AuthorityOptions { key_identifiers: true, ..options("p256x3") }).unwrap()
}

/// Returns a subject as the domains of RFC 8995, appendix C, have it: with one type of attribute twice.
pub(crate) fn subject() -> Subject {
    let subject = Subject::empty().with(NameAttribute::DomainComponent, "ca").unwrap();
    let subject = subject.with(NameAttribute::DomainComponent, "plant").unwrap();
    subject.with(NameAttribute::SerialNumber, "WI-3005").unwrap()
}

pub(crate) fn request(subject: Subject, names: &[&str]) -> NewRequest {
    let names = names.iter().map(|name| (*name).into()).collect();
    NewRequest::new(&RequestOptions { names, ..RequestOptions::new(subject) }).unwrap()
}

pub(crate) fn policy() -> LdevidPolicy {
    LdevidPolicy::new(subject(), VALIDITY)
}

#[track_caller]
fn refusal(result: Result<Vec<CertificateDer<'static>>, Error>) -> RequestError {
    match result {
        Err(Error::Request(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ldevid_has_these_fields_and_no_others() {
    let asked = request(Subject::common_name("root CA").unwrap(), &["*.example"]);
    for key_identifiers in [true, false] {
        let authority = Authority::new(&AuthorityOptions { key_identifiers, ..options("p256x3") }).unwrap();
        for server in [false, true] {
            let names = NamePolicy::Fixed(vec!["a.example".into()]);
            let policy = LdevidPolicy { server, names, ..policy() };
            let chain = authority.issue_ldevid(asked.request(), &policy).unwrap();
            assert_eq!(chain.len(), 2);
            let (certificate, issuer) = (parse(&chain[0]).unwrap(), parse(&chain[1]).unwrap());
            assert!(is_issued_by(&certificate, &issuer));
            assert_eq!(certificate.subject().as_raw(), subject().der());
            assert_eq!(certificate.public_key().raw, asked.request().subject_public_key_info());
            assert_eq!(certificate.raw_serial().len(), 16);
            let [not_before, not_after] = [VALIDITY.not_before, VALIDITY.not_after].map(|time| time as i64);
            assert_eq!(certificate.validity().not_before.timestamp(), not_before);
            assert_eq!(certificate.validity().not_after.timestamp(), not_after);

            let usage = |last| [&[6, 8, 0x2b, 6, 1, 5, 5, 7, 3][..], &[last]].concat();
            let usages = if server { [usage(1), usage(2)].concat() } else { usage(2) };
            let key = identifier::of_key(&issuer.public_key().subject_public_key.data);
            let expected = [
                ("2.5.29.17", false, [&[0x30, 11, 0x82, 9][..], b"a.example"].concat()),
                ("2.5.29.15", true, vec![3, 2, 7, 0x80]), // digitalSignature
                ("2.5.29.37", false, [&[0x30, usages.len() as u8][..], &usages].concat()),
                ("2.5.29.35", false, [&[0x30, 22, 0x80, 20][..], &key].concat()),
            ];
            let found = certificate.extensions().iter();
            let found: Vec<_> = found.map(|one| (one.oid.to_id_string(), one.critical, one.value.to_vec())).collect();
            assert_eq!(found, expected.map(|(oid, critical, value)| (oid.to_owned(), critical, value)));
        }
    }
}

#[test]
fn a_certificate_says_where_the_crl_is_only_if_the_policy_does() {
    let (authority, asked) = (authority(), request(Subject::empty(), &[]));
    let url = "http://plant.example:8080/crl/domain.crl";
    for crl_url in [None, Some(url.parse::<CrlUrl>().unwrap())] {
        let policy = LdevidPolicy { crl_url: crl_url.clone(), ..policy() };
        let chain = authority.issue_ldevid(asked.request(), &policy).unwrap();
        let certificate = parse(&chain[0]).unwrap();
        let point = certificate.extensions().iter().find(|one| one.oid.to_id_string() == "2.5.29.31");
        // A sequence of one DistributionPoint, whose fullName has one uniformResourceIdentifier.
        let name = [&[0x86, url.len() as u8][..], url.as_bytes()].concat();
        let wrap = |tag: u8, content: Vec<u8>| [&[tag, content.len() as u8][..], &content].concat();
        let value = wrap(0x30, wrap(0x30, wrap(0xa0, wrap(0xa0, name))));
        let expected = crl_url.map(|_| (false, &value[..]));
        assert_eq!(point.map(|one| (one.critical, one.value)), expected);
    }
}

#[test]
fn every_algorithm_is_certified_and_validates() {
    let authority = authority();
    for algorithm in KeyAlgorithm::ALL {
        let options = RequestOptions { algorithm, ..RequestOptions::new(Subject::empty()) };
        let asked = NewRequest::new(&options).unwrap();
        let chain = authority.issue_ldevid(asked.request(), &policy()).unwrap();
        let credential = asked.into_credential(chain).unwrap();
        verify(&authority, &credential, webpki::KeyUsage::client_auth(), NOW).unwrap();
        verify(&authority, &credential, webpki::KeyUsage::server_auth(), NOW).unwrap_err();
    }
}

#[test]
fn a_certificate_ends_with_its_ca() {
    let authority = authority(); // for 365 days
    let asked = request(Subject::empty(), &[]);
    let end = authority.not_after().unwrap();
    for not_after in [end - 1, end, end + 1, Validity::without_end(0).not_after] {
        let policy = LdevidPolicy { validity: Validity { not_before: NOW, not_after }, ..policy() };
        let chain = authority.issue_ldevid(asked.request(), &policy).unwrap();
        let issued = parse(&chain[0]).unwrap().validity().not_after.timestamp();
        assert_eq!(issued as u64, not_after.min(end));
    }
    let late = LdevidPolicy { validity: Validity { not_before: end, not_after: end + 9 }, ..policy() };
    assert!(matches!(authority.issue_ldevid(asked.request(), &late), Err(Error::Ended)));
    let turned = LdevidPolicy { validity: Validity { not_before: NOW, not_after: NOW }, ..policy() };
    assert!(matches!(authority.issue_ldevid(asked.request(), &turned), Err(Error::InvalidValidity)));
}

#[test]
fn the_policy_names_the_algorithms() {
    let authority = authority();
    let policy = LdevidPolicy { algorithms: vec![KeyAlgorithm::P256, KeyAlgorithm::Rsa3072], ..policy() };
    for (algorithm, is_allowed) in [
        (KeyAlgorithm::P256, true),
        (KeyAlgorithm::P384, false),
        (KeyAlgorithm::Rsa2048, false),
        (KeyAlgorithm::Rsa3072, true),
    ] {
        let options = RequestOptions { algorithm, ..RequestOptions::new(Subject::empty()) };
        let result = authority.issue_ldevid(NewRequest::new(&options).unwrap().request(), &policy);
        match is_allowed {
            true => drop(result.unwrap()),
            false => assert_eq!(refusal(result), RequestError::KeyNotAllowed(algorithm)),
        }
    }
}

#[test]
fn the_policy_decides_about_the_subject() {
    let authority = authority();
    let other = Subject::common_name("somebody else").unwrap();
    let issue = |requested: &Subject, policy: SubjectPolicy| {
        let policy = LdevidPolicy { subject: policy, ..self::policy() };
        authority.issue_ldevid(request(requested.clone(), &[]).request(), &policy)
    };
    let subject_of = |chain: Vec<CertificateDer<'static>>| Subject::of(&chain[0]).unwrap();

    assert_eq!(subject_of(issue(&other, SubjectPolicy::Fixed(subject())).unwrap()), subject());
    assert_eq!(subject_of(issue(&subject(), SubjectPolicy::Required(subject())).unwrap()), subject());
    assert_eq!(subject_of(issue(&other, SubjectPolicy::Requested).unwrap()), other);
    assert_eq!(subject_of(issue(&subject(), SubjectPolicy::Requested).unwrap()), subject());
    assert_eq!(
        refusal(issue(&other, SubjectPolicy::Required(subject()))),
        RequestError::SubjectNotAllowed { requested: other, required: subject() }
    );
    assert_eq!(refusal(issue(&Subject::empty(), SubjectPolicy::Requested)), RequestError::NoName);
    assert_eq!(refusal(issue(&subject(), SubjectPolicy::Fixed(Subject::empty()))), RequestError::NoName);
    // CN=x, as a BMPString.
    let unprintable = Subject::from_der(&[0x30, 13, 0x31, 11, 0x30, 9, 6, 3, 0x55, 4, 3, 0x1e, 2, 0, b'x']).unwrap();
    let refused = refusal(issue(&unprintable, SubjectPolicy::Requested));
    assert_eq!(refused, RequestError::InvalidSubject(unprintable));
}

#[test]
fn the_certificate_has_the_string_types_of_the_required_subject() {
    let authority = authority();
    let required = Subject::common_name("WI-3005").unwrap();
    let mut printable = required.der().to_vec();
    assert_eq!(printable[11], 0x0c); // a UTF8String
    printable[11] = 0x13;
    let requested = Subject::from_der(&printable).unwrap();
    assert_ne!(requested, required);
    let policy = LdevidPolicy { subject: SubjectPolicy::Required(required.clone()), ..policy() };
    let chain = authority.issue_ldevid(request(requested, &[]).request(), &policy).unwrap();
    assert_eq!(Subject::of(&chain[0]).unwrap(), required);
}

#[test]
fn the_policy_decides_about_the_names() {
    let authority = authority();
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let issue = |requested: &[&str], policy: NamePolicy| {
        let policy = LdevidPolicy { names: policy, ..self::policy() };
        authority
            .issue_ldevid(request(Subject::empty(), requested).request(), &policy)
            .map(|chain| names(&chain[0]).unwrap())
    };
    let refused = |requested: &[&str], policy: NamePolicy| match issue(requested, policy).unwrap_err() {
        Error::Request(refusal) => refusal,
        other => panic!("{other:?}"),
    };
    let not_allowed = |name: &str| RequestError::NameNotAllowed(name.into());

    assert_eq!(issue(&["evil.example"], NamePolicy::Fixed(list(&["a.example"]))).unwrap(), ["a.example"]);
    assert_eq!(issue(&["evil.example"], NamePolicy::Fixed(vec![])).unwrap(), list(&[]));

    let among = || NamePolicy::Among(list(&["a.example", "*.b.example", "192.0.2.7", "2001:db8::7"]));
    for good in [&[][..], &["A.example"], &["2001:db8::7", "192.0.2.7"], &["*.b.example"]] {
        assert_eq!(issue(good, among()).unwrap(), list(good));
    }
    for bad in ["evil.example", "x.b.example", "192.0.2.8", "*.example"] {
        assert_eq!(refused(&["a.example", bad], among()), not_allowed(bad));
    }

    let required = || NamePolicy::Required(list(&["a.example", "192.0.2.7"]));
    assert_eq!(issue(&["192.0.2.7", "A.EXAMPLE"], required()).unwrap(), list(&["a.example", "192.0.2.7"]));
    assert_eq!(refused(&["a.example"], required()), RequestError::NameMissing("192.0.2.7".into()));
    assert_eq!(refused(&["a.example", "192.0.2.7", "b.example"], required()), not_allowed("b.example"));

    assert_eq!(issue(&["b.example", "::1"], NamePolicy::Requested).unwrap(), list(&["b.example", "::1"]));
}

#[test]
fn names_without_a_subject_are_critical() {
    // RFC 5280, 4.2.1.6.
    let policy = LdevidPolicy { subject: SubjectPolicy::Requested, names: NamePolicy::Requested, ..policy() };
    let chain = authority().issue_ldevid(request(Subject::empty(), &["a.example"]).request(), &policy).unwrap();
    let certificate = parse(&chain[0]).unwrap();
    assert_eq!(certificate.subject().as_raw(), [0x30, 0]);
    assert!(certificate.subject_alternative_name().unwrap().unwrap().critical);
}

/// Returns a request for these extensions.
fn asking(extensions: Vec<CustomExtension>) -> CertificationRequest {
    let mut params = CertificateParams::default();
    params.custom_extensions = extensions;
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    CertificationRequest::from_der(params.serialize_request(&key).unwrap().der()).unwrap()
}

#[test]
fn names_that_cannot_be_certified_are_refused_only_where_they_count() {
    let authority = authority();
    let asking = |name: &[u8]| {
        let names = [&[0x30, name.len() as u8][..], name].concat();
        asking(vec![CustomExtension::from_oid_content(&[2, 5, 29, 17], names)])
    };
    for (name, expected) in [
        (&[&[0x81, 3][..], b"a@b"].concat(), RequestError::UnsupportedName("rfc822Name")),
        (&[&[0x82, 3][..], b"a\nb"].concat(), RequestError::InvalidName("a\nb".into())),
        (&[&[0x82, 2][..], b"*."].concat(), RequestError::InvalidName("*.".into())),
        (&[0x82, 0].to_vec(), RequestError::InvalidName("".into())),
    ] {
        let asked = asking(name);
        authority.issue_ldevid(&asked, &policy()).unwrap();
        let requested = LdevidPolicy { names: NamePolicy::Requested, ..policy() };
        assert_eq!(refusal(authority.issue_ldevid(&asked, &requested)), expected);
    }
}

#[test]
fn no_request_makes_a_ca() {
    let authority = authority();
    let extension = |last, value: &[u8]| CustomExtension::from_oid_content(&[2, 5, 29, last], value.to_vec());
    let ca = extension(19, &[0x30, 3, 1, 1, 0xff]);
    let cert_sign = extension(15, &[3, 2, 2, 4]);
    let server = extension(37, &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1]);
    for (wish, oid) in [(ca, "2.5.29.19"), (cert_sign, "2.5.29.15"), (server, "2.5.29.37")] {
        let asked = asking(vec![wish]);
        let chain = authority.issue_ldevid(&asked, &policy()).unwrap();
        let certificate = parse(&chain[0]).unwrap();
        assert!(!certificate.is_ca());
        assert!(!certificate.key_usage().unwrap().unwrap().value.key_cert_sign());
        assert!(!certificate.extended_key_usage().unwrap().unwrap().value.server_auth);
        let strict = LdevidPolicy { extensions: ExtensionPolicy::Refuse, ..policy() };
        assert_eq!(refusal(authority.issue_ldevid(&asked, &strict)), RequestError::ExtensionNotAllowed(oid.into()));
    }
    // What the certificate has anyway may be asked for: the values that a server of csrattrs suggested.
    let strict = LdevidPolicy { extensions: ExtensionPolicy::Refuse, ..policy() };
    let same =
        asking(vec![extension(15, &[3, 2, 7, 0x80]), extension(37, &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 2])]);
    authority.issue_ldevid(&same, &strict).unwrap();
}

#[test]
fn a_renewal_keeps_subject_and_names() {
    let authority = authority();
    let names = NamePolicy::Fixed(vec!["a.example".into(), "192.0.2.7".into()]);
    let first = request(Subject::empty(), &[]);
    let old = authority.issue_ldevid(first.request(), &LdevidPolicy { names, ..policy() }).unwrap();

    let policy = LdevidPolicy::renewal(&old[0], VALIDITY).unwrap();
    let again = request(subject(), &["192.0.2.7", "a.example"]);
    let new = authority.issue_ldevid(again.request(), &policy).unwrap();
    let [old, new] = [&old[0], &new[0]].map(|der| parse(der).unwrap());
    assert_eq!(new.subject().as_raw(), old.subject().as_raw());
    let names = |certificate: &x509_parser::certificate::X509Certificate<'_>| {
        certificate.iter_extensions().find(|one| one.oid.to_id_string() == "2.5.29.17").map(|one| one.value.to_vec())
    };
    assert_eq!(names(&new), names(&old));

    let fewer = request(subject(), &["a.example"]);
    let missing = RequestError::NameMissing("192.0.2.7".into());
    assert_eq!(refusal(authority.issue_ldevid(fewer.request(), &policy)), missing);
    let other = request(Subject::common_name("b").unwrap(), &["192.0.2.7", "a.example"]);
    let refused = refusal(authority.issue_ldevid(other.request(), &policy));
    assert!(matches!(refused, RequestError::SubjectNotAllowed { .. }));
}

#[test]
fn a_device_is_enrolled_under_the_subject_of_its_idevid() {
    let maker = Authority::new(&options("p256x2")).unwrap();
    let idevid = maker.issue_idevid(&IdevidOptions::new("WI-3005", NOW)).unwrap();
    let subject = Subject::of(idevid.leaf()).unwrap();
    let policy = LdevidPolicy { subject: SubjectPolicy::Required(subject.clone()), ..policy() };
    let asked = request(subject.clone(), &[]);
    let chain = authority().issue_ldevid(asked.request(), &policy).unwrap();
    assert_eq!(Subject::of(&chain[0]).unwrap(), subject);
}
