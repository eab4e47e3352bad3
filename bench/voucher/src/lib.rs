//! Terse as a signer in C (`c/cms/signer.h`): for `c/cms/program.c`, the smallest program that signs a voucher request.
//!
//! With RustCrypto there is no standard library; AWS-LC's crate needs it. What must always hold: the structs are those of
//! `c/cms/signer.h`; only ECDSA on P-256 can sign, so that the linker drops all other kinds of keys, as far as the provider lets
//! it.
//!
//! `unsafe` is needed because C calls everything here, and because the allocator is that of C.
#![cfg_attr(not(feature = "aws-lc"), no_std)]

extern crate alloc;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_long, c_void};
use core::ptr::{null_mut, slice_from_raw_parts_mut};
use core::slice;
use core::time::Duration;

use pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use terse_brski::cms;
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng, SigningKey};

#[cfg(not(feature = "aws-lc"))]
mod bare;

/// `struct signer`.
#[repr(C)]
pub struct Functions {
    version: extern "C" fn() -> *const c_char,
    load: unsafe extern "C" fn(*const Credential) -> *mut c_void,
    sign: unsafe extern "C" fn(*mut c_void, Bytes, *mut usize) -> *mut u8,
    release: unsafe extern "C" fn(*mut u8, usize),
    unload: unsafe extern "C" fn(*mut c_void),
    error: extern "C" fn() -> *const c_char,
}

/// `struct credential`.
#[repr(C)]
pub struct Credential {
    key: Bytes,
    certificates: [Bytes; MAX_CERTIFICATES],
    count: usize,
}

/// `struct bytes`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes {
    start: *const u8,
    len: usize,
}

impl Bytes {
    /// Returns the bytes, which live as long as the caller says.
    ///
    /// # Safety
    ///
    /// There are so many bytes, and nobody changes them for that long.
    unsafe fn get<'a>(self) -> &'a [u8] {
        // SAFETY: as the caller guarantees.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

const MAX_CERTIFICATES: usize = 2;

/// The functions for C.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static signer: Functions = Functions { version, load, sign, release, unload, error };

/// A key, and certificates that stay where they are.
struct Loaded {
    key: Arc<dyn SigningKey>,
    chain: Vec<CertificateDer<'static>>,
}

extern "C" fn version() -> *const c_char {
    c"Terse".as_ptr()
}

extern "C" fn error() -> *const c_char {
    const ERROR: &CStr = c"Terse failed"; // the program prints nothing
    ERROR.as_ptr()
}

unsafe extern "C" fn load(credential: *const Credential) -> *mut c_void {
    // SAFETY: C gives a credential, whose bytes stay until `unload`.
    let (key, certificates) = unsafe {
        let credential = &*credential;
        (credential.key.get(), credential.certificates.get(..credential.count))
    };
    let Some(certificates) = certificates else { return null_mut() };
    // SAFETY: as above.
    let chain = certificates.iter().map(|bytes| unsafe { bytes.get() }.into()).collect();
    match load_key(&PrivatePkcs8KeyDer::from(key).into()) {
        Some(key) => Box::into_raw(Box::new(Loaded { key, chain })).cast(),
        None => null_mut(),
    }
}

unsafe extern "C" fn sign(loaded: *mut c_void, content: Bytes, len: *mut usize) -> *mut u8 {
    // SAFETY: C gives what `load` returned, and content that stays for the call.
    let (loaded, content) = unsafe { (&*loaded.cast::<Loaded>(), content.get()) };
    match signed(loaded, content) {
        Some(signed) => {
            // SAFETY: C gives the place of a number.
            unsafe { *len = signed.len() };
            Box::into_raw(signed.into_boxed_slice()).cast()
        }
        None => null_mut(),
    }
}

fn signed(loaded: &Loaded, content: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: `time` of C takes a null pointer.
    let now = unsafe { time(null_mut()) };
    let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now).ok()?));
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    cms::sign(&PROVIDER, content, &loaded.chain, Some(now), &*loaded.key, scheme, &mut NoRng).ok()
}

unsafe extern "C" fn release(signed: *mut u8, len: usize) {
    // SAFETY: C gives what `sign` returned, with its length.
    drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(signed, len)) });
}

unsafe extern "C" fn unload(loaded: *mut c_void) {
    // SAFETY: C gives what `load` returned, and does not use it any more.
    drop(unsafe { Box::from_raw(loaded.cast::<Loaded>()) });
}

/// A source of randomness that has none: RustCrypto's signatures are deterministic (RFC 6979), and AWS-LC has a source of its own.
struct NoRng;

impl Rng for NoRng {
    fn fill(&mut self, _: &mut [u8]) -> Result<(), CryptoError> {
        Err(CryptoError::RandomFailed)
    }
}

#[cfg(not(feature = "aws-lc"))]
fn load_key(key: &PrivateKeyDer<'_>) -> Option<Arc<dyn SigningKey>> {
    terse_rustcrypto::sign::load_p256_key(key).ok()
}

#[cfg(feature = "aws-lc")]
fn load_key(key: &PrivateKeyDer<'_>) -> Option<Arc<dyn SigningKey>> {
    terse_aws_lc::sign::load_key(key).ok()
}

/// A provider that has nothing but the hash.
#[cfg(not(feature = "aws-lc"))]
static PROVIDER: CryptoProvider = CryptoProvider::new(
    "rustcrypto",
    terse_tls::crypto::SignatureAlgorithms::new(&[], &[]),
    terse_rustcrypto::hash::SHA256,
    terse_rustcrypto::sign::load_p256_key,
);

/// A provider that has nothing but the hash.
#[cfg(feature = "aws-lc")]
static PROVIDER: CryptoProvider = CryptoProvider::new(
    "aws-lc",
    terse_tls::crypto::SignatureAlgorithms::new(&[], &[]),
    terse_aws_lc::hash::SHA256,
    terse_aws_lc::sign::load_key,
);

unsafe extern "C" {
    fn time(out: *mut c_long) -> c_long;
}
