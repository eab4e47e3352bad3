//! What is read here is what `der` and `x509-cert` read.

use alloc::vec::Vec;
use core::time::Duration;

use x509_cert::der::asn1::{GeneralizedTime, UtcTime};
use x509_cert::der::{Decode as _, Encode as _};
use x509_cert::ext::pkix::KeyUsage as AnyKeyUsage;
use x509_cert::time::Time;

use super::*;

/// The same times are read, and the same bytes refused: every byte of a time with every value.
#[test]
fn times_are_those_that_der_reads() {
    let times = [0, 951_782_400, 951_868_799, 1_798_761_600, 2_524_607_999, 253_402_300_799];
    for seconds in times.map(Duration::from_secs) {
        let utc: Option<Vec<u8>> = UtcTime::from_unix_duration(seconds).and_then(|time| time.to_der()).ok();
        let generalized = GeneralizedTime::from_unix_duration(seconds).and_then(|time| time.to_der()).ok();
        for mut der in utc.into_iter().chain(generalized) {
            assert_eq!(time(&der), Ok(seconds.as_secs()));
            for at in 0..der.len() {
                for byte in 0..=u8::MAX {
                    let before = core::mem::replace(&mut der[at], byte);
                    let theirs = Time::from_der(&der).map(|time| time.to_unix_duration().as_secs());
                    assert_eq!(time(&der).ok(), theirs.ok(), "{der:02x?}");
                    der[at] = before;
                }
            }
        }
    }
}

/// A UTCTime is of a year from 1950 to 2049 (RFC 5280, 4.1.2.5.1), of which those before 1970 are refused.
#[test]
fn a_utc_time_has_the_year_of_its_century() {
    let of_year = |year: &str| {
        let text = [year, "0101000000Z"].concat();
        time(&[&[UTC_TIME, text.len() as u8], text.as_bytes()].concat())
    };
    assert_eq!(of_year("70"), Ok(0));
    assert_eq!(of_year("49"), Ok(2_493_072_000));
    assert_eq!(of_year("50"), Err(CertificateError::Malformed));
}

/// The same key usages are read from BIT STRINGs of at most 24 bits; what `x509-cert` refuses is refused.
#[test]
fn key_usages_are_those_that_x509_cert_reads() {
    let bytes = || 0..=u8::MAX;
    let one = bytes().map(|unused| Vec::from([unused]));
    let two = bytes().flat_map(|unused| bytes().map(move |bits| Vec::from([unused, bits])));
    let more = |last: &'static [u8]| {
        bytes().flat_map(move |unused| [0, 0x06, 0x80, 0xff].map(|bits| [&[unused, bits], last].concat()))
    };
    let more = [&[0][..], &[0x40], &[0x80], &[0xff], &[0, 0], &[0x80, 0x80]].into_iter().flat_map(more);
    for contents in one.chain(two).chain(more) {
        let der = [&[BIT_STRING, contents.len() as u8], &contents[..]].concat();
        let of = |usage: AnyKeyUsage| [usage.digital_signature(), usage.key_cert_sign(), usage.crl_sign()];
        let ours = key_usage(&der).map(|usage| [usage.digital_signature(), usage.key_cert_sign(), usage.crl_sign()]);
        assert_eq!(ours.ok(), AnyKeyUsage::from_der(&der).ok().map(of), "{der:02x?}");
    }
    assert!(key_usage(&[BIT_STRING, 3, 7, 0x80, 0x80]).unwrap().digital_signature(), "decipherOnly is the ninth bit");
}

#[test]
fn a_bit_string_has_no_unused_bits() {
    assert_eq!(bit_string(&[BIT_STRING, 1, 0]), Ok(&[][..]));
    assert_eq!(bit_string(&[BIT_STRING, 3, 0, 1, 2]), Ok(&[1, 2][..]));
    for wrong in [&[BIT_STRING, 0][..], &[BIT_STRING, 2, 1, 2], &[OCTET_STRING, 1, 0], &[BIT_STRING, 1, 0, 0]] {
        assert_eq!(bit_string(wrong), Err(CertificateError::Malformed));
    }
}
