use alloc::vec::Vec;

use super::*;
use crate::crypto::SharedSecret;

/// The inputs of a secret, as they are on one connection.
#[derive(Clone)]
struct Inputs {
    epoch: u32,
    client: Identity,
    server: Identity,
    ephemerals: [Vec<u8>; 2],
    public_parts: [Vec<u8>; 2],
    terms: [u8; 4],
    hybrid: Option<u8>,
}

impl Inputs {
    fn secret(&self) -> Vec<u8> {
        let parameters = IdentityParameters::new(IdentityAlgorithm::Ristretto255, &[9; 32], self.epoch, 1);
        let parameters = parameters.expect("the right length");
        let peer = |identity, side: usize| IdentityPeer {
            identity,
            public_part: &self.public_parts[side],
            ephemeral: &self.ephemerals[side],
        };
        let (client, server) = (peer(&self.client, 0), peer(&self.server, 1));
        let terms = IdentityTerms::new(self.terms.map(|byte| SharedSecret::new([byte; 32].into())));
        let hybrid = self.hybrid.map(|byte| SharedSecret::new([byte; 64].into()));
        PublicValues { parameters: &parameters, client, server }.secret(&terms, hybrid.as_ref()).as_ref().to_vec()
    }
}

fn identity(text: &str) -> Identity {
    text.parse().expect("an identity")
}

fn inputs() -> Inputs {
    Inputs {
        epoch: 7,
        client: identity("device:c"),
        server: identity("device:s"),
        ephemerals: [[1; 32].into(), [2; 32].into()],
        public_parts: [[3; 32].into(), [4; 32].into()],
        terms: [10, 11, 12, 13],
        hybrid: None,
    }
}

/// docs/identity-format.md, 7: K3 [|| hybrid] || K1 || K2 || K0 || tail.
#[test]
fn the_secret_has_its_parts_in_order() {
    let parameters = IdentityParameters::new(IdentityAlgorithm::Ristretto255, &[9; 32], 7, 1).expect("valid");
    let tail = [
        &parameters.hash()[..],
        &[2, 0, 1, b'c', 0, 0, 0, 7],
        &[2, 0, 1, b's', 0, 0, 0, 7],
        &[1; 32],
        &[2; 32],
        &[3; 32],
        &[4; 32],
    ]
    .concat();
    let expected = |hybrid: &[u8]| [&[13; 32][..], hybrid, &[11; 32], &[12; 32], &[10; 32], &tail].concat();
    assert_eq!(inputs().secret(), expected(&[]));
    assert_eq!(Inputs { hybrid: Some(14), ..inputs() }.secret(), expected(&[14; 64]));
}

/// Each input is a part of the secret: so two sides that disagree on one have different keys. Names are parts of their own:
/// an attacker who has somebody's key issued for another name (unknown key share) gains nothing.
#[test]
fn every_input_changes_the_secret() {
    let right = inputs();
    let mut changed = Vec::from([
        Inputs { epoch: 8, ..right.clone() },
        Inputs { client: identity("device:x"), ..right.clone() },
        Inputs { server: identity("device:x"), ..right.clone() },
        Inputs { client: right.server.clone(), server: right.client.clone(), ..right.clone() },
        Inputs { client: identity("dns:c"), ..right.clone() },
        Inputs { hybrid: Some(1), ..right.clone() },
    ]);
    for side in 0..2 {
        for other in [[7; 32].to_vec(), Vec::new()] {
            let mut ephemerals = right.ephemerals.clone();
            ephemerals[side].clone_from(&other);
            changed.push(Inputs { ephemerals, ..right.clone() });
            let mut public_parts = right.public_parts.clone();
            public_parts[side] = other;
            changed.push(Inputs { public_parts, ..right.clone() });
        }
    }
    for term in 0..4 {
        let mut terms = right.terms;
        terms[term] ^= 1;
        changed.push(Inputs { terms, ..right.clone() });
    }
    let secrets: Vec<_> = changed.iter().chain([&right]).map(Inputs::secret).collect();
    for (number, secret) in secrets.iter().enumerate() {
        assert!(!secrets[..number].contains(secret), "{number}");
    }
}

#[test]
fn a_key_exchange_is_split_by_the_lengths_of_the_algorithm() {
    let split = |algorithm, len: usize| {
        let bytes = alloc::vec![1; len];
        split_key_exchange(algorithm, &bytes).map(|(ephemeral, part)| (ephemeral.len(), part.len()))
    };
    assert_eq!(split(IdentityAlgorithm::Ristretto255, 32), Some((32, 0)));
    assert_eq!(split(IdentityAlgorithm::Ristretto255, 64), Some((32, 32)));
    assert_eq!(split(IdentityAlgorithm::Bls12381, 48), Some((48, 0)));
    for (algorithm, len) in
        IdentityAlgorithm::ALL.into_iter().flat_map(|algorithm| (0..100).map(move |len| (algorithm, len)))
    {
        let expected = [(1, 48), (2, 32), (2, 64)].contains(&(algorithm.code(), len));
        assert_eq!(split(algorithm, len).is_some(), expected, "{algorithm}, {len}");
    }
}
