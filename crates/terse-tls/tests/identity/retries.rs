//! HelloRetryRequest: for the public part of the client's key, for a cookie, and for both at once.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};

use terse_testkit::identity;
use terse_testkit::pair::{Side, at};
use terse_testkit::pki::server_address;
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::crypto::{
    CryptoError, EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, Rng, StaticTerms,
};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};
use terse_tls::{
    ClientIdentity, Connection, Endpoint, EndpointEvent, EndpointLimits, Error, ExtensionType, HandshakeType,
    PeerMisbehaved, ServerIdentity,
};

use super::{check_identified, check_traffic, in_datagrams, setup};

const RISTRETTO255: IdentityAlgorithm = IdentityAlgorithm::Ristretto255;

/// The client believes that the server knows the public part of its key, and the server has forgotten it.
fn forgotten() -> Setup {
    setup(RISTRETTO255).with_forgetful_server()
}

/// Runs a connection through an endpoint, and returns the bytes of all datagrams.
pub(crate) fn through_endpoint(setup: &Setup, limits: EndpointLimits) -> usize {
    let (bytes, client) = through(setup, limits);
    assert!(client.is_connected());
    bytes
}

fn through(setup: &Setup, limits: EndpointLimits) -> (usize, Connection) {
    let (client, server, known) = setup.identities.as_ref().expect("identities");
    let (mut client_config, mut server_config) = (setup.client.clone(), setup.server.clone());
    client_config.identity(ClientIdentity::known_peers(client.clone(), identity::copy(&known[0])));
    server_config.identity(ServerIdentity::known_peers(server.clone(), identity::copy(&known[1])));
    let mut rng = SeededRng::new(1);
    let now = at(0);
    let mut endpoint = Endpoint::new(Arc::new(server_config.build().unwrap()), limits, &mut rng).unwrap();
    let client_config = Arc::new(client_config.build().unwrap());
    let mut client = Connection::client(client_config, server_address(), now, &mut rng).unwrap();
    let address = SocketAddr::from(([192, 0, 2, 1], 4000));
    let mut buffer = [0; 2048];
    let mut bytes = 0;
    let mut is_connected = false;
    loop {
        let mut idle = true;
        while let Some(len) = client.poll_transmit(now, &mut buffer) {
            bytes += len;
            idle = false;
            endpoint.handle_datagram(now, &mut rng, address, &mut buffer[..len]);
        }
        while let Some((_, len)) = endpoint.poll_transmit(now, &mut buffer) {
            bytes += len;
            idle = false;
            if client.handle_input(now, &mut rng, &mut buffer[..len]).is_err() {
                return (bytes, client);
            }
        }
        while let Some((handle, event)) = endpoint.poll_event() {
            if event == EndpointEvent::Connected {
                is_connected = true;
                let summary = endpoint.connection(handle).expect("a connection").summary();
                check_identified([client.summary(), summary], summary.identity_algorithm.expect("an algorithm"));
            }
        }
        if idle {
            assert!(is_connected);
            return (bytes, client);
        }
    }
}

#[test]
fn a_server_that_lacks_the_public_part_asks_for_it() {
    let mut pair = forgotten().pair(1);
    pair.handshake().unwrap();
    check_identified([pair.client.summary(), pair.server.summary()], RISTRETTO255);
    assert_eq!(pair.client.summary().round_trips, 2);
    check_traffic(&mut pair);
    // It knows it from now on.
    let mut again = setup(RISTRETTO255);
    let (client, server, known) = again.identities.as_mut().expect("identities");
    *known = [client.store().clone(), server.store().clone()];
}

#[test]
fn over_datagrams_it_asks_for_cookie_and_public_part_at_once() {
    let forgotten = in_datagrams(forgotten());
    let (with_cookie, client) = through(&forgotten, EndpointLimits::default());
    assert_eq!(client.summary().round_trips, 2);
    let limits = EndpointLimits::default().require_cookie(false);
    let (without, client) = through(&forgotten, limits);
    // Whoever has to come again gets a cookie in any case.
    assert_eq!((client.summary().round_trips, with_cookie), (2, without));
}

/// A second request for the same thing changes nothing.
#[test]
fn a_request_for_what_was_sent_is_refused() {
    let mut setup = setup(RISTRETTO255);
    let fault = terse_testkit::fault::first(HandshakeType::SERVER_HELLO, |message| {
        message[6..38].copy_from_slice(&HELLO_RETRY_REQUEST);
        terse_testkit::fault::set_extension(message, ExtensionType::IDENTITY_SHARE, &[]);
    });
    setup.server.fault(Some(fault));
    let mut pair = setup.pair(1);
    let failed = pair.run().unwrap_err();
    assert_eq!((failed.side, failed.error), (Side::Client, PeerMisbehaved::IllegalHelloRetryRequest.into()));
}

/// A client without an identity gets no such request.
#[test]
fn a_request_of_a_client_without_identity_is_refused() {
    let mut setup = Setup::mutual(super::PROVIDER, super::PROVIDER, super::CHAIN);
    let fault = terse_testkit::fault::first(HandshakeType::SERVER_HELLO, |message| {
        message[6..38].copy_from_slice(&HELLO_RETRY_REQUEST);
        terse_testkit::fault::add_extension(message, ExtensionType::IDENTITY_SHARE, &[]);
    });
    setup.server.fault(Some(fault));
    let failed = setup.pair(1).run().unwrap_err();
    assert_eq!(failed.side, Side::Client);
    assert_eq!(
        failed.error,
        Error::PeerMisbehaved(PeerMisbehaved::UnsolicitedExtension(ExtensionType::IDENTITY_SHARE))
    );
}

/// RFC 9846, 4.2.2: the second ClientHello may add the public part, and change nothing else.
#[test]
fn the_second_client_hello_repeats_the_first() {
    for place in [1, 10, 20] {
        let mut setup = forgotten();
        setup.client.fault(Some(terse_testkit::fault::nth(HandshakeType::CLIENT_HELLO, 1, move |message| {
            terse_testkit::fault::edit_extensions(message, |extensions| {
                let share =
                    extensions.iter_mut().find(|(kind, _)| *kind == ExtensionType::IDENTITY_SHARE).expect("the share");
                share.1[place] ^= 1;
            });
        })));
        let mut pair = setup.pair(1);
        let failed = pair.run().unwrap_err();
        assert_eq!(failed.side, Side::Server, "{place}");
        assert_eq!(failed.error.alert().map(|alert| alert.0), Some(47), "{place}: {}", failed.error);
    }
}

/// The random value that makes a ServerHello a HelloRetryRequest (RFC 9846, 4.2.3).
const HELLO_RETRY_REQUEST: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A key that counts the operations in its group.
struct Counting {
    key: Arc<dyn IdentityKey>,
    operations: Arc<AtomicUsize>,
}

impl IdentityKey for Counting {
    fn parameters(&self) -> &IdentityParameters {
        self.key.parameters()
    }

    fn identity(&self) -> &Identity {
        self.key.identity()
    }

    fn public_part(&self) -> &[u8] {
        self.key.public_part()
    }

    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        self.key.ephemeral(rng)
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        self.key.ephemeral_from(secret)
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        self.key.static_terms(role, ephemeral, peer)
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        known: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        self.key.terms(role, ephemeral, peer, known)
    }
}

/// Whoever sends ClientHellos from addresses of others makes the server compute nothing in a group.
#[test]
fn a_server_computes_in_no_group_before_the_cookie() {
    for algorithm in IdentityAlgorithm::ALL {
        for (limits, expected) in [(EndpointLimits::default(), 0), (EndpointLimits::default().require_cookie(false), 2)]
        {
            let setup = in_datagrams(setup(algorithm));
            let (client, ..) = setup.identities.as_ref().expect("identities");
            let operations = Arc::new(AtomicUsize::new(0));
            let key = identity::IdentityKeys::shared(algorithm).server.clone();
            let counting: Arc<dyn IdentityKey> = Arc::new(Counting { key, operations: operations.clone() });
            let (mut of_client, mut of_server) = (setup.client.clone(), setup.server.clone());
            of_client.identity(client.clone());
            of_server.identity(ServerIdentity::new([counting]));
            let mut rng = SeededRng::new(1);
            let mut endpoint = Endpoint::new(Arc::new(of_server.build().unwrap()), limits, &mut rng).unwrap();
            let of_client = Arc::new(of_client.build().unwrap());
            let mut client = Connection::client(of_client, server_address(), at(0), &mut rng).unwrap();
            let mut buffer = [0; 2048];
            let len = client.poll_transmit(at(0), &mut buffer).expect("a ClientHello");
            endpoint.handle_datagram(at(0), &mut rng, SocketAddr::from(([192, 0, 2, 1], 4000)), &mut buffer[..len]);
            assert!(endpoint.poll_transmit(at(0), &mut buffer).is_some(), "the server answers");
            assert_eq!(operations.load(Ordering::Relaxed), expected, "{algorithm}");
        }
    }
}
