//! The processors that images are for, and the boards that QEMU has with them.

use std::path::Path;

/// A processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processor {
    pub(crate) name: &'static str,
    /// The board.
    pub(crate) machine: &'static str,
    pub(crate) megahertz: u32,
    /// The cycles that an instruction takes without wait states, in the cryptography that most of the time goes into. A long
    /// multiplication, of which P-256 has many, takes one cycle on a Cortex-M4, and three to five on a Cortex-M3. X25519 and ristretto255
    /// have more of them: 2.1 on a Cortex-M3.
    pub(crate) cycles_per_instruction: f64,
}

const CORTEX_M3: Processor =
    Processor { name: "Cortex-M3", machine: "mps2-an385", megahertz: 32, cycles_per_instruction: 1.7 };
const CORTEX_M4: Processor =
    Processor { name: "Cortex-M4", machine: "mps2-an386", megahertz: 64, cycles_per_instruction: 1.4 };

impl Processor {
    /// Returns the processor of an image, which Cargo puts into a folder with the name of its target.
    pub(crate) fn of(image: &Path) -> Self {
        let is_m3 = image.components().any(|part| part.as_os_str() == "thumbv7m-none-eabi");
        if is_m3 { CORTEX_M3 } else { CORTEX_M4 }
    }

    /// Returns the milliseconds that so many instructions take.
    pub(crate) fn milliseconds(&self, instructions: f64) -> f64 {
        instructions * self.cycles_per_instruction / (1e3 * f64::from(self.megahertz))
    }
}
