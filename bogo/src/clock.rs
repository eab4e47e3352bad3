//! The time of a run is the machine's; over datagrams it is the time that the runner lets pass.
//!
//! What must always hold: a timer that was never doubled agrees with the runner, to the millisecond.

use std::time::Duration;

use pki_types::UnixTime;
use terse_net::Clock;
use terse_tls::{Connection, Instant, Now, ProtocolVersion};

use crate::Failure;
use crate::config::MAX_TIMEOUT;

/// The machine's clocks, `shift` seconds ahead.
#[derive(Clone, Copy)]
pub(crate) struct ShiftedClock {
    clock: Clock,
    pub(crate) shift: u64,
    /// The time over datagrams, where the machine's monotonic clock is ignored.
    virtual_time: Option<VirtualTime>,
}

/// The time that the runner lets pass, in nanoseconds.
///
/// The runner knows BoringSSL's timers, which begin every flight with the first timeout again. Terse's keep a value
/// that was doubled until a flight has gone through without loss (RFC 6347, 4.2.4.1). So where the runner expects a
/// timeout and Terse's was doubled before, the runner's time is stretched until its next expectation.
///
/// In a handshake of DTLS 1.3 BoringSSL has no timer once its flight was acknowledged. Terse's goes on, sends nothing,
/// and gives the peer up in the end. Where the runner expects no timer, it lets as much time pass as BoringSSL's would
/// take. So time is slowed down then: Terse's timer expires several times, so that the test sees what it sends, but
/// does not give the peer up.
#[derive(Clone, Copy)]
struct VirtualTime {
    /// The time of the runner's last expectation.
    base: u64,
    /// The time that the runner has let pass since then.
    passed: u64,
    /// The stretch: the duration of Terse's timer, and of the runner's timer in its place.
    stretch: (u64, u64),
}

impl VirtualTime {
    fn now(&self) -> u64 {
        let (ours, theirs) = self.stretch;
        self.base + (u128::from(self.passed) * u128::from(ours) / u128::from(theirs)) as u64
    }

    /// Sets the stretch for a timer that runs until `due`: it is as the runner expects, or was doubled if it ever
    /// expired, or only `watches` the peer.
    fn expect(
        &mut self,
        due: Option<Instant>,
        ran_out: bool,
        watches: bool,
        expected: Option<u64>,
    ) -> Result<(), Failure> {
        let now = self.now();
        let left = due.map(|due| (due.0 * MILLISECOND).saturating_sub(now));
        *self = Self { base: now, passed: 0, stretch: (1, 1) };
        match (left, expected) {
            (None, None) => return Ok(()),
            (Some(_), None) if watches => {
                self.stretch = (1, SLOWER);
                return Ok(());
            }
            (Some(ours), Some(theirs)) if ours == theirs => return Ok(()),
            (Some(ours), Some(theirs)) if theirs > 0 && ran_out => {
                let is_doubled = ours % theirs == 0 && (ours / theirs).is_power_of_two();
                if is_doubled || (ours == MAX_TIMEOUT * MILLISECOND && ours > theirs) {
                    self.stretch = (ours, theirs);
                    return Ok(());
                }
            }
            _ => {}
        }
        Err(Failure::Unexpected(format!("the next timeout: wanted {expected:?} ns, got {left:?} ns")))
    }
}

impl ShiftedClock {
    pub(crate) fn new(is_virtual: bool) -> Self {
        let virtual_time = is_virtual.then_some(VirtualTime { base: 0, passed: 0, stretch: (1, 1) });
        Self { clock: Clock::new(), shift: 0, virtual_time }
    }

    pub(crate) fn now(&self) -> Now {
        let now = self.clock.now();
        let ahead = |unix: UnixTime| UnixTime::since_unix_epoch(Duration::from_secs(unix.as_secs() + self.shift));
        let monotonic = self.virtual_time.map_or(now.monotonic, |time| Instant(time.now() / MILLISECOND));
        Now::new(monotonic, now.unix.map(ahead))
    }

    /// Lets time pass, as the runner says.
    pub(crate) fn pass(&mut self, nanoseconds: u64) {
        if let Some(time) = &mut self.virtual_time {
            time.passed += nanoseconds;
        }
    }

    /// Takes the runner's expectation that the next timeout of `connection` is in this many nanoseconds, or that there
    /// is none.
    pub(crate) fn expect(&mut self, connection: &Connection, nanoseconds: Option<u64>) -> Result<(), Failure> {
        let (due, summary) = (connection.poll_timeout(), connection.summary());
        let watches = connection.is_handshaking() && summary.version == Some(ProtocolVersion::TLS_1_3);
        let expect = |time: &mut VirtualTime| time.expect(due, summary.retransmissions > 0, watches, nanoseconds);
        self.virtual_time.as_mut().map_or(Ok(()), expect)
    }
}

/// The factor by which time is slowed down where the runner expects no timer: of 402 seconds 50 are left, in which a
/// timer that begins with 400 ms expires six times.
const SLOWER: u64 = 8;

/// A millisecond in nanoseconds.
const MILLISECOND: u64 = 1_000_000;
