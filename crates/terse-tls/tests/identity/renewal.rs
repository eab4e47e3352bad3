//! Renewal of identity keys over a connection of the engine (docs/identity-format.md, 9).

use alloc::sync::Arc;

use terse_ibc::Generator;
use terse_ibc::renewal::{Renewal, RenewalError};
use terse_testkit::identity::{self, IdentityKeys, NOT_AFTER};
use terse_testkit::pair::{Pair, Side};
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::IdentityKey;
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::{ClientConfig, ClientIdentity, ServerConfig, ServerIdentity};

use super::{PROVIDER, check_traffic, setup};

/// The generator of the shared keys, in its next epoch.
fn rotated(algorithm: IdentityAlgorithm) -> Generator {
    let mut generator = IdentityKeys::shared(algorithm).generator.clone();
    generator.rotate(NOT_AFTER + 1).unwrap();
    generator
}

fn connected(algorithm: IdentityAlgorithm) -> Pair {
    let mut pair = setup(algorithm).pair(1);
    pair.handshake().unwrap();
    pair
}

#[test]
fn a_device_gets_the_key_of_the_next_epoch() {
    for algorithm in IdentityAlgorithm::ALL {
        let keys = IdentityKeys::shared(algorithm);
        let (generator, mut pair) = (rotated(algorithm), connected(algorithm));
        let renewal = Renewal::new(&*keys.client, &mut SeededRng::new(5)).unwrap();
        let request = pair.carry(Side::Client, &renewal.request()).unwrap();
        let accepted = [keys.client.parameters().authority(), generator.parameters().authority()];
        let response = generator.renew(&accepted, pair.server.summary(), &request).unwrap();
        let response = pair.carry(Side::Server, &response).unwrap();
        let key = renewal.finish(&response).unwrap().into_key();
        assert_eq!((key.identity(), key.parameters()), (&identity::client(), generator.parameters()));

        // It works with a server of that epoch.
        let (mut client, mut server) = (ClientConfig::builder(PROVIDER), ServerConfig::builder(PROVIDER));
        client.identity(ClientIdentity::new(key));
        let of_server: Arc<dyn IdentityKey> = generator.issue(&identity::server()).unwrap();
        server.identity(ServerIdentity::new([of_server]));
        let mut pair = Pair::new(&Arc::new(client.build().unwrap()), &Arc::new(server.build().unwrap()), 2);
        pair.handshake().unwrap();
        check_traffic(&mut pair);
    }
}

/// The generator does not know the new key: with the same request it makes the same answer, and without the device's secret
/// nobody completes it.
#[test]
fn only_the_device_completes_its_key() {
    let algorithm = IdentityAlgorithm::Ristretto255;
    let keys = IdentityKeys::shared(algorithm);
    let (generator, pair) = (rotated(algorithm), connected(algorithm));
    let accepted = [keys.client.parameters().authority()];
    let renewal = Renewal::new(&*keys.client, &mut SeededRng::new(5)).unwrap();
    let response = generator.renew(&accepted, pair.server.summary(), &renewal.request()).unwrap();
    assert_eq!(*generator.renew(&accepted, pair.server.summary(), &renewal.request()).unwrap(), *response);
    let other = Renewal::new(&*keys.client, &mut SeededRng::new(6)).unwrap();
    assert_eq!(other.finish(&response).err(), Some(RenewalError::WrongKey));
    assert!(renewal.finish(&response).is_ok());
}

#[test]
fn nobody_is_answered_who_has_not_proven_an_identity() {
    let algorithm = IdentityAlgorithm::Ristretto255;
    let keys = IdentityKeys::shared(algorithm);
    let generator = rotated(algorithm);
    let request = Renewal::new(&*keys.client, &mut SeededRng::new(5)).unwrap().request();
    let renew = |pair: &Pair, accepted: &[_]| generator.renew(accepted, pair.server.summary(), &request).err();
    let accepted = [keys.client.parameters().authority()];

    let mut half_way = setup(algorithm).pair(1);
    let hello = half_way.transmit(Side::Client);
    half_way.deliver(Side::Server, hello).unwrap();
    assert_eq!(renew(&half_way, &accepted), Some(RenewalError::NotAuthenticated));

    let mut certified = terse_testkit::setup::Setup::mutual(PROVIDER, PROVIDER, super::CHAIN).pair(1);
    certified.handshake().unwrap();
    assert_eq!(renew(&certified, &accepted), Some(RenewalError::NotAuthenticated));

    let other = [IdentityKeys::new(algorithm, 99).generator.parameters().authority()];
    assert_eq!(renew(&connected(algorithm), &other), Some(RenewalError::OtherGenerator));
}

#[test]
fn malformed_messages_are_refused() {
    for algorithm in IdentityAlgorithm::ALL {
        let keys = IdentityKeys::shared(algorithm);
        let (generator, pair) = (rotated(algorithm), connected(algorithm));
        let accepted = [keys.client.parameters().authority()];
        let renewal = || Renewal::new(&*keys.client, &mut SeededRng::new(5)).unwrap();
        let request = renewal().request();
        let answer = |request: &[u8]| generator.renew(&accepted, pair.server.summary(), request);
        for len in 0..request.len() {
            assert_eq!(answer(&request[..len]).err(), Some(RenewalError::Malformed), "{algorithm} {len}");
        }
        assert_eq!(answer(&[&request[..], &[0]].concat()).err(), Some(RenewalError::Malformed));
        if request.len() > 3 {
            let bad_point = [&request[..3], &[0xff; 32]].concat();
            assert!(matches!(answer(&bad_point), Err(RenewalError::Issue(_))));
        }
        let response = answer(&request).unwrap();
        for len in 0..response.len() {
            assert_eq!(renewal().finish(&response[..len]).err(), Some(RenewalError::Malformed), "{algorithm} {len}");
        }
        for byte in 0..response.len() {
            let mut changed = response.to_vec();
            changed[byte] ^= 1;
            // The end of the epoch is what the connection says; in another one the key is of no use.
            let other = renewal().finish(&changed).map(|key| key.as_key().parameters().authority());
            assert!(other != Ok(generator.parameters().authority()), "{algorithm} {byte}");
        }
    }
}

/// Whoever has learned the old secret can pose as the generator: new parameters must come another way.
#[test]
fn a_new_secret_is_not_taken_from_the_connection() {
    for algorithm in IdentityAlgorithm::ALL {
        let keys = IdentityKeys::shared(algorithm);
        let pair = connected(algorithm);
        let mut generator = keys.generator.clone();
        generator.rekey(NOT_AFTER + 1, &mut SeededRng::new(7)).unwrap();
        let accepted = [keys.client.parameters().authority()];
        let renewal = || Renewal::new(&*keys.client, &mut SeededRng::new(5)).unwrap();
        let response = generator.renew(&accepted, pair.server.summary(), &renewal().request()).unwrap();
        assert_eq!(renewal().finish(&response).err(), Some(RenewalError::OtherParameters));
        let expecting = renewal().expecting(generator.parameters().clone());
        assert_eq!(expecting.finish(&response).unwrap().as_key().parameters(), generator.parameters());
        let expecting = renewal().expecting(keys.generator.parameters().clone());
        assert_eq!(expecting.finish(&response).err(), Some(RenewalError::OtherParameters));

        // Nor is the key of an earlier epoch.
        let later = rotated(algorithm).issue(&identity::client()).unwrap();
        let renewal = Renewal::new(&*later, &mut SeededRng::new(5)).unwrap();
        let old = keys.generator.renew(&accepted, pair.server.summary(), &renewal.request()).unwrap();
        assert_eq!(renewal.finish(&old).err(), Some(RenewalError::OtherParameters));
    }
}
