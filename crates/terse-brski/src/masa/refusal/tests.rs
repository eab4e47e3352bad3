use alloc::string::{String, ToString};
use alloc::vec::Vec;

use terse_tls::CertificateError;

use super::Refusal;
use crate::{Malformed, SignatureRefused};

#[test]
fn every_refusal_has_a_text_of_its_own() {
    let malformed = Malformed::Json;
    let all = [
        Refusal::ContentType,
        Refusal::AcceptNotUnderstood,
        Refusal::NotAcceptable,
        Refusal::Signature(SignatureRefused::Digest),
        Refusal::Request(malformed),
        Refusal::Registrar(CertificateError::BadSignature),
        Refusal::NotRegistrar,
        Refusal::IssuerIsNoCa,
        Refusal::Revoked,
        Refusal::RevocationUnknown,
        Refusal::Undated,
        Refusal::Stale,
        Refusal::InTheFuture,
        Refusal::PledgeStale,
        Refusal::PledgeUndated,
        Refusal::NonceUsed,
        Refusal::PledgeSignature(SignatureRefused::Digest),
        Refusal::PledgeRequest(malformed),
        Refusal::PledgeCertificate(CertificateError::UnknownIssuer),
        Refusal::Idevid(malformed),
        Refusal::SerialNumber,
        Refusal::IdevidIssuer,
        Refusal::NoIdevidIssuer,
        Refusal::Nonce,
        Refusal::NoPledgeRequest,
        Refusal::NoProximity,
        Refusal::OtherRegistrar,
        Refusal::UnknownDevice,
        Refusal::BlockedDevice,
        Refusal::Claimed,
        Refusal::NotSold,
        Refusal::NoncelessNotAllowed,
        Refusal::RegistrarUnknown,
        Refusal::DomainId(malformed),
        Refusal::DomainIdTaken,
        Refusal::NeverOwner,
    ];
    let mut texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    // RFC 8995, 5.6: the statuses of a MASA.
    assert!(all.iter().all(|refusal| matches!(refusal.status(), 403 | 404 | 406 | 415)));
    assert!(texts.iter().all(|text| text.len() > 20 && text.lines().count() == 1), "{texts:?}");
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all.len());
}
