//! Seeds for whole requests to registrar and MASA, and for the answers between them.

use terse_brski::artefact::Format;
use terse_brski::http::{VOUCHER_CMS_JSON, VOUCHER_COSE_CBOR};
use terse_brski::telemetry::Status;
use terse_brski::voucher::{Assertion, Pin, Voucher, VoucherRequest};

use super::{Seed, framed};
use crate::onboarding::{SERIAL, device, domain_chain, pledge_fields, pledge_request, registrar_request, sign};
use crate::pki::{DOMAIN, IDEVID, MAKER};

/// Returns inputs that reach the end of their way, and some that are refused late.
pub(super) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, format, bit) in [("json", Format::CmsJson, 0), ("cbor", Format::CoseCbor, 0x10)] {
        for (kind, fields) in pledges() {
            let body = pledge_request(format, &fields);
            seeds.push((format!("pledge-{kind}-{name}"), seed(0, 0, &[&body])));
            seeds.push((format!("pledge-{kind}-{name}-key"), seed(0, 0x49, &[&body])));
        }
        let body = pledge_request(format, &pledge_fields());
        seeds.push((format!("pledge-chain-{name}"), seed(0, 0, &[&body, IDEVID, MAKER])));
        let accept = format!("{VOUCHER_COSE_CBOR};q=1, {VOUCHER_CMS_JSON}, */*;q=0");
        seeds.push((format!("pledge-accept-{name}"), seed(0x10, 0, &[&body, accept.as_bytes()])));
        for policy in [0, 0x08, 0x47, 0x90] {
            seeds.push((format!("registrar-{name}-{policy:02x}"), seed(1, policy, &[&registrar_request(format)])));
        }
        seeds.push((format!("registrar-offline-{name}"), seed(1, 0x22, &[&offline(format)])));
        for (kind, voucher) in vouchers() {
            let signed = sign(format, &format.encode_voucher(&voucher), &[MAKER.into()]);
            seeds.push((format!("answer-{kind}-{name}"), seed(2 | bit, 0, &[&signed])));
        }
        seeds.push((format!("answer-later-{name}"), seed(2 | bit, 0x43, &[b"wait"])));
    }
    let mut status = Status::new(false, Some("the pin differs".into()));
    status.reason_context = Some(r#"{"pin":[1,-2,null,1.5,{}]}"#.into());
    for (name, status) in [("bad", status), ("good", Status::new(true, None))] {
        seeds.push((format!("status-{name}-json"), seed(0x13, 0, &[&status.to_json()])));
        seeds.push((format!("status-{name}-cbor"), seed(3, 0, &[&status.to_cbor()])));
    }
    seeds
}

fn seed(what: u8, policy: u8, items: &[&[u8]]) -> Vec<u8> {
    [&[what, policy], &framed(items)[..]].concat()
}

fn pledges() -> [(&'static str, VoucherRequest); 3] {
    let good = pledge_fields();
    let (mut by_digest, mut undated) = (good.clone(), good.clone());
    by_digest.proximity_registrar = vec![Pin::PublicKeySha256([8; 32])];
    undated.created_on = None;
    undated.assertion = Some(Assertion::Logged);
    [("good", good), ("digest", by_digest), ("undated", undated)]
}

/// A request for a voucher without a nonce, without the pledge's.
fn offline(format: Format) -> Vec<u8> {
    let mut fields = VoucherRequest::new(SERIAL.into());
    fields.created_on = Some(crate::onboarding::now());
    fields.idevid_issuer = Some(device().idevid_issuer.into());
    sign(format, &format.encode_request(&fields), &domain_chain())
}

fn vouchers() -> [(&'static str, Voucher); 3] {
    let mut good = Voucher::new(SERIAL.into(), Assertion::Proximity);
    good.nonce = pledge_fields().nonce;
    good.created_on = Some(crate::onboarding::now());
    good.pins = vec![Pin::Certificate(DOMAIN.into())];
    let (mut other, mut foreign) = (good.clone(), good.clone());
    other.serial_number = "WI-3006".into();
    foreign.pins = vec![Pin::Certificate(MAKER.into())];
    [("good", good), ("other", other), ("foreign", foreign)]
}
