//! Seeds for what registrar and MASA read besides vouchers.

use pki_types::CertificateDer;
use terse_brski::audit_log::{AuditLog, Event};
use terse_brski::est::{CsrAttributes, UnsignedRequest, encode_body, encode_certs_only};
use terse_brski::voucher::{Assertion, Nonce};
use terse_testkit::pki::unix_time;
use terse_tls::SignatureScheme;

use super::{Seed, framed};
use crate::onboarding::SUBJECT;
use crate::pki::{CRL, DOMAIN, DOMAIN_CRL, INTERMEDIATE, REGISTRAR, REQUEST, SERVER, public_key};
use crate::provider::{ECDSA_SIGNATURE, Key};
use crate::requests::NAME;

/// Returns inputs of every kind that parse.
pub(super) fn all() -> Vec<Seed> {
    let mut seeds = vec![("request".to_owned(), [&[0], REQUEST].concat())];
    for (name, asked) in attributes() {
        let der = asked.to_der();
        let request = request(&asked);
        seeds.push((format!("request-{name}"), [&[0], &request[..]].concat()));
        seeds.push((format!("attributes-{name}"), [&[1], &der[..]].concat()));
        seeds.push((format!("asked-{name}"), [&[6], &framed(&[&der, &request])[..]].concat()));
        seeds.push((format!("asked-other-{name}"), [&[6], &framed(&[&der, REQUEST])[..]].concat()));
    }
    // The example of RFC 7030, 4.5.2.
    let example = b"\x01\x30\x41\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x07\x30\x12\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x31\
        \x07\x06\x05\x2b\x81\x04\x00\x22\x30\x16\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x0e\x31\x09\x06\x07\x2b\x06\x01\x01\
        \x01\x01\x16\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x03";
    seeds.push(("attributes-rfc7030".to_owned(), example.to_vec()));
    for (name, certificates) in [("one", &[SERVER][..]), ("two", &[INTERMEDIATE, SERVER])] {
        let certificates: Vec<_> = certificates.iter().map(|der| CertificateDer::from(*der)).collect();
        let cms = encode_certs_only(&certificates);
        seeds.push((format!("certs-only-{name}"), [&[2], &cms[..]].concat()));
        seeds.push((format!("certs-only-{name}-ber"), [&[2], &cms[..1], &[0x80], &cms[4..], &[0, 0]].concat()));
        seeds.push((format!("body-{name}"), [&[3], &encode_body(&cms)[..]].concat()));
    }
    seeds.push(("body-spaces".to_owned(), b"\x03MA\r\n A=\n".to_vec()));
    for (name, log) in logs() {
        seeds.push((format!("log-{name}"), [&[4], &log.to_json()[..]].concat()));
    }
    // RFC 8995, figure 17, has numbers as strings.
    let example = br#"{"version":"1","events":[{"date":"2026-01-01T00:00:00Z","domainID":"YW5vdGhlcg==","nonce":null,"assertion":"1","truncated":"2"}],"truncation":{"nonced duplicates":"3","nonceless duplicates":"1","arbitrary":"4"}}"#;
    seeds.push(("log-rfc8995".to_owned(), [&[4], &example[..]].concat()));
    for (name, day, crls) in [
        ("good", 0, &[DOMAIN_CRL][..]),
        ("late", 250, &[DOMAIN_CRL]),
        ("other", 0, &[CRL]),
        ("both", 0, &[CRL, DOMAIN_CRL]),
        ("none", 0, &[]),
    ] {
        seeds.push((format!("crls-{name}"), [&[5, day], &framed(crls)[..]].concat()));
    }
    seeds.push(("crls-revoked".to_owned(), [&[5, 0], &framed(&[&revoked()])[..]].concat()));
    seeds.push(("text".to_owned(), b"\x07 no device of ours \n".to_vec()));
    seeds
}

/// The CRL with the serial number of the registrar's certificate in place of the one that it revokes.
fn revoked() -> Vec<u8> {
    let own = serial_number(REGISTRAR);
    let entry = DOMAIN_CRL.windows(5).position(|window| window == [0x02, 0x01, 0x07, 0x17, 0x0d]);
    let entry = entry.expect("the serial number 7, and a date");
    let mut crl = [&DOMAIN_CRL[..entry], own, &DOMAIN_CRL[entry + 3..]].concat();
    let added = own.len() - 3;
    // The CertificateList and the TBSCertList, each with a length in its third byte; the list of entries, and the entry.
    for at in [2, 5, entry - 3, entry - 1] {
        crl[at] += u8::try_from(added).expect("a short serial number");
    }
    crl
}

/// Returns the INTEGER behind the version of a certificate.
fn serial_number(certificate: &[u8]) -> &[u8] {
    let version = certificate.windows(5).position(|window| window == [0xa0, 0x03, 0x02, 0x01, 0x02]);
    let rest = &certificate[version.expect("version 3") + 5..];
    &rest[..2 + usize::from(rest[1])]
}

fn attributes() -> [(&'static str, CsrAttributes); 4] {
    let usage = b"\x30\x0e\x06\x03\x55\x1d\x0f\x01\x01\xff\x04\x04\x03\x02\x07\x80".to_vec();
    let mut extension = CsrAttributes::default();
    extension.extensions.push(NAME.to_vec());
    let mut extensions = extension.clone();
    extensions.extensions.push(usage);
    let mut template = extensions.clone();
    // A common name without a value, which the client fills in.
    template.subject = Some(b"\x30\x09\x31\x07\x30\x05\x06\x03\x55\x04\x03".to_vec());
    [("empty", CsrAttributes::default()), ("name", extension), ("extensions", extensions), ("template", template)]
}

fn request(asked: &CsrAttributes) -> Vec<u8> {
    let (key, scheme) = (Key::shared(public_key(REGISTRAR), false), SignatureScheme::ECDSA_SECP256R1_SHA256);
    let subject = asked.subject_for(SUBJECT).expect("a common name");
    let unsigned = UnsignedRequest::new(&subject, &*key, scheme, &asked.extensions);
    unsigned.expect("extensions").signed(ECDSA_SIGNATURE)
}

fn logs() -> [(&'static str, AuditLog); 3] {
    let mut one = AuditLog::default();
    one.version = 1;
    let nonce = Some(Nonce::of_random(&[7; 16]));
    one.events.push(Event::new(unix_time(0), DOMAIN[..20].to_vec(), nonce, Assertion::Proximity));
    let mut long = one.clone();
    let mut event = Event::new(unix_time(3600), b"another".to_vec(), None, Assertion::Verified);
    event.truncated = 2;
    long.events.insert(0, event);
    (long.nonced_duplicates, long.arbitrary) = (2, 1);
    let mut empty = AuditLog::default();
    empty.version = 2;
    [("one", one), ("long", long), ("empty", empty)]
}
