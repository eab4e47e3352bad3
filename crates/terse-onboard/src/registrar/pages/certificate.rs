//! What the certificate of a device says.

use maud::Markup;
use terse_brski::digest::{public_key_sha256, sha256};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::super::settings::PROVIDER;
use crate::pages::{date, facts, hex, shown};

/// Shows the fields of an IDevID by which somebody can tell the device. It was verified when the device asked.
pub(super) fn certificate_facts(der: Option<&[u8]>) -> Markup {
    let Some(der) = der else {
        return maud::html! { p.empty { "The certificate was not kept; the device has asked an earlier version." } };
    };
    let Ok(certificate) = Certificate::from_der(der) else {
        return maud::html! { p.problem { "The certificate cannot be read." } };
    };
    let tbs = certificate.tbs_certificate();
    let key = public_key_sha256(PROVIDER, der).map_or_else(|_| String::new(), |digest| hex(&digest));
    let validity = tbs.validity();
    facts(&[
        ("Subject", shown(&tbs.subject().to_string())),
        ("Issuer", shown(&tbs.issuer().to_string())),
        ("Certificate number", shown(&tbs.serial_number().to_string())),
        ("Valid from", date(validity.not_before.to_unix_duration().as_secs())),
        ("Valid until", end(validity.not_after.to_unix_duration().as_secs())),
        ("SHA-256 of the key", maud::html! { code { (key) } }),
        ("SHA-256 of the certificate", maud::html! { code { (hex(&sha256(PROVIDER, der))) } }),
    ])
}

/// Devices need no end: 99991231235959Z says so (RFC 5280, 4.1.2.5).
fn end(seconds: u64) -> Markup {
    match seconds {
        WITHOUT_END.. => maud::html! { "without end" },
        _ => date(seconds),
    }
}

const WITHOUT_END: u64 = 253_402_300_799;
