use super::*;
use crate::authority::parse;
use crate::authority::tests::{NOW, options, verify};
use crate::{AuthorityOptions, identifier};

#[test]
fn a_registrar_has_these_extensions_and_no_others() {
    const OID: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 3, 0];
    let usage = |last| [&[6, 8][..], &OID[..7], &[last]].concat();
    let all = [usage(28), usage(1), usage(2)].concat();
    let alone = usage(28);
    for (key_identifiers, purposes, usages) in [
        (true, vec![KeyPurpose::CmcRa, KeyPurpose::ServerAuth, KeyPurpose::ClientAuth], &all),
        (false, vec![KeyPurpose::CmcRa, KeyPurpose::ServerAuth, KeyPurpose::ClientAuth, KeyPurpose::CmcRa], &all),
        (true, vec![KeyPurpose::CmcRa], &alone),
    ] {
        let authority = Authority::new(&AuthorityOptions { key_identifiers, ..options("p256x2") }).unwrap();
        let validity = Validity::days(NOW, 9);
        let registrar = RegistrarOptions { purposes, ..RegistrarOptions::new("r.example", validity) };
        let credential = authority.issue_registrar(&registrar).unwrap();
        let certificate = parse(credential.leaf()).unwrap();
        let own = identifier::of_key(&certificate.public_key().subject_public_key.data);
        let root = parse(authority.root()).unwrap();
        let issuer = identifier::of_key(&root.public_key().subject_public_key.data);
        let mut expected = vec![
            ("2.5.29.17", false, [&[0x30, 11, 0x82, 9][..], b"r.example"].concat()),
            ("2.5.29.15", true, vec![3, 2, 7, 0x80]), // digitalSignature
            ("2.5.29.37", false, [&[0x30, usages.len() as u8][..], usages].concat()),
            ("2.5.29.14", false, [&[4, 20][..], &own].concat()),
        ];
        if key_identifiers {
            expected.push(("2.5.29.35", false, [&[0x30, 22, 0x80, 20][..], &issuer].concat()));
        }
        let found = certificate.extensions().iter();
        let found: Vec<_> = found.map(|one| (one.oid.to_id_string(), one.critical, one.value.to_vec())).collect();
        let expected: Vec<_> =
            expected.into_iter().map(|(oid, critical, value)| (oid.to_owned(), critical, value)).collect();
        assert_eq!(found, expected);
        assert_eq!(certificate.subject().to_string(), "CN=r.example");
    }
}

#[test]
fn strict_validators_accept_it_on_both_sides_only_with_the_tls_usages() {
    // Without an intermediate: webpki wants a required usage in intermediates as well.
    let authority = Authority::new(&options("p256x2")).unwrap();
    let usual = RegistrarOptions::new("r.example", Validity::days(NOW, 9));
    let credential = authority.issue_registrar(&usual).unwrap();
    let cmc_ra = webpki::KeyUsage::required(&[0x2b, 6, 1, 5, 5, 7, 3, 28]);
    for usage in [webpki::KeyUsage::server_auth(), webpki::KeyUsage::client_auth(), cmc_ra] {
        verify(&authority, &credential, usage, NOW).unwrap();
    }
    let alone = RegistrarOptions { purposes: vec![KeyPurpose::CmcRa], ..usual };
    let credential = authority.issue_registrar(&alone).unwrap();
    verify(&authority, &credential, cmc_ra, NOW).unwrap();
    verify(&authority, &credential, webpki::KeyUsage::server_auth(), NOW).unwrap_err();
}

#[test]
fn names_are_those_of_leaves() {
    let authority = Authority::new(&options("p256x2")).unwrap();
    let validity = Validity::days(NOW, 9);
    for bad in ["", "a/b", "*"] {
        let refused = authority.issue_registrar(&RegistrarOptions::new(bad, validity));
        assert!(matches!(refused, Err(Error::InvalidName(_))), "{bad:?}");
    }
    let none = RegistrarOptions { names: Vec::new(), ..RegistrarOptions::new("", validity) };
    assert!(matches!(authority.issue_registrar(&none), Err(Error::NoName)));
}
