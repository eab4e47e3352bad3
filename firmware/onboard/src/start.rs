//! What the image does after a reset.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use cortex_m::Peripherals;
use pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use sha2::{Digest as _, Sha256};
use terse_board::ethernet::{Ethernet, Transport};
use terse_board::files::{self, Flash};
use terse_board::heap::Heap;
use terse_board::instructions::Stopwatch;
use terse_board::meter::Meter;
use terse_board::report::Report;
use terse_board::{end, println, stack};
use terse_brski::pledge::Proxy;
use terse_device::clock::Clock;
use terse_device::connect::{Surroundings, address, connect};
use terse_device::known::Device;
use terse_device::random::SeededRng;
use terse_device::storage::Storage;
use terse_pledge::driver::Driver;
use terse_pledge::exchange::Exchange;
use terse_pledge::keys::Kind;
use terse_tls::crypto::{CryptoProvider, Rng as _};
use terse_tls::{ApiMisuse, ClientConfig, ClientParts, Credential, Datagrams, ServerAddress, Trust};

use crate::board::QemuBoard;
use crate::ldevid::Ldevid;

/// Onboards the device with what is in `device.bin`, if it has no LDevID, and connects to a server of its domain with the LDevID.
/// Prints a report, and ends QEMU.
pub fn start<E: Exchange, S: Transport, const HEAP: usize>(
    provider: &CryptoProvider,
    kind: Kind,
    heap: &'static Heap<HEAP>,
) -> ! {
    heap.begin();
    match run::<E, S, HEAP>(provider, kind, heap) {
        Ok(report) => {
            println!("{}", report);
            end::succeed()
        }
        Err(error) => {
            println!("terse-onboard-image: {}", error);
            end::fail()
        }
    }
}

fn run<E: Exchange, S: Transport, const HEAP: usize>(
    provider: &CryptoProvider,
    kind: Kind,
    heap: &'static Heap<HEAP>,
) -> Result<String, String> {
    let device = files::read("device.bin").and_then(|file| Device::parse(&file)).ok_or("device.bin cannot be read")?;
    let (seed, started) = files::boot().ok_or("boot.bin does not have a seed of 32 bytes and a time of 8")?;
    let peripherals = Peripherals::take().ok_or("the image runs twice")?;
    let server = address(&device).ok_or("device.bin has no name or no port")?;
    let mut rng = SeededRng::new(seed);
    let mut port_seed = [0; 8];
    rng.fill(&mut port_seed).map_err(|error| format!("{error:?}"))?;
    let mut board = QemuBoard {
        ethernet: Ethernet::<S>::start(u64::from_be_bytes(port_seed)),
        registrar: device.number("registrar").ok_or("device.bin has no port of a registrar")?,
        clock: Clock::start(peripherals.SYST),
        started,
        rng,
        storage: Storage::open(Flash),
        work: Stopwatch::start(),
        is_reported: false,
    };
    let onboarding = match Ldevid::parse(board.storage.content()) {
        Some(_) => String::new(),
        None => onboard::<E, S, HEAP>(&mut board, device, provider, kind, heap)?,
    };
    let ldevid = Ldevid::parse(board.storage.content()).ok_or("the LDevID was not kept")?;
    let digest = ldevid.chain.first().map(Sha256::digest).unwrap_or_default();
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let connection = connect_with(ldevid, &mut board, server, provider, kind, heap)?;
    Ok(format!("{{{onboarding}\"ldevid\":\"{digest}\",\"connection\":{connection}}}"))
}

/// Gets the LDevID, and returns the report of that.
fn onboard<E: Exchange, S: Transport, const HEAP: usize>(
    board: &mut QemuBoard<S>,
    device: Device,
    provider: &CryptoProvider,
    kind: Kind,
    heap: &'static Heap<HEAP>,
) -> Result<String, String> {
    let key = provider.load_key(&PrivatePkcs8KeyDer::from(&device.key[..]).into());
    let idevid = Credential::new(device.chain, key.map_err(|error| format!("{error:?}"))?);
    let idevid = idevid.map_err(|error| format!("{error:?}"))?;
    let run = || {
        board.work.resume();
        let driver = Driver::<_, E>::new(board, provider, kind, idevid, device.anchors, Trust::without_path_building);
        let result = driver.map(|mut driver| driver.run(&[Proxy(1)]));
        board.work.pause();
        result
    };
    let ((result, stack), heap) = heap.measure(|| stack::measure(run));
    result.map_err(|error| format!("{error:?}"))?;
    let (instructions, is_reported) = (board.work.instructions(), board.is_reported);
    Ok(format!(
        "\"onboarding\":{{\"reported\":{is_reported},\"instructions\":{instructions},\"stack\":{stack},\"heap\":{heap}}},"
    ))
}

/// Connects to a server of the domain, and returns the report of that.
fn connect_with<S: Transport, const HEAP: usize>(
    ldevid: Ldevid,
    board: &mut QemuBoard<S>,
    server: ServerAddress,
    provider: &CryptoProvider,
    kind: Kind,
    heap: &'static Heap<HEAP>,
) -> Result<String, String> {
    let key = kind(&ldevid.key).ok_or("the key of the LDevID cannot be used")?;
    let credential = Credential::new(ldevid.chain, key).map_err(|error| format!("{error:?}"))?;
    let config = config::<S>(provider, credential, &ldevid.anchors).map_err(|error| format!("{error:?}"))?;
    let QemuBoard { ethernet, clock, rng, started, .. } = board;
    ethernet.open(server.port, clock);
    let mut around = Surroundings { wire: ethernet, clock, started: Some(*started), rng };
    let mut meter = Meter::default();
    let (summary, heap) = heap.measure(|| connect(Arc::new(config), server, &mut around, &mut meter));
    let summary = summary.map_err(|error| format!("{error}"))?;
    Ok(format!("{}", Report { summary: &summary, meter: &meter, heap, device: None }))
}

/// Returns the configuration of connections in the domain.
fn config<S: Transport>(
    provider: &CryptoProvider,
    ldevid: Credential,
    anchors: &[CertificateDer<'_>],
) -> Result<ClientConfig, ApiMisuse> {
    let parts = ClientParts::NONE.tls13();
    let parts = if S::HAS_DATAGRAMS { parts.datagrams() } else { parts.streams() };
    let mut config = ClientConfig::builder_of(provider, parts);
    config.trust(Trust::without_path_building(anchors)?).credential(ldevid);
    if S::HAS_DATAGRAMS {
        config.datagrams(Datagrams::constrained());
    }
    config.record_size_limit(MAX_RECORD).max_record(usize::from(MAX_RECORD));
    config.max_handshake_message(MAX_MESSAGE).build()
}

/// The largest record, with its content type, and the longest handshake message.
const MAX_RECORD: u16 = 1_024;
const MAX_MESSAGE: usize = 4_096;
