//! The retransmission timer of flights (RFC 6347, 4.2.4; RFC 9147, 5.8), whose value follows measured round trips (RFC
//! 6298).
//!
//! The value of the timer is that of RFC 6298: it follows the round trips of the handshake itself, the peer's
//! computations included. The paper on TLS over 6TiSCH (docs/papers.md), 4.1, found that no fixed value serves a slow
//! network: with the usual second, every whole flight is retransmitted while its answer is still on the way; the 9
//! seconds of RFC 7925 (11) waste time after a loss wherever the network is faster. RFC 9147, 5.8.2, recommends 1.5
//! times the last round trip, but the round trips of one handshake differ by more: a flight may have one small datagram
//! or many, and may need a signature.
//!
//! What must always hold: the timer does not expire before its value has passed since the flight was last sent; no
//! round trip is measured for a flight that was retransmitted; and a doubled value stays until a round trip is
//! measured.

use crate::time::Instant;

#[cfg(test)]
mod tests;

/// The parameters of the timer. All times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The value before the first measurement.
    pub(crate) initial: u64,
    /// The smallest value.
    pub(crate) min: u64,
    /// The largest value.
    pub(crate) max: u64,
    /// How often a flight is retransmitted in vain before it is given up.
    pub(crate) max_retransmissions: u8,
}

impl Settings {
    fn clamp(&self, value: u64) -> u64 {
        value.max(self.min).min(self.max)
    }
}

/// What the caller of [`Timer::expired`] must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    /// Nothing: the deadline has not passed, or the timer does not run.
    NotDue,
    /// Retransmit the flight, and then call [`Timer::sent`]. Until then the timer does not run.
    Retransmit,
    /// Give up. The timer does not run any more.
    GiveUp,
}

/// The retransmission timer of the flight that waits for an answer.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    settings: Settings,
    /// The current value in milliseconds: the RTO of RFC 6298.
    value: u64,
    estimate: Option<Estimate>,
    flight: RoundTrip,
    deadline: Option<Instant>,
    retransmissions: u8,
}

/// Whether a round trip can be measured with the flight that was sent last.
#[derive(Clone, Copy, Debug)]
enum RoundTrip {
    /// The flight was answered, or needs no answer.
    Done,
    /// The flight was sent once, at this time, and no part of an answer came yet: the first part completes the round
    /// trip.
    SentOnce(Instant),
    /// The flight was retransmitted, or its round trip was measured already.
    Ambiguous,
}

impl Timer {
    pub(crate) fn new(settings: Settings) -> Self {
        let value = settings.clamp(settings.initial);
        Self { settings, value, estimate: None, flight: RoundTrip::Done, deadline: None, retransmissions: 0 }
    }

    /// Starts the timer after a flight that needs an answer was sent completely, for the first time or again.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.flight = match self.flight {
            RoundTrip::Done => RoundTrip::SentOnce(now),
            RoundTrip::SentOnce(_) | RoundTrip::Ambiguous => RoundTrip::Ambiguous,
        };
        self.start(now);
    }

    /// Restarts the timer after a part of the answer came, because a slow network may take long for a flight (as in RFC
    /// 6298, 5.3). RFC 6347, 4.2.4, would let the timer run on, and retransmit a flight that the peer is about to
    /// answer.
    pub(crate) fn progress(&mut self, now: Instant) {
        self.measure(now);
        if self.deadline.is_some() {
            self.start(now);
        }
    }

    /// Stops the timer after the whole answer came.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.measure(now);
        self.stop();
    }

    /// Doubles the value because the flight is retransmitted before the timer expires, on the peer's request. An answer
    /// may then be to either transmission, so it measures no round trip.
    pub(crate) fn repeated(&mut self) {
        if let RoundTrip::SentOnce(_) | RoundTrip::Ambiguous = self.flight {
            self.flight = RoundTrip::Ambiguous;
            self.value = self.settings.clamp(self.value.saturating_mul(2));
        }
    }

    /// Returns when to call [`Self::expired`].
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Tests whether the deadline has passed, and backs off if so (RFC 6298, 5.5).
    pub(crate) fn expired(&mut self, now: Instant) -> Expired {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return Expired::NotDue;
        }
        self.deadline = None;
        if self.retransmissions >= self.settings.max_retransmissions {
            return Expired::GiveUp;
        }
        self.retransmissions += 1; // less than `max_retransmissions` before
        self.value = self.settings.clamp(self.value.saturating_mul(2));
        self.flight = RoundTrip::Ambiguous;
        Expired::Retransmit
    }

    /// Resets the count of retransmissions, because a message was added to the flight.
    pub(crate) const fn renew(&mut self) {
        self.retransmissions = 0;
    }

    /// Stops the timer: no answer is needed any more. The measurements are kept.
    pub(crate) const fn stop(&mut self) {
        self.flight = RoundTrip::Done;
        self.deadline = None;
        self.retransmissions = 0;
    }

    /// Returns how often the timer had this flight retransmitted.
    #[cfg(test)]
    pub(crate) const fn retransmissions(&self) -> u8 {
        self.retransmissions
    }

    /// Returns the current value in milliseconds.
    pub(crate) const fn value(&self) -> u64 {
        self.value
    }

    /// Returns the value before the first measurement, in milliseconds.
    pub(crate) fn initial(&self) -> u64 {
        self.settings.clamp(self.settings.initial)
    }

    /// Returns the value without the doubling after losses, in milliseconds.
    pub(crate) fn undoubled(&self) -> u64 {
        let value = self.estimate.map_or(self.settings.initial, Estimate::retransmission_timeout);
        self.settings.clamp(value)
    }

    fn start(&mut self, now: Instant) {
        self.deadline = Some(Instant(now.0.saturating_add(self.value)));
    }

    /// Measures the round trip, if the flight was sent only once (Karn's algorithm; RFC 6298, 3).
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

/// The smoothed round trip and its variation (RFC 6298, 2), in fractions of milliseconds, so that division loses little
/// precision.
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

/// G, the granularity of a clock that counts milliseconds.
const GRANULARITY: u64 = 1;
