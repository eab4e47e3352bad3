//! The keys of early data, derived once more from docs/identity-format.md alone, with an independent implementation of the
//! algorithm whose secrets can be seen.

use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use sha2::{Digest, Sha256};
use terse_testkit::forge::KeyLogLines;
use terse_testkit::identity;
use terse_testkit::pki::NOW;
use terse_tls::crypto::IdentityKey;
use terse_tls::{CipherSuite, ClientIdentity, ServerIdentity};

use super::super::independent::{Generator, Key, point, public_key};
use super::*;

const SUITE: CipherSuite = CipherSuite::TLS_AES_128_GCM_SHA256;

fn world(client: &Key, server: &Key) -> (World, Arc<KeyLogLines>) {
    let mut world = World::new(RISTRETTO255);
    let tickets = SecretTickets::Stateful { store: world.tickets.clone(), lifetime_seconds: LIFETIME };
    world.of_client = ClientIdentity::new(Arc::new(client.clone())).early_data(true).first_contact(MAX_SIZE);
    let key: Arc<dyn IdentityKey> = Arc::new(server.clone());
    let memory = Arc::new(FirstContactMemory::trusting_clock(4, NOW - 100));
    world.of_server = ServerIdentity::new([key]).tickets(tickets).first_contact(memory);
    world.client.suites([SUITE]);
    world.server.suites([SUITE]);
    let log = Arc::new(KeyLogLines::default());
    world.client.key_log(log.clone());
    (world, log)
}

/// `client_early_traffic_secret` after `hello`, the record with the ClientHello.
fn early_traffic_secret(input: &[u8], hello: &[u8]) -> Vec<u8> {
    let hash = PROVIDER.sha256;
    let early_secret = hash.hkdf_extract(&[0; 32], input);
    let messages = Sha256::digest(&hello[5..]);
    let label = b"tls13 c e traffic";
    let info = [&[0, 32, label.len() as u8][..], label, &[32], &messages].concat();
    let mut secret = vec![0; 32];
    hash.hkdf_expand(early_secret.as_ref(), &[&info], &mut secret).expect("a short output");
    secret
}

fn encoded(point: RistrettoPoint) -> Vec<u8> {
    point.compress().to_bytes().to_vec()
}

#[test]
fn early_data_has_the_keys_of_the_document() {
    let generator = Generator::new(123_456_789);
    let (c, s) = (generator.issue(&identity::client(), 1_001), generator.issue(&identity::server(), 2_002));
    let [pub_c, pub_s] = [&c, &s].map(|key| public_key(&key.parameters, &key.identity, &key.public_part).unwrap());
    let (mut world, log) = world(&c, &s);
    let parameters = Sha256::digest(
        [&[2][..], generator.parameters.authority_key(), &[0, 0, 0, 7]]
            .concat()
            .into_iter()
            .chain(identity::NOT_AFTER.to_be_bytes())
            .collect::<Vec<_>>(),
    );
    let tail = |ek_c: RistrettoPoint, ephemeral: &[u8]| {
        let ids = [&c.identity, &s.identity].map(|identity| identity.hashed(7)).concat();
        [&parameters[..], &ids, &encoded(ek_c), ephemeral, &c.public_part, &s.public_part].concat()
    };

    // The first connection: the client holds no public part of the server, and gets a ticket. Its ephemeral key leaks.
    world.connect(0);
    let mut secrets = Vec::new();
    world.tickets.for_each(|_, record| secrets.push(record.to_bytes()));
    let record = &secrets[0];
    // version(1) || binding(32) || expires(8) || client || r_C || the private half of R
    let offset = 41 + 1 + c.identity.encoded().len() + 1 + 32 + 1;
    let r: Scalar =
        Option::from(Scalar::from_canonical_bytes(record[offset..offset + 32].try_into().unwrap())).unwrap();

    let flight = world.early_pair(1).transmit(Side::Client);
    let x = *c.leaked.lock().expect("no panic");
    let big_r = RistrettoPoint::mul_base(&r);
    let terms = [x * pub_s, c.private * big_r, x * big_r, c.private * pub_s].map(encoded).concat();
    assert_eq!(
        terms,
        [s.private * RistrettoPoint::mul_base(&x), r * pub_c, r * RistrettoPoint::mul_base(&x), s.private * pub_c]
            .map(encoded)
            .concat()
    );
    let input = [&b"ticket"[..], &terms, &tail(RistrettoPoint::mul_base(&x), &encoded(big_r))].concat();
    let (hello, _) = split_hello(&flight);
    assert_eq!(log.secret("CLIENT_EARLY_TRAFFIC_SECRET"), early_traffic_secret(&input, hello));

    // Without a ticket, at first contact.
    let (mut world, log) = super::schedule::world(&c, &s);
    world.of_client.store().provide(generator.parameters.authority(), &s.identity, &s.public_part);
    let flight = world.early_pair(0).transmit(Side::Client);
    let x = *c.leaked.lock().expect("no panic");
    let terms = [x * pub_s, c.private * pub_s].map(encoded).concat();
    let input = [&b"first"[..], &terms, &tail(RistrettoPoint::mul_base(&x), &[])].concat();
    let (hello, _) = split_hello(&flight);
    assert_eq!(log.secret("CLIENT_EARLY_TRAFFIC_SECRET"), early_traffic_secret(&input, hello));
    assert!(point(&encoded(big_r)).is_ok());
}
