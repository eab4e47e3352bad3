//! Tests of the numbers of errors.

use alloc::collections::BTreeSet;

use super::*;
use crate::error::Setting;

#[test]
fn no_two_variants_have_one_number() {
    let numbers: BTreeSet<u16> = Error::CODES.iter().map(|(code, _, _)| *code).collect();
    assert_eq!(numbers.len(), Error::CODES.len());
    assert!(!numbers.contains(&0), "0 means success");
}

#[test]
fn an_error_has_the_number_of_what_it_contains() {
    let staple = CertificateError::Staple(StapleError::Missing);
    let named = |code| Error::CODES.iter().find(|(known, _, _)| *known == code).map(|(_, _, name)| *name);
    for (error, name) in [
        (Error::Truncated, "Truncated"),
        (InvalidMessage::TrailingData.into(), "TrailingData"),
        (PeerMisbehaved::UnexpectedHandshakeMessage(crate::HandshakeType(1)).into(), "UnexpectedHandshakeMessage"),
        (CertificateError::UnknownPublicKey { sha256: [0; 8] }.into(), "UnknownPublicKey"),
        (staple.into(), "Missing"),
        (ApiMisuse::ZeroLimit(Setting::MaxSendBuffer).into(), "ZeroLimit"),
    ] {
        assert_eq!(named(error.code()), Some(name), "{error}");
    }
    assert_eq!(Error::from(staple).code(), StapleError::Missing.code());
}
