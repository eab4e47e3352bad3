//! A registrar and a MASA with fixed certificates, and what is sent between them and a pledge, before somebody changes it.

use core::fmt;
use core::time::Duration;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::artefact::{Format, Unsigned};
use terse_brski::certificate::{Idevid, SerialNumberField};
use terse_brski::cose;
use terse_brski::http::Posted;
use terse_brski::masa::{self, Device, Masa};
use terse_brski::registrar::{self, Manufacturer, Registrar};
use terse_brski::voucher::{Assertion, Nonce, Pin, VoucherRequest};
use terse_testkit::pki::NOW;
use terse_tls::SignatureScheme;

use crate::pki::{DOMAIN, IDEVID, MAKER, REGISTRAR};
use crate::provider::{self, ECDSA_SIGNATURE};

/// The serial number of the device.
pub const SERIAL: &str = "WI-3005";

/// The DER of the subject `CN=pump`.
pub const SUBJECT: &[u8] = b"\x30\x0f\x31\x0d\x30\x0b\x06\x03\x55\x04\x03\x0c\x04pump";

/// Returns the time of all requests.
pub fn now() -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(NOW))
}

/// Returns the registrar of the domain, which takes all devices of the manufacturer.
pub fn registrar() -> Registrar {
    let mut policy = registrar::Policy::default();
    policy.manufacturers.push(Manufacturer::new("Maker", vec![MAKER.to_vec()]));
    policy.own_names.push("registrar.plant.example".into());
    Registrar::new(&provider::accepting(), domain_chain(), policy).expect("a registrar and a manufacturer")
}

/// Returns the MASA of the manufacturer.
pub fn masa(policy: masa::Policy) -> Masa {
    Masa::new(&provider::accepting(), &[MAKER.into()], policy).expect("the manufacturer's CA")
}

/// Returns the record of the device at the MASA.
pub fn device() -> Device {
    let read = Idevid::read(&provider::accepting(), IDEVID, SerialNumberField::SubjectSerialNumber);
    Device::new(SERIAL.into(), read.expect("an IDevID").issuer.expect("it names its issuer"))
}

/// Returns the registrar's certificates, its own first.
pub fn domain_chain() -> Vec<CertificateDer<'static>> {
    vec![REGISTRAR.into(), DOMAIN.into()]
}

/// Returns what a pledge says of its connection with the registrar.
pub fn pledge_fields() -> VoucherRequest {
    let mut fields = VoucherRequest::new(SERIAL.into());
    fields.created_on = Some(now());
    fields.assertion = Some(Assertion::Proximity);
    fields.nonce = Some(Nonce::of_random(&[7; 16]));
    fields.proximity_registrar = vec![Pin::Certificate(REGISTRAR.into())];
    fields
}

/// Returns the request of the pledge.
pub fn pledge_request(format: Format, fields: &VoucherRequest) -> Vec<u8> {
    let content = format.encode_request(fields);
    match format {
        Format::CmsJson => sign(format, &content, &[IDEVID.into()]),
        // A pledge sends no certificates.
        Format::CoseCbor => {
            let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
            let unsigned = cose::Unsigned::new(&content, &IDEVID.into(), &[], scheme).expect("a key on P-256");
            unsigned.signed(ECDSA_SIGNATURE).expect("it is DER")
        }
    }
}

/// Returns the request of the registrar around that of the pledge.
pub fn registrar_request(format: Format) -> Vec<u8> {
    let mut fields = pledge_fields();
    fields.proximity_registrar.clear();
    fields.idevid_issuer = Some(device().idevid_issuer.into());
    fields.prior_signed_voucher_request = Some(pledge_request(format, &pledge_fields()).into());
    let mut chain = domain_chain();
    if format == Format::CoseCbor {
        chain.extend([IDEVID.into(), MAKER.into()]);
    }
    sign(format, &format.encode_request(&fields), &chain)
}

/// Signs for the first certificate of a chain.
pub fn sign(format: Format, content: &[u8], chain: &[CertificateDer<'_>]) -> Vec<u8> {
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let unsigned = Unsigned::new(format, &provider::accepting(), content, chain, scheme, now());
    unsigned.expect("the key of the leaf is on P-256").signed(ECDSA_SIGNATURE).expect("it is DER")
}

/// Returns a request as it is posted.
pub fn posted(body: &[u8]) -> Posted<'_> {
    let own = Some(Format::of_artefact(body).media_type());
    Posted { content_type: own, accept: None, body }
}

/// Asserts that a text can be shown to people: it says something, in one line.
pub(crate) fn is_for_people(text: &dyn fmt::Display) {
    let text = text.to_string();
    assert!(!text.is_empty() && !text.chars().any(char::is_control), "{text:?}");
}
