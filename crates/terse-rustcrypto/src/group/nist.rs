//! The groups secp256r1 and secp384r1 (SP 800-186), with the ECDHE of RFC 9846, 7.4.2.
//!
//! Points are sent uncompressed only (RFC 9846, 4.3.8.2), and checked to lie on the curve.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;

use p256::elliptic_curve::common::typenum::Unsigned;
use p256::elliptic_curve::ecdh::EphemeralSecret;
use p256::elliptic_curve::sec1::{FromSec1Point, ModulusSize, Sec1Point, ToSec1Point, UncompressedPointSize};
use p256::elliptic_curve::{AffinePoint, CurveArithmetic, FieldBytesSize, Generate, PublicKey};
use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, Group, KeyExchange, Rng, SharedSecret};

use crate::rng::BoundedRng;

/// secp256r1, also called P-256, at a security level of 128 bits.
pub static SECP256R1: &dyn Group = &Algorithm::<p256::NistP256> { name: NamedGroup::SECP256R1, curve: PhantomData };

/// secp384r1, also called P-384, at a security level of 192 bits.
pub static SECP384R1: &dyn Group = &Algorithm::<p384::NistP384> { name: NamedGroup::SECP384R1, curve: PhantomData };

struct Algorithm<C> {
    name: NamedGroup,
    curve: PhantomData<fn() -> C>,
}

impl<C> Group for Algorithm<C>
where
    C: CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    fn name(&self) -> NamedGroup {
        self.name
    }

    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError> {
        Ok(Box::new(KeyPair::<C>::generate(rng)?))
    }

    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let peer = parse::<C>(key_share)?;
        let pair = KeyPair::generate(rng)?;
        let secret = pair.agree(&peer);
        Ok((pair.share.as_bytes().to_vec(), secret))
    }
}

struct KeyPair<C>
where
    C: CurveArithmetic,
    FieldBytesSize<C>: ModulusSize,
{
    secret: EphemeralSecret<C>,
    share: Sec1Point<C>,
}

impl<C> KeyPair<C>
where
    C: CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    fn generate(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let secret = EphemeralSecret::try_generate_from_rng(&mut BoundedRng::new(rng))?;
        let share = secret.public_key().to_sec1_point(false);
        Ok(Self { secret, share })
    }

    fn agree(&self, peer: &PublicKey<C>) -> SharedSecret {
        SharedSecret::new(self.secret.diffie_hellman(peer).raw_secret_bytes().to_vec())
    }
}

impl<C> KeyExchange for KeyPair<C>
where
    C: CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    fn key_share(&self) -> &[u8] {
        self.share.as_bytes()
    }

    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        Ok(self.agree(&parse(key_share)?))
    }
}

/// Parses a peer's point: it must be uncompressed, on the curve, and not the identity.
fn parse<C>(key_share: &[u8]) -> Result<PublicKey<C>, CryptoError>
where
    C: CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    // No other form has this length.
    if key_share.len() != UncompressedPointSize::<C>::USIZE {
        return Err(CryptoError::InvalidKeyShare);
    }
    PublicKey::from_sec1_bytes(key_share).map_err(|_| CryptoError::InvalidKeyShare)
}
