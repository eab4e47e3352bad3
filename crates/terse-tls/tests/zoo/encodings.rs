//! Certificates that are not quite DER (X.690, 10 and 11), or not quite X.509 version 3 (RFC 5280, 4.1).

use rcgen::CustomExtension;
use terse_tls::{AlertDescription as Alert, CertificateError as E};

use super::der::{children, element, resigned, sequence};
use super::maker::{Ca, good};
use super::show::{Specimen, show};

#[test]
fn of_the_leaf() {
    show(|role| {
        let root = Ca::good_root();
        let leaf = root.leaf(role, good);
        let malformed =
            |name, leaf| Specimen::refused(name, vec![leaf], &root.der, E::Malformed, Alert::BAD_CERTIFICATE);
        let signed = |change: &dyn Fn(&mut Vec<Vec<u8>>)| resigned(&leaf, &root.key, |fields| change(fields));
        let outside = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
            let mut parts = children(&leaf);
            change(&mut parts);
            sequence(&parts)
        };
        let long_form = |length: &[u8]| [&[0x30][..], length, &leaf[4..]].concat();
        assert_eq!(leaf[1], 0x82, "its length has two bytes");
        let len = [leaf[2], leaf[3]];
        vec![
            // Nothing but a CRL looks at the serial number.
            Specimen::accepted("an empty serial number", vec![signed(&|fields| fields[1] = vec![2, 0])], &root.der),
            malformed("nothing", vec![0x30, 0]),
            malformed("a byte too many", [&leaf[..], &[0]].concat()),
            malformed("a byte too few", leaf[..leaf.len() - 1].to_vec()),
            malformed("another element behind", [&leaf[..], &[5, 0]].concat()),
            malformed("a length with a zero in front", long_form(&[0x83, 0, len[0], len[1]])),
            malformed("an indefinite length", [&long_form(&[0x80])[..], &[0, 0]].concat()),
            malformed("a length with four bytes", long_form(&[0x84, 0, 0, len[0], len[1]])),
            malformed("a fourth part", outside(&|parts| parts.push(vec![5, 0]))),
            malformed("no signature", outside(&|parts| drop(parts.pop()))),
            malformed("a signature with unused bits", outside(&|parts| parts[2][2] = 1)),
            malformed("version 1", signed(&|fields| drop(fields.remove(0)))),
            malformed("version 2", signed(&|fields| fields[0][4] = 1)),
            malformed("version 4", signed(&|fields| fields[0][4] = 3)),
            malformed("a field behind the extensions", signed(&|fields| fields.push(vec![5, 0]))),
            malformed("validity is a number", signed(&|fields| fields[4] = vec![2, 1, 1])),
        ]
    });
}

/// An extension may come only once (RFC 5280, 4.2), and must be what its type says.
#[test]
fn of_extensions() {
    show(|role| {
        let root = Ca::good_root();
        let with =
            |extensions: Vec<CustomExtension>| vec![root.leaf(role, |params| params.custom_extensions = extensions)];
        let extension = |id: u64, content: &[u8]| CustomExtension::from_oid_content(&[2, 5, 29, id], content.to_vec());
        let malformed = |name, chain| Specimen::refused(name, chain, &root.der, E::Malformed, Alert::BAD_CERTIFICATE);
        let name = element(0x30, &element(0x82, b"evil.example"));
        vec![
            malformed("two subjectAltNames", with(vec![extension(17, &name)])),
            malformed("two keyUsages", with(vec![extension(15, &[3, 2, 7, 0x80])])),
            malformed("basicConstraints that are a number", with(vec![extension(19, &[2, 1, 1])])),
        ]
    });
}

/// A chain may hold certificates that do not belong to the path (RFC 9846, 4.5.1). But what lies behind an entry that is no
/// certificate is not searched.
#[test]
fn of_the_issuer() {
    show(|role| {
        let root = Ca::good_root();
        let sub = root.sub("Sub", good);
        let leaf = sub.leaf(role, good);
        let malformed = |name, sub| {
            Specimen::refused(name, vec![leaf.clone(), sub], &root.der, E::Malformed, Alert::BAD_CERTIFICATE)
        };
        let version1 = resigned(&sub.der, &root.key, |fields| {
            fields.remove(0);
            fields.pop();
        });
        vec![
            malformed("a byte too many", [&sub.der[..], &[0]].concat()),
            malformed("a byte too few", sub.der[..sub.der.len() - 1].to_vec()),
            malformed("version 1", version1),
            malformed("garbage", b"garbage".to_vec()),
        ]
    });
}
