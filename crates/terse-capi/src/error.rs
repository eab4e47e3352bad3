//! The errors of the C API: a number for each kind of error of the engine, and those of this crate.
//!
//! What must always hold: a number never changes its meaning. Those of the engine are [`Error::code`], and the tests compare the
//! two lists.
//!
//! Unsafe, because functions with C's names cannot be declared otherwise.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char};
use core::fmt;

use terse_tls::crypto::KeyError;
use terse_tls::{ApiMisuse, Error};

mod codes;
mod names;

pub use codes::TerseError;

/// What a function returns: 0 if it has done its work, else a value of `enum terse_error`.
pub type TerseResult = i32;

/// What a function returns that has done its work.
pub const TERSE_OK: i32 = 0;

/// Who is to blame for an error, and what it means for the connection.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerseErrorKind {
    /// `TERSE_OK`.
    None = 0,
    /// The program broke the contract of a call, or its configuration is at fault. Nothing has changed: the connection is as before.
    Misuse = 1,
    /// The connection is over: the peer, the transport or an operation of this side is to blame.
    Fatal = 2,
    /// No error has this number.
    Unknown = 3,
}

/// Returns the name of an error: "TERSE_ERROR_TRUNCATED"; "TERSE_OK" for 0; NULL if no error has this number.
///
/// The text is static: it is never freed. Any thread may call this.
#[unsafe(no_mangle)]
pub extern "C" fn terse_error_name(error: TerseResult) -> *const c_char {
    names::name(error).map_or(core::ptr::null(), CStr::as_ptr)
}

/// Returns what an error means for the connection. Any thread may call this.
#[unsafe(no_mangle)]
pub extern "C" fn terse_error_kind(error: TerseResult) -> TerseErrorKind {
    match error {
        TERSE_OK => TerseErrorKind::None,
        _ if names::name(error).is_none() => TerseErrorKind::Unknown,
        1..=49 | 700..=899 => TerseErrorKind::Misuse,
        _ => TerseErrorKind::Fatal,
    }
}

/// An error of a call: one of this crate, or one of the engine.
#[derive(Debug)]
pub(crate) enum Failure {
    Own(TerseError),
    Engine(Error),
    Key(KeyError),
}

impl Failure {
    pub(crate) fn code(&self) -> TerseResult {
        match self {
            Self::Own(error) => *error as TerseResult,
            Self::Engine(error) => error.code().into(),
            Self::Key(error) => error.code().into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(error) => {
                f.write_str(names::name(*error as TerseResult).unwrap_or(c"").to_str().unwrap_or_default())
            }
            Self::Engine(error) => error.fmt(f),
            Self::Key(error) => error.fmt(f),
        }
    }
}

impl From<TerseError> for Failure {
    fn from(error: TerseError) -> Self {
        Self::Own(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<ApiMisuse> for Failure {
    fn from(error: ApiMisuse) -> Self {
        Self::Engine(error.into())
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

/// Turns a result into the number that C gets.
pub(crate) fn result<T>(result: Result<T, impl Into<Failure>>) -> TerseResult {
    result.map_or_else(|error| error.into().code(), |_| TERSE_OK)
}

#[cfg(test)]
mod tests;
