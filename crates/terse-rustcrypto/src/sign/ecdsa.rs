//! ECDSA signatures are deterministic (RFC 6979), so that a bad source of randomness cannot reveal the key. They are
//! DER.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Add;

use ecdsa::der::{MaxOverhead, MaxSize};
use ecdsa::elliptic_curve::array::ArraySize;
use ecdsa::elliptic_curve::ops::Invert;
use ecdsa::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use ecdsa::elliptic_curve::subtle::CtOption;
use ecdsa::elliptic_curve::{AffinePoint, CurveArithmetic, FieldBytesSize, Scalar};
use ecdsa::signature::Signer as _;
use ecdsa::{DigestAlgorithm, EcdsaCurve, Signature, VerifyingKey};
use pkcs8::der::oid::ObjectIdentifier;
use pki_types::SubjectPublicKeyInfoDer;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, KeyError, Rng, Signing, SigningKey};

use super::subject_public_key_info;
use crate::private_key::{EC_PUBLIC_KEY, PrivateKey, SECP256R1, SECP384R1, malformed};

pub(super) fn load_p256(key: &PrivateKey<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    load::<p256::NistP256>(key, SECP256R1, SignatureScheme::ECDSA_SECP256R1_SHA256)
}

pub(super) fn load_p384(key: &PrivateKey<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    load::<p384::NistP384>(key, SECP384R1, SignatureScheme::ECDSA_SECP384R1_SHA384)
}

fn load<C>(
    key: &PrivateKey<'_>,
    curve: ObjectIdentifier,
    scheme: SignatureScheme,
) -> Result<Arc<dyn SigningKey>, KeyError>
where
    C: EcdsaCurve + CurveArithmetic + DigestAlgorithm,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
    Scalar<C>: Invert<Output = CtOption<Scalar<C>>>,
    MaxSize<C>: ArraySize,
    <FieldBytesSize<C> as Add>::Output: Add<MaxOverhead> + ArraySize,
{
    let signer = ecdsa::SigningKey::<C>::from_slice(key.secret).map_err(malformed)?;
    let public = signer.verifying_key();
    if let Some(stated) = key.public
        && VerifyingKey::from_sec1_bytes(stated).map_err(malformed)? != *public
    {
        return Err(KeyError::Malformed);
    }
    let point = public.to_sec1_point(false);
    let public_key = subject_public_key_info(EC_PUBLIC_KEY, Some((&curve).into()), point.as_bytes())?;
    Ok(Arc::new(Key { signer, scheme: [scheme], public_key }))
}

/// A private key, whose signer wipes itself.
struct Key<C: EcdsaCurve + CurveArithmetic> {
    signer: ecdsa::SigningKey<C>,
    scheme: [SignatureScheme; 1],
    public_key: Vec<u8>,
}

impl<C> SigningKey for Key<C>
where
    C: EcdsaCurve + CurveArithmetic + DigestAlgorithm,
    Scalar<C>: Invert<Output = CtOption<Scalar<C>>>,
    MaxSize<C>: ArraySize,
    <FieldBytesSize<C> as Add>::Output: Add<MaxOverhead> + ArraySize,
{
    fn schemes(&self) -> &[SignatureScheme] {
        &self.scheme
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.public_key.as_slice().into()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], _rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        if !self.scheme.contains(&scheme) {
            return Err(CryptoError::UnsupportedScheme);
        }
        let signature: Signature<C> = self.signer.try_sign(message).map_err(|_| CryptoError::SigningFailed)?;
        Ok(Signing::Done(signature.to_der().as_bytes().to_vec()))
    }
}
