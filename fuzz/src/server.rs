//! The fuzz target `server` runs a server, in any mode, with anything that a client could send, encrypted as well.

use crate::input::Input;
use crate::machine::Machine;
use crate::modes::{TRANSPARENT, Tweaks, choose};

/// Runs one input, an [`Input`].
pub fn run(data: &[u8]) {
    replay(&Input::parse(data));
}

/// Returns the server after `input`.
pub fn replay(input: &Input) -> Machine {
    let (mode, tweaks) = (choose(&TRANSPARENT, input.mode), Tweaks(input.tweaks));
    let mut server = Machine::server(tweaks.server(mode), tweaks);
    input.operations.iter().for_each(|operation| server.apply(operation));
    server.end()
}
