//! Counting identity keys.

use alloc::sync::Arc;

use terse_tls::crypto::{
    CryptoError, EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, Rng, StaticTerms,
};
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

/// Notes what `ephemeral` and `ephemeral_from` compute: `RistrettoKey::ephemeral` in `crates/terse-ibc/src/ristretto255.rs` has one `mul_base`,
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

/// Notes what `static_terms` computes.
///
/// `RistrettoKey::static_terms` multiplies the authority's key for the peer's public key (`public_key`), and then for each of
/// two terms. `BlsKey::static_terms` has a pairing for each of two terms; a client hashes the server's identity to G2 and
/// multiplies in G1 (`authority.point.mul`), and a server hashes the client's identity to G1.
fn note_static_terms(algorithm: IdentityAlgorithm, role: IdentityRole) {
    match algorithm {
        IdentityAlgorithm::Ristretto255 => note(Operation::Ristretto255Multiply, 3),
        IdentityAlgorithm::Bls12381 => {
            note(Operation::Pairing, 2);
            match role {
                IdentityRole::Client => {
                    note(Operation::Bls12381HashToG2, 1);
                    note(Operation::Bls12381G1Multiply, 1);
                }
                IdentityRole::Server => note(Operation::Bls12381HashToG1, 1),
            }
        }
        _ => note(Operation::Unknown("identity algorithm"), 1),
    }
}

/// Notes what `terms` computes when the static terms are known.
///
/// `RistrettoKey::terms` multiplies for each of two terms; a server also needs the client's public key for that, which it
/// computes anew unless it has just computed the static terms (`is_known`). `BlsKey::terms` has a pairing for one term, and
/// multiplies in G1 for the other (`theirs.mul`); a server hashes the client's identity to G2 and multiplies once more.
fn note_other_terms(algorithm: IdentityAlgorithm, role: IdentityRole, is_known: bool) {
    match algorithm {
        IdentityAlgorithm::Ristretto255 => {
            let needs_key = role == IdentityRole::Server && is_known;
            note(Operation::Ristretto255Multiply, if needs_key { 3 } else { 2 });
        }
        IdentityAlgorithm::Bls12381 => {
            note(Operation::Pairing, 1);
            note(Operation::Bls12381G1Multiply, 1);
            if role == IdentityRole::Server {
                note(Operation::Bls12381HashToG2, 1);
                note(Operation::Bls12381G1Multiply, 1);
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

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        note_ephemeral(self.algorithm());
        self.0.ephemeral_from(secret)
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        note_static_terms(self.algorithm(), role);
        self.0.static_terms(role, ephemeral, peer)
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        known: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        if known.is_none() {
            note_static_terms(self.algorithm(), role);
        }
        note_other_terms(self.algorithm(), role, known.is_some());
        self.0.terms(role, ephemeral, peer, known)
    }
}
