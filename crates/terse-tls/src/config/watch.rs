//! Who watches connections, or disturbs them in tests.

#[cfg(terse_testing)]
use alloc::vec::Vec;
use core::fmt;

use crate::summary::CachedObject;
use crate::wire::{AlertDescription, HandshakeType};

/// Receives the secrets of connections, for debugging.
pub trait KeyLog: Send + Sync {
    /// One line of an NSS key log: `label client_random secret`, the last two in hexadecimal.
    fn log(&self, label: &'static str, client_random: &[u8; 32], secret: &[u8]);
}

impl fmt::Debug for dyn KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyLog")
    }
}

/// Hears of every message of a handshake.
pub trait Trace: Send + Sync {
    /// Something happened.
    fn event(&self, event: TraceEvent<'_>);
}

impl fmt::Debug for dyn Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trace")
    }
}

/// What a [`Trace`] hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceEvent<'a> {
    /// A message was sent; its length in bytes, header included.
    Sent(HandshakeType, usize),
    /// A message was received; its length in bytes, header included.
    Received(HandshakeType, usize),
    /// An object was cached, and so left out or reduced.
    LeftOut(CachedObject),
    /// Something that the messages alone do not show.
    Note(&'a str),
    /// Over datagrams: nothing came for so many milliseconds, and the flight is sent again.
    SentAgain {
        /// Since it was last sent.
        after: u64,
    },
    /// An alert was sent.
    AlertSent(AlertDescription),
    /// An alert was received.
    AlertReceived(AlertDescription),
}

/// Changes what this side sends, before it is hashed and encrypted: what a hostile peer could do.
#[cfg(terse_testing)]
pub trait Fault: Send + Sync {
    /// `message` has its header; whatever bytes it holds afterwards are sent.
    fn message(&self, kind: HandshakeType, message: &mut Vec<u8>);
}

#[cfg(terse_testing)]
impl fmt::Debug for dyn Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fault")
    }
}
