use alloc::vec;
use std::sync::LazyLock;

use der::{Decode, Encode};
use pki_types::CertificateDer;
use pki_types::pem::PemObject;
use proptest::prelude::*;
use terse_pki::{Authority, AuthorityOptions, IdevidOptions, NameAttribute, Subject, Validity};
use terse_rustcrypto::PROVIDER;
use terse_testkit::vectors;

use super::fields::SUBJECT_KEY_IDENTIFIER;
use super::*;

const NOW: u64 = 1_767_225_600;

fn vector(name: &str) -> Option<Vec<u8>> {
    if name.ends_with(".hex") {
        return vectors::hex(name);
    }
    let pem = vectors::text(name)?;
    Some(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec())
}

fn manufacturer() -> Authority {
    let options = AuthorityOptions::new("p256x2".parse().unwrap(), Validity::without_end(NOW));
    Authority::new(&AuthorityOptions { key_identifiers: true, ..options }).unwrap()
}

/// Returns an IDevID that `terse-pki` issues, with everything in it.
fn idevid() -> Vec<u8> {
    let subject = Subject::empty().with(NameAttribute::Organization, "Maker").unwrap();
    let masa_url = Some("masa.maker.example:9443".parse().unwrap());
    let options = IdevidOptions { masa_url, subject, ..IdevidOptions::new("WI-3005", NOW) };
    manufacturer().issue_idevid(&options).unwrap().leaf().to_vec()
}

static IDEVID: LazyLock<Vec<u8>> = LazyLock::new(idevid);

fn read(certificate: &[u8]) -> Result<Idevid, Malformed> {
    Idevid::read(&PROVIDER, certificate, SerialNumberField::SubjectSerialNumber)
}

/// Returns a certificate with this subject and these extensions, each DER, whose other fields mean nothing.
fn certificate(subject: &[u8], extensions: &[Vec<u8>]) -> Vec<u8> {
    let algorithm = encode(SEQUENCE, &[&[6, 1, 42]]);
    let key = encode(SEQUENCE, &[&algorithm, &[3, 3, 0, 1, 2]]);
    let extensions = encode(0xa3, &[&encode(SEQUENCE, &[&extensions.concat()])]);
    let empty = [SEQUENCE, 0];
    let tbs = [&[0xa0, 3, 2, 1, 2][..], &[2, 1, 9], &algorithm, &empty, &empty, subject, &key, &extensions];
    encode(SEQUENCE, &[&encode(SEQUENCE, &tbs), &algorithm, &[3, 2, 0, 5]])
}

/// Returns a Name of attributes, each a type, the tag of its string, and its value.
fn name(attributes: &[(ObjectIdentifier, u8, &[u8])]) -> Vec<u8> {
    let attribute = |(oid, tag, value): &(ObjectIdentifier, u8, &[u8])| {
        encode(0x31, &[&encode(SEQUENCE, &[&encode(6, &[oid.as_bytes()]), &encode(*tag, &[value])])])
    };
    encode(SEQUENCE, &[&attributes.iter().flat_map(attribute).collect::<Vec<_>>()])
}

fn extension(oid: ObjectIdentifier, value: &[u8]) -> Vec<u8> {
    encode(SEQUENCE, &[&encode(6, &[oid.as_bytes()]), &encode(OCTET_STRING, &[value])])
}

const PRINTABLE: u8 = 0x13;
const UTF8: u8 = 0x0c;
const IA5: u8 = 0x16;

#[test]
fn the_idevid_of_rfc_8995_has_no_issuer_but_by_its_key() {
    let Some(der) = vector("brski/rfc8995/idevid_00-D0-E5-F2-00-02.crt") else { return };
    let idevid = read(&der).unwrap();
    assert_eq!(idevid.serial_number, "00-D0-E5-F2-00-02");
    assert_eq!(idevid.masa_url.as_deref(), Some("highway-test.example.com:9443"));
    assert_eq!(
        masa_base_url(&idevid.masa_url.unwrap()).unwrap(),
        "https://highway-test.example.com:9443/.well-known/brski"
    );
    // Its subject key identifier is the SHA-1 of its key, which takes the place of the missing identifier.
    let identifier = domain_id(&PROVIDER, &der).unwrap();
    assert_eq!(idevid.issuer, Some([&[0x04, 0x18, 0x30, 0x16, 0x80, 0x14][..], &identifier].concat()));
    let without_sha1 = PROVIDER.sha1(None);
    let idevid = Idevid::read(&without_sha1, &der, SerialNumberField::SubjectSerialNumber).unwrap();
    assert_eq!(idevid.issuer, None);
}

#[test]
fn the_idevid_of_constrained_brski_names_its_issuer() {
    let Some(der) = vector("brski/cbrski/pledge.hex") else { return };
    let idevid = read(&der).unwrap();
    assert_eq!(idevid.serial_number, "JADA123456789");
    assert_eq!(idevid.masa_url.as_deref(), Some("masa.stok.nl"));
    let issuer = domain_id(&PROVIDER, &vector("brski/cbrski/masa_ca.hex").unwrap()).unwrap();
    assert_eq!(idevid.issuer, Some([&[0x04, 0x18, 0x30, 0x16, 0x80, 0x14][..], &issuer].concat()));
    let by_common_name = Idevid::read(&PROVIDER, &der, SerialNumberField::CommonName).unwrap();
    assert_eq!(by_common_name.serial_number, "Stok IoT sensor Y-42");
}

#[test]
fn the_idevids_of_our_ca_are_read() {
    let der = idevid();
    let idevid = read(&der).unwrap();
    assert_eq!(idevid.serial_number, "WI-3005");
    assert_eq!(idevid.masa_url.as_deref(), Some("masa.maker.example:9443"));
    assert_eq!(idevid.issuer.unwrap()[..6], [0x04, 0x18, 0x30, 0x16, 0x80, 0x14]);
    let by_common_name = Idevid::read(&PROVIDER, &der, SerialNumberField::CommonName);
    assert_eq!(by_common_name, Err(Malformed::Missing("commonName")));
    let parsed = x509_cert::Certificate::from_der(&der).unwrap();
    let tbs = parsed.tbs_certificate();
    assert_eq!(public_key(&der).unwrap(), tbs.subject_public_key_info().to_der().unwrap());
    assert_eq!(subject(&der).unwrap(), tbs.subject().to_der().unwrap());
}

#[test]
fn the_domain_id_is_the_key_identifier_or_the_hash_of_the_key() {
    let Some(ca) = vector("brski/rfc8995/ownerca_secp384r1.crt") else { return };
    let identifier = domain_id(&PROVIDER, &ca).unwrap();
    assert_eq!(identifier[..4], [0xb9, 0xa5, 0xf6, 0xcb]);
    assert_eq!(identifier.len(), 20);
    // The registrar of the RFC has no identifier.
    let registrar = vector("brski/rfc8995/jrc_prime256v1.crt").unwrap();
    let mut hash = PROVIDER.sha256.start();
    hash.update(public_key(&registrar).unwrap());
    assert_eq!(domain_id(&PROVIDER, &registrar).unwrap(), hash.finish().as_ref());
}

#[test]
fn a_serial_number_is_one_short_printable_string() {
    let serial = |attributes: &[(ObjectIdentifier, u8, &[u8])]| {
        read(&certificate(&name(attributes), &[])).map(|idevid| idevid.serial_number)
    };
    let one = |tag, value: &[u8]| serial(&[(COMMON_NAME, UTF8, b"x"), (SERIAL_NUMBER, tag, value)]);
    for tag in [PRINTABLE, UTF8, IA5] {
        assert_eq!(one(tag, b"WI-3005").unwrap(), "WI-3005");
    }
    assert_eq!(one(UTF8, "Ger\u{e4}t 7".as_bytes()).unwrap(), "Ger\u{e4}t 7");
    assert_eq!(one(UTF8, "\u{e4}".repeat(64).as_bytes()).unwrap().chars().count(), 64);
    for value in ["", "a\0", "a\n", "a\u{7f}", "a\u{85}", "a\u{202e}b", &"x".repeat(65)] {
        assert_eq!(one(UTF8, value.as_bytes()), Err(Malformed::Invalid("serialNumber")), "{value:?}");
    }
    for (tag, value) in [(UTF8, &[0xff][..]), (PRINTABLE, &[0xe4]), (IA5, &[0xc3, 0xa4]), (0x1e, b"\0a"), (2, &[7])] {
        assert_eq!(one(tag, value), Err(Malformed::Der("serialNumber")));
    }
    assert_eq!(serial(&[(COMMON_NAME, UTF8, b"x")]), Err(Malformed::Missing("serialNumber")));
    assert_eq!(serial(&[]), Err(Malformed::Missing("serialNumber")));
    let two = (SERIAL_NUMBER, PRINTABLE, &b"1"[..]);
    assert_eq!(serial(&[two, two]), Err(Malformed::Duplicate("serialNumber")));
    // Two in one RelativeDistinguishedName.
    let attribute = encode(SEQUENCE, &[&encode(6, &[SERIAL_NUMBER.as_bytes()]), &[PRINTABLE, 1, b'1']]);
    let both = encode(SEQUENCE, &[&encode(0x31, &[&attribute, &attribute])]);
    assert_eq!(read(&certificate(&both, &[])), Err(Malformed::Duplicate("serialNumber")));
}

#[test]
fn an_extension_stands_once_and_well_formed() {
    let subject = name(&[(SERIAL_NUMBER, PRINTABLE, b"1")]);
    let url = extension(MASA_URL, b"\x16\x01a");
    let issuer = extension(AUTHORITY_KEY_IDENTIFIER, &[0x30, 3, 0x80, 1, 7]);
    let other = extension(COMMON_NAME, b"\0");
    let idevid = read(&certificate(&subject, &[url.clone(), other.clone(), issuer.clone(), other.clone()])).unwrap();
    assert_eq!(
        (idevid.masa_url.as_deref(), &idevid.issuer.unwrap()[..]),
        (Some("a"), &[4, 5, 0x30, 3, 0x80, 1, 7][..])
    );
    for (extension, name) in [(url, "MASA URL"), (issuer, "authorityKeyIdentifier")] {
        let refused = read(&certificate(&subject, &[extension.clone(), other.clone(), extension]));
        assert_eq!(refused, Err(Malformed::Duplicate(name)));
    }
    for (oid, value, refusal) in [
        (MASA_URL, &b"\x0c\x01a"[..], Malformed::Der("MASA URL")), // a UTF8String
        (MASA_URL, b"masa.example", Malformed::Der("MASA URL")),
        (MASA_URL, b"\x16\x01a\x05\x00", Malformed::Der("MASA URL")),
        (MASA_URL, b"\x16\x00", Malformed::Invalid("MASA URL")),
        (MASA_URL, b"\x16\x02a\n", Malformed::Invalid("MASA URL")),
        (MASA_URL, b"\x16\x02a ", Malformed::Invalid("MASA URL")),
        (MASA_URL, b"\x16\x02a\xe4", Malformed::Invalid("MASA URL")),
        (AUTHORITY_KEY_IDENTIFIER, b"", Malformed::Der("authorityKeyIdentifier")),
        (AUTHORITY_KEY_IDENTIFIER, b"\x04\x01a", Malformed::Der("authorityKeyIdentifier")),
    ] {
        assert_eq!(read(&certificate(&subject, &[extension(oid, value)])), Err(refusal), "{value:?}");
    }
    let identifier =
        |value: &[u8]| domain_id(&PROVIDER, &certificate(&subject, &[extension(SUBJECT_KEY_IDENTIFIER, value)]));
    assert_eq!(identifier(&[4, 2, 7, 8]).unwrap(), [7, 8]);
    assert_eq!(identifier(&[4, 0]), Err(Malformed::Invalid("subjectKeyIdentifier")));
    assert_eq!(identifier(&[2, 1, 7]), Err(Malformed::Der("subjectKeyIdentifier")));
    let twice = vec![extension(SUBJECT_KEY_IDENTIFIER, &[4, 1, 7]); 2];
    assert_eq!(domain_id(&PROVIDER, &certificate(&subject, &twice)), Err(Malformed::Duplicate("subjectKeyIdentifier")));
}

#[test]
fn issuers_are_the_same_in_every_form() {
    let identifier = [7; 20];
    let sequence = encode(SEQUENCE, &[&encode(0x80, &[&identifier])]);
    let with_serial_number = encode(SEQUENCE, &[&encode(0x80, &[&identifier]), &[0x82, 1, 9]]);
    let octets = |value: &[u8]| encode(OCTET_STRING, &[value]);
    let same = [
        identifier.to_vec(),
        octets(&identifier),
        sequence.clone(),
        octets(&sequence),
        with_serial_number.clone(),
        octets(&with_serial_number),
    ];
    let sequence_of_other = encode(SEQUENCE, &[&encode(0x80, &[&[8; 20]])]);
    let without_identifier = encode(SEQUENCE, &[&[0x82, 1, 9]]);
    let others = [
        vec![8; 20],
        vec![7; 19],
        octets(&sequence_of_other),
        octets(&without_identifier),
        without_identifier.clone(),
        octets(&[]),
        Vec::new(),
    ];
    for one in &same {
        assert!(same.iter().all(|other| is_same_issuer(one, other)), "{one:?}");
        assert!(others.iter().all(|other| !is_same_issuer(one, other) && !is_same_issuer(other, one)), "{one:?}");
    }
    assert!(is_same_issuer(&without_identifier, &octets(&without_identifier)));
    for nothing in [&[][..], &[4, 0], &[0x30, 2, 0x80, 0]] {
        assert!(!is_same_issuer(nothing, &[]) && !is_same_issuer(&[], nothing), "nothing is no issuer");
    }
    // A key identifier that could be taken for an OCTET STRING is compared as it stands, too.
    let deceptive = [&[4, 18][..], &[7; 18]].concat();
    let of_deceptive = octets(&encode(SEQUENCE, &[&encode(0x80, &[&deceptive])]));
    assert!(is_same_issuer(&deceptive, &of_deceptive) && is_same_issuer(&of_deceptive, &deceptive));
}

#[test]
fn a_certificate_cut_or_prolonged_anywhere_is_refused() {
    let der = idevid();
    for len in 0..der.len() {
        assert_eq!(read(&der[..len]), Err(Malformed::Der("certificate")), "{len}");
        assert!(public_key(&der[..len]).is_err() && subject(&der[..len]).is_err());
        assert!(domain_id(&PROVIDER, &der[..len]).is_err());
    }
    assert!(read(&[&der[..], &[0]].concat()).is_err());
    assert_eq!(read(&vec![0x30; MAX_LEN + 1]), Err(Malformed::TooLong(MAX_LEN)));
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..40)
}

proptest! {
    #[test]
    fn a_certificate_changed_anywhere_is_read_or_refused(at in 0..1000_usize, to: u8) {
        let mut der = IDEVID.clone();
        let at = at % der.len();
        der[at] = to;
        if let Ok(idevid) = read(&der) {
            prop_assert!((1..=64).contains(&idevid.serial_number.chars().count()));
            prop_assert!(idevid.masa_url.is_none_or(|url| url.bytes().all(|c| c.is_ascii_graphic())));
        }
        let _ = domain_id(&PROVIDER, &der);
    }

    #[test]
    fn any_issuer_is_the_same_as_itself(a in bytes(), b in bytes()) {
        prop_assert_eq!(is_same_issuer(&a, &a), !a.is_empty());
        prop_assert_eq!(is_same_issuer(&a, &b), is_same_issuer(&b, &a));
    }
}

#[test]
fn issuer_and_validity_are_those_of_the_certificate() {
    let authority = manufacturer();
    let options =
        IdevidOptions { validity: Validity { not_before: NOW, not_after: NOW + 60 }, ..IdevidOptions::new("1", NOW) };
    let leaf = authority.issue_idevid(&options).unwrap().leaf().clone();
    assert_eq!(issuer(&leaf), subject(authority.root()));
    assert_eq!(issuer(authority.root()), subject(authority.root()));
    let at = |seconds| UnixTime::since_unix_epoch(core::time::Duration::from_secs(seconds));
    assert_eq!(validity(&leaf), Ok((at(NOW), at(NOW + 60))));
    assert_eq!(validity(&certificate(&[SEQUENCE, 0], &[])), Err(Malformed::Der("validity")));
}

#[test]
fn certificates_of_devices_are_known_by_serial_number_or_masa() {
    assert_eq!(is_device(&IDEVID), Ok(true));
    assert_eq!(is_device(manufacturer().root()), Ok(false));
    let common_name = name(&[(COMMON_NAME, 0x0c, b"7")]);
    assert_eq!(is_device(&certificate(&common_name, &[])), Ok(false));
    let masa_url = encode(SEQUENCE, &[&encode(6, &[MASA_URL.as_bytes()]), &encode(4, &[&encode(0x16, &[b"m"])])]);
    assert_eq!(is_device(&certificate(&common_name, &[masa_url])), Ok(true));
    assert_eq!(is_device(&certificate(&name(&[(SERIAL_NUMBER, 0x13, b"7")]), &[])), Ok(true));
    assert!(is_device(&certificate(&name(&[(SERIAL_NUMBER, 0x13, b"7"), (SERIAL_NUMBER, 0x13, b"8")]), &[])).is_err());
}
