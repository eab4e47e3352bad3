//! [`terse_tls`] on tokio's sockets (feature `tokio`).

mod datagram;
mod framing;
mod later;

pub use datagram::{DatagramEndpoint, SocketCounters};
pub use framing::{Framing, Jpy, Misframed, Plain};
pub use later::{Answer, AsyncSigner, AsyncStore};
