//! The fuzz target `client` runs a client, in any mode, with anything that a server could send, encrypted as well.

use crate::input::Input;
use crate::machine::Machine;
use crate::modes::{TRANSPARENT, Tweaks, choose};

/// Runs one input, an [`Input`].
pub fn run(data: &[u8]) {
    replay(&Input::parse(data));
}

/// Returns the client after `input`.
pub fn replay(input: &Input) -> Machine {
    let (mode, tweaks) = (choose(&TRANSPARENT, input.mode), Tweaks(input.tweaks));
    let mut client = Machine::client(tweaks.client(mode), tweaks);
    input.operations.iter().for_each(|operation| client.apply(operation));
    client.end()
}
