//! The fuzz target `datagram_server` runs a server over datagrams, in any mode, with anything that a client could send,
//! encrypted as well, in any order, and after any time.

use crate::datagram_machine::DatagramMachine;
use crate::input::Input;
use crate::modes::{DATAGRAMS, Tweaks, choose};

/// Runs one input, an [`Input`] whose operations become datagrams: see [`crate::datagrams`].
pub fn run(data: &[u8]) {
    replay(&Input::parse(data));
}

/// Returns the server after `input`.
pub fn replay(input: &Input) -> DatagramMachine {
    let (mode, tweaks) = (choose(&DATAGRAMS, input.mode), Tweaks(input.tweaks));
    let mut server = DatagramMachine::server(tweaks.server(mode), tweaks);
    input.operations.iter().for_each(|operation| server.apply(operation));
    server.end()
}
