//! Tests of connections on tokio: streams, the connector and the acceptor, on sockets and in memory.
#![allow(unreachable_pub)]

mod acceptor;
mod ends;
mod flood;
mod handshakes;
mod later;
mod strangers;
mod transfer;
mod web;
mod world;
