use alloc::string::{String, ToString};
use alloc::vec::Vec;

use terse_tls::CertificateError;

use super::Refusal;
use crate::est::NotAsAsked;
use crate::registrar::DestinationRefused;
use crate::{Malformed, SignatureRefused};

#[test]
fn every_refusal_has_a_text_of_its_own() {
    let malformed = Malformed::Json;
    let all = [
        Refusal::ContentType,
        Refusal::AcceptNotUnderstood,
        Refusal::NotAcceptable,
        Refusal::NoCertificate,
        Refusal::UnknownManufacturer,
        Refusal::Idevid(CertificateError::BadSignature),
        Refusal::IdevidField(malformed),
        Refusal::Signature(SignatureRefused::Digest),
        Refusal::OtherSigner,
        Refusal::Request(malformed),
        Refusal::SerialNumber,
        Refusal::NoProximity,
        Refusal::OtherRegistrar,
        Refusal::NoNonce,
        Refusal::UnknownDevice,
        Refusal::Rejected,
        Refusal::NotDecided,
        Refusal::NoMasaUrl,
        Refusal::MasaUrl(DestinationRefused::Own),
        Refusal::MasaUrl(DestinationRefused::Address),
        Refusal::MasaUrl(DestinationRefused::LocalName),
        Refusal::MasaUrl(DestinationRefused::Malformed(malformed)),
        Refusal::Masa(401),
        Refusal::Masa(404),
        Refusal::VoucherTooLong,
        Refusal::VoucherType,
        Refusal::VoucherSignature(SignatureRefused::Digest),
        Refusal::Voucher(malformed),
        Refusal::OtherVoucher,
        Refusal::VoucherExpired,
        Refusal::OtherDomain,
        Refusal::StatusType,
        Refusal::Status(malformed),
        Refusal::OtherClient,
        Refusal::VoucherRejected,
        Refusal::NoVoucherStatus,
        Refusal::AuditLog,
        Refusal::Ldevid(CertificateError::UnknownIssuer),
        Refusal::CertificationRequest(NotAsAsked::Subject),
        Refusal::NameNotAsked,
    ];
    let mut texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    assert!(all.iter().all(|refusal| matches!(refusal.status(), 400..=599)));
    assert!(texts.iter().all(|text| text.len() > 20 && text.lines().count() == 1), "{texts:?}");
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), all.len());
}

#[test]
fn a_connection_closes_where_somebody_may_be_between() {
    // RFC 8995, 5.2.
    for refusal in [Refusal::OtherRegistrar, Refusal::NoProximity, Refusal::OtherSigner, Refusal::NoCertificate] {
        assert_eq!((refusal.status(), refusal.closes()), (401, true));
    }
    // To a pledge a 401 of the MASA would mean the same.
    assert!((0..=u16::MAX).all(|status| !Refusal::Masa(status).closes()));
}
