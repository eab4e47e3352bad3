//! Vouchers that are wrong in one place, each refused for its reason.

use terse_aws_lc::PROVIDER;
use terse_tls::CertificateError;

use super::super::pki::{self, NOW, PKI, at};
use super::registrar::{Registrar, sign, success};
use super::world::{config, config_with};
use super::*;
use crate::certificate::Idevid;
use crate::cms;
use crate::cose::without_certificates;
use crate::pledge::imprint::VerifiedVoucher;
use crate::voucher::{MAX_LEN, Nonce, Pin, Voucher};
use crate::{Malformed, SignatureRefused};

/// Returns why a voucher of this registrar is refused, after the registrar was told no more than that.
fn refusal_with(config: PledgeConfig<Coaps>, registrar: Registrar) -> VoucherRefused {
    let mut world = World::with(config, registrar);
    let AttemptFailed::Voucher(refused) = world.run_to_failure() else { panic!("{:?}", world.events) };
    let resources: Vec<_> = world.registrar.requests.iter().map(|request| request.resource).collect();
    assert_eq!(resources, [Resource::RequestVoucher, Resource::VoucherStatus]);
    let status = &world.registrar.statuses[0];
    assert_eq!((status.status, status.reason.as_deref()), (false, Some("the voucher was not accepted")));
    refused
}

fn refusal(registrar: Registrar) -> VoucherRefused {
    refusal_with(config(Coaps::default()), registrar)
}

/// Returns the registrar whose answer to a voucher request is changed like this.
fn answering(change: impl Fn(Response) -> Response + 'static) -> Registrar {
    let mut honest = Registrar::new();
    Registrar::answering(move |request| {
        (request.resource == Resource::RequestVoucher).then(|| change(honest.answer(request)))
    })
}

/// Returns the registrar whose voucher is changed like this, without a new signature.
fn changing(change: impl Fn(&[u8]) -> Vec<u8> + 'static) -> Registrar {
    answering(move |response| success(Method::Post, format::VOUCHER_COSE, &change(&response.payload)))
}

#[test]
fn every_field_counts() {
    type Case = (fn(&mut Voucher), VoucherRefused);
    let cases: [Case; 9] = [
        (|voucher| voucher.serial_number.push('0'), VoucherRefused::SerialNumber),
        (|voucher| voucher.idevid_issuer = Some([9; 20].into()), VoucherRefused::IdevidIssuer),
        (|voucher| voucher.nonce = Some(Nonce::of_random_bytes(&[8; 16])), VoucherRefused::Nonce),
        (|voucher| voucher.created_on = Some(at(NOW + 302)), VoucherRefused::NotYetValid),
        (|voucher| voucher.expires_on = Some(at(NOW)), VoucherRefused::Expired),
        (|voucher| voucher.domain_cert_revocation_checks = Some(true), VoucherRefused::RevocationChecks),
        (|voucher| voucher.pins.clear(), VoucherRefused::NoPin),
        (
            |voucher| voucher.pins = vec![Pin::Certificate(PKI.stranger.root().clone())],
            VoucherRefused::Registrar(CertificateError::UnknownIssuer),
        ),
        (
            |voucher| voucher.pins = vec![Pin::PublicKeySha256([0; 32])],
            VoucherRefused::Registrar(CertificateError::UnknownIssuer),
        ),
    ];
    for (edit, expected) in cases {
        assert_eq!(refusal(Registrar::issuing(edit)), expected);
    }
    let stranger = Registrar { chain: PKI.other_registrar.chain().to_vec(), ..Registrar::new() };
    assert_eq!(refusal(stranger), VoucherRefused::Registrar(CertificateError::UnknownIssuer));
}

#[test]
fn a_voucher_without_a_nonce_is_accepted_by_policy() {
    let nonceless = || Registrar::issuing(|voucher| voucher.nonce = None);
    World::new(nonceless()).run_to(Phase::Enrolled);
    let strict = config(Coaps::default()).accept_nonceless(false);
    assert_eq!(refusal_with(strict, nonceless()), VoucherRefused::Nonceless);
}

#[test]
fn the_issuer_of_the_idevid_may_be_there() {
    let own = Idevid::read(&PROVIDER, &PKI.idevid.chain()[0], Default::default()).unwrap().issuer.unwrap();
    let with = move |voucher: &mut Voucher| voucher.idevid_issuer = Some(own.clone().into());
    World::new(Registrar::issuing(with)).run_to(Phase::Enrolled);
}

#[test]
fn the_signer_is_the_manufacturer() {
    let unknown = VoucherRefused::Signature(SignatureRefused::Chain(CertificateError::UnknownIssuer));
    let by = |masa: &terse_tls::Credential| Registrar { masa: masa.clone(), ..Registrar::new() };
    assert_eq!(refusal(by(&PKI.other_masa)), unknown);
    let wrong = VoucherRefused::Signature(SignatureRefused::Chain(CertificateError::WrongUsage));
    assert_eq!(refusal(by(&PKI.registrar)), wrong);
    assert_eq!(refusal(by(&PKI.idevid)), unknown);
    // A web server and a device, which a CA of voucher signers should not have issued.
    let options = terse_pki::LeafOptions::new("masa.maker.example", pki::validity());
    let server = pki::credential(&PKI.vouchers.issue(&options).unwrap());
    assert_eq!(refusal(by(&server)), wrong);
    let options = terse_pki::IdevidOptions::new("WI-6666", NOW - 1_000);
    let device = pki::credential(&PKI.vouchers.issue_idevid(&options).unwrap());
    assert_eq!(refusal(by(&device)), VoucherRefused::SignedByDevice);
}

#[test]
fn a_registrar_removes_the_chain_of_a_signer_that_is_an_anchor_itself() {
    let itself = || {
        let anchors = vec![PKI.vouchers.root().clone(), PKI.masa.chain()[0].clone()];
        config_with(Coaps::default(), PKI.idevid.clone(), anchors)
    };
    let without = || changing(|voucher| without_certificates(voucher).unwrap());
    for registrar in [Registrar::new(), without(), Registrar { is_chain_there: false, ..Registrar::new() }] {
        World::with(itself(), registrar).run_to(Phase::Enrolled);
    }
    // Else the chain must come along: the key of the CA has not signed.
    assert_eq!(refusal(without()), VoucherRefused::Signature(SignatureRefused::Signature));
}

#[test]
fn only_cose_is_accepted() {
    for content_format in [None, Some(0), Some(format::JSON), Some(format::CBOR), Some(281), Some(65_535)] {
        let registrar = answering(move |response| Response { content_format, ..response });
        assert_eq!(refusal(registrar), VoucherRefused::ContentType);
    }
    // The right voucher in the forms of HTTPS.
    let json = pki_voucher().to_json();
    let scheme = terse_tls::SignatureScheme::ECDSA_SECP256R1_SHA256;
    let unsigned = cms::Unsigned::new(&PROVIDER, &json, PKI.masa.chain(), scheme, None).unwrap();
    let cms = unsigned.sign(PKI.masa.key(), &mut SeededRng::new(1)).unwrap();
    for content_type in ["application/voucher-cms+json", "application/voucher-cose+cbor", "application/json"] {
        let mut response = crate::pledge::Response::new(200, &cms);
        response.content_type = Some(content_type.as_bytes());
        let refused = VerifiedVoucher::verify(&config(Coaps::default()), None, &nonce(), &response).err();
        assert_eq!(refused, Some(VoucherRefused::ContentType));
    }
    // Under the name of COSE they do not parse.
    let malformed = VoucherRefused::Signature(SignatureRefused::Malformed(Malformed::Cbor));
    assert_eq!(refusal(changing(move |_| cms.clone())), malformed);
    assert_eq!(refusal(changing(move |_| json.clone())), malformed);
}

fn nonce() -> Nonce {
    Nonce::of_random_bytes(&[7; 16])
}

fn pki_voucher() -> Voucher {
    super::super::registrar::voucher(Some(nonce()), Some(at(NOW)))
}

#[test]
fn content_that_is_no_voucher_is_refused() {
    let json = pki_voucher().to_json();
    for content in [&b""[..], b"\xa0", b"\xf6", b"\xff", b"\xa1\x19\x09\x93\xa0", &json] {
        let forged = sign(content, &PKI.masa, PKI.masa.chain());
        let refused = refusal(changing(move |_| forged.clone()));
        assert!(matches!(refused, VoucherRefused::Malformed(_)), "{refused:?}");
    }
    let long = changing(|_| vec![0xd2; MAX_LEN + 1]);
    let expected = SignatureRefused::Malformed(Malformed::TooLong(MAX_LEN));
    assert_eq!(refusal(long), VoucherRefused::Signature(expected));
}

/// Every bit that is signed, and every place where it is cut off.
#[test]
fn no_byte_can_be_changed() {
    let anchors = vec![PKI.masa.chain()[0].clone()];
    let config = config_with(Coaps::default(), PKI.idevid.clone(), anchors);
    let voucher = sign(&pki_voucher().to_cbor(), &PKI.masa, &[]);
    let verify = |body: &[u8]| {
        let mut response = crate::pledge::Response::new(200, body);
        response.content_type = Some(b"application/voucher+cose");
        VerifiedVoucher::verify(&config, Some(at(NOW)), &nonce(), &response).map(drop)
    };
    assert_eq!(verify(&voucher), Ok(()));
    let mut changed = voucher.clone();
    for place in 0..voucher.len() {
        changed[place] ^= 1 << (place % 8);
        assert!(matches!(verify(&changed), Err(VoucherRefused::Signature(_))), "{place}");
        changed[place] = voucher[place];
        assert!(matches!(verify(&voucher[..place]), Err(VoucherRefused::Signature(_))), "{place}");
    }
    assert!(matches!(verify(&[&voucher[..], &[0]].concat()), Err(VoucherRefused::Signature(_))));
}
