//! The join proxy for datagrams on real sockets: handshakes through both modes, restarts, new keys, and strangers.

mod config;
mod hostile;
mod pass;
#[path = "waits/patience.rs"]
mod patience;
mod registrar;
mod time;
#[path = "waits/vacant.rs"]
mod vacant;
mod world;
