//! The fuzz target `requests` takes any bytes for what a registrar reads besides vouchers: certification requests, CSR
//! attributes, certs-only CMS, bodies of EST in base64, audit logs, and CRLs that a MASA has fetched for a registrar's path.
//!
//! The first byte chooses what the rest is.

use core::time::Duration;

use pki_types::{CertificateRevocationListDer, UnixTime};
use terse_brski::Malformed;
use terse_brski::artefact::Format;
use terse_brski::audit_log::{AuditLog, MAX_DOMAIN_ID_LEN, MAX_EVENTS};
use terse_brski::est::{
    CsrAttributes, MAX_BODY_LEN, MAX_CERTIFICATES, MAX_EXTENSIONS, NotAsAsked, UnsignedRequest, decode_body,
    decode_certs_only, decode_certs_only_ber, encode_body, encode_certs_only,
};
use terse_brski::masa::{Policy, RevocationStatus};
use terse_brski::registrar::{AuditPolicy, History, check_certification_request, text_for_people};
use terse_brski::voucher::MAX_LEN;
use terse_testkit::pki::{DAY, NOW};
use terse_tls::SignatureScheme;

use crate::certificates::items;
use crate::onboarding::{self, SUBJECT, is_for_people};
use crate::pki::{REGISTRAR, public_key};
use crate::provider::{self, ECDSA_SIGNATURE, Key};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((what, bytes)) = data.split_first() else { return };
    match what % 8 {
        0 => certification_request(bytes),
        1 => csr_attributes(bytes),
        2 => certs_only(bytes),
        3 => body(bytes),
        4 => audit_log(bytes),
        5 => {
            crls(bytes);
        }
        6 => asked(bytes),
        _ => text(bytes),
    }
}

/// A request that is accepted where nothing is asked for asks for no name.
fn certification_request(der: &[u8]) {
    match check_certification_request(der, &CsrAttributes::default()) {
        Ok(()) => {
            assert!(der.len() <= MAX_LEN);
            let mut named = CsrAttributes::default();
            named.extensions.push(NAME.to_vec());
            assert!(named.check(der).is_err(), "a name that was not asked for");
        }
        Err(refusal) => {
            assert!((400..600).contains(&refusal.status()));
            is_for_people(&refusal);
        }
    }
}

/// The DER of a subjectAltName (RFC 5280, 4.2.1.6) with one DNS name.
pub const NAME: &[u8] = b"\x30\x1b\x06\x03\x55\x1d\x11\x04\x14\x30\x12\x82\x10pump.example.com";

/// Attributes that parse are encoded to the same. A request that is made by them has what they ask for.
fn csr_attributes(der: &[u8]) {
    match CsrAttributes::from_der(der) {
        Ok(asked) => {
            assert!(der.len() <= MAX_BODY_LEN && asked.extensions.len() <= MAX_EXTENSIONS);
            assert_eq!(CsrAttributes::from_der(&asked.to_der()).as_ref(), Ok(&asked));
            let subject = asked.subject_for(SUBJECT).expect("it was read");
            let request = request(&subject, &asked.extensions);
            match asked.check(&request) {
                // A value may be missing that the client does not have.
                Err(NotAsAsked::Subject) => assert!(asked.subject.is_some()),
                checked => assert_eq!(checked, Ok(())),
            }
        }
        Err(malformed) => is_for_people(&malformed),
    }
}

fn request(subject: &[u8], extensions: &[Vec<u8>]) -> Vec<u8> {
    let (key, scheme) = (Key::shared(public_key(REGISTRAR), false), SignatureScheme::ECDSA_SECP256R1_SHA256);
    let unsigned = UnsignedRequest::new(subject, &*key, scheme, extensions).expect("what was read can be asked for");
    unsigned.signed(ECDSA_SIGNATURE)
}

/// What one asks for and what another one requests are compared: `attributes` and a request, each after its length. A check
/// of the registrar is no weaker than that of the attributes.
fn asked(bytes: &[u8]) {
    let [attributes, request, ..] = items(bytes)[..] else { return };
    let Ok(asked) = CsrAttributes::from_der(attributes) else { return };
    let checked = asked.check(request);
    if check_certification_request(request, &asked).is_ok() {
        assert_eq!(checked, Ok(()));
    }
    if let Err(refused) = checked {
        is_for_people(&refused);
    }
}

/// What readers of DER accept, readers of BER accept as the same; it is encoded to the same certificates.
fn certs_only(cms: &[u8]) {
    let of_services = decode_certs_only_ber(cms);
    if let Ok(certificates) = decode_certs_only(cms) {
        assert_eq!(of_services.as_ref(), Ok(&certificates));
    }
    match of_services {
        Ok(mut certificates) => {
            assert!((1..=MAX_CERTIFICATES).contains(&certificates.len()));
            let mut again = decode_certs_only(&encode_certs_only(&certificates)).expect("what was written parses");
            again.sort_by(|one, other| one.as_ref().cmp(other.as_ref()));
            certificates.sort_by(|one, other| one.as_ref().cmp(other.as_ref()));
            assert_eq!(again, certificates);
        }
        Err(malformed) => is_for_people(&malformed),
    }
}

/// A body that is decoded is encoded to the same text, but for white space.
fn body(text: &[u8]) {
    match decode_body(text, "the body") {
        Ok(der) => {
            let mut plain = text.to_vec();
            plain.retain(|byte| !byte.is_ascii_whitespace());
            assert_eq!(encode_body(&der), plain);
        }
        Err(malformed) => assert!(matches!(malformed, Malformed::Base64(_) | Malformed::TooLong(_)), "{malformed}"),
    }
}

/// A log that parses can be written, and parses as the same. A policy that ignores logs takes each of its version, and no
/// policy takes one that does not name the voucher.
fn audit_log(json: &[u8]) {
    match AuditLog::from_json(json, MAX_LEN) {
        Ok(log) => {
            assert!(log.events.len() <= MAX_EVENTS);
            assert!(log.events.is_sorted_by(|one, next| one.date >= next.date), "the newest first");
            for event in &log.events {
                assert!((1..=MAX_DOMAIN_ID_LEN).contains(&event.domain_id.len()));
                assert_eq!(event.domain_id_hex().len(), 2 * event.domain_id.len());
            }
            assert_eq!(AuditLog::from_json(&log.to_json(), usize::MAX).as_ref(), Ok(&log));
            let first = log.events.first();
            let domain_id = first.map_or(&b"plant"[..], |event| &event.domain_id);
            let nonce = first.and_then(|event| event.nonce.as_ref());
            let own = [domain_id];
            let history = History { domain_ids: &own, nonce, nonces: None, nonceless: &[] };
            if let Err(refused) = AuditPolicy::default().check(&log, &history) {
                is_for_people(&refused);
            }
            let other = History { domain_ids: &[b"another"], ..history };
            let is_named = log.events.iter().any(|event| event.domain_id == b"another");
            assert!(is_named || AuditPolicy::default().check(&log, &other).is_err(), "no event of this domain");
        }
        Err(malformed) => is_for_people(&malformed),
    }
}

/// Whether these CRLs, each after its length and all after a day, leave the registrar's path in good standing. Without one
/// it never is, and no CRL makes the revocation something that is not stated.
pub fn crls(bytes: &[u8]) -> Option<RevocationStatus> {
    let (day, bytes) = bytes.split_first()?;
    let provider = provider::accepting();
    let time = UnixTime::since_unix_epoch(Duration::from_secs(NOW + u64::from(*day) * DAY));
    let masa = onboarding::masa(Policy::default());
    let posted = onboarding::registrar_request(Format::CmsJson);
    let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW));
    let request = masa.read_voucher_request(&onboarding::posted(&posted), now).expect("it is as it should be");
    let crls: Vec<_> = items(bytes).into_iter().map(CertificateRevocationListDer::from).collect();
    let status = request.path().check_crls(&provider, &crls, time);
    assert!(status != RevocationStatus::NotStated && (!crls.is_empty() || status == RevocationStatus::Unknown));
    assert_eq!(request.path().check_crls(&provider, &[], time), RevocationStatus::Unknown);
    Some(status)
}

/// A text for people is one line, without what cannot be seen.
fn text(bytes: &[u8]) {
    if let Some(text) = text_for_people(bytes) {
        assert!(!text.is_empty() && text.len() <= bytes.len() && !text.chars().any(char::is_control));
        assert_eq!(text_for_people(text.as_bytes()), Some(text));
    }
}
