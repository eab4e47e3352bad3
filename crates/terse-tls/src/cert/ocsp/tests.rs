//! Tests of which responses are accepted. The signers are tested in whole handshakes (`tests/stapling`).

use alloc::vec;
use alloc::vec::Vec;

use pki_types::ServerName;
use terse_pki::{OcspHash, OcspOptions};
use terse_testkit::pki::{DAY, NOW, Pki, SERVER_NAME, unix_time};

use super::super::tests::provider;
use super::super::{Expect, Trust, VerifiedPeer};
use super::*;

const CHAIN: &str = "p256x3";

fn good() -> OcspOptions<'static> {
    OcspOptions::good(NOW - DAY, 7)
}

fn response(options: OcspOptions<'_>) -> Vec<u8> {
    let pki = Pki::shared(CHAIN);
    pki.authority.ocsp_response(pki.server.leaf(), &options).unwrap()
}

fn trusted() -> Trust {
    Trust::new(&[Pki::shared(CHAIN).root()]).unwrap()
}

fn trust() -> Trust {
    trusted().with_stapling(Stapling::Require)
}

fn server(trust: &Trust) -> VerifiedPeer {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let chain = Pki::shared(CHAIN).server.chain().to_vec();
    let algorithms = provider().signatures.all;
    trust.verify(&chain, Expect::Server(&name), algorithms, Some(unix_time(0))).unwrap().peer
}

/// Checks a response. Returns when it becomes invalid.
fn judge(provider: &CryptoProvider, response: &[u8], time: Option<u64>) -> Result<Option<u64>, CertificateError> {
    let trust = trust();
    let (peer, time) = (server(&trust), time.map(unix_time));
    trust.check_staple(&peer, Some(response), provider, provider.signatures.all, time)
}

/// Every byte is signed, or must have its value.
#[test]
fn no_byte_can_be_changed() {
    let (trust, provider) = (trust(), provider());
    let peer = server(&trust);
    let check = |response: &[u8]| {
        trust.check_staple(&peer, Some(response), &provider, provider.signatures.all, Some(unix_time(0)))
    };
    let original = response(good());
    assert_eq!(check(&original), Ok(Some(NOW + 6 * DAY)));
    for place in 0..original.len() {
        for change in [1, 0x80] {
            let mut changed = original.clone();
            changed[place] ^= change;
            assert!(check(&changed).is_err(), "byte {place} with {change:#x}");
        }
        assert!(check(&original[..place]).is_err(), "the first {place} bytes");
    }
    assert!(check(&[&original[..], &[0]].concat()).is_err());
}

#[test]
fn without_sha1() {
    let without = provider().sha1(None);
    let other = Err(CertificateError::Staple(StapleError::OtherCertificate));
    assert_eq!(judge(&without, &response(good()), Some(0)), other);
    for by_key in [false, true] {
        let response = response(OcspOptions { hash: OcspHash::Sha256, by_key, ..good() });
        assert_eq!(judge(&without, &response, Some(0)), Ok(Some(NOW + 6 * DAY)));
    }
}

#[test]
fn without_a_clock_only_the_time_is_not_checked() {
    let old = response(OcspOptions::good(NOW - 90 * DAY, 1));
    assert_eq!(judge(&provider(), &old, None), Ok(Some(NOW - 89 * DAY)));
    let since = seconds(NOW - 89 * DAY);
    assert_eq!(
        judge(&provider(), &old, Some(0)),
        Err(CertificateError::Staple(StapleError::OutOfDate(Date::of(since))))
    );
    let mut forged = old;
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(judge(&provider(), &forged, None), Err(CertificateError::Staple(StapleError::NotFromIssuer)));
}

#[test]
fn an_algorithm_that_is_not_accepted() {
    let (trust, provider) = (trust(), provider());
    let checked = trust.check_staple(&server(&trust), Some(&response(good())), &provider, &[], Some(unix_time(0)));
    assert_eq!(checked, Err(CertificateError::Staple(StapleError::UnsupportedAlgorithm)));
}

/// A side that requests a response must know the issuer of the leaf, even if it does not check revocation otherwise.
#[test]
fn the_policy_is_part_of_what_a_cached_result_depends_on() {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let id = |stapling| {
        let trust = trusted().with_stapling(stapling);
        assert_eq!(trust.stapling(), stapling);
        trust.id(provider().sha256, Expect::Server(&name), &[])
    };
    let ids = [Stapling::Off, Stapling::Ask, Stapling::Require].map(id);
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    assert_eq!(ids[0], trusted().id(provider().sha256, Expect::Server(&name), &[]));
}

#[test]
fn what_may_be_stapled() {
    let pki = Pki::shared(CHAIN);
    let staple = |response: &[u8]| Staple::new(&provider(), pki.server.leaf(), response);
    assert_eq!(staple(b"garbage").err(), Some(ApiMisuse::MalformedStaple));
    assert_eq!(staple(&vec![0x30; MAX_STAPLE + 1]).err(), Some(ApiMisuse::MalformedStaple));
    let of_client = pki.authority.ocsp_response(pki.client.leaf(), &good()).unwrap();
    assert_eq!(staple(&of_client).err(), Some(ApiMisuse::StapleOfOtherCertificate));

    let good = staple(&response(good())).unwrap();
    let is_sent = |staple: &Staple, time: Option<u64>| staple.current_at(time.map(seconds)).is_some();
    for (time, expected) in
        [(NOW - DAY - 1, false), (NOW - DAY, true), (NOW + 6 * DAY, true), (NOW + 6 * DAY + 1, false)]
    {
        assert_eq!(is_sent(&good, Some(time)), expected, "{time}");
    }
    assert!(is_sent(&good, None));
    let endless = staple(&response(OcspOptions { next_update: None, ..self::good() })).unwrap();
    assert!(is_sent(&endless, Some(NOW)) && !is_sent(&endless, Some(NOW + 1)));
}
