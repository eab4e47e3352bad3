//! The join proxy for datagrams on real sockets: handshakes through both modes, restarts, new keys, and strangers.

mod config;
mod hostile;
mod pass;
mod registrar;
mod time;
mod world;
