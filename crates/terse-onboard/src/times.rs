//! How long a connection may take: between two requests, to take an answer, and in all.
//!
//! What must always hold: a connection ends, whatever its client sends or does not read; no request makes its whole time longer.

use core::time::Duration;

/// The times of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    /// Until the head of the first request is there, and from an answer to the head of the next request.
    pub(crate) between_requests: Duration,
    /// The same after an answer that tells the client to come again (202).
    pub(crate) while_waiting: Duration,
    /// Until a client has taken what is sent to it.
    pub(crate) write: Duration,
    /// In all.
    pub(crate) total: Duration,
}

impl Times {
    /// So long for everything, for a connection with one request.
    pub(crate) const fn all(time: Duration) -> Self {
        Self { between_requests: time, while_waiting: time, write: time, total: time }
    }
}

/// The time limits of one connection, in times since any start.
#[derive(Debug)]
pub(crate) struct Timer {
    times: Times,
    ends: Duration,
    waits_until: Duration,
    /// Since something waits to be taken by the client.
    writes_until: Option<Duration>,
    /// The requests that are not answered yet.
    in_work: usize,
}

impl Timer {
    /// A connection that begins now.
    pub(crate) fn new(times: Times, now: Duration) -> Self {
        let waits_until = now.saturating_add(times.between_requests);
        Self { times, ends: now.saturating_add(times.total), waits_until, writes_until: None, in_work: 0 }
    }

    /// A part of a request has come, which is a request of its own on the way (RFC 7959). It never makes the time shorter.
    pub(crate) fn hear(&mut self, now: Duration) {
        self.waits_until = self.waits_until.max(now.saturating_add(self.times.between_requests));
    }

    /// A request is there. Who answers it limits how long that takes.
    pub(crate) fn begin_request(&mut self) {
        self.in_work += 1;
    }

    /// A request is answered. `is_later` says that the answer tells the client to come again.
    pub(crate) fn answer(&mut self, now: Duration, is_later: bool) {
        self.in_work = self.in_work.saturating_sub(1);
        let time = if is_later { self.times.while_waiting } else { self.times.between_requests };
        self.waits_until = now.saturating_add(time);
    }

    /// The client does not take what is sent to it, for the moment.
    pub(crate) fn write_waits(&mut self, now: Duration) {
        self.writes_until.get_or_insert(now.saturating_add(self.times.write));
    }

    /// The client has taken all that was sent to it.
    pub(crate) fn written(&mut self) {
        self.writes_until = None;
    }

    /// Returns when the connection ends, unless something happens before.
    pub(crate) fn deadline(&self) -> Duration {
        let waits_until = (self.in_work == 0).then_some(self.waits_until);
        [waits_until, self.writes_until].into_iter().flatten().fold(self.ends, Duration::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times {
        between_requests: Duration::from_secs(30),
        while_waiting: Duration::from_secs(120),
        write: Duration::from_secs(20),
        total: Duration::from_secs(900),
    };

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_request_ends_the_wait_for_it_and_its_answer_begins_another_one() {
        let mut timer = Timer::new(TIMES, seconds(5));
        assert_eq!(timer.deadline(), seconds(35));
        timer.begin_request();
        assert_eq!(timer.deadline(), seconds(905), "who answers it has limits of its own");
        timer.answer(seconds(40), false);
        assert_eq!(timer.deadline(), seconds(70));
        timer.begin_request();
        timer.answer(seconds(50), true);
        assert_eq!(timer.deadline(), seconds(170), "it was told to come again");
        timer.hear(seconds(60));
        assert_eq!(timer.deadline(), seconds(170), "a part of a request does not make it shorter");
        timer.hear(seconds(145));
        assert_eq!(timer.deadline(), seconds(175));
        timer.begin_request();
        timer.answer(seconds(176), false);
        assert_eq!(timer.deadline(), seconds(206));
    }

    #[test]
    fn no_request_makes_the_whole_time_longer() {
        let mut timer = Timer::new(TIMES, seconds(0));
        for now in (0..2_000).step_by(20) {
            timer.begin_request();
            assert!(timer.deadline() <= seconds(900));
            timer.answer(seconds(now), now % 3 == 0);
            timer.hear(seconds(now));
            assert!(timer.deadline() <= seconds(900));
        }
        assert_eq!(timer.deadline(), seconds(900));
    }

    #[test]
    fn what_is_not_taken_ends_a_connection_also_while_other_requests_come() {
        let mut timer = Timer::new(TIMES, seconds(0));
        timer.begin_request();
        timer.write_waits(seconds(10));
        timer.write_waits(seconds(15)); // still the same
        assert_eq!(timer.deadline(), seconds(30));
        timer.answer(seconds(20), true);
        timer.begin_request();
        assert_eq!(timer.deadline(), seconds(30));
        timer.written();
        assert_eq!(timer.deadline(), seconds(900));
    }
}
