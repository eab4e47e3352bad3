//! For those who measure the engine's calls: processor time and heap are theirs to read, not the simulator's.

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// Runs every call of the engine in a connection that counts, from the first packet to the last of the close.
pub trait Probe {
    /// A connection begins: neither side is there yet.
    fn begin(&mut self) {}

    /// Calls `run`, which is work of one side, once.
    fn call(&mut self, party: Party, run: &mut dyn FnMut()) {
        let _ = party;
        run();
    }

    /// It came to its end.
    fn end(&mut self) {}
}

/// Measures nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Probe for Unwatched {}
