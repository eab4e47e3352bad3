//! The numbers, as programs have compiled them in.

use alloc::collections::BTreeMap;
use core::fmt::Write;

use super::*;

/// The name in the header of a variant of the engine.
fn header_name(kind: &str, variant: &str) -> String {
    let group = match kind {
        "Error" => "",
        "CertificateError" => "Certificate",
        "StapleError" => "Staple",
        "IdentityRefused" => "Identity",
        "CryptoError" => "Crypto",
        "KeyError" => "Key",
        kind => kind, // InvalidMessage, PeerMisbehaved, PeerIncompatible, ApiMisuse
    };
    let mut name = String::from("TERSE_ERROR");
    for letter in format!("{group}{variant}").chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

fn names() -> BTreeMap<i32, &'static str> {
    names::NAMES.iter().map(|(error, name)| (*error as i32, name.to_str().unwrap())).collect()
}

#[test]
fn every_error_of_the_engine_is_in_the_header_under_its_number() {
    let names = names();
    for (code, kind, variant) in Error::CODES {
        assert_eq!(names.get(&i32::from(*code)).copied(), Some(&*header_name(kind, variant)), "{code}");
    }
    let own = names.keys().filter(|code| **code < 50).count();
    assert_eq!(names.len(), own + Error::CODES.len(), "a number that neither has");
}

/// A program that was compiled with an older header must get the numbers that it knows: a line of the file is never changed
/// or removed. For a new error, add its line.
#[test]
fn numbers_never_change() {
    let mut lines = String::new();
    for (code, name) in names() {
        writeln!(lines, "{code} {name}").unwrap();
    }
    let kept = include_str!("numbers.txt");
    assert_eq!(lines, kept, "src/error/numbers.txt has other numbers");
}

#[test]
fn numbers_have_names_and_kinds() {
    let named = |error| names::name(error).map(|name| name.to_str().unwrap());
    assert_eq!(named(TERSE_OK), Some("TERSE_OK"));
    assert_eq!(named(TerseError::Truncated as i32), Some("TERSE_ERROR_TRUNCATED"));
    for unknown in [-1, 49, 9_999, i32::MIN, i32::MAX] {
        assert!(terse_error_name(unknown).is_null());
        assert_eq!(terse_error_kind(unknown), TerseErrorKind::Unknown);
    }
    for (error, kind) in [
        (TERSE_OK, TerseErrorKind::None),
        (TerseError::NullPointer as i32, TerseErrorKind::Misuse),
        (TerseError::ApiMisuseClosed as i32, TerseErrorKind::Misuse),
        (TerseError::KeyMalformed as i32, TerseErrorKind::Misuse),
        (TerseError::TimedOut as i32, TerseErrorKind::Fatal),
        (TerseError::CertificateUnknownIssuer as i32, TerseErrorKind::Fatal),
    ] {
        assert_eq!(terse_error_kind(error), kind, "{error}");
    }
}

#[test]
fn misuse_is_what_the_engine_calls_so() {
    for (code, kind, variant) in Error::CODES {
        let is_misuse = matches!(*kind, "ApiMisuse" | "KeyError");
        let expected = if is_misuse { TerseErrorKind::Misuse } else { TerseErrorKind::Fatal };
        assert_eq!(terse_error_kind((*code).into()), expected, "{variant}");
    }
}
