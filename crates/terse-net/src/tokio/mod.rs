//! [`terse_tls`] on tokio's sockets (feature `tokio`).
//!
//! | | |
//! |---|---|
//! | [`TlsStream`] | a connection over any asynchronous byte stream; with the feature `hyper` also for hyper |
//! | [`Connector`] | a client's connections, with a time limit for the handshake |
//! | [`Acceptor`] | a server's connections from a listener, whose handshakes run beside each other |
//! | [`Handshake`] | one handshake of either side, for servers with a way of their own |
//! | [`DatagramEndpoint`] | a server for datagrams, plain or through a stateless join proxy ([`Jpy`]) |
//! | [`AsyncSigner`], [`AsyncStore`] | private keys and stores that answer later |

mod acceptor;
mod connector;
mod datagram;
mod framing;
mod later;
mod stream;

pub use acceptor::{Acceptor, AcceptorBuilder, AcceptorCounters, AcceptorEvent, AcceptorHandle, Listener, Observer};
pub use connector::Connector;
pub use datagram::{DatagramEndpoint, SocketCounters};
pub use framing::{Framing, Jpy, Misframed, Plain};
pub use later::{Answer, AsyncSigner, AsyncStore};
pub use stream::{Handshake, TlsStream};
