//! What callbacks have in common: the pointer that they get, and what they return.
//!
//! Unsafe, because a pointer of the program is shared between threads if the program does so.
#![allow(unsafe_code)]

use core::ffi::c_void;

/// What a callback returns.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerseCallback {
    /// It has done its work. Any number that is not listed here means TERSE_CALLBACK_FAILED.
    Done = 0,
    /// A signer answers later: see `terse_provide_signature`.
    Pending = 1,
    /// A store has nothing under this key.
    NotFound = 2,
    /// It could not do its work.
    Failed = -1,
}

impl TerseCallback {
    pub(crate) const fn of(result: i32) -> Self {
        match result {
            0 => Self::Done,
            1 => Self::Pending,
            2 => Self::NotFound,
            _ => Self::Failed,
        }
    }
}

/// The pointer that the program wants its callback to get. It is never looked at.
#[derive(Clone, Copy)]
pub(crate) struct Context(pub(crate) *mut c_void);

// SAFETY: the pointer is only handed to callbacks. The header says that a program that uses a configuration or a store on
// several threads gives callbacks that may be called on each of them, also at once.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}
