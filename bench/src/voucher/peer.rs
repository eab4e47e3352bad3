//! The peers in C are OpenSSL and wolfSSL, each behind the `struct signer` of a shared object (`c/cms/signer.h`).
//!
//! `unsafe` is needed because everything here is a call to C. What must always hold: the structs are those of
//! `c/cms/signer.h`; an object stays loaded as long as the process; a signer is unloaded once, before the pledge that it was
//! loaded from is gone.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_void};
use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;
use std::sync::OnceLock;

use libloading::os::unix::{Library as Object, RTLD_LOCAL, RTLD_NOW};

use super::{Loaded, Pledge, Signer};
use crate::compile::{Library, Purpose};

/// A peer in C.
pub(super) struct Peer {
    name: &'static str,
    library: Library,
    functions: OnceLock<Result<&'static Functions, String>>,
}

/// `struct signer`.
#[repr(C)]
struct Functions {
    version: extern "C" fn() -> *const c_char,
    load: unsafe extern "C" fn(*const Credential) -> *mut c_void,
    sign: unsafe extern "C" fn(*mut c_void, Bytes, *mut usize) -> *mut u8,
    release: unsafe extern "C" fn(*mut u8, usize),
    unload: unsafe extern "C" fn(*mut c_void),
    error: extern "C" fn() -> *const c_char,
}

/// `struct credential`.
#[repr(C)]
struct Credential {
    key: Bytes,
    certificates: [Bytes; MAX_CERTIFICATES],
    count: usize,
}

/// `struct bytes`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Bytes {
    start: *const u8,
    len: usize,
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self { start: bytes.as_ptr(), len: bytes.len() }
    }
}

const MAX_CERTIFICATES: usize = 2;

impl Peer {
    pub(super) const fn new(name: &'static str, library: Library) -> Self {
        Self { name, library, functions: OnceLock::new() }
    }

    fn functions(&self) -> Result<&'static Functions, String> {
        self.functions.get_or_init(|| load(self.library)).clone()
    }
}

fn load(library: Library) -> Result<&'static Functions, String> {
    let path = library.object(Purpose::SignedData)?;
    // SAFETY: the object is ours; loading it runs nothing but what its library does at its start.
    let object = unsafe { Object::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| error.to_string())?;
    // SAFETY: `signer` is a constant `struct signer`, of which `Functions` is the declaration here.
    let signer = unsafe { object.get::<*const Functions>(b"signer\0") }.map_err(|error| error.to_string())?;
    let signer = signer.into_raw().cast::<Functions>();
    core::mem::forget(object);
    // SAFETY: the symbol's address is that of the constant, and the object stays loaded.
    Ok(unsafe { &*signer })
}

fn text(text: *const c_char) -> String {
    // SAFETY: peers give texts that end with a zero and stay until the next call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

impl Signer for Peer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> Result<String, String> {
        Ok(text((self.functions()?.version)()))
    }

    fn load<'a>(&self, pledge: &'a Pledge) -> Result<Box<dyn Loaded + 'a>, String> {
        let functions = self.functions()?;
        let mut certificates = [Bytes::from(&[][..]); MAX_CERTIFICATES];
        if pledge.chain.len() > certificates.len() {
            return Err("it signs with fewer certificates".into());
        }
        for (place, certificate) in certificates.iter_mut().zip(&pledge.chain) {
            *place = certificate.as_ref().into();
        }
        let key = pledge.key.secret_der().into();
        let credential = Credential { key, certificates, count: pledge.chain.len() };
        // SAFETY: the bytes live as long as the pledge, which outlives what is returned.
        let loaded = NonNull::new(unsafe { (functions.load)(&raw const credential) });
        let loaded = loaded.ok_or_else(|| text((functions.error)()))?;
        Ok(Box::new(Key { functions, loaded, pledge: PhantomData }))
    }
}

struct Key<'a> {
    functions: &'static Functions,
    loaded: NonNull<c_void>,
    pledge: PhantomData<&'a Pledge>,
}

impl Loaded for Key<'_> {
    fn sign(&self, pledge: &Pledge, take: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let mut len = 0;
        // SAFETY: it was loaded by this peer, and is not yet unloaded; the content is borrowed for the call.
        let signed = unsafe { (self.functions.sign)(self.loaded.as_ptr(), pledge.content[..].into(), &raw mut len) };
        let signed = NonNull::new(signed).ok_or_else(|| text((self.functions.error)()))?;
        // SAFETY: the peer has written so many bytes there, and keeps them until they are released.
        take(unsafe { slice::from_raw_parts(signed.as_ptr(), len) });
        // SAFETY: as above; nobody uses the bytes after this.
        unsafe { (self.functions.release)(signed.as_ptr(), len) };
        Ok(())
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        // SAFETY: it was loaded by this peer, and nobody uses it after this.
        unsafe { (self.functions.unload)(self.loaded.as_ptr()) };
    }
}
