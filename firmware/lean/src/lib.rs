//! The smallest devices: an image has what it names, and nothing is measured. What is known to a device is in a page of flash,
//! where the manufacturer writes it; the network is a UART, which carries a stream, or datagrams behind their lengths.
//!
//! Each image names the versions and links ([`ClientParts`](terse_tls::ClientParts)), the algorithms, and how both sides prove who
//! they are.
#![no_std]
#![cfg(target_os = "none")]

extern crate alloc;

use alloc::sync::Arc;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use core::slice;

use cortex_m::Peripherals;
use embedded_alloc::LlffHeap;
use pki_types::PrivateKeyDer;
use terse_tls::ClientConfig;
use terse_tls::crypto::{CryptoProvider, KeyError, SigningKey};

use terse_device::clock::Clock;
use terse_device::connect::{Surroundings, Unobserved, address, connect};
use terse_device::known::Device;
use terse_device::random::{SEED_LEN, SeededRng};
use terse_device::uart::{Framed, Lamp, Uart};
use terse_device::wire::Wire;

/// The cryptography: P-256 in assembly where the processor has its instructions, a Cortex-M4F, and not a Cortex-M3.
#[cfg(target_abi = "eabihf")]
pub use terse_cortex_m4 as crypto;
#[cfg(not(target_abi = "eabihf"))]
pub use terse_rustcrypto as crypto;

mod bare;

#[global_allocator]
static HEAP: LlffHeap = LlffHeap::empty();

/// The bytes of the heap.
const HEAP_LEN: usize = 24 * 1_024;

/// Makes the configuration of a device.
pub type Configure = fn(&Device) -> Option<ClientConfig>;

/// Returns the key that a device signs with.
pub type LoadKey = fn(&Device) -> Option<Arc<dyn SigningKey>>;

/// Connects so often, each time when the one before is closed, and lights the lamp.
pub fn start(configure: Configure, connections: u32) -> ! {
    run(|device, started, rng| {
        let config = Arc::new(configure(device)?);
        let mut clock = Clock::start(Peripherals::take()?.SYST);
        let (mut uart, mut framed);
        let wire: &mut dyn Wire = if config.common().datagrams().is_some() {
            framed = Framed::new(Uart::open());
            &mut framed
        } else {
            uart = Uart::open();
            &mut uart
        };
        let mut around = Surroundings { wire, clock: &mut clock, started: Some(started), rng };
        for _ in 0..connections {
            connect(config.clone(), address(device)?, &mut around, &mut Unobserved).ok()?;
        }
        Some(())
    })
}

/// Does with the cryptography what a connection does, without the engine: so large is everything else in an image.
pub fn start_bare(provider: &CryptoProvider, load_key: Option<LoadKey>) -> ! {
    run(|device, _, rng| bare::run(provider, load_key, device, rng))
}

/// Runs a program once with what is known to the device, the time of its start and randomness, and lights the lamp.
fn run(program: impl FnOnce(&Device, u64, &mut SeededRng) -> Option<()>) -> ! {
    static mut MEMORY: [MaybeUninit<u8>; HEAP_LEN] = [MaybeUninit::uninit(); HEAP_LEN];
    // SAFETY: this is called once after a reset, by `main`, and nothing else names the memory.
    unsafe { HEAP.init(&raw mut MEMORY as usize, HEAP_LEN) };
    let done = || {
        // SAFETY: the linker script reserves so many bytes of flash, which are never written while the image runs.
        let page = unsafe { slice::from_raw_parts(PROVISIONED, PROVISIONED_LEN) };
        let (seed, rest) = page.split_first_chunk::<SEED_LEN>()?;
        let (time, rest) = rest.split_first_chunk()?;
        program(&Device::parse(rest)?, u64::from_be_bytes(*time), &mut SeededRng::new(*seed))
    };
    Lamp::open().show(done().is_some());
    loop {
        cortex_m::asm::wfi();
    }
}

/// Keys of these devices are in no file.
pub fn no_key_files(_: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    Err(KeyError::UnsupportedAlgorithm)
}

/// The page that the manufacturer writes: the last 4 kB of a megabyte.
const PROVISIONED: *const u8 = 0x000f_f000 as *const u8;
const PROVISIONED_LEN: usize = 4_096;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    Lamp::open().show(false);
    loop {
        cortex_m::asm::nop(); // until the watchdog resets
    }
}
