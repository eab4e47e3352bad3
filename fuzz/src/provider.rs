//! This crypto provider protects nothing and costs nothing, so that a fuzzer gets past the Finished: every primitive
//! has the shape of a real one and none of its strength. It must never be used for anything else.
//!
//! Three of them:
//! - [`transparent`]: ciphertext is plaintext and every tag, MAC and Finished a constant, so that whatever the fuzzer
//!   changes is still authentic. Signatures are accepted unless they end in a zero.
//! - [`binding`]: the same, but MACs, derived keys and tags depend on all that they cover, so that two sides that saw
//!   different bytes notice.
//! - [`accepting`]: the same as `transparent`, but content may change behind its digest as well: the SHA-256 of all that is no
//!   public key is a constant.
//!
//! What must always hold: everything is a function of its arguments, so that a run can be replayed.

use std::sync::Arc;

use pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer, alg_id,
};
use terse_tls::crypto::{
    Aead, CryptoError, CryptoProvider, Group, Hash, KeyError, KeyExchange, KeyLimits, MASK_SAMPLE_LEN,
    RecordNumberCipher, RecordNumberKey, Rng, SharedSecret, SignatureAlgorithms, Signing, SigningKey, Tls12KeyExchange,
    Tls12Nonce, Tls12Suite, Tls13Suite,
};
use terse_tls::{CipherSuite, NamedGroup, SignatureScheme};

mod aead;
mod hash;
mod identity;

use aead::Plain;
pub use aead::TAG;
use hash::{Accepted, Mix};
pub use identity::PlainIdentityKey;

/// Returns the provider whose records, MACs and Finished are always authentic.
pub const fn transparent() -> CryptoProvider {
    provider(&Suites::<false>::TLS13, &Suites::<false>::TLS12, &Mix::<false, 32>)
}

/// Returns the provider with which also the digest of changed content is the one that was signed.
pub const fn accepting() -> CryptoProvider {
    provider(&Suites::<false>::TLS13, &Suites::<false>::TLS12, &Accepted)
}

/// Returns the provider whose records, MACs and Finished depend on the bytes that they cover.
pub const fn binding() -> CryptoProvider {
    provider(&Suites::<true>::TLS13, &Suites::<true>::TLS12, &Mix::<true, 32>)
}

const fn provider(
    tls13_suites: &'static [&'static Tls13Suite],
    tls12_suites: &'static [&'static Tls12Suite],
    sha256: &'static dyn terse_tls::crypto::Hash,
) -> CryptoProvider {
    let signatures = SignatureAlgorithms::new(
        &[&Trusting::P256, &Trusting::ED25519, &Trusting::P384, &Trusting::RSA],
        &[
            (SignatureScheme::ECDSA_SECP256R1_SHA256, &[&Trusting::P256]),
            (SignatureScheme::ED25519, &[&Trusting::ED25519]),
            (SignatureScheme::ECDSA_SECP384R1_SHA384, &[&Trusting::P384]),
            (SignatureScheme::RSA_PKCS1_SHA256, &[&Trusting::RSA]),
        ],
    );
    // For private keys see `Key`.
    CryptoProvider::new("fuzz", signatures, sha256, |_| Err(KeyError::UnsupportedAlgorithm))
        .tls13_suites(tls13_suites)
        .tls12_suites(tls12_suites)
        .groups(&[&Xor(NamedGroup::X25519), &Xor(NamedGroup::SECP256R1)])
        .sha1(Some(|_| [0; 20]))
}

/// The cipher of record numbers masks them with two bytes of ciphertext, as anybody can.
struct PlainNumbers;

impl RecordNumberCipher for PlainNumbers {
    fn key(&self, _: &[u8]) -> Result<Box<dyn RecordNumberKey>, CryptoError> {
        Ok(Box::new(Self))
    }
}

impl RecordNumberKey for PlainNumbers {
    fn mask(&self, sample: &[u8; MASK_SAMPLE_LEN]) -> [u8; 2] {
        mask(sample)
    }
}

/// The mask of a record's number.
pub const fn mask(sample: &[u8; MASK_SAMPLE_LEN]) -> [u8; 2] {
    [sample[0], sample[MASK_SAMPLE_LEN - 1]]
}

/// The confidentiality limit of keys that wear out over datagrams, in records.
pub const WORN_DATAGRAMS: u64 = 136;

struct Suites<const BINDING: bool>;

impl<const BINDING: bool> Suites<BINDING> {
    const TLS13: [&'static Tls13Suite; 4] = [
        &Self::tls13(CipherSuite::TLS_AES_128_GCM_SHA256, &Mix::<BINDING, 32>, &Plain::<BINDING, 16>, LARGE, 1 << 36),
        // Keys of this one wear out at once, on a stream.
        &Self::tls13(CipherSuite::TLS_AES_256_GCM_SHA384, &Mix::<BINDING, 48>, &Plain::<BINDING, 16>, 8, 1 << 36),
        // Few forgeries wear this one out, over datagrams.
        &Self::tls13(CipherSuite::TLS_AES_128_CCM_8_SHA256, &Mix::<BINDING, 32>, &Plain::<BINDING, 8>, LARGE, 16),
        // Keys of this one wear out over datagrams, where some records are kept for what is sent again.
        &Self::tls13(
            CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
            &Mix::<BINDING, 32>,
            &Plain::<BINDING, 16>,
            WORN_DATAGRAMS,
            1 << 36,
        ),
    ];

    const TLS12: [&'static Tls12Suite; 6] = [
        &Self::tls12(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, Tls12KeyExchange::EcdheEcdsa),
        &Tls12Suite::new(
            CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            Tls12KeyExchange::EcdheEcdsa,
            &Mix::<BINDING, 48>,
            &Plain::<BINDING, 16>,
            Tls12Nonce::Explicit,
            KeyLimits::new(72, 0),
        ),
        &Tls12Suite::new(
            CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            Tls12KeyExchange::EcdheEcdsa,
            &Mix::<BINDING, 32>,
            &Plain::<BINDING, 16>,
            Tls12Nonce::Implicit,
            KeyLimits::new(LARGE, 0),
        ),
        &Self::tls12(CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, Tls12KeyExchange::EcdheRsa),
        &Self::tls12_short(CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256, Tls12KeyExchange::EcdhePsk),
        &Self::tls12_short(CipherSuite::TLS_PSK_WITH_AES_128_CCM_8, Tls12KeyExchange::Psk),
    ];

    const fn tls13(
        id: CipherSuite,
        hash: &'static dyn Hash,
        aead: &'static dyn Aead,
        records: u64,
        forgeries: u64,
    ) -> Tls13Suite {
        Tls13Suite::new(id, hash, aead, &PlainNumbers, KeyLimits::new(records, forgeries))
    }

    const fn tls12(id: CipherSuite, key_exchange: Tls12KeyExchange) -> Tls12Suite {
        let (hash, aead) = (&Mix::<BINDING, 32>, &Plain::<BINDING, 16>);
        Tls12Suite::new(id, key_exchange, hash, aead, Tls12Nonce::Explicit, KeyLimits::new(LARGE, 0))
    }

    /// With a tag of 8 bytes.
    const fn tls12_short(id: CipherSuite, key_exchange: Tls12KeyExchange) -> Tls12Suite {
        let (hash, aead) = (&Mix::<BINDING, 32>, &Plain::<BINDING, 8>);
        Tls12Suite::new(id, key_exchange, hash, aead, Tls12Nonce::Explicit, KeyLimits::new(LARGE, 0))
    }
}

/// More records than an input has.
const LARGE: u64 = 1 << 24;

/// A key exchange in which the secret is the XOR of both shares.
struct Xor(NamedGroup);

const SHARE_LEN: usize = 32;

impl Group for Xor {
    fn name(&self) -> NamedGroup {
        self.0
    }

    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError> {
        let mut share = [0; SHARE_LEN];
        rng.fill(&mut share)?;
        Ok(Box::new(Share(share)))
    }

    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let mut share = [0; SHARE_LEN];
        rng.fill(&mut share)?;
        Ok((share.to_vec(), shared(&share, key_share)?))
    }
}

struct Share([u8; SHARE_LEN]);

impl KeyExchange for Share {
    fn key_share(&self) -> &[u8] {
        &self.0
    }

    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        shared(&self.0, key_share)
    }
}

fn shared(own: &[u8; SHARE_LEN], peer: &[u8]) -> Result<SharedSecret, CryptoError> {
    let peer: &[u8; SHARE_LEN] = peer.try_into().map_err(|_| CryptoError::InvalidKeyShare)?;
    Ok(SharedSecret::new(own.iter().zip(peer).map(|(own, peer)| own ^ peer).collect()))
}

/// A verification that accepts every signature that does not end in a zero.
#[derive(Debug)]
struct Trusting {
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
}

impl Trusting {
    const P256: Self = Self { key: alg_id::ECDSA_P256, signature: alg_id::ECDSA_SHA256 };
    const P384: Self = Self { key: alg_id::ECDSA_P384, signature: alg_id::ECDSA_SHA384 };
    const ED25519: Self = Self { key: alg_id::ED25519, signature: alg_id::ED25519 };
    const RSA: Self = Self { key: alg_id::RSA_ENCRYPTION, signature: alg_id::RSA_PKCS1_SHA256 };
}

impl SignatureVerificationAlgorithm for Trusting {
    fn verify_signature(&self, _key: &[u8], _message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        if signature.last().is_some_and(|last| *last != 0) { Ok(()) } else { Err(InvalidSignature) }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

/// A signing key for any P-256 certificate: it needs only the public half.
pub struct Key {
    public_key: SubjectPublicKeyInfoDer<'static>,
    /// Whether it answers [`Signing::Pending`], as a secure element would.
    is_slow: bool,
}

impl Key {
    /// Returns the key whose public half is `public_key`.
    pub fn shared(public_key: SubjectPublicKeyInfoDer<'static>, is_slow: bool) -> Arc<dyn SigningKey> {
        Arc::new(Self { public_key, is_slow })
    }
}

/// The signature of [`Key`].
pub const SIGNATURE: &[u8] = b"signed";

/// The same for COSE, which takes it apart: r and s are 1.
pub const ECDSA_SIGNATURE: &[u8] = &[0x30, 6, 2, 1, 1, 2, 1, 1];

impl SigningKey for Key {
    fn schemes(&self) -> &[SignatureScheme] {
        &[SignatureScheme::ECDSA_SECP256R1_SHA256]
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.public_key.clone()
    }

    fn sign(&self, _: SignatureScheme, _message: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        Ok(if self.is_slow { Signing::Pending } else { Signing::Done(SIGNATURE.into()) })
    }
}
