//! The time of a run: the machine's, or over datagrams that which the runner lets pass.
//!
//! What must always hold: a timer that was never doubled is as the runner expects, to the millisecond.

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
    /// Over datagrams the machine's monotonic clock counts for nothing.
    virtual_time: Option<VirtualTime>,
}

/// In nanoseconds.
///
/// The runner knows BoringSSL's timers, which begin every flight with the first timeout again. Terse's keep a value
/// that was doubled until a flight has gone through without loss (RFC 6347, 4.2.4.1). So where the runner expects a
/// timeout and Terse's was doubled before, the runner's time is stretched until its next expectation.
///
/// In a handshake of DTLS 1.3 BoringSSL has no timer once its flight was acknowledged. Terse's goes on, sends nothing,
/// and gives the peer up in the end. Where the runner expects no timer, it lets all the time pass that BoringSSL's
/// would take. So time passes slower then: the timer runs out again and again, and what it sends is noticed, but not to
/// its end.
#[derive(Clone, Copy)]
struct VirtualTime {
    /// When the runner expected something last.
    base: u64,
    /// What it let pass since then.
    passed: u64,
    /// How long Terse's timer runs where the runner's would run so long.
    stretch: (u64, u64),
}

impl VirtualTime {
    fn now(&self) -> u64 {
        let (ours, theirs) = self.stretch;
        self.base + (u128::from(self.passed) * u128::from(ours) / u128::from(theirs)) as u64
    }

    /// The timer that runs until `due` is as the runner says; or doubled, if it ever ran out; or only `watches` the
    /// peer.
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

    /// The runner lets time pass.
    pub(crate) fn pass(&mut self, nanoseconds: u64) {
        if let Some(time) = &mut self.virtual_time {
            time.passed += nanoseconds;
        }
    }

    /// The runner expects the next timeout of `connection` in so many nanoseconds, or none.
    pub(crate) fn expect(&mut self, connection: &Connection, nanoseconds: Option<u64>) -> Result<(), Failure> {
        let (due, summary) = (connection.poll_timeout(), connection.summary());
        let watches = connection.is_handshaking() && summary.version == Some(ProtocolVersion::TLS_1_3);
        let expect = |time: &mut VirtualTime| time.expect(due, summary.retransmissions > 0, watches, nanoseconds);
        self.virtual_time.as_mut().map_or(Ok(()), expect)
    }
}

/// So many times slower is time where the runner expects no timer: of 402 seconds there are 50, in which one that
/// begins with 400 ms runs out six times.
const SLOWER: u64 = 8;

/// In nanoseconds.
const MILLISECOND: u64 = 1_000_000;
