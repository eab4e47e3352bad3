//! A client judges the OCSP response that a server staples: every kind of response, in every version, in full and cached.

use terse_pki::{LeafOptions, OcspOptions, Usage};
use terse_testkit::pair::Side;
use terse_testkit::pki::{DAY, NOW, Pki, validity};
use terse_testkit::setup::Setup;
use terse_tls::cache::Scheme;
use terse_tls::cache::Schemes;
use terse_tls::summary::{Mode, Staple};
use terse_tls::{AlertDescription, CertificateError, Error, HandshakeType, StapleError, Stapling, Summary};

use super::staples::{CHAIN, PROTOCOLS, PROVIDER, SCHEMES, TLS12, TLS13, all, connect, good, own, setup};

fn alert(error: CertificateError) -> AlertDescription {
    match error {
        CertificateError::Revoked => AlertDescription::CERTIFICATE_REVOKED,
        _ => AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE,
    }
}

fn received(summary: &Summary, kind: HandshakeType) -> Option<usize> {
    summary.received.messages.iter().find(|(message, _)| *message == kind).map(|(_, len)| *len as usize)
}

#[test]
fn every_response_is_judged_in_every_handshake() {
    let pki = Pki::shared(CHAIN);
    let responses = all(pki.server.leaf(), pki.client.leaf());
    for (protocol, (schemes, mode)) in
        PROTOCOLS.into_iter().flat_map(|protocol| SCHEMES.map(|scheme| (protocol, scheme)))
    {
        let setup = setup(protocol, Stapling::Require);
        let setup = if schemes == Schemes::OFF { setup } else { setup.with_frozen_cache(schemes) };
        for (name, response, expected) in &responses {
            let what = format!("{name}, {protocol:?}, {mode}");
            own(&setup, Side::Server).set_any_staple(response);
            let done = connect(&setup, 7);
            match expected {
                Ok(()) => {
                    done.result.unwrap_or_else(|failed| panic!("{what}: {failed:?}"));
                    assert_eq!(done.client.peer.staple, Staple::Good, "{what}");
                    assert_eq!(done.server.peer.staple, Staple::None, "{what}: the server did not ask");
                    assert_eq!((done.client.mode, done.server.mode), (mode, mode), "{what}");
                }
                Err(error) => {
                    let failed = done.result.expect_err(&what);
                    assert_eq!(failed.side, Side::Client, "{what}");
                    assert_eq!(failed.error, Error::Certificate(*error), "{what}");
                    assert_eq!(failed.error.alert(), Some(alert(*error)), "{what}");
                }
            }
        }
    }
}

/// The lengths of what carries it: nothing else changes.
#[test]
fn where_it_stands() {
    let response = good(Pki::shared(CHAIN).server.leaf());
    let staple = response.len();
    // In TLS 1.3 an extension: type and length, status type, length of the response.
    let extension = 2 + 2 + 1 + 3 + staple;
    for (protocol, (schemes, mode)) in
        PROTOCOLS.into_iter().flat_map(|protocol| SCHEMES.map(|scheme| (protocol, scheme)))
    {
        let setup = setup(protocol, Stapling::Ask);
        let setup = if schemes == Schemes::OFF { setup } else { setup.with_frozen_cache(schemes) };
        own(&setup, Side::Server).set_staple(PROVIDER, Some(&response)).unwrap();
        let with = connect(&setup, 7);
        own(&setup, Side::Server).set_staple(PROVIDER, None).unwrap();
        let without = connect(&setup, 7);
        assert_eq!((with.client.peer.staple, without.client.peer.staple), (Staple::Good, Staple::None));
        assert_eq!((with.client.mode, without.client.mode), (mode, mode));
        let certificate = |summary| received(summary, HandshakeType::CERTIFICATE);
        let status = |summary| received(summary, HandshakeType::CERTIFICATE_STATUS);
        let what = format!("{protocol:?}, {mode}");
        let header = if protocol.1 { 12 } else { 4 };
        match protocol.0 {
            TLS12 => {
                assert_eq!(certificate(&with.client), certificate(&without.client), "{what}");
                assert_eq!(
                    (status(&with.client), status(&without.client)),
                    (Some(header + 1 + 3 + staple), None),
                    "{what}"
                );
            }
            TLS13 => {
                assert_eq!((status(&with.client), status(&without.client)), (None, None), "{what}");
                let expected = match certificate(&without.client) {
                    // `compact` leaves it out: context, list, an entry without certificate, its extensions.
                    None => header + 1 + 3 + 3 + 2 + extension,
                    Some(len) => len + extension,
                };
                assert_eq!(certificate(&with.client), Some(expected), "{what}");
            }
            other => unreachable!("{other}"),
        }
        let is_compact = mode == Mode::Cached(Scheme::Compact);
        assert_eq!(certificate(&without.client).is_none(), is_compact, "{what}");
    }
}

#[test]
fn none_at_all() {
    for (protocol, (schemes, mode)) in
        PROTOCOLS.into_iter().flat_map(|protocol| SCHEMES.map(|scheme| (protocol, scheme)))
    {
        for stapling in [Stapling::Off, Stapling::Ask, Stapling::Require] {
            let what = format!("{stapling:?}, {protocol:?}, {mode}");
            let setup = setup(protocol, stapling);
            let setup = if schemes == Schemes::OFF { setup } else { setup.with_frozen_cache(schemes) };
            own(&setup, Side::Server).set_staple(PROVIDER, None).unwrap();
            let done = connect(&setup, 7);
            if stapling == Stapling::Require {
                let failed = done.result.expect_err(&what);
                let missing = CertificateError::Staple(StapleError::Missing);
                assert_eq!((failed.side, &failed.error), (Side::Client, &Error::Certificate(missing)), "{what}");
                assert_eq!(failed.error.alert(), Some(AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE));
            } else {
                done.result.unwrap_or_else(|failed| panic!("{what}: {failed:?}"));
                assert_eq!((done.client.mode, done.client.peer.staple), (mode, Staple::None), "{what}");
            }
        }
    }
}

/// A client that did not ask gets no response, whatever the response would say.
#[test]
fn not_asked_for() {
    for (protocol, (schemes, mode)) in
        PROTOCOLS.into_iter().flat_map(|protocol| SCHEMES.map(|scheme| (protocol, scheme)))
    {
        let setup = setup(protocol, Stapling::Off);
        let setup = if schemes == Schemes::OFF { setup } else { setup.with_frozen_cache(schemes) };
        own(&setup, Side::Server).set_any_staple(b"garbage");
        let done = connect(&setup, 7);
        done.result.unwrap();
        assert_eq!((done.client.mode, done.client.peer.staple), (mode, Staple::None));
        assert_eq!(received(&done.client, HandshakeType::CERTIFICATE_STATUS), None);
    }
}

/// Responses are judged alike whatever key the CA signs with, and whichever provider verifies it.
#[test]
fn every_algorithm() {
    let server = &terse_aws_lc::PROVIDER;
    for chain in ["p384x3", "ed25519x3", "rsa2048x3"] {
        for provider in [PROVIDER, server] {
            let pki = Pki::shared(chain);
            let options = OcspOptions::good(NOW - DAY, 7);
            let responder = LeafOptions { usage: Usage::OcspSigning, ..LeafOptions::new("ocsp.example", validity()) };
            let responder = pki.authority.issue(&responder).unwrap();
            for responder in [None, Some(&responder)] {
                let mut setup = Setup::new(server, server, chain);
                let trust = pki.trust().with_stapling(Stapling::Require);
                setup.client = terse_tls::ClientConfig::builder(provider); // RSA keys do not sign with every provider
                setup.client.trust(trust);
                let options = OcspOptions { responder, ..options };
                let response = pki.authority.ocsp_response(pki.server.leaf(), &options).unwrap();
                setup.server.config().credentials()[0].set_staple(server, Some(&response)).unwrap();
                let done = connect(&setup, 7);
                done.result.unwrap_or_else(|failed| panic!("{chain}: {failed:?}"));
                assert_eq!(done.client.peer.staple, Staple::Good, "{chain}");
            }
        }
    }
}
