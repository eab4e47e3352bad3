use proptest::prelude::*;
use rcgen::{CertificateParams, CustomExtension, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P521_SHA512};

use super::*;
use crate::der::{BIT_STRING, INTEGER, OCTET_STRING, sign, tlv};
use crate::{Error, NameAttribute};

fn request(algorithm: KeyAlgorithm) -> CertificationRequest {
    let subject = Subject::empty().with(NameAttribute::DomainComponent, "example").unwrap();
    let subject = subject.with(NameAttribute::DomainComponent, "plant").unwrap();
    let subject = subject.with(NameAttribute::SerialNumber, "WI-3005").unwrap();
    let names = vec!["sensor.plant.example".into(), "192.0.2.7".into(), "2001:db8::7".into()];
    NewRequest::new(&RequestOptions { subject, names, algorithm }).unwrap().request().clone()
}

/// Returns the elements of a SEQUENCE, each with its header.
fn parts(sequence: &[u8]) -> Vec<Vec<u8>> {
    let parts = Vec::<AnyRef<'_>>::from_der(sequence).unwrap();
    parts.iter().map(|part| part.to_der().unwrap()).collect()
}

fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(SEQUENCE, &[&parts.concat()])
}

/// Returns a request by a new P-256 key, after a change of its certificationRequestInfo, with a good signature.
fn changed(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let made = CertificateParams::default().serialize_request(&key).unwrap();
    let mut info = parts(&parts(made.der())[0]);
    change(&mut info);
    let info = sequence(&info);
    tlv(SEQUENCE, &[&info, &sign(&key, &info).unwrap()])
}

/// Returns a request that asks for these extensions.
fn asking(extensions: Vec<CustomExtension>) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.custom_extensions = extensions;
    params.serialize_request(&KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()).unwrap().der().to_vec()
}

fn refusal(der: &[u8]) -> RequestError {
    CertificationRequest::from_der(der).unwrap_err()
}

#[test]
fn every_algorithm_is_read_back() {
    for algorithm in KeyAlgorithm::ALL {
        let made = request(algorithm);
        for contents in [made.der().to_vec(), made.to_pem().into_bytes()] {
            let read = CertificationRequest::from_file_contents(&contents).unwrap();
            assert_eq!(read.der(), made.der());
            assert_eq!(read.algorithm(), algorithm);
            assert_eq!(read.subject().to_string(), "DC=example, DC=plant, SERIALNUMBER=WI-3005");
            assert_eq!(read.names().unwrap(), ["sensor.plant.example", "192.0.2.7", "2001:db8::7"]);
            assert_eq!(read.subject_public_key_info(), parts(&parts(made.der())[0])[2]);
        }
    }
}

/// RFC 7468, 2 and 7: keytool and certreq write the other label, and editors leave their traces.
#[test]
fn files_are_read_as_other_programs_write_them() {
    let made = request(KeyAlgorithm::P256);
    let pem = made.to_pem();
    for contents in [
        pem.replace("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"),
        pem.replace('\n', " \r\n"),
        format!("\u{feff}{pem}\n\n"),
        format!("Alias name: plant\n{pem}end\n"),
        format!("0 is the number of the plant\n{pem}"),
        format!("{}{pem}", to_pem("CERTIFICATE", &[0x30, 0])),
    ] {
        let read = CertificationRequest::from_file_contents(contents.as_bytes()).expect(&contents);
        assert_eq!(read.der(), made.der());
    }
}

#[test]
fn a_request_needs_no_names() {
    let made = NewRequest::new(&RequestOptions::new(Subject::empty())).unwrap();
    assert!(made.request().subject().is_empty() && !made.request().has_names());
    assert_eq!(made.request().names().unwrap(), Vec::<String>::new());
    assert_eq!(format!("{made:?}"), "NewRequest { subject: Subject(), .. }");
}

#[test]
fn a_key_can_be_used_again_and_gets_only_its_own_certificate() {
    use crate::authority::tests::{NOW, options};
    let authority = crate::Authority::new(&options("p256x2")).unwrap();
    let old = authority.issue(&crate::LeafOptions::new("a.example", crate::Validity::days(NOW, 9))).unwrap();
    let options = RequestOptions::new(Subject::common_name("a.example").unwrap());
    let again = NewRequest::for_key(old.key(), &options).unwrap();
    let other = NewRequest::new(&options).unwrap();
    assert!(again.key_pem().starts_with("-----BEGIN PRIVATE KEY-----"));
    assert!(again.encrypted_key_pem(b"x").unwrap().starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"));
    assert_eq!(again.into_credential(old.chain().to_vec()).unwrap().key().secret_der(), old.key().secret_der());
    assert!(matches!(other.into_credential(old.chain().to_vec()), Err(Error::KeyMismatch)));
    let other = NewRequest::new(&options).unwrap();
    assert!(matches!(other.into_credential(Vec::new()), Err(Error::Malformed(_))));
}

#[test]
fn a_request_cut_anywhere_is_refused() {
    for algorithm in [KeyAlgorithm::P256, KeyAlgorithm::Ed25519, KeyAlgorithm::Rsa2048] {
        let made = request(algorithm);
        for len in 0..made.der().len() {
            let refused = CertificationRequest::from_der(&made.der()[..len]);
            assert!(matches!(refused, Err(RequestError::Malformed(_))), "{len}: {refused:?}");
            CertificationRequest::from_file_contents(&made.der()[..len]).unwrap_err();
        }
    }
}

#[test]
fn what_follows_a_request_is_refused() {
    let made = request(KeyAlgorithm::P256);
    for len in [1, 2, 100] {
        assert_eq!(refusal(&[made.der(), &vec![0; len]].concat()), RequestError::TrailingData(len));
    }
    // Inside of the outermost element.
    let mut inside = parts(made.der());
    inside.push(vec![5, 0]);
    assert!(matches!(refusal(&sequence(&inside)), RequestError::Malformed(_)));
    assert!(matches!(refusal(&changed(|info| info.push(vec![5, 0]))), RequestError::Malformed(_)));
    let attribute =
        |extra: &[u8]| changed(|info| info[3] = tlv(0xa0, &[&tlv(SEQUENCE, &[&[6, 1, 1, 0x31, 0], extra])]));
    CertificationRequest::from_der(&attribute(&[])).unwrap();
    assert_eq!(refusal(&attribute(&[5, 0])), RequestError::Malformed("its attributes"));
}

#[test]
fn a_long_request_is_not_read() {
    let of_len = |len: usize| {
        let fill = changed(|info| info[3] = tlv(0xa0, &[&tlv(SEQUENCE, &[&[6, 1, 1], &tlv(0x31, &[])])])).len();
        let value = tlv(0x31, &[&tlv(OCTET_STRING, &[&vec![0; len - fill]])]);
        changed(|info| info[3] = tlv(0xa0, &[&tlv(SEQUENCE, &[&[6, 1, 1], &value])]))
    };
    CertificationRequest::from_der(&of_len(MAX_LEN - 50)).unwrap();
    let long = of_len(MAX_LEN + 50);
    assert_eq!(refusal(&long), RequestError::TooLong(long.len()));
    let endless = vec![b'-'; 2 * MAX_LEN + 1];
    assert!(matches!(CertificationRequest::from_file_contents(&endless), Err(RequestError::TooLong(_))));
    assert!(matches!(CertificationRequest::from_file_contents(b"nothing"), Err(RequestError::Malformed(_))));
}

#[test]
fn the_signature_must_be_by_the_key_in_the_request() {
    for algorithm in KeyAlgorithm::ALL {
        let [one, other] = [(); 2].map(|()| parts(request(algorithm).der()));
        // The signature of another key, and this one's signature of another request.
        for parts in [[&one[0], &one[1], &other[2]], [&other[0], &other[1], &one[2]]] {
            assert_eq!(refusal(&sequence(&parts.map(Clone::clone))), RequestError::InvalidSignature, "{algorithm}");
        }
        // The key of somebody else, in a request that is signed by one's own.
        let foreign_key = parts(&other[0])[2].clone();
        let mut info = parts(&one[0]);
        info[2] = foreign_key;
        let stolen = sequence(&[sequence(&info), one[1].clone(), one[2].clone()]);
        assert_eq!(refusal(&stolen), RequestError::InvalidSignature, "{algorithm}");
        let mut unaligned = one.clone();
        let last = unaligned[2].len() - 1;
        unaligned[2][last] &= 0xfe;
        let content = unaligned[2].iter().position(|byte| *byte == 0).unwrap();
        unaligned[2][content] = 1; // one bit of the BIT STRING is unused
        assert_eq!(refusal(&sequence(&unaligned)), RequestError::Malformed("its signature"), "{algorithm}");
    }
}

#[test]
fn every_flipped_bit_of_what_is_signed_is_noticed() {
    let made = request(KeyAlgorithm::Ed25519);
    for bit in 0..8 * made.der().len() {
        let mut der = made.der().to_vec();
        der[bit / 8] ^= 1 << (bit % 8);
        CertificationRequest::from_der(&der).expect_err(&format!("bit {bit}"));
    }
}

#[test]
fn the_algorithm_of_the_signature_must_fit_the_key() {
    let identifier = |known: pki_types::AlgorithmIdentifier| tlv(SEQUENCE, &[known.as_ref()]);
    use pki_types::alg_id::*;
    let all = [ECDSA_SHA256, ECDSA_SHA384, ECDSA_SHA512, ED25519, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PSS_SHA256];
    for (algorithm, fitting) in [
        (KeyAlgorithm::P256, &all[..2]),
        (KeyAlgorithm::P384, &all[..2]),
        (KeyAlgorithm::Ed25519, &all[3..4]),
        (KeyAlgorithm::Rsa2048, &all[4..6]),
    ] {
        let mut made = parts(request(algorithm).der());
        for other in all {
            if other == fitting[0] && algorithm != KeyAlgorithm::P384
                || other == ECDSA_SHA384 && algorithm == KeyAlgorithm::P384
            {
                continue; // this is what it was signed with
            }
            made[1] = identifier(other);
            let expected = match fitting.contains(&other) {
                true => RequestError::InvalidSignature,
                false => RequestError::UnsupportedSignature(algorithm),
            };
            assert_eq!(refusal(&sequence(&made)), expected, "{algorithm}");
        }
        // The OID 1.2.840.113549.1.1.5: SHA-1 with RSA.
        made[1] = tlv(SEQUENCE, &[&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 5, 5, 0]]);
        assert_eq!(refusal(&sequence(&made)), RequestError::UnsupportedSignature(algorithm));
    }
}

/// RFC 4055, 5: implementations MUST accept the parameters being absent as well as present. With ECDSA and Ed25519 they are
/// always absent (RFC 5758, 3.2; RFC 8410, 3).
#[test]
fn the_parameters_of_an_rsa_signature_may_be_absent() {
    use pki_types::alg_id::*;
    let mut made = parts(request(KeyAlgorithm::Rsa2048).der());
    made[1] = tlv(SEQUENCE, &[RSA_PKCS1_SHA256.strip_suffix(&[5, 0]).unwrap()]);
    let read = CertificationRequest::from_der(&sequence(&made)).unwrap();
    assert_eq!(read.algorithm(), KeyAlgorithm::Rsa2048);
    let signature = made[2].len() - 1;
    made[2][signature] ^= 1;
    assert_eq!(refusal(&sequence(&made)), RequestError::InvalidSignature);
    for (algorithm, identifier) in [(KeyAlgorithm::P256, ECDSA_SHA256), (KeyAlgorithm::Ed25519, ED25519)] {
        let mut made = parts(request(algorithm).der());
        made[1] = tlv(SEQUENCE, &[identifier.as_ref(), &[5, 0]]);
        assert_eq!(refusal(&sequence(&made)), RequestError::UnsupportedSignature(algorithm));
    }
}

#[test]
fn keys_that_are_not_certified_here_are_refused() {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P521_SHA512).unwrap();
    let p521 = CertificateParams::default().serialize_request(&key).unwrap();
    assert_eq!(refusal(p521.der()), RequestError::UnsupportedKey);

    let malformed = |error: RequestError| assert!(matches!(error, RequestError::Malformed(_)), "{error}");
    // The compressed form of the point, and the point at infinity.
    for point in [[&[2][..], &[7; 32]].concat(), vec![0], vec![], [&[4][..], &[7; 63]].concat()] {
        let change = |info: &mut Vec<Vec<u8>>| {
            let algorithm = parts(&info[2])[0].clone();
            info[2] = tlv(SEQUENCE, &[&algorithm, &tlv(BIT_STRING, &[&[0], &point])]);
        };
        malformed(refusal(&changed(change)));
    }
    // A point that is not on the curve.
    let change = |info: &mut Vec<Vec<u8>>| *info[2].last_mut().unwrap() ^= 1;
    assert_eq!(refusal(&changed(change)), RequestError::InvalidSignature);
}

#[test]
fn rsa_keys_have_a_usual_length_and_exponent() {
    let with = |modulus: &[u8], exponent: &[u8]| {
        let key = tlv(SEQUENCE, &[&tlv(INTEGER, &[modulus]), &tlv(INTEGER, &[exponent])]);
        let algorithm = tlv(SEQUENCE, &[pki_types::alg_id::RSA_ENCRYPTION.as_ref()]);
        let mut made = parts(request(KeyAlgorithm::Rsa2048).der());
        let mut info = parts(&made[0]);
        info[2] = tlv(SEQUENCE, &[&algorithm, &tlv(BIT_STRING, &[&[0], &key])]);
        made[0] = sequence(&info);
        refusal(&sequence(&made))
    };
    let modulus = |bits: usize| [&[0][..], &[0xff; 600][..bits / 8]].concat();
    let f4 = &[1, 0, 1][..];
    for bits in [512, 1024, 2040, 2056, 2560, 4104] {
        assert_eq!(with(&modulus(bits), f4), RequestError::RsaLength(bits));
    }
    let mut short_by_one = vec![0x7f];
    short_by_one.resize(256, 0xff);
    assert_eq!(with(&short_by_one, f4), RequestError::RsaLength(2047));
    for exponent in [&[0][..], &[1], &[3], &[0, 0x80, 1], &[1, 0, 0]] {
        assert_eq!(with(&modulus(2048), exponent), RequestError::WeakExponent, "{exponent:?}");
    }
    assert_eq!(with(&modulus(2048), f4), RequestError::InvalidSignature);
    for bad in [&[][..], &[0xff], &[0, 1]] {
        assert!(matches!(with(bad, f4), RequestError::Malformed(_)), "{bad:?}"); // empty, negative, not the shortest
    }
}

#[test]
fn only_version_1_is_read() {
    for version in [&[1][..], &[0, 0], &[]] {
        let error = refusal(&changed(|info| info[0] = tlv(INTEGER, &[version])));
        assert_eq!(error, RequestError::Malformed("its version"));
    }
}

#[test]
fn a_subject_that_is_no_name_is_refused() {
    for subject in [&[0x30, 2, 0x31, 0][..], &[0x31, 0], &[0x30, 2, 5, 0]] {
        let error = refusal(&changed(|info| info[1] = subject.to_vec()));
        assert_eq!(error, RequestError::Malformed("its subject"));
    }
}

#[test]
fn extensions_are_asked_for_once() {
    let key_usage = || CustomExtension::from_oid_content(&[2, 5, 29, 15], vec![3, 2, 7, 0x80]);
    let made = CertificationRequest::from_der(&asking(vec![key_usage()])).unwrap();
    assert_eq!(made.other_extensions().collect::<Vec<_>>(), [("2.5.29.15".into(), &[3, 2, 7, 0x80][..])]);
    let twice = asking(vec![key_usage(), key_usage()]);
    assert_eq!(refusal(&twice), RequestError::DuplicateExtension("2.5.29.15".into()));

    let oid = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];
    let attribute = |values: &[u8]| tlv(SEQUENCE, &[&oid, &tlv(0x31, &[values])]);
    let with = |attributes: &[Vec<u8>]| changed(|info| info[3] = tlv(0xa0, &[&attributes.concat()]));
    CertificationRequest::from_der(&with(&[attribute(&[0x30, 0])])).unwrap();
    for attributes in [
        vec![attribute(&[])],
        vec![attribute(&[0x30, 0, 0x30, 0])],
        vec![attribute(&[0x30, 0]), attribute(&[0x30, 0])],
        vec![attribute(&[0x30, 2, 5, 0])],
        vec![attribute(&[4, 0])],
    ] {
        assert!(matches!(refusal(&with(&attributes)), RequestError::Malformed(_)), "{attributes:02x?}");
    }
    let error = refusal(&changed(|info| info[3] = vec![0xa1, 0]));
    assert_eq!(error, RequestError::Malformed("its attributes"));
    let error = refusal(&changed(|info| drop(info.pop())));
    assert!(matches!(error, RequestError::Malformed(_)));
}

/// Returns a request for names with these elements.
fn naming(names: &[&[u8]]) -> Vec<u8> {
    asking(vec![CustomExtension::from_oid_content(&[2, 5, 29, 17], tlv(SEQUENCE, names))])
}

#[test]
fn names_are_dns_names_and_addresses() {
    let names = |names: &[&[u8]]| CertificationRequest::from_der(&naming(names)).unwrap().names();
    assert_eq!(names(&[&[0x82, 1, b'a'], &[0x87, 4, 192, 0, 2, 7]]).unwrap(), ["a", "192.0.2.7"]);
    let other_name = [0xa0, 7, 6, 1, 1, 0xa0, 2, 5, 0];
    for (name, kind) in [
        (&other_name[..], "otherName"),
        (&[0x81, 1, b'a'], "rfc822Name"),
        (&[0xa4, 2, 0x30, 0], "directoryName"),
        (&[0x86, 1, b'a'], "uniformResourceIdentifier"),
        (&[0x88, 1, 1], "registeredID"),
    ] {
        assert_eq!(names(&[&[0x82, 1, b'a'], name]).unwrap_err(), RequestError::UnsupportedName(kind));
    }
    assert_eq!(
        names(&[&[0x82, 7, b'1', b'.', b'2', b'.', b'3', b'.', b'4']]).unwrap_err(),
        RequestError::InvalidName("1.2.3.4".into())
    );
    assert!(matches!(names(&[&[0x87, 3, 1, 2, 3]]).unwrap_err(), RequestError::Malformed(_)));

    for bad in [&[][..], &[0x89, 0], &[0x82, 1, 0xe4], &[5, 0]] {
        assert_eq!(refusal(&naming(&[bad])), RequestError::Malformed("its subjectAltName"), "{bad:?}");
    }
    let many: Vec<&[u8]> = vec![&[0x82, 1, b'a']; MAX_NAMES + 1];
    CertificationRequest::from_der(&naming(&many[1..])).unwrap();
    assert_eq!(refusal(&naming(&many)), RequestError::TooManyNames(MAX_NAMES + 1));
}

#[test]
fn refusals_say_what_to_do() {
    let subject = Subject::common_name("x").unwrap();
    for refusal in [
        RequestError::TooLong(9000),
        RequestError::Malformed("its version"),
        RequestError::TrailingData(1),
        RequestError::UnsupportedKey,
        RequestError::RsaLength(1024),
        RequestError::WeakExponent,
        RequestError::UnsupportedSignature(KeyAlgorithm::P256),
        RequestError::InvalidSignature,
        RequestError::DuplicateExtension("2.5.29.15".into()),
        RequestError::TooManyNames(40),
        RequestError::KeyNotAllowed(KeyAlgorithm::P256),
        RequestError::SubjectNotAllowed { requested: subject.clone(), required: subject.clone() },
        RequestError::InvalidSubject(subject),
        RequestError::InvalidName("a b".into()),
        RequestError::UnsupportedName("rfc822Name"),
        RequestError::NameNotAllowed("a".into()),
        RequestError::NameMissing("a".into()),
        RequestError::NoName,
        RequestError::ExtensionNotAllowed("2.5.29.15".into()),
    ] {
        let text = refusal.to_string();
        let (what, advice) = text.rsplit_once("; ").unwrap();
        assert!(what.starts_with("the certification request is refused: ") && !advice.is_empty(), "{text}");
        assert!(!text.contains('\n'));
    }
}

proptest! {
    #[test]
    fn whatever_is_changed_there_is_an_answer(
        algorithm in 0..KeyAlgorithm::ALL.len() - 2, // large RSA keys add time and nothing else
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..6),
    ) {
        let mut der = made(KeyAlgorithm::ALL[algorithm]);
        for (index, value, kind) in changes {
            let at = index.index(der.len());
            match kind {
                0 => der[at] = value,
                1 => der.insert(at, value),
                _ => drop(der.remove(at)),
            }
        }
        if let Ok(request) = CertificationRequest::from_der(&der) {
            // What is accepted can be shown, asked for its names, and read again.
            let (_, _) = (request.subject().to_string(), request.names());
            prop_assert!(CertificationRequest::from_der(request.der()).is_ok());
        }
    }

    #[test]
    fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = CertificationRequest::from_file_contents(&bytes);
        let _ = Subject::from_der(&bytes).map(|subject| (subject.is_plain(), subject.to_string()));
    }
}

/// Returns a request that is made once for each algorithm.
fn made(algorithm: KeyAlgorithm) -> Vec<u8> {
    use std::sync::Mutex;
    static MADE: Mutex<Vec<(KeyAlgorithm, Vec<u8>)>> = Mutex::new(Vec::new());
    let mut all = MADE.lock().unwrap();
    if let Some((_, der)) = all.iter().find(|(of, _)| *of == algorithm) {
        return der.clone();
    }
    let der = request(algorithm).der().to_vec();
    all.push((algorithm, der.clone()));
    der
}

/// A device makes its key itself, and asks with it.
#[test]
fn keys_for_devices_make_requests() {
    for algorithm in [KeyAlgorithm::P256, KeyAlgorithm::P384, KeyAlgorithm::Ed25519] {
        let [key, other] = [(); 2].map(|()| algorithm.new_key().unwrap());
        assert_ne!(key.secret_der(), other.secret_der());
        let options = RequestOptions::new(Subject::common_name("device").unwrap());
        let request = NewRequest::for_key(&key, &options).unwrap();
        assert_eq!(request.request().subject().to_string(), options.subject.to_string());
    }
}
