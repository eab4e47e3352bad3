//! The fuzz target `datagram_client` runs a client over datagrams, in any mode, with anything that a server could send,
//! encrypted as well, in any order, and after any time.

use crate::datagram_machine::DatagramMachine;
use crate::input::Input;
use crate::modes::{DATAGRAMS, Tweaks, choose};

/// Runs one input, an [`Input`] whose operations become datagrams: see [`crate::datagrams`].
pub fn run(data: &[u8]) {
    replay(&Input::parse(data));
}

/// Returns the client after `input`.
pub fn replay(input: &Input) -> DatagramMachine {
    let (mode, tweaks) = (choose(&DATAGRAMS, input.mode), Tweaks(input.tweaks));
    let mut client = DatagramMachine::client(tweaks.client(mode), tweaks);
    input.operations.iter().for_each(|operation| client.apply(operation));
    client.end()
}
