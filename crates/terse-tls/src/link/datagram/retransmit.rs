//! When a flight is sent again (RFC 6347, 4.2.4; RFC 9147, 5.8), from what was measured of the network (RFC 6298).
//!
//! The value of the timer is that of RFC 6298: it follows the round trips of the handshake itself, the peer's
//! computations included. Paper 001 (section 4.1) found that no fixed value serves a slow network: with the usual
//! second, every flight goes out again, whole, while its answer is still on the way; the 9 seconds of RFC 7925 (11) are
//! time lost wherever the network is faster and a datagram was lost. RFC 9147, 5.8.2, would take 1.5 times the last
//! round trip, but those of one handshake differ by more: a flight may have one small datagram, or many, and a
//! signature behind it.
//!
//! What must always hold: a flight is not sent again before the value has passed since it was last sent; of a flight
//! that was sent more than once no round trip is measured; and a value that was doubled stays until one was.

use crate::time::Instant;

#[cfg(test)]
mod tests;

/// How the timer behaves. All times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The value before there is a measurement.
    pub(crate) initial: u64,
    /// The value is never smaller.
    pub(crate) min: u64,
    /// The value is never larger.
    pub(crate) max: u64,
    /// After so many in vain, the peer is given up.
    pub(crate) max_retransmissions: u8,
}

impl Settings {
    fn clamp(&self, value: u64) -> u64 {
        value.max(self.min).min(self.max)
    }
}

/// What [`Timer::expired`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    /// Nothing: it is too early, or the timer does not run.
    NotDue,
    /// To send the flight again, and then to call [`Timer::sent`]. Until that the timer does not run.
    Retransmit,
    /// To give the peer up. The timer does not run any more.
    GiveUp,
}

/// The timer of the flight that waits for an answer.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    settings: Settings,
    /// RTO.
    value: u64,
    estimate: Option<Estimate>,
    flight: RoundTrip,
    deadline: Option<Instant>,
    retransmissions: u8,
}

/// What is known of the flight that was sent last.
#[derive(Clone, Copy, Debug)]
enum RoundTrip {
    /// It was answered, or wants no answer.
    Done,
    /// It was sent once, then, and nothing of an answer came: what comes first makes a round trip.
    SentOnce(Instant),
    /// It was sent again, or its round trip is measured.
    Ambiguous,
}

impl Timer {
    pub(crate) fn new(settings: Settings) -> Self {
        let value = settings.clamp(settings.initial);
        Self { settings, value, estimate: None, flight: RoundTrip::Done, deadline: None, retransmissions: 0 }
    }

    /// A flight that wants an answer was sent completely, for the first time or again.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.flight = match self.flight {
            RoundTrip::Done => RoundTrip::SentOnce(now),
            RoundTrip::SentOnce(_) | RoundTrip::Ambiguous => RoundTrip::Ambiguous,
        };
        self.start(now);
    }

    /// Something of the answer came, but not all. A slow network may take long for a flight, so the interval starts
    /// again (as in RFC 6298, 5.3; RFC 6347, 4.2.4, would let it run on, and send again what the peer is about to
    /// answer).
    pub(crate) fn progress(&mut self, now: Instant) {
        self.measure(now);
        if self.deadline.is_some() {
            self.start(now);
        }
    }

    /// The whole answer came.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.measure(now);
        self.stop();
    }

    /// The flight is sent again although the timer has not expired, because the peer repeated its own: what comes now
    /// may answer either, and the next time is as far off as if the timer had.
    pub(crate) fn repeated(&mut self) {
        if let RoundTrip::SentOnce(_) | RoundTrip::Ambiguous = self.flight {
            self.flight = RoundTrip::Ambiguous;
            self.value = self.settings.clamp(self.value.saturating_mul(2));
        }
    }

    /// When to call [`Self::expired`].
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Looks whether the time has come, and backs off if so (RFC 6298, 5.5).
    pub(crate) fn expired(&mut self, now: Instant) -> Expired {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return Expired::NotDue;
        }
        self.deadline = None;
        if self.retransmissions >= self.settings.max_retransmissions {
            return Expired::GiveUp;
        }
        self.retransmissions += 1; // it was less than another u8
        self.value = self.settings.clamp(self.value.saturating_mul(2));
        self.flight = RoundTrip::Ambiguous;
        Expired::Retransmit
    }

    /// Something was added to the flight, which may be sent as often as any.
    pub(crate) const fn renew(&mut self) {
        self.retransmissions = 0;
    }

    /// No answer is wanted any more. What was measured stays.
    pub(crate) const fn stop(&mut self) {
        self.flight = RoundTrip::Done;
        self.deadline = None;
        self.retransmissions = 0;
    }

    /// How often the timer had this flight sent again.
    #[cfg(test)]
    pub(crate) const fn retransmissions(&self) -> u8 {
        self.retransmissions
    }

    /// What the timer is set to, in milliseconds.
    pub(crate) const fn value(&self) -> u64 {
        self.value
    }

    /// What it was set to at the beginning.
    pub(crate) fn initial(&self) -> u64 {
        self.settings.clamp(self.settings.initial)
    }

    /// What the timer would be set to if nothing had been lost.
    pub(crate) fn undoubled(&self) -> u64 {
        let value = self.estimate.map_or(self.settings.initial, Estimate::retransmission_timeout);
        self.settings.clamp(value)
    }

    fn start(&mut self, now: Instant) {
        self.deadline = Some(Instant(now.0.saturating_add(self.value)));
    }

    /// Karn's algorithm: only a flight that was sent once says how long the round trip takes (RFC 6298, 3).
    fn measure(&mut self, now: Instant) {
        if let RoundTrip::SentOnce(sent) = self.flight {
            let round_trip = now.since(sent).min(u32::MAX.into());
            let estimate = Estimate::with(self.estimate, round_trip);
            self.value = self.settings.clamp(estimate.retransmission_timeout());
            self.estimate = Some(estimate);
            self.flight = RoundTrip::Ambiguous;
        }
    }
}

/// The round trip and how it varies (RFC 6298, 2), in fractions of milliseconds, so that dividing loses little.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// SRTT, in eighths.
    srtt8: u64,
    /// RTTVAR, in quarters.
    rttvar4: u64,
}

impl Estimate {
    fn with(before: Option<Self>, round_trip: u64) -> Self {
        let Some(Self { srtt8, rttvar4 }) = before else {
            // SRTT <- R; RTTVAR <- R/2
            return Self { srtt8: 8 * round_trip, rttvar4: 2 * round_trip };
        };
        Self {
            // RTTVAR <- (1 - 1/4) * RTTVAR + 1/4 * |SRTT - R'|
            rttvar4: rttvar4 - rttvar4 / 4 + (srtt8 / 8).abs_diff(round_trip),
            // SRTT <- (1 - 1/8) * SRTT + 1/8 * R'
            srtt8: srtt8 - srtt8 / 8 + round_trip,
        }
    }

    /// RTO <- SRTT + max(G, 4 * RTTVAR)
    fn retransmission_timeout(self) -> u64 {
        self.srtt8 / 8 + self.rttvar4.max(GRANULARITY)
    }
}

/// G, of a clock that counts milliseconds.
const GRANULARITY: u64 = 1;
