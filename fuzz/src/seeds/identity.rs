//! Seeds with identity keys: files, and values that peers send.

use terse_ibc::files::{KeyFile, parameters_to_pem};
use terse_testkit::rng::SeededRng;
use terse_tls::identity::{IdentityAlgorithm, KnownPeers};

use super::Seed;
use crate::identity::{KEYS, Keys, PROVEN, authority, client, own_renewal, server};

/// Returns what loads, and what real keys agree with.
pub(super) fn all() -> Vec<Seed> {
    let mut seeds: Vec<Seed> = vec![
        ("identity-eui64".into(), [&[5], client().encoded()].concat()),
        ("identity-dns".into(), [&[5], server().encoded()].concat()),
        ("identity-text".into(), [&[5], client().to_string().as_bytes()].concat()),
        ("identity-device".into(), [&[5][..], b"device:pump\n7"].concat()),
    ];
    for (keys, algorithm) in KEYS.iter().zip(IdentityAlgorithm::ALL) {
        let request = own_renewal(algorithm).request();
        let response = keys.generator.renew(&[authority()], &PROVEN, &request).expect("an identity that was proven");
        let code = (algorithm.code() - 1) << 4;
        seeds.push((format!("renewal-{algorithm}"), [&[12 | code], &request[..]].concat()));
        seeds.push((format!("renewed-{algorithm}"), [&[13 | code], &response[..]].concat()));
        seeds.extend(of(keys).map(|(name, what, bytes)| {
            let what = what | (algorithm.code() - 1) << 4;
            (format!("{name}-{algorithm}"), [&[what], &bytes[..]].concat())
        }));
    }
    seeds
}

fn of(keys: &Keys) -> [(&'static str, u8, Vec<u8>); 10] {
    let Keys { generator, client: of_client, server: of_server, .. } = keys;
    let (parameters, public_part) = (of_client.parameters(), of_server.public_part());
    let known_peers = if public_part.is_empty() { vec![] } else { vec![(server(), public_part.to_vec())] };
    let key = generator.extract(&client()).expect("a key");
    let key_file = KeyFile { key, known_peers }.to_pem().expect("valid peers");
    let ephemeral = of_server.ephemeral(&mut SeededRng::new(8)).expect("random bytes");
    let known = KnownPeers::new(4);
    known.provide(parameters.authority(), &server(), public_part);
    [
        ("key-file", 0, key_file.as_bytes().to_vec()),
        ("parameters-file", 1, parameters_to_pem(parameters).into_bytes()),
        ("generator-file", 2, generator.to_pem().as_bytes().to_vec()),
        ("generator", 3, generator.to_bytes().to_vec()),
        ("parameters", 4, parameters.encode()),
        ("known-peers", 6, known.snapshot()),
        ("agreement", 7, [ephemeral.public(), public_part].concat()),
        ("key-content", 9, crate::identity::content(&key_file)),
        ("request", 11, ephemeral.public().to_vec()),
        ("parameters-content", 10, [&[1], &parameters.encode()[..]].concat()),
    ]
}
