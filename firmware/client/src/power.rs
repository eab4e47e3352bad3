//! The power, which fails while a slot is written if the computer that runs QEMU says so.

use alloc::vec::Vec;

use terse_board::{end, println};

use terse_board::files;
use terse_device::storage::Slots;

/// Slots whose power may fail.
pub struct Powered<S> {
    slots: S,
    /// How many bytes of a slot are written when the power fails.
    limit: Option<usize>,
}

impl<S: Slots> Powered<S> {
    /// The power fails if there is a file `power.bin`, with a number of bytes in four bytes.
    pub fn new(slots: S) -> Self {
        let limit = files::read("power.bin").and_then(|file| Some(u32::from_be_bytes(file.try_into().ok()?)));
        Self { slots, limit: limit.map(|limit| limit as usize) }
    }
}

impl<S: Slots> Slots for Powered<S> {
    fn read(&mut self, slot: usize) -> Vec<u8> {
        self.slots.read(slot)
    }

    /// Writes as much as the power lasts for. When it fails, that ends QEMU at once.
    fn write(&mut self, slot: usize, content: &[u8]) -> bool {
        let Some(limit) = self.limit else { return self.slots.write(slot, content) };
        self.slots.write(slot, &content[..limit.min(content.len())]);
        println!("the power has failed");
        end::fail()
    }
}
