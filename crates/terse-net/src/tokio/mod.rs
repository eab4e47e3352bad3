//! [`terse_tls`] on tokio's sockets (feature `tokio`).

mod later;

pub use later::{Answer, AsyncSigner, AsyncStore};
