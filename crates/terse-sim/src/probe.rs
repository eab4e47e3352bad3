//! A probe measures the engine's calls: the simulator reads neither processor time nor heap itself.

use serde::Deserialize;

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// A probe runs every call of the engine in a connection that counts, from the first packet to the last of the close.
pub trait Probe {
    /// Notes that a connection begins; neither side exists yet.
    fn begin(&mut self) {}

    /// Calls `run` once; it is work of `party`.
    fn call(&mut self, party: Party, run: &mut dyn FnMut()) {
        let _ = party;
        run();
    }

    /// Notes that the connection came to its end.
    fn end(&mut self) {}
}

/// A probe that measures nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Probe for Unwatched {}
