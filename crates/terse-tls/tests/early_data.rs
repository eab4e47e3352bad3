//! A server skips early data that it does not want, within bounds (RFC 9846, 4.3.10).

use terse_testkit::fault;
use terse_testkit::forge::plaintext;
use terse_testkit::pair::{Pair, Side};
use terse_testkit::setup::Setup;
use terse_tls::crypto::CryptoError;
use terse_tls::{ContentType, Error, Event, ExtensionType, HandshakeType, PeerMisbehaved};

/// A client that announces early data in its first ClientHello, as with a ticket of another server.
fn setup() -> Setup {
    let provider = &terse_rustcrypto::PROVIDER;
    let mut setup = Setup::mutual(provider, provider, "p256x3");
    setup.client.fault(Some(fault::nth(HandshakeType::CLIENT_HELLO, 0, |message| {
        fault::add_extension(message, ExtensionType::EARLY_DATA, &[]);
    })));
    setup
}

fn early_record(len: usize) -> Vec<u8> {
    plaintext(ContentType::APPLICATION_DATA, &vec![0x5a; len])
}

fn hello_and_early_data(pair: &mut Pair, lens: &[usize]) -> Result<(), Error> {
    let mut bytes = pair.transmit(Side::Client);
    lens.iter().for_each(|len| bytes.extend(early_record(*len)));
    pair.deliver(Side::Server, bytes).map_err(|failed| failed.error)
}

#[test]
fn is_skipped() {
    for lens in [&[100][..], &[17; 40], &[0x4000], &[]] {
        let mut pair = setup().pair(1);
        hello_and_early_data(&mut pair, lens).unwrap();
        pair.handshake().unwrap();
        assert_eq!(pair.carry(Side::Client, b"data").unwrap(), b"data", "{lens:?}");
    }
}

#[test]
fn is_skipped_before_the_second_client_hello() {
    let mut pair = setup().with_hello_retry(false).pair(1);
    hello_and_early_data(&mut pair, &[100, 200]).unwrap();
    pair.handshake().unwrap();
}

#[test]
fn is_not_skipped_after_the_second_client_hello() {
    let mut pair = setup().with_hello_retry(false).pair(1);
    hello_and_early_data(&mut pair, &[100]).unwrap();
    let retry = pair.transmit(Side::Server);
    pair.deliver(Side::Client, retry).unwrap();
    let refused = hello_and_early_data(&mut pair, &[100]).unwrap_err();
    assert_eq!(refused, Error::Crypto(CryptoError::DecryptFailed));
}

#[test]
fn is_skipped_within_bounds() {
    let mut pair = setup().pair(1);
    let refused = hello_and_early_data(&mut pair, &[0x4000; 3]).unwrap_err();
    assert_eq!(refused, Error::Crypto(CryptoError::DecryptFailed));
    assert_eq!(pair.server.poll_event(), None::<Event>);
}

#[test]
fn that_was_not_announced_is_refused() {
    let mut setup = setup();
    setup.client.fault(None);
    let mut pair = setup.pair(1);
    let refused = hello_and_early_data(&mut pair, &[100]).unwrap_err();
    assert_eq!(refused, Error::Crypto(CryptoError::DecryptFailed));
}

#[test]
fn that_the_second_client_hello_announces_is_refused() {
    let mut setup = setup().with_hello_retry(false);
    setup.client.fault(Some(fault::fault(|_, kind, message| {
        if kind == HandshakeType::CLIENT_HELLO {
            fault::add_extension(message, ExtensionType::EARLY_DATA, &[]);
        }
    })));
    let failed = setup.pair(1).run().unwrap_err();
    assert_eq!((failed.side, failed.error), (Side::Server, PeerMisbehaved::ChangedClientHello.into()));
}

#[test]
fn a_forged_finished_is_not_taken_for_it() {
    let mut pair = setup().pair(1);
    hello_and_early_data(&mut pair, &[100]).unwrap();
    let flight = pair.transmit(Side::Server);
    pair.deliver(Side::Client, flight).unwrap();
    let mut finished = pair.transmit(Side::Client);
    *finished.last_mut().unwrap() ^= 1;
    // The early data is skipped: nothing was ever decrypted, so the server goes on waiting, and is not connected.
    pair.deliver(Side::Server, finished).unwrap();
    assert!(!pair.server.is_connected());
}
