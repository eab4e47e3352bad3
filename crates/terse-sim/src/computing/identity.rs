//! Counting identity keys.

use alloc::sync::Arc;

use terse_tls::crypto::{CryptoError, EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, Rng};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};

use super::Operation;
use super::counter::note;

/// An identity key that notes the multiplications and pairings of its calls.
pub struct CountingIdentityKey(Arc<dyn IdentityKey>);

impl CountingIdentityKey {
    /// Wraps a key.
    pub const fn new(key: Arc<dyn IdentityKey>) -> Self {
        Self(key)
    }

    fn algorithm(&self) -> IdentityAlgorithm {
        self.0.parameters().algorithm()
    }
}

/// Notes what `ephemeral` computes: `RistrettoKey::ephemeral` in `crates/terse-ibc/src/ristretto255.rs` has one `mul_base`,
/// and `BlsKey::ephemeral` in `crates/terse-ibc/src/bls12381.rs` one `G1::mul_generator`, for which blst has no table.
fn note_ephemeral(algorithm: IdentityAlgorithm) {
    note(
        match algorithm {
            IdentityAlgorithm::Ristretto255 => Operation::Ristretto255MultiplyBase,
            IdentityAlgorithm::Bls12381 => Operation::Bls12381G1Multiply,
            _ => Operation::Unknown("identity algorithm"),
        },
        1,
    );
}

/// Notes what `terms` computes.
///
/// `RistrettoKey::terms` multiplies the authority's key for the peer's public key (`public_key`), and then for each of the
/// four terms. `BlsKey::terms` hashes the peer's identity to G2, multiplies twice in G1 (`authority.point.mul` and
/// `theirs.mul`), and has a pairing for each term but `k3`; a server also hashes the client's identity to G1.
fn note_terms(algorithm: IdentityAlgorithm, role: IdentityRole) {
    match algorithm {
        IdentityAlgorithm::Ristretto255 => note(Operation::Ristretto255Multiply, 5),
        IdentityAlgorithm::Bls12381 => {
            note(Operation::Bls12381HashToG2, 1);
            note(Operation::Bls12381G1Multiply, 2);
            note(Operation::Pairing, 3);
            if role == IdentityRole::Server {
                note(Operation::Bls12381HashToG1, 1);
            }
        }
        _ => note(Operation::Unknown("identity algorithm"), 1),
    }
}

impl IdentityKey for CountingIdentityKey {
    fn parameters(&self) -> &IdentityParameters {
        self.0.parameters()
    }

    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    fn public_part(&self) -> &[u8] {
        self.0.public_part()
    }

    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        note_ephemeral(self.algorithm());
        self.0.ephemeral(rng)
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
    ) -> Result<IdentityTerms, CryptoError> {
        note_terms(self.algorithm(), role);
        self.0.terms(role, ephemeral, peer)
    }
}
