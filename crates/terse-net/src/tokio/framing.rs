//! A framing says how the datagrams of DTLS lie in those of a socket: as they are, or each after the prefix of a relay.
//!
//! What must always hold: what a framing refuses is dropped and counted, and changes nothing else; a prefix is never
//! longer than [`Framing::overhead`], by which an endpoint shortens its datagrams.

use core::fmt;
use core::net::SocketAddr;
use core::ops::Range;

use terse_tls::Path;

mod jpy;

pub use jpy::Jpy;

/// How the datagrams of DTLS lie in those of a socket.
pub trait Framing: Send {
    /// Returns the most bytes that are put before a datagram. An endpoint sends datagrams that are so much shorter than
    /// [`terse_tls::Datagrams::max_datagram`], which is thereby the limit of the whole.
    fn overhead(&self) -> usize;

    /// Reads a datagram that came from `from`: returns the path that it came on, and where in it the datagram of DTLS
    /// is.
    fn read(&self, from: SocketAddr, datagram: &[u8]) -> Result<(Path, Range<usize>), Misframed>;

    /// Writes to `out`, which has [`Self::overhead`] bytes, what stands before a datagram of `len` bytes on `path`.
    /// Returns its length, or `None` if nothing can be sent on this path: [`Self::read`] never returned it.
    fn write(&self, path: &Path, len: usize, out: &mut [u8]) -> Option<usize>;
}

/// Why a framing refuses a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misframed {
    /// It is not framed as it should be.
    Malformed,
    /// The header is longer than allowed.
    HeaderTooLong,
}

impl fmt::Display for Misframed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the datagram is not framed as it should be",
            Self::HeaderTooLong => "the header of the datagram is too long",
        })
    }
}

impl core::error::Error for Misframed {}

/// No framing: a datagram of the socket is one of DTLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plain;

impl Framing for Plain {
    fn overhead(&self) -> usize {
        0
    }

    fn read(&self, from: SocketAddr, datagram: &[u8]) -> Result<(Path, Range<usize>), Misframed> {
        Ok((from.into(), 0..datagram.len()))
    }

    fn write(&self, path: &Path, _: usize, _: &mut [u8]) -> Option<usize> {
        path.header().is_empty().then_some(0)
    }
}
