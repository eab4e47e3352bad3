//! The algorithms of identity-based key agreement.

/// An algorithm of identity-based key agreement, and the lengths of its encodings (docs/identity-format.md, 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IdentityAlgorithm {
    /// `id3dh-bls12381`: the public key of a peer follows from its identity alone.
    Bls12381,
    /// `id3dh-ristretto255`: the public key of a peer needs its public part `r`, which is sent once, and then kept.
    Ristretto255,
}

impl IdentityAlgorithm {
    /// All algorithms, in the order of their codes.
    pub const ALL: [Self; 2] = [Self::Bls12381, Self::Ristretto255];

    /// Returns the algorithm with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.code() == code)
    }

    /// Returns the code, below 16.
    pub const fn code(self) -> u8 {
        match self {
            Self::Bls12381 => 1,
            Self::Ristretto255 => 2,
        }
    }

    /// Returns the name: `id3dh-bls12381` or `id3dh-ristretto255`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bls12381 => "id3dh-bls12381",
            Self::Ristretto255 => "id3dh-ristretto255",
        }
    }

    /// Returns the length in bytes of the PKG's public key.
    pub const fn authority_key_len(self) -> usize {
        self.ephemeral_len()
    }

    /// Returns the length in bytes of an ephemeral public key.
    pub const fn ephemeral_len(self) -> usize {
        match self {
            Self::Bls12381 => 48,
            Self::Ristretto255 => 32,
        }
    }

    /// Returns the length in bytes of the public part of an identity key; 0 if there is none.
    pub const fn public_part_len(self) -> usize {
        match self {
            Self::Bls12381 => 0,
            Self::Ristretto255 => 32,
        }
    }
}

impl core::fmt::Display for IdentityAlgorithm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
