use core::time::Duration;
use std::thread;

use pki_types::{DnsName, IpAddr, ServerName, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage};

use super::*;
use crate::Usage;

/// A time in November 2025.
pub(crate) const NOW: u64 = 1_763_700_000;

pub(crate) fn options(chain: &str) -> AuthorityOptions {
    AuthorityOptions::new(chain.parse().unwrap(), Validity::days(NOW, 365))
}

fn leaf(name: &str) -> LeafOptions {
    LeafOptions::new(name, Validity::days(NOW, 365))
}

pub(crate) fn verify(
    authority: &Authority,
    credential: &Credential,
    usage: KeyUsage,
    at: u64,
) -> Result<(), webpki::Error> {
    let anchors = [webpki::anchor_from_trusted_cert(authority.root()).unwrap()];
    let time = UnixTime::since_unix_epoch(Duration::from_secs(at));
    let intermediates = &credential.chain()[1..];
    EndEntityCert::try_from(credential.leaf())?
        .verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, intermediates, time, usage, None, None)
        .map(|_| ())
}

#[test]
fn every_algorithm_and_chain_length_validates() {
    thread::scope(|scope| {
        for algorithm in KeyAlgorithm::ALL {
            scope.spawn(move || {
                for length in 2..=4 {
                    let authority = Authority::new(&options(&format!("{algorithm}x{length}"))).unwrap();
                    let credential = authority.issue(&leaf("broker.plant.example")).unwrap();
                    assert_eq!(credential.chain().len(), length - 1);
                    assert_eq!(authority.algorithm(), Some(algorithm));
                    for usage in [KeyUsage::server_auth(), KeyUsage::client_auth()] {
                        verify(&authority, &credential, usage, NOW).unwrap();
                    }
                    let name = ServerName::DnsName(DnsName::try_from("broker.plant.example").unwrap());
                    let end_entity = EndEntityCert::try_from(credential.leaf()).unwrap();
                    end_entity.verify_is_valid_for_subject_name(&name).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_renewed_leaf_has_the_old_key() {
    for chain in ["p256x3", "ed25519x2"] {
        let authority = Authority::new(&options(chain)).unwrap();
        let old = authority.issue(&leaf("old.example")).unwrap();
        let new = authority.renew(&old, &leaf("new.example")).unwrap();
        assert_eq!(new.key().secret_der(), old.key().secret_der());
        let (old, new) = (parse(old.leaf()).unwrap(), parse(new.leaf()).unwrap());
        assert_eq!(new.public_key().raw, old.public_key().raw);
        assert_eq!(new.subject().to_string(), "CN=new.example");
        assert_ne!(new.raw_serial(), old.raw_serial());
        assert!(is_issued_by(&new, &parse(authority.certificates().last().unwrap()).unwrap()));
    }
}

#[test]
fn a_leaf_has_its_own_algorithm_names_and_serial() {
    let authority = Authority::new(&options("p384x3")).unwrap();
    let mut options = leaf("10.0.0.7");
    options.names.extend(["::1".into(), "*.plant.example".into()]);
    options.algorithm = Some(KeyAlgorithm::Ed25519);
    options.serial = Some(5);
    let credential = authority.issue(&options).unwrap();

    let certificate = parse(credential.leaf()).unwrap();
    assert_eq!(certificate.raw_serial(), [5]);
    assert_eq!(certificate.subject().to_string(), "CN=10.0.0.7");
    assert_eq!(KeyAlgorithm::of(&KeyPair::try_from(credential.key()).unwrap()), Some(KeyAlgorithm::Ed25519));
    let end_entity = EndEntityCert::try_from(credential.leaf()).unwrap();
    for name in ["10.0.0.7", "::1"] {
        let name = ServerName::IpAddress(IpAddr::try_from(name).unwrap());
        end_entity.verify_is_valid_for_subject_name(&name).unwrap();
    }
    let valid_for = |name| end_entity.verify_is_valid_for_subject_name(&ServerName::try_from(name).unwrap()).is_ok();
    assert!(valid_for("sensor1.plant.example"));
    assert!(!valid_for("plant.example"));
}

#[test]
fn usage_and_validity_are_enforced() {
    let authority = Authority::new(&options("p256x3")).unwrap();
    let mut client = leaf("sensor1.plant.example");
    client.usage = Usage::Client;
    client.validity = Validity { not_before: NOW + 100, not_after: NOW + 200 };
    let credential = authority.issue(&client).unwrap();

    verify(&authority, &credential, KeyUsage::client_auth(), NOW + 150).unwrap();
    let at = |time| verify(&authority, &credential, KeyUsage::client_auth(), time).unwrap_err();
    assert!(matches!(at(NOW + 99), webpki::Error::CertNotValidYet { .. }));
    assert!(matches!(at(NOW + 201), webpki::Error::CertExpired { .. }));
    let server = verify(&authority, &credential, KeyUsage::server_auth(), NOW + 150).unwrap_err();
    assert!(matches!(server, webpki::Error::RequiredEkuNotFoundContext(_)), "{server:?}");
}

#[test]
fn another_ca_of_the_same_name_is_not_trusted() {
    let [one, other] = [(); 2].map(|()| Authority::new(&options("p256x2")).unwrap());
    let credential = one.issue(&leaf("broker.plant.example")).unwrap();
    let error = verify(&other, &credential, KeyUsage::server_auth(), NOW).unwrap_err();
    assert_eq!(error, webpki::Error::InvalidSignatureForPublicKey);
}

#[test]
fn certificates_stay_small() {
    let authority = Authority::new(&options("p256x3")).unwrap();
    let credential = authority.issue(&leaf("broker.plant.example")).unwrap();
    let sizes = [0, 1].map(|at| {
        let certificate = &credential.chain()[at];
        // An ECDSA signature has 70 to 72 bytes, and very rarely fewer.
        certificate.len() - parse(certificate).unwrap().signature_value.data.len()
    });
    assert_eq!(sizes, [321, 261]);
}

#[test]
fn a_long_name_stands_in_the_alternative_names_only() {
    let authority = Authority::new(&options("p256x2")).unwrap();
    let name = format!("{}.plant.example", "a".repeat(60));
    let credential = authority.issue(&leaf(&name)).unwrap();
    assert_eq!(parse(credential.leaf()).unwrap().subject().iter().count(), 0);
    verify(&authority, &credential, KeyUsage::server_auth(), NOW).unwrap();
}

#[test]
fn what_cannot_be_issued_is_refused() {
    let authority = Authority::new(&options("p256x2")).unwrap();
    for name in ["", "a/b", "Müller", "plant.example.", "*", "*.*.example", "a..b", "../etc"] {
        let error = authority.issue(&leaf(name)).unwrap_err();
        assert!(matches!(error, Error::InvalidName(_)), "{name:?}: {error}");
    }
    let none = LeafOptions { names: Vec::new(), ..leaf("") };
    assert!(matches!(authority.issue(&none), Err(Error::NoName)));
    for (not_before, not_after) in [(5, 5), (5, 4), (0, 253_402_300_800), (0, u64::MAX)] {
        let options = LeafOptions { validity: Validity { not_before, not_after }, ..leaf("a.example") };
        assert!(matches!(authority.issue(&options), Err(Error::InvalidValidity)), "{not_before}..{not_after}");
    }
    for name in [" ", "a\nb", &"x".repeat(61)] {
        let options = AuthorityOptions { name: name.into(), ..options("p256x2") };
        assert!(matches!(Authority::new(&options), Err(Error::InvalidName(_))), "{name:?}");
    }
}

#[test]
fn chains_have_names() {
    for chain in ["p256x2", "ed25519x8", "rsa4096x3"] {
        assert_eq!(chain.parse::<Chain>().unwrap().to_string(), chain);
    }
    for chain in ["p256", "p256x1", "p256x9", "p256x", "p256x-3", ""] {
        assert!(matches!(chain.parse::<Chain>(), Err(Error::InvalidChain(_))), "{chain:?}");
    }
    assert!(matches!("rsa512x3".parse::<Chain>(), Err(Error::UnknownAlgorithm(_))));
}

#[test]
fn keys_do_not_print_and_open_with_their_passphrase() {
    let authority = Authority::new(&options("ed25519x2")).unwrap();
    let credential = authority.issue(&leaf("a.example")).unwrap();
    assert_eq!(format!("{credential:?}"), "Credential { certificates: 1, .. }");
    assert_eq!(format!("{authority:?}"), "Authority { levels: 1, .. }");

    let pem = credential.encrypted_key_pem(b"correct horse").unwrap();
    let (label, der) = pkcs8::SecretDocument::from_pem(&pem).unwrap();
    assert_eq!(label, "ENCRYPTED PRIVATE KEY");
    let encrypted = pkcs8::EncryptedPrivateKeyInfoRef::try_from(der.as_bytes()).unwrap();
    assert_eq!(encrypted.decrypt("correct horse").unwrap().as_bytes(), credential.key().secret_der());
    assert!(encrypted.decrypt("battery staple").is_err());
}

/// Returns the value of an extension of a certificate, and whether it is critical.
fn extension(certificate: &CertificateDer<'_>, oid: &str) -> Option<(Vec<u8>, bool)> {
    let certificate = parse(certificate).unwrap();
    let found = certificate.iter_extensions().find(|one| one.oid.to_id_string() == oid);
    found.map(|one| (one.value.to_vec(), one.critical))
}

#[test]
fn key_identifiers_name_each_key_and_its_issuer() {
    for chain in ["p256x4", "ed25519x2", "rsa2048x3"] {
        let authority = Authority::new(&AuthorityOptions { key_identifiers: true, ..options(chain) }).unwrap();
        assert!(authority.has_key_identifiers().unwrap());
        let credential = authority.issue(&leaf("broker.plant.example")).unwrap();
        let mut issuer: Option<[u8; 20]> = None;
        for certificate in authority.certificates().chain([credential.leaf()]) {
            let own = identifier::of_key(&parse(certificate).unwrap().public_key().subject_public_key.data);
            let is_leaf = certificate == credential.leaf();
            let expected = (!is_leaf).then(|| ([&[4, 20][..], &own].concat(), false));
            assert_eq!(extension(certificate, "2.5.29.14"), expected);
            let expected = issuer.map(|issuer| ([&[0x30, 22, 0x80, 20][..], &issuer].concat(), false));
            assert_eq!(extension(certificate, "2.5.29.35"), expected);
            issuer = Some(own);
        }
        for usage in [KeyUsage::server_auth(), KeyUsage::client_auth()] {
            verify(&authority, &credential, usage, NOW).unwrap();
        }
    }
}

#[test]
fn without_key_identifiers_certificates_have_none() {
    let authority = Authority::new(&options("p256x3")).unwrap();
    assert!(!authority.has_key_identifiers().unwrap());
    let credential = authority.issue(&leaf("broker.plant.example")).unwrap();
    for certificate in authority.certificates().chain([credential.leaf()]) {
        assert_eq!(extension(certificate, "2.5.29.14"), None);
        assert_eq!(extension(certificate, "2.5.29.35"), None);
    }
}

#[test]
fn serial_numbers_are_unique_and_always_sixteen_octets() {
    let mut seen = std::collections::HashSet::new();
    let (mut ones, mut zeros) = ([0; 16], [0; 16]);
    for _ in 0..10_000 {
        let serial = random_serial().unwrap().to_bytes();
        assert_eq!(serial.len(), 16);
        assert!((0x40..0x80).contains(&serial[0])); // positive, and no octet of the DER is left out
        ones.iter_mut().zip(&serial).for_each(|(bits, octet)| *bits |= octet);
        zeros.iter_mut().zip(&serial).for_each(|(bits, octet)| *bits |= !octet);
        assert!(seen.insert(serial));
    }
    assert_eq!((ones[0], zeros[0]), (0x7f, 0xbf));
    assert_eq!((&ones[1..], &zeros[1..]), (&[0xff; 15][..], &[0xff; 15][..])); // each other bit was seen as 0 and as 1
}

#[test]
fn every_kind_of_certificate_has_a_random_serial_number() {
    use crate::{IdevidOptions, LdevidPolicy, NewRequest, RegistrarOptions, RequestOptions, VoucherSignerOptions};
    let authority = Authority::new(&options("p256x3")).unwrap();
    let validity = Validity::days(NOW, 9);
    let subject = Subject::common_name("a.example").unwrap();
    let request = NewRequest::new(&RequestOptions::new(subject.clone())).unwrap();
    let mut serials = std::collections::HashSet::new();
    for _ in 0..20 {
        let chains = [
            authority.issue(&leaf("a.example")).unwrap().chain().to_vec(),
            authority.issue_idevid(&IdevidOptions::new("1", NOW)).unwrap().chain().to_vec(),
            authority.issue_registrar(&RegistrarOptions::new("a.example", validity)).unwrap().chain().to_vec(),
            authority.issue_voucher_signer(&VoucherSignerOptions::new("a", validity)).unwrap().chain().to_vec(),
            authority.issue_ldevid(request.request(), &LdevidPolicy::new(subject.clone(), validity)).unwrap(),
        ];
        for chain in chains {
            let serial = parse(&chain[0]).unwrap().raw_serial().to_vec();
            assert_eq!(serial.len(), 16);
            assert!(serials.insert(serial));
        }
    }
    for certificate in authority.certificates() {
        assert_eq!(parse(certificate).unwrap().raw_serial().len(), 16);
    }
}
