//! The other implementations of TLS, behind one trait.
//!
//! Each implementation has a file of its own, which says all that the other files have to know about it, by
//! [`Implementation`]. [`Peer::ALL`] lists them.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

pub use absence::Absence;
pub use implementation::{DatagramCookies, Implementation, Refusal};
pub use remote::Remote;
use running::Running;
pub use running::Way;

mod absence;
mod implementation;
mod remote;
mod running;

// Shared by several peers.
mod driver;

// One file for each peer.
pub mod boringssl;
mod bouncy_castle;
mod dimpl;
mod gnutls;
mod in_process;
mod mbedtls;
mod openssl;
mod rustls;
mod scandium;
mod terse;
pub mod wolfssl;
mod wolfssl55;

/// Which role is ours; the peer has the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Our client meets the peer's server.
    Client,
    /// Our server meets the peer's client.
    Server,
}

/// Another implementation of TLS. Two are the same if their names are.
#[derive(Clone, Copy)]
pub struct Peer(&'static dyn Implementation);

impl Peer {
    /// All of them, in the order of the columns of the matrix.
    pub const ALL: &[Self] = &[
        Self(&openssl::OpenSsl),
        Self(&gnutls::GnuTls),
        Self(&wolfssl55::WolfSsl55),
        Self(&wolfssl::WolfSsl),
        Self(&boringssl::BoringSsl),
        Self(&mbedtls::MbedTls),
        Self(&scandium::Scandium),
        Self(&dimpl::Dimpl),
        Self(&rustls::Rustls),
        Self(&bouncy_castle::BouncyCastle),
    ];

    /// Our own command, which the other implementations meet over datagrams.
    pub const TERSE: Self = Self(&terse::Terse);

    /// Our own side over datagrams in this process, without the command.
    pub const TERSE_NET: Self = Self(&in_process::TerseNet);
}

impl Deref for Peer {
    type Target = dyn Implementation;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl PartialEq for Peer {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Peer {}

impl Hash for Peer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
