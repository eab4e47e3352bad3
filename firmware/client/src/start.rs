//! What the image does after a reset.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use cortex_m::Peripherals;
use terse_board::ethernet::{Datagrams, Ethernet};
use terse_board::files::{self, Flash};
use terse_board::report::Report;
use terse_board::{end, println};
use terse_tls::crypto::CryptoProvider;

use crate::arenas::{self, CONNECTION, DEVICE};
use crate::memory::Memory;
use crate::meter::InArena;
use crate::power::Powered;
use crate::setup;
use terse_device::clock::Clock;
use terse_device::connect::{Surroundings, address, connect};
use terse_device::known::Device;
use terse_device::random::SeededRng;
use terse_device::storage::Storage;
use terse_device::uart::Uart;
use terse_device::wire::Wire;

/// Connects once with what is in `device.bin`, and a seed and a time in `boot.bin`, keeps what is to be remembered, prints a report, and ends QEMU.
pub fn start(provider: &CryptoProvider) -> ! {
    if !arenas::begin() {
        end::fail()
    }
    match DEVICE.run(|| run(provider)) {
        Ok(report) => {
            println!("{}", report);
            end::succeed()
        }
        Err(error) => {
            println!("terse-client: {}", error);
            end::fail()
        }
    }
}

fn run(provider: &CryptoProvider) -> Result<String, String> {
    let device = files::read("device.bin").and_then(|file| Device::parse(&file)).ok_or("device.bin cannot be read")?;
    let (seed, time) = files::boot().ok_or("boot.bin does not have a seed of 32 bytes and a time of 8")?;
    let peripherals = Peripherals::take().ok_or("the image runs twice")?;
    let mut clock = Clock::start(peripherals.SYST);
    let mut storage = Storage::open(Powered::new(Flash));
    let memory = Memory::from_bytes(storage.content());
    let config = setup::config(&device, &memory, provider).map_err(|error| format!("{error:?}"))?;
    let address = address(&device).ok_or("device.bin has no name or no port")?;
    let (mut uart, mut ethernet);
    let wire: &mut dyn Wire = if device.text("link") == "ethernet" {
        let [a, b, c, d, e, f, g, h, ..] = seed;
        ethernet = Ethernet::<Datagrams>::start(u64::from_be_bytes([a, b, c, d, e, f, g, h]));
        ethernet.open(address.port, &mut clock);
        &mut ethernet
    } else {
        uart = Uart::open();
        &mut uart
    };
    let mut rng = SeededRng::new(seed);
    let mut around = Surroundings { wire, clock: &mut clock, started: Some(time), rng: &mut rng };
    let mut meter = InArena::default();
    let summary = connect(Arc::new(config), address, &mut around, &mut meter);
    // Also after a failure: a client notes which server may have lost its cache.
    if !storage.keep(memory.to_bytes().to_vec()) {
        return Err("the storage cannot be written".into());
    }
    let summary = summary.map_err(|error| format!("{error}"))?;
    Ok(format!(
        "{}",
        Report { summary: &summary, meter: &meter.0, heap: CONNECTION.peak(), device: Some(DEVICE.peak()) }
    ))
}
