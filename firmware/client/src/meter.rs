//! What calls of the engine take.

use terse_board::{instructions, stack};
use terse_device::connect::Observer;

use crate::arenas::CONNECTION;

/// Counts what calls of the engine take.
#[derive(Default)]
pub struct Meter {
    /// The instructions of all calls.
    instructions: u64,
    /// The instructions until the handshake was complete.
    pub handshake_instructions: u64,
    /// The most bytes of stack that a call took.
    pub stack: usize,
}

impl Observer for Meter {
    /// Runs a call of the engine, in the arena of the connection. Ticks wait meanwhile.
    fn run<T>(&mut self, call: impl FnOnce() -> T) -> T {
        cortex_m::interrupt::free(|_| {
            let ((result, instructions), stack) = CONNECTION.run(|| stack::measure(|| instructions::measure(call)));
            self.instructions += u64::from(instructions);
            self.stack = self.stack.max(stack);
            result
        })
    }

    fn connected(&mut self) {
        self.handshake_instructions = self.instructions;
    }
}
