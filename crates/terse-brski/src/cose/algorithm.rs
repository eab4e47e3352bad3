//! The algorithms of a COSE_Sign1 (RFC 9053, 2), and their signatures.
//!
//! COSE has an ECDSA signature as r and s, both as long as the order of the curve (RFC 9053, 2.1), where certificates and the
//! engine have DER (RFC 3279, 2.2.3). What must always hold: either form of a signature is converted to one of the other
//! form, or refused.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use der::Tag;
use der::asn1::UintRef;
use pki_types::{AlgorithmIdentifier, SignatureVerificationAlgorithm, alg_id};
use terse_tls::SignatureScheme;
use terse_tls::crypto::CryptoProvider;

use crate::SignatureRefused;
use crate::asn1::{Element, SEQUENCE, encode};

/// An algorithm, whose value is that of the header parameter `alg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    /// ECDSA with SHA-256, on P-256.
    Es256 = -7,
    /// Ed25519.
    EdDsa = -8,
    /// ECDSA with SHA-384, on P-384.
    Es384 = -35,
}

impl Algorithm {
    const ALL: [Self; 3] = [Self::Es256, Self::EdDsa, Self::Es384];

    /// Returns the algorithm with this value.
    pub(super) fn of_value(value: i128) -> Result<Self, SignatureRefused> {
        Self::ALL.into_iter().find(|known| *known as i128 == value).ok_or(SignatureRefused::Algorithm)
    }

    /// Returns the algorithm of this scheme.
    pub(super) fn of_scheme(scheme: SignatureScheme) -> Result<Self, SignatureRefused> {
        Self::ALL.into_iter().find(|known| known.scheme() == scheme).ok_or(SignatureRefused::Algorithm)
    }

    pub(super) const fn scheme(self) -> SignatureScheme {
        match self {
            Self::Es256 => SignatureScheme::ECDSA_SECP256R1_SHA256,
            Self::EdDsa => SignatureScheme::ED25519,
            Self::Es384 => SignatureScheme::ECDSA_SECP384R1_SHA384,
        }
    }

    /// Returns the identifier of its keys.
    pub(super) const fn public_key(self) -> AlgorithmIdentifier {
        match self {
            Self::Es256 => alg_id::ECDSA_P256,
            Self::EdDsa => alg_id::ED25519,
            Self::Es384 => alg_id::ECDSA_P384,
        }
    }

    /// Returns the length of a signature.
    pub(super) const fn signature_len(self) -> usize {
        match self {
            Self::Es256 | Self::EdDsa => 64,
            Self::Es384 => 96,
        }
    }

    /// Returns the provider's way to verify it.
    pub(super) fn verification(
        self,
        provider: &CryptoProvider,
    ) -> Result<&'static dyn SignatureVerificationAlgorithm, SignatureRefused> {
        let signature = match self {
            Self::Es256 => alg_id::ECDSA_SHA256,
            Self::EdDsa => alg_id::ED25519,
            Self::Es384 => alg_id::ECDSA_SHA384,
        };
        let mut algorithms = provider.signatures.all.iter().copied();
        let found = algorithms.find(|algorithm| {
            algorithm.signature_alg_id() == signature && algorithm.public_key_alg_id() == self.public_key()
        });
        found.ok_or(SignatureRefused::Algorithm)
    }

    /// Appends a signature as the engine has it in the form that COSE has.
    pub(super) fn push_signature(self, signature: &[u8], out: &mut Vec<u8>) -> Result<(), SignatureRefused> {
        match self {
            Self::EdDsa if signature.len() == self.signature_len() => out.extend_from_slice(signature),
            Self::EdDsa => return Err(SignatureRefused::Signature),
            Self::Es256 | Self::Es384 => self.push_raw(signature, out).ok_or(SignatureRefused::Signature)?,
        }
        Ok(())
    }

    /// Appends the r and s of an Ecdsa-Sig-Value, which is DER.
    fn push_raw(self, signature: &[u8], out: &mut Vec<u8>) -> Option<()> {
        const WHAT: &str = "signature";
        let mut numbers = Element::from_der(signature, WHAT).ok()?.sequence(WHAT).ok()?;
        let [r, s] = [numbers.expect(Tag::Integer).ok()?, numbers.expect(Tag::Integer).ok()?];
        numbers.finish().ok()?;
        for number in [r, s] {
            // Neither negative, nor longer than it need be.
            let number = <UintRef<'_> as der::Decode<'_>>::from_der(number.encoded).ok()?;
            let padding = (self.signature_len() / 2).checked_sub(number.as_bytes().len())?;
            out.extend(core::iter::repeat_n(0, padding));
            out.extend_from_slice(number.as_bytes());
        }
        Some(())
    }

    /// Returns a signature as COSE has it in the form that the engine has.
    pub(super) fn engine_signature(self, signature: &[u8]) -> Result<Cow<'_, [u8]>, SignatureRefused> {
        if signature.len() != self.signature_len() {
            return Err(SignatureRefused::Signature);
        }
        if self == Self::EdDsa {
            return Ok(Cow::Borrowed(signature));
        }
        let (r, s) = signature.split_at(self.signature_len() / 2);
        let [r, s] = [r, s].map(|number| UintRef::new(number).map_err(|_| SignatureRefused::Signature));
        let [r, s] = [r?, s?].map(|number| der::Encode::to_der(&number).map_err(|_| SignatureRefused::Signature));
        Ok(Cow::Owned(encode(SEQUENCE, &[&r?, &s?])))
    }
}
