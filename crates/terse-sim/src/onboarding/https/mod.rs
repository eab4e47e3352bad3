//! BRSKI over HTTPS: HTTP/1.1 over TLS 1.3, over the simulator's TCP.

mod message;
mod pledge;
mod registrar;
mod stream;

pub(super) use pledge::HttpsLink;
pub(super) use registrar::HttpsRegistrar;

/// The port of HTTPS.
pub(super) const PORT: u16 = 443;
