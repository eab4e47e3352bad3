//! The certificates in the examples of RFC 8995 (appendix C) and of the draft on constrained vouchers: what this crate
//! takes from such certificates, and issues beside them. The vectors are looked for as CONTRIBUTING.md says.

use std::path::Path;
use std::{env, fs};

use terse_pki::pki_types::CertificateDer;
use terse_pki::pki_types::pem::PemObject;
use terse_pki::{
    Authority, AuthorityOptions, IdevidOptions, LdevidPolicy, MasaUrl, NewRequest, RegistrarOptions, RequestOptions,
    Subject, SubjectPolicy, Validity,
};
use x509_parser::certificate::X509Certificate;

/// A time in November 2025.
const NOW: u64 = 1_763_700_000;

/// Returns a published certificate. Without it a test is skipped, or fails if `TERSE_REQUIRE_ALL=1`.
fn vector(name: &str) -> Option<CertificateDer<'static>> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/vectors");
    let path = Path::new(&env::var("TERSE_VECTORS").unwrap_or_else(|_| beside.into())).join("brski").join(name);
    let Ok(contents) = fs::read_to_string(path) else {
        assert_ne!(env::var("TERSE_REQUIRE_ALL").as_deref(), Ok("1"), "{name} is required");
        eprintln!("skipped: the vector {name} is not there (see TERSE_VECTORS)");
        return None;
    };
    if contents.contains("-----BEGIN") {
        return Some(CertificateDer::from_pem_slice(contents.as_bytes()).unwrap());
    }
    let digits: Vec<u8> = contents.chars().filter_map(|digit| digit.to_digit(16)).map(|digit| digit as u8).collect();
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<_>>().into())
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> X509Certificate<'a> {
    x509_parser::parse_x509_certificate(certificate).unwrap().1
}

/// Returns the value of an extension, and whether it is critical.
fn extension<'a>(certificate: &'a X509Certificate<'_>, oid: &str) -> Option<(&'a [u8], bool)> {
    let mut extensions = certificate.iter_extensions();
    extensions.find(|one| one.oid.to_id_string() == oid).map(|one| (one.value, one.critical))
}

fn authority() -> Authority {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(NOW));
    Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap()
}

const MASA_URL: &str = "1.3.6.1.5.5.7.1.32";
const AUTHORITY_KEY_IDENTIFIER: &str = "2.5.29.35";
const SUBJECT_KEY_IDENTIFIER: &str = "2.5.29.14";
const EXTENDED_KEY_USAGE: &str = "2.5.29.37";

#[test]
fn our_masa_url_is_encoded_as_in_the_published_idevids() {
    for (name, masa) in [
        ("rfc8995/idevid_00-D0-E5-F2-00-02.crt", "highway-test.example.com:9443"),
        ("cbrski/pledge.hex", "masa.stok.nl"),
    ] {
        let Some(published) = vector(name) else { return };
        let masa_url: MasaUrl = masa.parse().unwrap();
        let options = IdevidOptions { masa_url: Some(masa_url), ..IdevidOptions::new("1", NOW) };
        let ours = authority().issue_idevid(&options).unwrap();
        let (published, ours) = (parse(&published), parse(ours.leaf()));
        assert_eq!(extension(&ours, MASA_URL), extension(&published, MASA_URL), "{name}");
        assert!(extension(&ours, MASA_URL).is_some());
    }
}

#[test]
fn our_key_identifiers_have_the_form_of_the_published_ones() {
    let Some(published) = vector("cbrski/pledge.hex") else { return };
    let ours = authority().issue_idevid(&IdevidOptions::new("1", NOW)).unwrap();
    let (published, ours) = (parse(&published), parse(ours.leaf()));
    let [published, ours] = [&published, &ours].map(|one| extension(one, AUTHORITY_KEY_IDENTIFIER).unwrap());
    assert_eq!(ours.0[..4], published.0[..4]);
    assert_eq!((ours.0.len(), ours.1), (published.0.len(), published.1));
}

#[test]
fn our_registrar_has_the_usages_and_identifiers_of_the_published_one() {
    let Some(published) = vector("cbrski/registrar.hex") else { return };
    let options = RegistrarOptions::new("registrar.plant.example", Validity::days(NOW, 9));
    let ours = authority().issue_registrar(&options).unwrap();
    let (published, ours) = (parse(&published), parse(ours.leaf()));
    assert_eq!(extension(&ours, EXTENDED_KEY_USAGE).unwrap().0, extension(&published, EXTENDED_KEY_USAGE).unwrap().0);
    for oid in [AUTHORITY_KEY_IDENTIFIER, SUBJECT_KEY_IDENTIFIER] {
        let [published, ours] = [&published, &ours].map(|one| extension(one, oid).unwrap());
        assert_eq!((ours.0.len(), ours.1), (published.0.len(), published.1), "{oid}");
    }
}

#[test]
fn every_published_subject_can_be_certified_unchanged() {
    for name in [
        "rfc8995/idevid_00-D0-E5-F2-00-02.crt",
        "rfc8995/jrc_prime256v1.crt", // two domainComponents
        "rfc8995/masa.crt",
        "rfc8995/ownerca_secp384r1.crt",
        "rfc8995/vendor.crt",
        "cbrski/pledge.hex",
        "cbrski/registrar.hex",
        "cbrski/masa.hex",
        "cbrski/masa_ca.hex",
        "cbrski/domain_ca.hex",
    ] {
        let Some(published) = vector(name) else { return };
        let subject = Subject::of(&published).unwrap();
        assert_eq!(subject.der(), parse(&published).subject().as_raw());
        let request = NewRequest::new(&RequestOptions::new(subject.clone())).unwrap();
        assert_eq!(request.request().subject(), &subject);
        for policy in [SubjectPolicy::Requested, SubjectPolicy::Required(subject.clone())] {
            let policy =
                LdevidPolicy { subject: policy, ..LdevidPolicy::new(Subject::empty(), Validity::days(NOW, 9)) };
            let chain = authority().issue_ldevid(request.request(), &policy).unwrap();
            assert_eq!(parse(&chain[0]).subject().as_raw(), subject.der(), "{name}");
        }
    }
}
