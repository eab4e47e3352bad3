//! Randomness and time: from callbacks, or on hosts from the operating system.
//!
//! Unsafe, because the program's callbacks are called.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::time::Duration;

use pki_types::UnixTime;
use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{Instant, Now};

use crate::TerseError;
use crate::callbacks::{Context, TerseCallback};

/// The time of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerseTime {
    /// The monotonic time in milliseconds since a start that the program chooses. It never goes back.
    pub monotonic_ms: u64,
    /// The wall-clock time in seconds since 1970; 0 on a device that does not know it.
    pub unix_seconds: u64,
}

/// Fills `out` with `len` random bytes that nobody can guess, from the hardware or the operating system. Returns
/// TERSE_CALLBACK_DONE, or TERSE_CALLBACK_FAILED, which ends the connection. What it has written then is not used.
pub type TerseRandom = Option<unsafe extern "C" fn(context: *mut c_void, out: *mut u8, len: usize) -> i32>;

/// Writes the time to `time`, which is never NULL. Called when a function gets no time.
pub type TerseClock = Option<unsafe extern "C" fn(context: *mut c_void, time: *mut TerseTime)>;

/// Where a configuration has randomness and time from.
#[derive(Clone, Copy, Default)]
pub(crate) struct Platform {
    pub(crate) random: Option<(TerseRandom, Context)>,
    pub(crate) clock: Option<(TerseClock, Context)>,
}

impl Platform {
    /// Returns whether there is any source of randomness.
    pub(crate) fn has_random(&self) -> bool {
        cfg!(feature = "std") || self.random.is_some_and(|(fill, _)| fill.is_some())
    }

    /// Returns the time that the program gave, or asks the clock.
    pub(crate) fn now(&self, given: Option<&TerseTime>) -> Result<Now, TerseError> {
        if let Some(given) = given {
            return Ok(given.now());
        }
        if let Some((Some(clock), Context(context))) = self.clock {
            let mut time = TerseTime::default();
            // SAFETY: the program promises that its callback may be called with its context; `time` may be written.
            unsafe { clock(context, &mut time) };
            return Ok(time.now());
        }
        Self::system_time().ok_or(TerseError::NoClock)
    }

    #[cfg(feature = "std")]
    fn system_time() -> Option<Now> {
        use std::sync::OnceLock;
        use std::time::{Instant as SystemInstant, SystemTime, UNIX_EPOCH};

        static START: OnceLock<SystemInstant> = OnceLock::new();
        let elapsed = START.get_or_init(SystemInstant::now).elapsed();
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok().map(UnixTime::since_unix_epoch);
        Some(Now::new(Instant(elapsed.as_millis() as u64), unix))
    }

    #[cfg(not(feature = "std"))]
    fn system_time() -> Option<Now> {
        None
    }
}

impl TerseTime {
    fn now(&self) -> Now {
        let unix = (self.unix_seconds > 0).then(|| UnixTime::since_unix_epoch(Duration::from_secs(self.unix_seconds)));
        Now::new(Instant(self.monotonic_ms), unix)
    }
}

impl From<Now> for TerseTime {
    fn from(now: Now) -> Self {
        Self { monotonic_ms: now.monotonic.0, unix_seconds: now.unix.map_or(0, |time| time.as_secs()) }
    }
}

impl Rng for Platform {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        if let Some((Some(fill), Context(context))) = self.random {
            // SAFETY: the program promises that its callback may be called with its context; `out` has `len` bytes.
            let result = unsafe { fill(context, out.as_mut_ptr(), out.len()) };
            return if TerseCallback::of(result) == TerseCallback::Done {
                Ok(())
            } else {
                Err(CryptoError::RandomFailed)
            };
        }
        #[cfg(feature = "std")]
        return getrandom::fill(out).map_err(|_| CryptoError::RandomFailed);
        #[cfg(not(feature = "std"))]
        Err(CryptoError::RandomFailed)
    }
}
