//! A private key that takes its time: a secure element, a PKCS#11 token, a key server. The handshake waits for it, on
//! either side, and goes on as if it had not.

use std::sync::Arc;

use pki_types::SubjectPublicKeyInfoDer;
use terse_testkit::pair::{Failed, Pair, Side};
use terse_testkit::pki::Pki;
use terse_testkit::setup::Setup;
use terse_tls::cache::Schemes;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use terse_tls::{AlertDescription, ApiMisuse, Credential, Error, Event, ProtocolVersion, SignatureScheme};

use super::{PROVIDER, VERSIONS};

const CHAIN: &str = "p256x3";

/// A key in a secure element: it knows its public half, and signs later.
struct Slow(Arc<dyn SigningKey>);

impl SigningKey for Slow {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.public_key()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(Signing::Pending)
    }
}

/// Both sides have slow keys.
fn slow(version: ProtocolVersion) -> Setup {
    let pki = Pki::shared(CHAIN);
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version);
    let credential = |issued: &terse_pki::Credential| {
        let key = PROVIDER.load_key(issued.key()).unwrap();
        Credential::new(issued.chain().to_vec(), Arc::new(Slow(key))).unwrap()
    };
    setup.client.credentials(vec![credential(&pki.client)]);
    setup.server.credentials(vec![credential(&pki.server)]);
    setup
}

/// What the secure element of `side` answers in the end.
fn sign(pair: &mut Pair, side: Side) -> Vec<u8> {
    let pki = Pki::shared(CHAIN);
    let issued = if side == Side::Client { &pki.client } else { &pki.server };
    let (connection, rng) = pair.side(side);
    let request = connection.signature_request().expect("a request");
    let key = PROVIDER.load_key(issued.key()).unwrap();
    assert_eq!(request.credential().key().public_key(), key.public_key());
    key.sign(request.scheme(), request.message(), rng).unwrap().done().unwrap()
}

/// Runs until nobody says anything more, and signs whenever one is asked. Returns who was asked.
fn run(pair: &mut Pair) -> Vec<Side> {
    let mut asked = Vec::new();
    loop {
        pair.run().expect("a handshake");
        let Some(side) = Side::BOTH.into_iter().find(|side| pair.side(*side).0.signature_request().is_some()) else {
            return asked;
        };
        assert_eq!(pair.side(side).0.poll_event(), Some(Event::NeedSignature));
        assert_eq!(pair.side(side).0.poll_event(), None, "an event is reported once");
        assert!(pair.side(side).0.is_handshaking());
        let signature = sign(pair, side);
        let now = pair.now;
        let (connection, rng) = pair.side(side);
        connection.provide_signature(now, rng, Ok(&signature)).expect("a state that waits");
        asked.push(side);
    }
}

#[test]
fn both_sides_wait() {
    for version in VERSIONS {
        let mut pair = slow(version).pair(1);
        assert_eq!(run(&mut pair), [Side::Server, Side::Client]);
        for side in Side::BOTH {
            assert_eq!(pair.side(side).0.poll_event(), Some(Event::Connected));
            assert_eq!(pair.carry(side, b"data").unwrap(), b"data");
        }
    }
}

/// Nothing of the flight that is not signed yet leaves in pieces, and the bytes are those of a key that answers at once.
#[test]
fn waiting_changes_nothing() {
    for version in VERSIONS {
        let mut waits = slow(version).pair(1);
        run(&mut waits);
        let mut at_once = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version).pair(1);
        at_once.handshake().unwrap();
        assert_eq!(waits.from_client, at_once.from_client);
        assert_eq!(waits.from_server, at_once.from_server);
    }
}

#[test]
fn cached_as_well() {
    for version in VERSIONS {
        let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(version).with_frozen_cache(Schemes::BITHAC);
        let slow = slow(version);
        setup.client.credentials(slow.client.config().credentials());
        setup.server.credentials(slow.server.config().credentials());
        let mut pair = setup.pair(1);
        assert_eq!(run(&mut pair), [Side::Server, Side::Client]);
        assert_eq!(pair.client.summary().mode.name(), "bithac");
        assert_eq!(pair.client.summary().cached.len(), 2);
        assert_eq!(pair.carry(Side::Server, b"data").unwrap(), b"data");
    }
}

/// A client whose key signs at once, at a server whose key does not, and the other way round.
#[test]
fn one_side_waits() {
    for (version, side) in VERSIONS.into_iter().flat_map(|version| Side::BOTH.map(|side| (version, side))) {
        let (mut setup, fast) = (slow(version), Setup::mutual(PROVIDER, PROVIDER, CHAIN));
        match side {
            Side::Client => {
                setup.server.credentials(fast.server.config().credentials());
            }
            Side::Server => {
                setup.client.credentials(fast.client.config().credentials());
            }
        }
        let mut pair = setup.pair(1);
        assert_eq!(run(&mut pair), [side]);
        assert_eq!(pair.carry(side, b"data").unwrap(), b"data");
    }
}

#[test]
fn no_input_is_taken_meanwhile() {
    for version in VERSIONS {
        let mut pair = slow(version).pair(1);
        pair.run().expect("the server waits");
        let (now, mut record) = (pair.now, vec![22, 3, 3, 0, 1, 0]);
        let (server, rng) = pair.side(Side::Server);
        assert_eq!(server.handle_input(now, rng, &mut record), Ok(0));
    }
}

/// Runs until the key of `side` is asked; that of a server before it has answered.
fn until_asked(version: ProtocolVersion, side: Side) -> Pair {
    let mut pair = slow(version).pair(1);
    pair.run().expect("the server waits");
    if side == Side::Client {
        let signature = sign(&mut pair, Side::Server);
        let now = pair.now;
        let (server, rng) = pair.side(Side::Server);
        server.provide_signature(now, rng, Ok(&signature)).unwrap();
        pair.run().expect("the client waits");
    }
    pair
}

#[test]
fn a_signer_that_fails() {
    for (version, side) in VERSIONS.into_iter().flat_map(|version| Side::BOTH.map(|side| (version, side))) {
        let mut pair = until_asked(version, side);
        let now = pair.now;
        let (connection, rng) = pair.side(side);
        let error = Error::from(CryptoError::SigningFailed);
        assert_eq!(connection.provide_signature(now, rng, Err(CryptoError::SigningFailed)), Err(error));
        let alert = Error::AlertReceived(AlertDescription::INTERNAL_ERROR);
        assert_eq!(pair.run(), Err(Failed { side: side.other(), error: alert }));
    }
}

#[test]
fn a_signature_that_is_wrong() {
    for (version, side) in VERSIONS.into_iter().flat_map(|version| Side::BOTH.map(|side| (version, side))) {
        let mut pair = until_asked(version, side);
        let mut signature = sign(&mut pair, side);
        *signature.last_mut().unwrap() ^= 1;
        let now = pair.now;
        let (connection, rng) = pair.side(side);
        connection.provide_signature(now, rng, Ok(&signature)).unwrap();
        let failed = pair.run().unwrap_err();
        assert_eq!((failed.side, failed.error.alert()), (side.other(), Some(AlertDescription::DECRYPT_ERROR)));
    }
}

/// What is said meanwhile is heard afterwards, in order: here that the peer has given up.
#[test]
fn an_alert_that_waits() {
    for (version, side) in VERSIONS.into_iter().flat_map(|version| Side::BOTH.map(|side| (version, side))) {
        let mut pair = until_asked(version, side);
        let signature = sign(&mut pair, side);
        pair.side(side.other()).0.close();
        let goodbye = pair.transmit(side.other());
        pair.deliver(side, goodbye.clone()).unwrap(); // takes none of it
        let now = pair.now;
        let (connection, rng) = pair.side(side);
        connection.provide_signature(now, rng, Ok(&signature)).unwrap();
        let result = pair.deliver(side, goodbye);
        assert_eq!(result.is_err(), side == Side::Server, "the goodbye of a server is not a close_notify");
        assert!(!pair.side(side).0.is_connected() || side == Side::Client);
    }
}

#[test]
fn a_signature_that_nobody_asked_for() {
    for version in VERSIONS {
        let mut pair = Setup::new(PROVIDER, PROVIDER, CHAIN).only(version).pair(1);
        let now = pair.now;
        let (client, rng) = pair.side(Side::Client);
        let error = Error::from(ApiMisuse::NoSignatureDue);
        assert_eq!(client.provide_signature(now, rng, Ok(b"signature")), Err(error));
        pair.handshake().expect("the connection is as it was");
    }
}
