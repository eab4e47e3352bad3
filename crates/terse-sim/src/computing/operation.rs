//! The operations that take time, and their names in device files.

use core::fmt;
use core::str::FromStr;

use terse_tls::NamedGroup;

/// A cryptographic operation.
///
/// The name of an operation, which [`Display`](fmt::Display) prints and [`FromStr`] reads, is its key in a device file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// `x25519-generate` and so on: making a key pair of a group. X25519MLKEM768 counts as its two parts.
    Generate(NamedGroup),
    /// `x25519-agree` and so on: the shared secret of a private key and a peer's share.
    Agree(NamedGroup),
    /// `ml-kem-768-generate`: making a key pair of ML-KEM-768 (FIPS 203), as the client of X25519MLKEM768.
    MlKem768Generate,
    /// `ml-kem-768-encapsulate`: making a shared secret and its ciphertext, as the server of X25519MLKEM768.
    MlKem768Encapsulate,
    /// `ml-kem-768-decapsulate`: the shared secret of a ciphertext.
    MlKem768Decapsulate,
    /// `ecdsa-p256-sign` and so on: a signature.
    Sign(SignatureKey),
    /// `ecdsa-p256-verify` and so on: the verification of a signature, in a certificate or in a handshake.
    Verify(SignatureKey),
    /// `ristretto255-multiply`: a multiple of any point of ristretto255.
    Ristretto255Multiply,
    /// `ristretto255-multiply-base`: a multiple of the generator of ristretto255.
    Ristretto255MultiplyBase,
    /// `bls12381-g1-multiply`: a multiple of a point of G1 of BLS12-381.
    Bls12381G1Multiply,
    /// `bls12381-g2-multiply`: a multiple of a point of G2.
    Bls12381G2Multiply,
    /// `bls12381-hash-to-g1`: hashing to a point of G1 (RFC 9380).
    Bls12381HashToG1,
    /// `bls12381-hash-to-g2`: hashing to a point of G2.
    Bls12381HashToG2,
    /// `bls12381-pairing`: a pairing, with its final exponentiation.
    Pairing,
    /// `sha-256-per-kb`: bytes of SHA-256, in whole blocks: a short input and its padding take one of 64 bytes. HMAC and
    /// HKDF are counted as the hashes that they are made of.
    Sha256,
    /// `sha-384-per-kb`: bytes of SHA-384, in whole blocks of 128 bytes.
    Sha384,
    /// `aes-128-gcm-per-kb`: bytes that AES-128-GCM encrypts or decrypts, and for the encryption of a record's number one
    /// block.
    Aes128Gcm,
    /// `aes-256-gcm-per-kb`: the same with AES-256-GCM.
    Aes256Gcm,
    /// `chacha20-poly1305-per-kb`: the same with ChaCha20-Poly1305.
    ChaCha20Poly1305,
    /// `aes-128-ccm-per-kb`: the same with AES-128-CCM, whatever the length of its tag.
    Aes128Ccm,
    /// An algorithm of a provider that has no name here, of this kind. No device has a time for it.
    Unknown(&'static str),
}

/// A kind of key that signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // the names say it
pub enum SignatureKey {
    EcdsaP256,
    EcdsaP384,
    Ed25519,
    /// RSA with a modulus of so many bits. The padding makes no difference.
    Rsa(u16),
}

impl Operation {
    /// All operations that devices have times for, in the order of device files; of RSA the usual lengths.
    pub const ALL: [Self; 34] = {
        use Operation::*;
        use SignatureKey::*;
        [
            Generate(NamedGroup::X25519),
            Agree(NamedGroup::X25519),
            Generate(NamedGroup::SECP256R1),
            Agree(NamedGroup::SECP256R1),
            Generate(NamedGroup::SECP384R1),
            Agree(NamedGroup::SECP384R1),
            MlKem768Generate,
            MlKem768Encapsulate,
            MlKem768Decapsulate,
            Sign(EcdsaP256),
            Verify(EcdsaP256),
            Sign(EcdsaP384),
            Verify(EcdsaP384),
            Sign(Ed25519),
            Verify(Ed25519),
            Sign(Rsa(2048)),
            Verify(Rsa(2048)),
            Sign(Rsa(3072)),
            Verify(Rsa(3072)),
            Sign(Rsa(4096)),
            Verify(Rsa(4096)),
            Ristretto255MultiplyBase,
            Ristretto255Multiply,
            Bls12381G1Multiply,
            Bls12381G2Multiply,
            Bls12381HashToG1,
            Bls12381HashToG2,
            Pairing,
            Sha256,
            Sha384,
            Aes128Gcm,
            Aes256Gcm,
            ChaCha20Poly1305,
            Aes128Ccm,
        ]
    };

    /// Whether bytes are counted, and a device has a time for 1,000 of them.
    pub const fn is_on_bytes(self) -> bool {
        matches!(
            self,
            Self::Sha256 | Self::Sha384 | Self::Aes128Gcm | Self::Aes256Gcm | Self::ChaCha20Poly1305 | Self::Aes128Ccm
        )
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generate(group) => return write!(f, "{group}-generate"),
            Self::Agree(group) => return write!(f, "{group}-agree"),
            Self::Sign(key) => return write!(f, "{key}-sign"),
            Self::Verify(key) => return write!(f, "{key}-verify"),
            Self::Unknown(kind) => return write!(f, "unknown {kind}"),
            Self::MlKem768Generate => "ml-kem-768-generate",
            Self::MlKem768Encapsulate => "ml-kem-768-encapsulate",
            Self::MlKem768Decapsulate => "ml-kem-768-decapsulate",
            Self::Ristretto255Multiply => "ristretto255-multiply",
            Self::Ristretto255MultiplyBase => "ristretto255-multiply-base",
            Self::Bls12381G1Multiply => "bls12381-g1-multiply",
            Self::Bls12381G2Multiply => "bls12381-g2-multiply",
            Self::Bls12381HashToG1 => "bls12381-hash-to-g1",
            Self::Bls12381HashToG2 => "bls12381-hash-to-g2",
            Self::Pairing => "bls12381-pairing",
            Self::Sha256 => "sha-256-per-kb",
            Self::Sha384 => "sha-384-per-kb",
            Self::Aes128Gcm => "aes-128-gcm-per-kb",
            Self::Aes256Gcm => "aes-256-gcm-per-kb",
            Self::ChaCha20Poly1305 => "chacha20-poly1305-per-kb",
            Self::Aes128Ccm => "aes-128-ccm-per-kb",
        })
    }
}

impl fmt::Display for SignatureKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EcdsaP256 => f.write_str("ecdsa-p256"),
            Self::EcdsaP384 => f.write_str("ecdsa-p384"),
            Self::Ed25519 => f.write_str("ed25519"),
            Self::Rsa(bits) => write!(f, "rsa-{bits}"),
        }
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let rsa = name.strip_prefix("rsa-").and_then(|rest| rest.split_once('-'));
        if let Some((bits, what)) = rsa
            && let Ok(bits) = bits.parse()
        {
            match what {
                "sign" => return Ok(Self::Sign(SignatureKey::Rsa(bits))),
                "verify" => return Ok(Self::Verify(SignatureKey::Rsa(bits))),
                _ => {}
            }
        }
        Self::ALL.into_iter().find(|operation| operation.to_string() == name).ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(Self::to_string).collect();
            format!("{name} is no operation; these are: {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests;
