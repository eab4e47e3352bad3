//! The program's store: bytes under keys, in flash, a file or a database.
//!
//! Unsafe, because the program's callbacks are called.
#![allow(unsafe_code)]

use alloc::vec::Vec;
use core::ffi::c_void;

use spin::Mutex;
use terse_rustcrypto::hash::SHA256;
use terse_tls::cache::Scope;
use zeroize::Zeroizing;

use crate::TerseError;
use crate::callbacks::{Context, TerseCallback};

/// A store of the program: values under keys of 16 bytes. The library never calls two of them at once for one store.
///
/// The values are secret, as private keys are, and trusted, as CA certificates are: whoever can read them can go on with a
/// session, and whoever can write them can name a server as verified. A value that was damaged is taken for none.
///
/// None of the functions may be NULL, and none may call the library. The pointers that they get are never NULL, and are valid
/// during the call only.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TerseStoreCallbacks {
    /// What the functions get. It must live as long as the store, and as the configurations and connections that have it.
    pub context: *mut c_void,
    /// Copies the value under `key` to `value`, which has room for `capacity` bytes, and its length to `value_len`. Returns
    /// TERSE_CALLBACK_DONE, TERSE_CALLBACK_NOT_FOUND or TERSE_CALLBACK_FAILED, also for a value that is longer.
    pub load: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            key: *const u8,
            key_len: usize,
            value: *mut u8,
            capacity: usize,
            value_len: *mut usize,
        ) -> i32,
    >,
    /// Keeps `value` under `key`, in place of what is there, and returns once a reset cannot undo it: TERSE_CALLBACK_DONE, or
    /// TERSE_CALLBACK_FAILED, which costs the next connection a full handshake and no more.
    pub save: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            key: *const u8,
            key_len: usize,
            value: *const u8,
            value_len: usize,
        ) -> i32,
    >,
    /// Removes what is under `key`, and returns once a reset cannot undo it: TERSE_CALLBACK_DONE, TERSE_CALLBACK_NOT_FOUND or
    /// TERSE_CALLBACK_FAILED.
    pub remove: Option<unsafe extern "C" fn(context: *mut c_void, key: *const u8, key_len: usize) -> i32>,
    /// The length of the longest value that is kept, in bytes: 64 to 65,536, or 0 for 4,096. 1,024 are enough where certificates are
    /// on P-256, and servers do not put them into their tickets.
    pub max_value: usize,
}

/// What a value is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Record = 1,
    Session = 2,
}

/// The length of a key in bytes: its kind, and a part of a hash that nobody finds two scopes for.
const KEY_LEN: usize = 16;

pub(super) struct KeyValue {
    context: Context,
    load: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut usize) -> i32,
    save: unsafe extern "C" fn(*mut c_void, *const u8, usize, *const u8, usize) -> i32,
    remove: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> i32,
    max_value: usize,
    /// Only one callback runs at a time.
    lock: Mutex<()>,
}

impl KeyValue {
    pub(super) fn new(callbacks: &TerseStoreCallbacks) -> Result<Self, TerseError> {
        let TerseStoreCallbacks { context, load, save, remove, max_value } = *callbacks;
        let max_value = match max_value {
            0 => 4_096,
            64..=65_536 => max_value,
            _ => return Err(TerseError::InvalidArgument),
        };
        let missing = TerseError::NullPointer;
        Ok(Self {
            context: Context(context),
            load: load.ok_or(missing)?,
            save: save.ok_or(missing)?,
            remove: remove.ok_or(missing)?,
            max_value,
            lock: Mutex::new(()),
        })
    }

    /// Returns the value of `scope`.
    pub(super) fn load(&self, kind: Kind, scope: &Scope) -> Option<Zeroizing<Vec<u8>>> {
        let _guard = self.lock.lock();
        self.load_locked(&key(kind, scope))
    }

    fn load_locked(&self, key: &[u8; KEY_LEN]) -> Option<Zeroizing<Vec<u8>>> {
        let mut value = Zeroizing::new(alloc::vec![0; self.max_value]);
        let mut len = 0;
        // SAFETY: the program promises that its callback may be called with its context; the buffers have these lengths.
        let result =
            unsafe { (self.load)(self.context.0, key.as_ptr(), KEY_LEN, value.as_mut_ptr(), self.max_value, &mut len) };
        if TerseCallback::of(result) != TerseCallback::Done || len > self.max_value {
            return None;
        }
        value.truncate(len);
        Some(value)
    }

    /// Keeps `value` for `scope`. Returns whether it is kept.
    pub(super) fn save(&self, kind: Kind, scope: &Scope, value: &[u8]) -> bool {
        if value.len() > self.max_value {
            self.remove(kind, scope); // what is there is of an earlier connection
            return false;
        }
        let key = key(kind, scope);
        let _guard = self.lock.lock();
        // SAFETY: the program promises that its callback may be called with its context; the buffers have these lengths.
        let result = unsafe { (self.save)(self.context.0, key.as_ptr(), KEY_LEN, value.as_ptr(), value.len()) };
        TerseCallback::of(result) == TerseCallback::Done
    }

    /// Removes what is kept for `scope`. Returns whether nothing is kept any more.
    pub(super) fn remove(&self, kind: Kind, scope: &Scope) -> bool {
        let _guard = self.lock.lock();
        self.remove_locked(&key(kind, scope))
    }

    fn remove_locked(&self, key: &[u8; KEY_LEN]) -> bool {
        // SAFETY: the program promises that its callback may be called with its context; the key has this length.
        let result = unsafe { (self.remove)(self.context.0, key.as_ptr(), KEY_LEN) };
        matches!(TerseCallback::of(result), TerseCallback::Done | TerseCallback::NotFound)
    }

    /// Removes the value of `scope` and returns it, to one caller only: nothing that cannot be removed is returned.
    pub(super) fn take(&self, kind: Kind, scope: &Scope) -> Option<Zeroizing<Vec<u8>>> {
        let key = key(kind, scope);
        let _guard = self.lock.lock();
        let value = self.load_locked(&key)?;
        self.remove_locked(&key).then_some(value)
    }
}

/// Returns the key of `scope`, which is the same after a restart.
fn key(kind: Kind, scope: &Scope) -> [u8; KEY_LEN] {
    let server = alloc::format!("{}", scope.server);
    let transport = [scope.transport as u8];
    let credential = scope.credential.map_or([0; 32], |fingerprint| fingerprint.0);
    let hash = SHA256.hash(&[&credential, &scope.port.to_be_bytes(), &transport, server.as_bytes()]);
    let mut key = [kind as u8; KEY_LEN];
    key[1..].copy_from_slice(&hash.as_ref()[..KEY_LEN - 1]); // SHA-256 has 32 bytes
    key
}
