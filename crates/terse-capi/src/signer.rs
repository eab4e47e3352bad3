//! Private keys outside of the program: in a secure element, or in another process.
//!
//! Unsafe, because the program's callbacks are called.
#![allow(unsafe_code)]

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::c_void;

use pki_types::SubjectPublicKeyInfoDer;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};

use crate::callbacks::{Context, TerseCallback};
use crate::{TerseError, pointers};

/// A private key that the program signs with. The library copies it when it is given; the schemes are copied as well.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TerseSigner {
    /// What `sign` gets. It must live as long as configurations and connections that have this signer.
    pub context: *mut c_void,
    /// Signs `message`, which is not hashed yet, with the signature scheme `scheme` (IANA, TLS SignatureScheme: 0x0403 is
    /// ecdsa_secp256r1_sha256, whose signature is DER). Writes at most `capacity` bytes to `signature`, which has 1,024, and
    /// their number to `signature_len`. None of the pointers is NULL, and none is valid after the call.
    ///
    /// Returns TERSE_CALLBACK_DONE; TERSE_CALLBACK_PENDING if the signature comes later (TERSE_EVENT_NEED_SIGNATURE follows);
    /// or TERSE_CALLBACK_FAILED, which ends the handshake. Must not be NULL.
    pub sign: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            scheme: u16,
            message: *const u8,
            message_len: usize,
            signature: *mut u8,
            capacity: usize,
            signature_len: *mut usize,
        ) -> i32,
    >,
    /// The signature schemes of the key, preferred first.
    pub schemes: *const u16,
    /// How many they are: 1 to 16.
    pub schemes_len: usize,
}

/// The key of a [`TerseSigner`].
struct ExternalKey {
    signer: SignFunction,
    context: Context,
    schemes: Vec<SignatureScheme>,
    public_key: SubjectPublicKeyInfoDer<'static>,
}

type SignFunction = unsafe extern "C" fn(*mut c_void, u16, *const u8, usize, *mut u8, usize, *mut usize) -> i32;

/// The most bytes of a signature: RSA with a modulus of 8,192 bits.
const MAX_SIGNATURE: usize = 1_024;

impl TerseSigner {
    /// Returns the key whose public half is `public_key`.
    ///
    /// # Safety
    ///
    /// `schemes` is NULL, or has `schemes_len` numbers.
    pub(crate) unsafe fn key(
        &self,
        public_key: SubjectPublicKeyInfoDer<'static>,
    ) -> Result<Arc<dyn SigningKey>, TerseError> {
        let sign = self.sign.ok_or(TerseError::NullPointer)?;
        // SAFETY: the caller promises that there are as many numbers.
        let schemes = unsafe { pointers::numbers(self.schemes, self.schemes_len, 1..=16) }?;
        let schemes = schemes.iter().copied().map(SignatureScheme).collect();
        Ok(Arc::new(ExternalKey { signer: sign, context: Context(self.context), schemes, public_key }))
    }
}

impl SigningKey for ExternalKey {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        SubjectPublicKeyInfoDer::from(self.public_key.as_ref())
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        let mut signature = alloc::vec![0; MAX_SIGNATURE];
        let mut len = 0;
        // SAFETY: the program promises that its callback may be called with its context; the buffers have these lengths.
        let result = unsafe {
            (self.signer)(
                self.context.0,
                scheme.0,
                message.as_ptr(),
                message.len(),
                signature.as_mut_ptr(),
                signature.len(),
                &mut len,
            )
        };
        match TerseCallback::of(result) {
            TerseCallback::Done if (1..=MAX_SIGNATURE).contains(&len) => {
                signature.truncate(len);
                Ok(Signing::Done(signature))
            }
            TerseCallback::Pending => Ok(Signing::Pending),
            _ => Err(CryptoError::SigningFailed),
        }
    }
}
