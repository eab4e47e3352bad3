//! When a node must hear of its time source again, and when it has lost the network (RFC 7554, B.3; RFC 8180, 6.2).
//!
//! ```text
//! synchronised ──(period)──> keep-alive is due ──(timeout - period)──> desynchronised
//!       ^────────── frame or acknowledgement of the time source ──────────┘
//! ```
//!
//! What must always hold: the deadlines follow from the slot of the last synchronisation, so that they can be passed over or
//! stepped through.

/// The options of keeping synchronised, in slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAliveOptions {
    /// After so many slots without a word from the time source, a keep-alive is sent.
    pub period: u64,
    /// After so many, the network is lost.
    pub timeout: u64,
    /// So long does a node wait, after a keep-alive was given up, before it sends another one.
    pub retry: u64,
}

impl KeepAliveOptions {
    /// OpenWSN's MAXKAPERIOD and DESYNCTIMEOUT (IEEE802154E.h), which has other numbers for other boards and slots. It looks once a
    /// second whether a keep-alive is due: 50 slots of 20 ms.
    pub const OPENWSN: Self = Self { period: 1_000, timeout: 1_750, retry: 50 };
}

/// What a node has to do to stay synchronised, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepAlive {
    options: KeepAliveOptions,
    /// When the node last heard of its time source.
    synchronised: u64,
    /// A keep-alive is in the queue.
    is_queued: bool,
    /// No keep-alive is sent before.
    not_before: u64,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A keep-alive is to be queued: an empty frame to the time source, whose acknowledgement tells the time.
    KeepAlive,
    /// The node has lost the network, and must join again.
    Desynchronised,
}

impl KeepAlive {
    /// Creates the state of a node that is synchronised in this slot.
    pub(crate) const fn new(options: KeepAliveOptions, asn: u64) -> Self {
        Self { options, synchronised: asn, is_queued: false, not_before: 0 }
    }

    /// Handles a frame or an acknowledgement of the time source.
    pub(crate) const fn handle_synchronised(&mut self, asn: u64) {
        self.synchronised = asn;
    }

    /// Handles that the keep-alive has left the queue: it was acknowledged, or given up.
    pub(crate) const fn handle_sent(&mut self, asn: u64) {
        self.is_queued = false;
        self.not_before = asn.saturating_add(self.options.retry);
    }

    /// Returns the slot in which something is due next.
    pub(crate) fn next(&self) -> u64 {
        let lost = self.synchronised.saturating_add(self.options.timeout);
        if self.is_queued { lost } else { lost.min(self.due()) }
    }

    /// Returns what is due in a slot. A keep-alive is due once; the caller puts it into the queue.
    pub(crate) fn poll(&mut self, asn: u64) -> Option<Due> {
        if asn >= self.synchronised.saturating_add(self.options.timeout) {
            return Some(Due::Desynchronised);
        }
        if self.is_queued || asn < self.due() {
            return None;
        }
        self.is_queued = true;
        Some(Due::KeepAlive)
    }

    fn due(&self) -> u64 {
        self.synchronised.saturating_add(self.options.period).max(self.not_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node() -> KeepAlive {
        KeepAlive::new(KeepAliveOptions::OPENWSN, 100)
    }

    #[test]
    fn a_keep_alive_is_due_once_and_then_the_network_is_lost() {
        let mut node = node();
        assert_eq!((node.next(), node.poll(1_099)), (1_100, None));
        assert_eq!(node.poll(1_100), Some(Due::KeepAlive));
        assert_eq!((node.next(), node.poll(1_101)), (1_850, None));
        // It was given up; another one follows.
        node.handle_sent(1_200);
        assert_eq!((node.next(), node.poll(1_249)), (1_250, None));
        assert_eq!(node.poll(1_250), Some(Due::KeepAlive));
        assert_eq!(node.poll(1_849), None);
        assert_eq!(node.poll(1_850), Some(Due::Desynchronised));
    }

    #[test]
    fn a_word_from_the_time_source_puts_all_off() {
        let mut node = node();
        node.handle_synchronised(1_000);
        assert_eq!((node.next(), node.poll(1_999)), (2_000, None));
        assert_eq!(node.poll(2_000), Some(Due::KeepAlive));
        // Its acknowledgement.
        node.handle_synchronised(2_010);
        node.handle_sent(2_010);
        assert_eq!(node.next(), 3_010);
    }

    #[test]
    fn passing_over_slots_makes_no_difference() {
        // Words come in some slots, keep-alives leave the queue after 30 slots.
        let run = |skips: bool| {
            let mut node = node();
            let (mut log, mut asn, mut sent) = (Vec::new(), 100, None);
            let words = [400, 2_000, 2_001, 5_500];
            while asn < 9_000 {
                if words.contains(&asn) {
                    node.handle_synchronised(asn);
                }
                if sent == Some(asn) {
                    node.handle_sent(asn);
                    sent = None;
                }
                if let Some(due) = node.poll(asn) {
                    log.push((asn, due));
                    match due {
                        Due::KeepAlive => sent = Some(asn + 30),
                        Due::Desynchronised => node = KeepAlive::new(KeepAliveOptions::OPENWSN, asn),
                    }
                }
                let events = words.into_iter().filter(|word| *word > asn).chain(sent).chain([node.next()]);
                asn = if skips { events.min().unwrap().max(asn + 1) } else { asn + 1 };
            }
            log
        };
        assert_eq!(run(true), run(false));
        assert!(run(true).iter().any(|(_, due)| *due == Due::Desynchronised) && run(true).len() > 8);
    }
}
