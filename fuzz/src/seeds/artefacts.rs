//! Seeds for artefacts: vouchers and requests with every field, signed and not, in DER and in BER, in CBOR, and in COSE.

use pki_types::{CertificateDer, UnixTime};
use terse_brski::cms::Unsigned;
use terse_brski::cose;
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Nonce, Pin, Voucher, VoucherRequest};
use terse_testkit::pki::unix_time;
use terse_tls::SignatureScheme;

use super::Seed;
use crate::artefacts::CBOR;
use crate::pki::{INTERMEDIATE, ROOT, SERVER};
use crate::provider::{self, ECDSA_SIGNATURE, SIGNATURE};

/// Returns artefacts that parse.
pub(super) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, voucher) in vouchers() {
        let json = voucher.to_json();
        seeds.push((format!("voucher-{name}"), seed(0, &json)));
        seeds.push((format!("signed-voucher-{name}"), seed(2, &sign(&json, &[SERVER, INTERMEDIATE], None))));
        seeds.push((format!("content-{name}"), seed(3, &json)));
        let cbor = voucher.to_cbor();
        seeds.push((format!("cbor-voucher-{name}"), seed(CBOR, &cbor)));
        seeds.push((format!("cose-voucher-{name}"), seed(CBOR | 2, &cose(&cbor, &[SERVER, INTERMEDIATE]))));
    }
    for (name, request) in requests() {
        let json = request.to_json();
        let signed = sign(&json, &[SERVER], Some(unix_time(0)));
        seeds.push((format!("request-{name}"), seed(1, &json)));
        seeds.push((format!("signed-request-{name}"), seed(2, &signed)));
        seeds.push((format!("signed-request-{name}-ber"), seed(2, &indefinite(&signed))));
        seeds.push((format!("content-{name}"), seed(0x13, &json)));
        let cbor = request.to_cbor();
        seeds.push((format!("cbor-request-{name}"), seed(CBOR | 1, &cbor)));
        seeds.push((format!("cose-request-{name}"), seed(CBOR | 2, &cose(&cbor, &[]))));
        seeds.push((format!("cose-content-{name}"), seed(CBOR | 3, &cbor)));
    }
    seeds.extend(mixed().map(|(name, what, cbor)| (name.to_owned(), seed(what, cbor))));
    let mut status = Status::new(false, Some("the pin differs".into()));
    status.reason_context = Some(r#"{"pin":[1,-2,null,1.5,{}]}"#.into());
    seeds.push(("cbor-status".to_owned(), seed(CBOR | 0x13, &status.to_cbor())));
    seeds
}

fn seed(what: u8, bytes: &[u8]) -> Vec<u8> {
    [&[what], bytes].concat()
}

fn vouchers() -> [(&'static str, Voucher); 3] {
    let refusing = Voucher::new("JADA123456789".into(), Assertion::Logged);
    let mut ephemeral = refusing.clone();
    ephemeral.created_on = Some(unix_time(0));
    ephemeral.nonce = Some(Nonce::of_random(&[7; 16]));
    ephemeral.pins = vec![Pin::Certificate(CertificateDer::from(ROOT))];
    let mut lasting = Voucher::new("JADA \"123456789\"".into(), Assertion::AgentProximity);
    lasting.expires_on = Some(unix_time(3600));
    lasting.last_renewal_date = Some(unix_time(86_400));
    lasting.idevid_issuer = Some([4, 4, 0x30, 2, 0x80, 0].into());
    lasting.domain_cert_revocation_checks = Some(true);
    lasting.pins = vec![Pin::PublicKey([0x30, 0].into()), Pin::PublicKeySha256([8; 32])];
    [("refusing", refusing), ("ephemeral", ephemeral), ("lasting", lasting)]
}

fn requests() -> [(&'static str, VoucherRequest); 3] {
    let offline = VoucherRequest::new("JADA123456789".into());
    let mut of_pledge = offline.clone();
    of_pledge.assertion = Some(Assertion::Proximity);
    of_pledge.nonce = Some(Nonce::of_random(&[7; 16]));
    of_pledge.proximity_registrar = vec![Pin::Certificate(CertificateDer::from(SERVER))];
    let mut of_registrar = of_pledge.clone();
    of_registrar.created_on = Some(unix_time(0));
    of_registrar.idevid_issuer = Some([4, 4, 0x30, 2, 0x80, 0].into());
    of_registrar.proximity_registrar = vec![Pin::PublicKeySha256([8; 32])];
    of_registrar.prior_signed_voucher_request = Some(sign(&of_pledge.to_json(), &[SERVER], None).into());
    [("offline", offline), ("of-pledge", of_pledge), ("of-registrar", of_registrar)]
}

/// Vouchers and requests whose keys are names and SIDs, with indefinite lengths, and headers of every kind.
fn mixed() -> [(&'static str, u8, &'static [u8]); 3] {
    [
        (
            "cbor-voucher-mixed",
            CBOR,
            b"\xbf\x19\x09\x93\xbf\x69assertion\x02\xd8\x2f\x19\x09\x9e\x7f\x61A\x61B\xff\x07\x5f\x44abcd\x44efgh\xff\x18\x64\xa1\x00\x81\xf6\xff\xff",
        ),
        (
            "cbor-request-mixed",
            CBOR | 1,
            b"\xa1\x78\x1cietf-voucher-request:voucher\xa3\x0d\x61A\x04\xf6\x78\x18proximity-registrar-pubk\x420a",
        ),
        (
            "cose-headers",
            CBOR | 2,
            b"\xd2\x9f\x4b\xa3\x01\x26\x02\x81\x18\x20\x18\x20\x41c\xbf\x04\x41k\x61x\xa1\x01\x80\xff\x41p\x58\x40\
              aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd\xff",
        ),
    ]
}

/// Signs as [`cose::Unsigned`] does.
fn cose(content: &[u8], x5bag: &[&[u8]]) -> Vec<u8> {
    let x5bag: Vec<_> = x5bag.iter().map(|certificate| CertificateDer::from(*certificate)).collect();
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let unsigned = cose::Unsigned::new(content, &CertificateDer::from(SERVER), &x5bag, scheme);
    unsigned.expect("the key of the leaf is on P-256").signed(ECDSA_SIGNATURE).expect("it is DER")
}

fn sign(content: &[u8], chain: &[&[u8]], time: Option<UnixTime>) -> Vec<u8> {
    let chain: Vec<_> = chain.iter().map(|certificate| CertificateDer::from(*certificate)).collect();
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let unsigned = Unsigned::new(&provider::accepting(), content, &chain, scheme, time);
    unsigned.expect("the key of the leaf is on P-256").signed(SIGNATURE)
}

/// Returns an element of 256 to 65535 bytes with an indefinite length.
fn indefinite(der: &[u8]) -> Vec<u8> {
    [&der[..1], &[0x80], &der[4..], &[0, 0]].concat()
}
