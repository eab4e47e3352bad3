//! [`terse_tls`] on tokio's sockets (feature `tokio`).
//!
//! | | |
//! |---|---|
//! | [`TlsStream`] | a connection over any asynchronous byte stream; with the feature `hyper` also for hyper |
//! | [`Connector`] | a client's connections, with a time limit for the handshake |
//! | [`Acceptor`] | a server's connections from a listener, whose handshakes run beside each other |
//! | [`Handshake`] | one handshake of either side, for servers with a way of their own |
//! | [`DatagramEndpoint`] | a server for datagrams, plain or through a stateless join proxy ([`Jpy`]) |
//! | [`DatagramConnector`], [`DatagramConnection`] | a client's connections over datagrams |
//! | [`AsyncSigner`], [`AsyncStore`] | private keys and stores that answer later |
//!
//! # hyper
//!
//! With the feature `hyper`, a [`TlsStream`] is an I/O object of hyper. The configuration names the protocols that the
//! server has: `alpn_protocols(["h2", "http/1.1"])`.
//!
#![cfg_attr(feature = "hyper", doc = "```no_run")]
#![cfg_attr(not(feature = "hyper"), doc = "```ignore")]
//! # use std::{convert::Infallible, sync::Arc};
//! # use hyper::{Request, Response, service::service_fn};
//! # use hyper_util::{rt::TokioExecutor, server::conn::auto};
//! # use terse_net::{Clock, tokio::Acceptor};
//! # async fn serve(config: Arc<terse_tls::ServerConfig>) -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("[::]:443").await?;
//! let mut acceptor = Acceptor::builder(config, Clock::new()).start(listener);
//! while let Some((stream, _)) = acceptor.accept().await {
//!     let answer = service_fn(|_: Request<_>| async { Ok::<_, Infallible>(Response::new("hello".to_owned())) });
//!     tokio::spawn(async move { drop(auto::Builder::new(TokioExecutor::new()).serve_connection(stream, answer).await) });
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # axum
//!
//! axum takes connections from a listener of its own kind, which is a few lines around an [`Acceptor`]:
//!
//! ```no_run
//! # use std::{net::SocketAddr, sync::Arc};
//! # use axum::{Router, routing::get};
//! # use terse_net::{Clock, tokio::{Acceptor, TlsStream}};
//! # use tokio::net::{TcpListener, TcpStream};
//! struct Tls(Acceptor<TcpStream>);
//!
//! impl axum::serve::Listener for Tls {
//!     type Io = TlsStream<TcpStream>;
//!     type Addr = SocketAddr;
//!
//!     async fn accept(&mut self) -> (Self::Io, SocketAddr) {
//!         match self.0.accept().await {
//!             Some(accepted) => accepted,
//!             None => std::future::pending().await, // it was stopped: axum ends by its own signal
//!         }
//!     }
//!
//!     fn local_addr(&self) -> std::io::Result<SocketAddr> {
//!         self.0.local_addr().ok_or_else(|| std::io::ErrorKind::AddrNotAvailable.into())
//!     }
//! }
//!
//! # async fn serve(config: Arc<terse_tls::ServerConfig>) -> std::io::Result<()> {
//! let acceptor = Acceptor::builder(config, Clock::new()).start(TcpListener::bind("[::]:443").await?);
//! axum::serve(Tls(acceptor), Router::new().route("/", get(|| async { "hello" }))).await
//! # }
//! ```

mod acceptor;
mod alarm;
mod connector;
mod datagram;
mod datagram_connection;
mod datagram_connector;
mod framing;
mod later;
mod stream;

pub use acceptor::{Acceptor, AcceptorBuilder, AcceptorCounters, AcceptorEvent, AcceptorHandle, Listener, Observer};
pub use connector::Connector;
pub use datagram::{DatagramEndpoint, SocketCounters};
pub use datagram_connection::{DatagramConnection, DatagramSocket};
pub use datagram_connector::DatagramConnector;
pub use framing::{Framing, Jpy, Misframed, Plain};
pub use later::{Answer, AsyncSigner, AsyncStore};
pub use stream::{Handshake, TlsStream};
