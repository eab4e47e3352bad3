//! Vouchers that are right, or wrong in one place.

use alloc::boxed::Box;
use alloc::string::ToString as _;
use alloc::sync::Arc;
use core::slice;
use std::vec;

use terse_pki::{LeafOptions, RegistrarOptions, Usage, VoucherSignerOptions};
use terse_testkit::vectors;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{Credential, Date, Trust};

use super::*;
use crate::certificate::Idevid;
use crate::cms::Signed;
use crate::pledge::Paths;
use crate::pledge::form::{Https, Steps as _};
use crate::pledge::tests::pki::{NOW, PKI, at, authority, config, credential, validity};
use crate::pledge::tests::registrar::{sign, voucher};

fn nonce() -> Nonce {
    Nonce::of_random(&[7; 16])
}

/// Returns the voucher that answers a request with [`nonce`].
fn right() -> Voucher {
    voucher(Some(nonce()), Some(at(NOW)))
}

fn response(body: &[u8]) -> Response<'_> {
    let mut response = Response::new(200, body);
    response.content_type = Some(Https::NAMES.voucher_type.as_bytes());
    response
}

/// Takes a voucher in, with a signature of this signer, on a connection to a registrar with `chain`. Whether paths are built makes no
/// difference.
fn take(
    config: &PledgeConfig,
    time: Option<UnixTime>,
    voucher: &Voucher,
    signer: &Credential,
    chain: &[CertificateDer<'_>],
) -> Result<Assertion, VoucherRefused> {
    let body = sign(&voucher.to_json(), signer, Some(at(NOW)));
    let take = |config: &PledgeConfig, chain: &[CertificateDer<'_>]| {
        let voucher = VerifiedVoucher::verify(config, time, &nonce(), &response(&body))?;
        voucher.imprint(config, time, Presented::Chain(chain)).map(|imprint| imprint.assertion)
    };
    let taken = take(config, chain);
    let paths: Paths = Trust::without_path_building;
    let (idevid, anchors) = (config.idevid.clone(), config.manufacturer.clone());
    let in_order = PledgeConfig::with_paths(Https, &config.provider, idevid, anchors, Default::default(), paths);
    let PledgeConfig { manufacturer_trust, has_device_ca, .. } = in_order.unwrap();
    let in_order = PledgeConfig { paths, manufacturer_trust, has_device_ca, ..config.clone() };
    assert_eq!(take(&in_order, chain), taken);
    // The certificates above the leaf may come in any order.
    let above = chain.iter().skip(1).rev();
    let reversed: Vec<_> = chain.iter().take(1).chain(above).cloned().collect();
    assert_eq!((take(config, &reversed), take(&in_order, &reversed)), (taken, taken));
    taken
}

fn take_right(config: &PledgeConfig, edit: impl Fn(&mut Voucher)) -> Result<Assertion, VoucherRefused> {
    let mut voucher = right();
    edit(&mut voucher);
    take(config, Some(at(NOW)), &voucher, &PKI.masa, PKI.registrar.chain())
}

#[test]
fn a_voucher_is_for_this_device_and_this_request() {
    let config = config();
    assert_eq!(take_right(&config, |_| {}), Ok(Assertion::Proximity));
    assert_eq!(take_right(&config, |voucher| voucher.assertion = Assertion::Logged), Ok(Assertion::Logged));
    let other = |voucher: &mut Voucher| voucher.serial_number.push('0');
    assert_eq!(take_right(&config, other), Err(VoucherRefused::SerialNumber));
    let other = |voucher: &mut Voucher| voucher.nonce = Some(Nonce::of_random(&[8; 16]));
    assert_eq!(take_right(&config, other), Err(VoucherRefused::Nonce));
}

#[test]
fn a_voucher_without_a_nonce_is_accepted_by_policy() {
    let nonceless = |voucher: &mut Voucher| voucher.nonce = None;
    assert_eq!(take_right(&config(), nonceless), Ok(Assertion::Proximity));
    let config = config().accept_nonceless(false);
    assert_eq!(take_right(&config, nonceless), Err(VoucherRefused::Nonceless));
    assert_eq!(take_right(&config, |_| {}), Ok(Assertion::Proximity));
}

#[test]
fn the_issuer_of_the_idevid_is_compared_if_it_is_there() {
    let config = config();
    let own = Idevid::read(&config.provider, &PKI.idevid.chain()[0], Default::default()).unwrap().issuer.unwrap();
    // The extnValue: an OCTET STRING, with the SEQUENCE, with the key identifier of 20 bytes.
    for form in [&own[..], &own[2..], &own[own.len() - 20..]] {
        let with = |voucher: &mut Voucher| voucher.idevid_issuer = Some(form.into());
        assert_eq!(take_right(&config, with), Ok(Assertion::Proximity));
    }
    let with = |voucher: &mut Voucher| voucher.idevid_issuer = Some([9; 20].into());
    assert_eq!(take_right(&config, with), Err(VoucherRefused::IdevidIssuer));
    let unknown = PledgeConfig { issuer: None, ..config };
    let with = |voucher: &mut Voucher| voucher.idevid_issuer = Some(own.clone().into());
    assert_eq!(take_right(&unknown, with), Err(VoucherRefused::IdevidIssuer));
}

#[test]
fn a_voucher_that_refuses_or_needs_revocation_is_refused() {
    let config = config();
    assert_eq!(take_right(&config, |voucher| voucher.pins.clear()), Err(VoucherRefused::NoPin));
    let checks = |value| move |voucher: &mut Voucher| voucher.domain_cert_revocation_checks = value;
    assert_eq!(take_right(&config, checks(Some(true))), Err(VoucherRefused::RevocationChecks));
    assert_eq!(take_right(&config, checks(None)), Ok(Assertion::Proximity));
}

#[test]
fn dates_count_if_there_is_a_clock() {
    let config = config();
    type Case = (fn(&mut Voucher), Result<Assertion, VoucherRefused>);
    let cases: [Case; 5] = [
        (|voucher| voucher.created_on = Some(at(NOW + 300)), Ok(Assertion::Proximity)),
        (|voucher| voucher.created_on = Some(at(NOW + 301)), Err(VoucherRefused::NotYetValid)),
        (|voucher| voucher.expires_on = Some(at(NOW)), Ok(Assertion::Proximity)),
        (|voucher| voucher.expires_on = Some(at(NOW - 1)), Err(VoucherRefused::Expired)),
        (|voucher| voucher.created_on = None, Ok(Assertion::Proximity)),
    ];
    for (number, (edit, expected)) in cases.into_iter().enumerate() {
        assert_eq!(take_right(&config, edit), expected, "case {number}");
        let mut voucher = right();
        edit(&mut voucher);
        let without_clock = take(&config, None, &voucher, &PKI.masa, PKI.registrar.chain());
        assert_eq!(without_clock, Ok(Assertion::Proximity), "case {number}");
    }
    // signingTime counts as well.
    let body = sign(&right().to_json(), &PKI.masa, Some(at(NOW + 301)));
    let verify = |time| VerifiedVoucher::verify(&config, time, &nonce(), &response(&body)).err();
    assert_eq!(verify(Some(at(NOW))), Some(VoucherRefused::NotYetValid));
    assert_eq!(verify(None), None);
}

#[test]
fn the_signer_is_the_manufacturer() {
    let (config, registrar) = (config(), PKI.registrar.chain());
    let by = |signer: &Credential, time| take(&config, time, &right(), signer, registrar);
    let unknown = VoucherRefused::Signature(SignatureRefused::Chain(CertificateError::UnknownIssuer));
    assert_eq!(by(&PKI.other_masa, Some(at(NOW))), Err(unknown));
    assert_eq!(by(&PKI.other_masa, None), Err(unknown));
    let wrong = VoucherRefused::Signature(SignatureRefused::Chain(CertificateError::WrongUsage));
    assert_eq!(by(&PKI.registrar, Some(at(NOW))), Err(wrong));

    // Dates of the signer's certificate.
    let ended = terse_pki::Validity { not_before: NOW - 1_000, not_after: NOW - 1 };
    let ended = credential(&PKI.vouchers.issue_voucher_signer(&VoucherSignerOptions::new("MASA", ended)).unwrap());
    let expired = CertificateError::Expired { depth: 0, not_after: Date::of(at(NOW - 1)) };
    let expired = VoucherRefused::Signature(SignatureRefused::Chain(expired));
    assert_eq!(by(&ended, Some(at(NOW))), Err(expired));
    assert_eq!(by(&ended, None), Ok(Assertion::Proximity));

    // A signer that is an anchor itself.
    let anchors = vec![PKI.other_masa.chain()[0].clone()];
    let itself = PledgeConfig::new(&config.provider, PKI.idevid.clone(), anchors).unwrap();
    let by = |signer: &Credential| take(&itself, Some(at(NOW)), &right(), signer, registrar);
    assert_eq!(by(&PKI.other_masa), Ok(Assertion::Proximity));
    assert!(matches!(by(&PKI.masa), Err(VoucherRefused::Signature(SignatureRefused::Chain(_)))));
}

#[test]
fn a_device_cannot_make_vouchers_for_others() {
    // Its certificate leads to the same anchor as that of the MASA, which it should not.
    let options = terse_pki::IdevidOptions::new("WI-6666", NOW - 1_000);
    let device = credential(&PKI.vouchers.issue_idevid(&options).unwrap());
    let refused = take(&config(), Some(at(NOW)), &right(), &device, PKI.registrar.chain());
    assert_eq!(refused, Err(VoucherRefused::SignedByDevice));
    let unknown = VoucherRefused::Signature(SignatureRefused::Chain(CertificateError::UnknownIssuer));
    let itself = take(&config(), Some(at(NOW)), &right(), &PKI.idevid, PKI.registrar.chain());
    assert_eq!(itself, Err(unknown));
}

/// A rogue registrar has the key of the MASA's web server.
#[test]
fn the_key_of_a_web_server_makes_no_voucher() {
    let server = LeafOptions { usage: Usage::Server, ..LeafOptions::new("masa.maker.example", validity()) };
    let by = |config: &PledgeConfig, ca: &terse_pki::Authority| {
        let thief = credential(&ca.issue(&server).unwrap());
        take(config, Some(at(NOW)), &right(), &thief, PKI.registrar.chain())
    };
    // Below the CA of voucher signers, which should not have issued it; below the one of the devices; below a stranger's.
    let wrong = VoucherRefused::Signature(SignatureRefused::Chain(CertificateError::WrongUsage));
    for ca in [&PKI.vouchers, &PKI.maker, &PKI.stranger] {
        assert_eq!(by(&config(), ca), Err(wrong));
    }
}

/// A device that was made when one CA issued devices, the web server and the voucher signer.
#[test]
fn a_ca_that_issues_devices_vouches_for_no_signer() {
    let signer = credential(&PKI.maker.issue_voucher_signer(&VoucherSignerOptions::new("MASA", validity())).unwrap());
    let of = |anchors: &[&CertificateDer<'static>]| {
        let anchors = anchors.iter().copied().cloned().collect();
        PledgeConfig::new(&terse_aws_lc::PROVIDER, PKI.idevid.clone(), anchors).unwrap()
    };
    let by = |config: &PledgeConfig, signer: &Credential| {
        take(config, Some(at(NOW)), &right(), signer, PKI.registrar.chain())
    };
    let (ca, itself) = (PKI.maker.root(), &signer.chain()[0]);
    let refused = by(&of(&[ca]), &signer);
    assert_eq!(refused, Err(VoucherRefused::UnknownSigner));
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("give the device the certificate of the voucher signer"), "{text}");
    // As devices were made: the CA, and the signer itself.
    let both = of(&[ca, itself]);
    assert_eq!(by(&both, &signer), Ok(Assertion::Proximity));
    let wrong = VoucherRefused::Signature(SignatureRefused::Chain(CertificateError::WrongUsage));
    let server = credential(&PKI.maker.issue(&LeafOptions::new("masa.maker.example", validity())).unwrap());
    assert_eq!(by(&both, &server), Err(wrong));
    let other = credential(&PKI.maker.issue_voucher_signer(&VoucherSignerOptions::new("MASA", validity())).unwrap());
    assert_eq!(by(&both, &other), Err(VoucherRefused::UnknownSigner));
    assert_eq!(by(&both, &PKI.idevid), Err(VoucherRefused::UnknownSigner));
    // Another CA beside it.
    assert_eq!(by(&of(&[ca, PKI.vouchers.root()]), &PKI.masa), Ok(Assertion::Proximity));
}

/// Takes a voucher in that pins this.
fn take_pins(config: &PledgeConfig, pins: &[Pin], chain: &[CertificateDer<'_>]) -> Result<Assertion, VoucherRefused> {
    let mut voucher = right();
    voucher.pins = pins.into();
    let results = [Some(at(NOW)), None].map(|time| take(config, time, &voucher, &PKI.masa, chain));
    assert_eq!(results[0], results[1], "with and without a clock");
    results[0]
}

fn key_of(certificate: &CertificateDer<'_>) -> Box<[u8]> {
    public_key(certificate).unwrap().into()
}

fn hash_of(config: &PledgeConfig, certificate: &CertificateDer<'_>) -> [u8; 32] {
    config.provider.sha256.hash(&[&key_of(certificate)]).as_ref().try_into().unwrap()
}

#[test]
fn the_registrar_or_a_ca_above_it_is_pinned() {
    let config = config();
    let chain = PKI.registrar.chain();
    let (root, intermediate) = (PKI.domain.root(), &chain[1]);
    let right = [
        Pin::Certificate(root.clone()),
        Pin::Certificate(intermediate.clone()),
        Pin::Certificate(chain[0].clone()),
        Pin::PublicKey(key_of(&chain[0])),
        Pin::PublicKey(key_of(intermediate)),
        Pin::PublicKeySha256(hash_of(&config, &chain[0])),
        Pin::PublicKeySha256(hash_of(&config, intermediate)),
    ];
    for pin in right {
        assert_eq!(take_pins(&config, slice::from_ref(&pin), chain), Ok(Assertion::Proximity), "{pin:?}");
    }
    let (other_root, other_leaf) = (PKI.stranger.root(), &PKI.other_registrar.chain()[0]);
    let unknown = Err(VoucherRefused::Registrar(CertificateError::UnknownIssuer));
    let wrong = [
        Pin::Certificate(other_root.clone()),
        Pin::Certificate(other_leaf.clone()),
        Pin::PublicKey(key_of(other_leaf)),
        Pin::PublicKeySha256(hash_of(&config, other_leaf)),
        // The root was not presented, and only its key is known.
        Pin::PublicKey(key_of(root)),
    ];
    for pin in wrong {
        assert_eq!(take_pins(&config, slice::from_ref(&pin), chain), unknown, "{pin:?}");
    }
    let malformed = Pin::Certificate(b"\x30\x00".to_vec().into());
    assert!(matches!(take_pins(&config, &[malformed], chain), Err(VoucherRefused::Registrar(_))));
    let no_chain = take_pins(&config, &[Pin::Certificate(root.clone())], &[]);
    assert_eq!(no_chain, Err(VoucherRefused::Registrar(CertificateError::Required)));
}

#[test]
fn a_presented_ca_with_the_pinned_key_must_have_issued_the_registrar() {
    // Somebody shows the certificate with the pinned key above a registrar of their own.
    let config = config();
    let pinned = &PKI.registrar.chain()[1];
    let chain = vec![PKI.other_registrar.chain()[0].clone(), pinned.clone()];
    let pins = [
        Pin::PublicKey(key_of(pinned)),
        Pin::PublicKeySha256(hash_of(&config, pinned)),
        Pin::Certificate(pinned.clone()),
    ];
    for pin in pins {
        let refused = take_pins(&config, &[pin], &chain);
        assert_eq!(refused, Err(VoucherRefused::Registrar(CertificateError::UnknownIssuer)));
    }
}

#[test]
fn of_several_pins_the_certificate_counts() {
    let config = config();
    let chain = PKI.registrar.chain();
    let (right, wrong) = (Pin::Certificate(PKI.domain.root().clone()), Pin::Certificate(PKI.stranger.root().clone()));
    let (right_key, wrong_key) = (Pin::PublicKey(key_of(&chain[0])), Pin::PublicKeySha256([0; 32]));
    let unknown = Err(VoucherRefused::Registrar(CertificateError::UnknownIssuer));
    for (pins, expected) in [
        ([right.clone(), wrong_key.clone()], Ok(Assertion::Proximity)),
        ([wrong_key, right], Ok(Assertion::Proximity)),
        ([wrong.clone(), right_key.clone()], unknown),
        ([right_key, wrong], unknown),
    ] {
        assert_eq!(take_pins(&config, &pins, chain), expected, "{pins:?}");
        // In whatever order an encoding has them.
        let voucher = VerifiedVoucher(Voucher { pins: pins.to_vec(), ..self::right() });
        let imprint = voucher.imprint(&config, Some(at(NOW)), Presented::Chain(chain));
        assert_eq!(imprint.map(|imprint| imprint.assertion), expected, "{pins:?}");
    }
}

#[test]
fn a_long_voucher_is_not_read() {
    let body = vec![0x30; crate::voucher::MAX_LEN + 1];
    let refused = VerifiedVoucher::verify(&config(), None, &nonce(), &response(&body)).err();
    let expected = SignatureRefused::Malformed(crate::Malformed::TooLong(crate::voucher::MAX_LEN));
    assert_eq!(refused, Some(VoucherRefused::Signature(expected)));
}

#[test]
fn a_holder_of_any_certificate_of_the_domain_is_no_registrar() {
    let config = config();
    let leaf = credential(&PKI.domain.issue(&LeafOptions::new("printer.plant.example", validity())).unwrap());
    let pin = [Pin::Certificate(PKI.domain.root().clone())];
    let refused = take_pins(&config, &pin, leaf.chain());
    assert_eq!(refused, Err(VoucherRefused::Registrar(CertificateError::WrongUsage)));
    let lax = config.clone().require_cmc_ra(false);
    assert_eq!(take_pins(&lax, &pin, leaf.chain()), Ok(Assertion::Proximity));
    // A pinned key needs no usage: the MASA has named this very registrar.
    let itself = [Pin::Certificate(leaf.chain()[0].clone())];
    assert_eq!(take_pins(&config, &itself, leaf.chain()), Ok(Assertion::Proximity));
}

#[test]
fn a_self_signed_registrar_can_be_pinned() {
    let root = authority("Registrar", "p256x2").root().clone();
    let chain = [root.clone()];
    assert_eq!(take_pins(&config(), &[Pin::Certificate(root)], &chain), Ok(Assertion::Proximity));
}

#[test]
fn dates_of_the_registrar_count_if_there_is_a_clock() {
    let config = config();
    let ended = terse_pki::Validity { not_before: NOW - 1_000, not_after: NOW - 1 };
    let later = terse_pki::Validity { not_before: NOW + 1, not_after: NOW + 1_000 };
    for validity in [ended, later] {
        let options = RegistrarOptions::new("registrar.plant.example", validity);
        let registrar = credential(&PKI.domain.issue_registrar(&options).unwrap());
        let chain = registrar.chain();
        let expected = match validity == ended {
            true => CertificateError::Expired { depth: 0, not_after: Date::of(at(ended.not_after)) },
            false => CertificateError::NotYetValid { depth: 0, not_before: Date::of(at(later.not_before)) },
        };
        for pin in [PKI.domain.root(), &chain[0]] {
            let mut voucher = right();
            voucher.pins = vec![Pin::Certificate(pin.clone())];
            let with_clock = take(&config, Some(at(NOW)), &voucher, &PKI.masa, chain);
            assert_eq!(with_clock, Err(VoucherRefused::Registrar(expected)));
            assert_eq!(take(&config, None, &voucher, &PKI.masa, chain), Ok(Assertion::Proximity));
        }
    }
}

#[test]
fn content_that_is_no_voucher_is_refused() {
    let config = config();
    for content in [&b""[..], b"{}", b"[]", b"null", b"\xff", br#"{"ietf-voucher:voucher":{}}"#] {
        let body = sign(content, &PKI.masa, None);
        let refused = VerifiedVoucher::verify(&config, None, &nonce(), &response(&body)).err();
        assert!(matches!(refused, Some(VoucherRefused::Malformed(_))), "{refused:?}");
    }
}

/// The key of a device whose private half is not there.
struct Elsewhere(vec::Vec<u8>);

impl SigningKey for Elsewhere {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ECDSA_SECP256R1_SHA256]
    }

    fn public_key(&self) -> pki_types::SubjectPublicKeyInfoDer<'_> {
        self.0.as_slice().into()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

#[test]
fn the_voucher_of_the_rfc_is_accepted_by_its_device() {
    let text = |name: &str| vectors::text(&std::format!("brski/rfc8995/{name}"));
    let certificate = |name: &str| {
        use pki_types::pem::PemObject as _;
        text(name).map(|pem| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
    };
    let artefact = |name: &str| {
        text(name).map(|base64| {
            let digits: vec::Vec<u8> = base64.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            crate::est::decode_body(&digits, "vector").unwrap()
        })
    };
    let (Some(idevid), Some(vendor), Some(registrar), Some(request), Some(voucher)) = (
        certificate("idevid_00-D0-E5-F2-00-02.crt"),
        certificate("vendor.crt"),
        certificate("jrc_prime256v1.crt"),
        artefact("vr_00-D0-E5-F2-00-02.b64"),
        artefact("voucher_00-D0-E5-F2-00-02.b64"),
    ) else {
        return; // `vectors` has said that they are skipped
    };
    let key = Arc::new(Elsewhere(key_of(&idevid).into()));
    let idevid = Credential::new(vec![idevid], key).unwrap();
    // The CA of the device has issued the signer as well, so that the device must have the signer's own certificate.
    let signer = Signed::verify(&terse_aws_lc::PROVIDER, &voucher, &[]).unwrap().chain.swap_remove(0);
    let config = |anchor| PledgeConfig::new(&terse_aws_lc::PROVIDER, idevid.clone(), vec![anchor]).unwrap();
    let (config, by_ca) = (config(signer), config(vendor));
    assert_eq!(config.serial_number(), "00-D0-E5-F2-00-02");

    let request = Signed::verify(&config.provider, &request, &[]).unwrap();
    let request = crate::voucher::VoucherRequest::from_json(&request.content).unwrap();
    let nonce = request.nonce.unwrap();
    let date = Some(request.created_on.unwrap());
    for time in [date, None] {
        let verified = VerifiedVoucher::verify(&config, time, &nonce, &response(&voucher));
        let imprint =
            verified.and_then(|voucher| voucher.imprint(&config, time, Presented::Chain(slice::from_ref(&registrar))));
        assert_eq!(imprint.map(|imprint| imprint.assertion), Ok(Assertion::Logged));
    }
    let other = VerifiedVoucher::verify(&config, date, &self::nonce(), &response(&voucher)).err();
    assert_eq!(other, Some(VoucherRefused::Nonce));
    let unknown = VerifiedVoucher::verify(&by_ca, date, &nonce, &response(&voucher)).err();
    assert_eq!(unknown, Some(VoucherRefused::UnknownSigner));
}
