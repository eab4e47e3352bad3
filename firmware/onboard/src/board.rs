//! The board of QEMU as the device of a pledge.
//!
//! What must always hold: nothing of this counts as work of the pledge, which [`QemuBoard::work`] counts.

use pki_types::CertificateDer;
use terse_board::ethernet::{Ethernet, Transport};
use terse_board::files::Flash;
use terse_board::instructions::Stopwatch;
use terse_board::{end, println};
use terse_brski::pledge::{Event, Target};
use terse_device::clock::Clock;
use terse_device::random::SeededRng;
use terse_device::storage::Storage;
use terse_device::wire::Wire as _;
use terse_pledge::board::{Board, Received};
use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{Instant, Now};

use crate::ldevid;

/// The device.
pub struct QemuBoard<S> {
    /// The network.
    pub ethernet: Ethernet<S>,
    /// The port of the registrar on the computer that runs QEMU.
    pub registrar: u16,
    /// The time since the start.
    pub clock: Clock,
    /// The time of the start, in seconds since 1970.
    pub started: u64,
    /// Randomness.
    pub rng: SeededRng,
    /// Where the LDevID is kept.
    pub storage: Storage<Flash>,
    /// Counts the instructions of the pledge: those outside of this board.
    pub work: Stopwatch,
    /// Whether the registrar knows that the device is enrolled.
    pub is_reported: bool,
}

impl<S> QemuBoard<S> {
    /// Runs what is no work of the pledge.
    fn apart<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        self.work.pause();
        let result = run(self);
        self.work.resume();
        result
    }
}

impl<S> Rng for QemuBoard<S> {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        self.apart(|board| board.rng.fill(out))
    }
}

impl<S: Transport> Board for QemuBoard<S> {
    fn now(&mut self) -> Now {
        self.apart(|board| board.clock.now(Some(board.started)))
    }

    fn open(&mut self, to: &Target) {
        self.apart(|board| match to {
            Target::Proxy(_) => board.ethernet.open(board.registrar, &mut board.clock),
            _ => board.ethernet.close(&mut board.clock), // this device knows no names of hosts
        });
    }

    fn close(&mut self) {
        self.apart(|board| board.ethernet.close(&mut board.clock));
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Received {
        self.apart(|board| match board.ethernet.take(board.clock.milliseconds(), buffer) {
            None => Received::End,
            Some(0) => Received::Nothing,
            Some(len) => Received::Bytes(len),
        })
    }

    fn transmit(&mut self, bytes: &[u8]) {
        self.apart(|board| board.ethernet.transmit(board.clock.milliseconds(), bytes));
    }

    /// Ends QEMU if the device is not enrolled in time: whoever runs it is to hear of that.
    fn wait(&mut self, until: Option<Instant>) {
        self.apart(|board| {
            loop {
                let now = board.clock.milliseconds();
                if board.ethernet.has_received(now) || until.is_some_and(|until| until.0 <= now) {
                    return;
                }
                if now > PATIENCE_MS {
                    println!("the device is not enrolled in time");
                    end::fail();
                }
                board.ethernet.pause();
            }
        });
    }

    fn store(&mut self, chain: &[CertificateDer<'_>], key: &[u8], anchors: &[CertificateDer<'_>]) -> bool {
        self.apart(|board| {
            ldevid::to_bytes(chain, anchors, key).is_some_and(|bytes| board.storage.keep(bytes.to_vec()))
        })
    }

    fn inform(&mut self, event: Event) {
        self.apart(|board| match event {
            Event::Enrolled { is_reported } => board.is_reported = is_reported,
            Event::Failed(_, why) => println!("{}", why),
            _ => {}
        });
    }
}

/// How long a device may take, in milliseconds.
const PATIENCE_MS: u64 = 150_000;
