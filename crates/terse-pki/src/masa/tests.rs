use super::*;
use crate::authority::parse;
use crate::authority::tests::{NOW, options, verify};
use crate::{AuthorityOptions, identifier};

#[test]
fn a_voucher_signer_is_for_any_purpose_and_for_no_server() {
    for key_identifiers in [true, false] {
        let authority = Authority::new(&AuthorityOptions { key_identifiers, ..options("p256x3") }).unwrap();
        let signer = VoucherSignerOptions::new("Maker vouchers", Validity::days(NOW, 9));
        let credential = authority.issue_voucher_signer(&signer).unwrap();
        let certificate = parse(credential.leaf()).unwrap();
        assert_eq!(certificate.subject().to_string(), "CN=Maker vouchers");
        let own = identifier::of_key(&certificate.public_key().subject_public_key.data);
        let found = certificate.extensions().iter();
        let found: Vec<_> = found.map(|one| (one.oid.to_id_string(), one.critical, one.value.to_vec())).collect();
        let own = ("2.5.29.14".to_owned(), false, [&[4, 20][..], &own].concat());
        assert_eq!(found[..2], [("2.5.29.15".to_owned(), true, vec![3, 2, 7, 0x80]), own]);
        let issuer: Vec<_> = found[2..].iter().map(|(oid, ..)| oid.as_str()).collect();
        assert_eq!(issuer, if key_identifiers { vec!["2.5.29.35"] } else { vec![] });

        // Its chain is built for any purpose.
        verify(&authority, &credential, webpki::KeyUsage::client_auth(), NOW).unwrap();
        let end_entity = webpki::EndEntityCert::try_from(credential.leaf()).unwrap();
        let name = pki_types::ServerName::try_from("masa.maker.example").unwrap();
        end_entity.verify_is_valid_for_subject_name(&name).unwrap_err();
    }
}

#[test]
fn its_name_is_printable() {
    let authority = Authority::new(&options("p256x2")).unwrap();
    for bad in ["", "  ", "a\nb", "a\u{202e}b", &"x".repeat(65)] {
        let refused = authority.issue_voucher_signer(&VoucherSignerOptions::new(bad, Validity::days(NOW, 9)));
        assert!(matches!(refused, Err(Error::InvalidSubject(_))), "{bad:?}");
    }
}
