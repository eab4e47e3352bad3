//! All memory that the image can allocate: an arena for the device, and one for its connection. The allocator has nothing else: what
//! is allocated outside of them, or beyond their ends, ends the image.

use core::alloc::Layout;
use core::mem::MaybeUninit;

use cortex_m::singleton;
use terse_arena::{Allocator, Arena, Refuse, Refused};
use terse_board::{end, println};

use crate::setup::LIMITS;

#[global_allocator]
static ALLOCATOR: Allocator<Refuse> = Allocator::new(Refuse(refuse));

/// What the device has as long as it runs: its configuration, its stores, its network.
pub static DEVICE: Arena = Arena::new();

/// A connection, in the worst case that any peer can bring about.
pub static CONNECTION: Arena = Arena::new();

/// Most of it are packets of smoltcp.
const DEVICE_SIZE: usize = 24 * 1_024;
const CONNECTION_SIZE: usize = Arena::size_for(LIMITS.heap());

/// Gives both arenas their memory; the first call alone does.
pub fn begin() -> bool {
    let device = singleton!(: [MaybeUninit<u8>; DEVICE_SIZE] = [MaybeUninit::uninit(); DEVICE_SIZE]);
    let connection = singleton!(: [MaybeUninit<u8>; CONNECTION_SIZE] = [MaybeUninit::uninit(); CONNECTION_SIZE]);
    device.is_some_and(|memory| DEVICE.give(memory)) && connection.is_some_and(|memory| CONNECTION.give(memory))
}

fn refuse(refused: Refused, layout: Layout) -> ! {
    println!("terse-client: {}: {} bytes", refused, layout.size());
    end::fail()
}
