use x509_parser::certificate::X509Certificate;

use super::*;
use crate::authority::parse;
use crate::authority::tests::{NOW, options, verify};
use crate::{AuthorityOptions, NewRequest, RequestOptions, identifier};

fn maker(key_identifiers: bool) -> Authority {
    let validity = Validity::without_end(NOW);
    Authority::new(&AuthorityOptions { key_identifiers, validity, ..options("p256x3") }).unwrap()
}

fn device() -> IdevidOptions {
    let subject = Subject::empty().with(NameAttribute::Organization, "Maker").unwrap();
    let masa_url = Some("masa.maker.example:9443".parse().unwrap());
    IdevidOptions { subject, masa_url, ..IdevidOptions::new("00-D0-E5-F2-00-02", NOW) }
}

/// Returns each extension: its object identifier, whether it is critical, and its value.
fn extensions<'a>(certificate: &'a X509Certificate<'_>) -> Vec<(String, bool, &'a [u8])> {
    certificate.extensions().iter().map(|one| (one.oid.to_id_string(), one.critical, one.value)).collect()
}

#[test]
fn an_idevid_has_these_fields_and_no_others() {
    for key_identifiers in [true, false] {
        let authority = maker(key_identifiers);
        let credential = authority.issue_idevid(&device()).unwrap();
        let certificate = parse(credential.leaf()).unwrap();

        let subject = Subject::empty().with(NameAttribute::Organization, "Maker").unwrap();
        let subject = subject.with(NameAttribute::SerialNumber, "00-D0-E5-F2-00-02").unwrap();
        assert_eq!(certificate.subject().as_raw(), subject.der());
        // RFC 5280, A.1: X520SerialNumber is a PrintableString.
        let serial_number = [&[0x06, 3, 0x55, 4, 5, 0x13, 17][..], b"00-D0-E5-F2-00-02"].concat();
        assert!(subject.der().ends_with(&serial_number));

        // The identifier of the issuer's key is the same whether its certificate carries it or not.
        let issuer = parse(&credential.chain()[1]).unwrap();
        let key = identifier::of_key(&issuer.public_key().subject_public_key.data);
        let carried = issuer.iter_extensions().find(|one| one.oid.to_id_string() == "2.5.29.14").map(|one| one.value);
        assert_eq!(carried, key_identifiers.then_some(&[&[4, 20][..], &key].concat()[..]));
        let authority_key = [&[0x30, 22, 0x80, 20][..], &key].concat();
        let masa_url = [&[0x16, 23][..], b"masa.maker.example:9443"].concat();
        let expected = [("1.3.6.1.5.5.7.1.32", &masa_url), ("2.5.29.35", &authority_key)];
        let expected = expected.map(|(oid, value)| (oid.to_owned(), false, &value[..]));
        assert_eq!(extensions(&certificate), expected);

        let not_after = b"\x18\x0f99991231235959Z";
        assert!(credential.leaf().windows(not_after.len()).any(|window| window == not_after));
        assert_eq!(certificate.validity().not_before.timestamp(), i64::try_from(NOW).unwrap());
        assert_eq!(certificate.raw_serial().len(), 16);
    }
}

#[test]
fn without_restrictions_it_authenticates_clients_and_servers() {
    for key_identifiers in [true, false] {
        let authority = maker(key_identifiers);
        let credential = authority.issue_idevid(&device()).unwrap();
        for usage in [webpki::KeyUsage::client_auth(), webpki::KeyUsage::server_auth()] {
            verify(&authority, &credential, usage, NOW + 100 * 365 * 86_400).unwrap();
        }
    }
}

#[test]
fn a_device_may_have_made_its_key() {
    let authority = maker(true);
    let request = NewRequest::new(&RequestOptions::new(Subject::common_name("anything").unwrap())).unwrap();
    let chain = authority.certify_idevid(request.request(), &device()).unwrap();
    let certificate = parse(&chain[0]).unwrap();
    assert_eq!(certificate.subject().to_string(), "O=Maker, serialNumber=00-D0-E5-F2-00-02");
    assert_eq!(certificate.public_key().raw, request.request().subject_public_key_info());
    verify(&authority, &request.into_credential(chain).unwrap(), webpki::KeyUsage::client_auth(), NOW).unwrap();
}

#[test]
fn a_serial_number_is_a_printable_string() {
    let authority = maker(false);
    for good in ["1", "a b'()+,-./:=?", &"9".repeat(64)] {
        authority.issue_idevid(&IdevidOptions::new(good, NOW)).unwrap();
    }
    for bad in ["", " 1", "1_2", "1*", "ü", "1\n", &"9".repeat(65)] {
        let refused = authority.issue_idevid(&IdevidOptions::new(bad, NOW));
        assert!(matches!(refused, Err(Error::InvalidSerialNumber(_))), "{bad:?}");
    }
    let subject = Subject::empty().with(NameAttribute::SerialNumber, "2").unwrap();
    let refused = authority.issue_idevid(&IdevidOptions { subject, ..IdevidOptions::new("1", NOW) });
    assert!(matches!(refused, Err(Error::InvalidSubject(_))));
}
