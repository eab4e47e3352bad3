//! A probe measures the engine's calls: the processor time of this thread, and the heap.
//!
//! What must always hold: only calls of the engine count, each for its side; the simulated network does not.

use terse_sim::compare::{Cpu, Party, Probe, Sides};

/// A probe that measures both sides of one connection after the other.
#[derive(Default)]
pub(super) struct Meter {
    counts_heap: bool,
    /// The processor time of the current connection.
    nanoseconds: Sides<u64>,
    in_use: Sides<i64>,
    peak: Sides<i64>,
    /// The processor times of the earlier connections.
    times: Vec<Sides<u64>>,
    peaks: Vec<Sides<i64>>,
}

impl Meter {
    /// Creates a meter of the processor time and, if `counts_heap`, of the heap.
    pub(super) fn new(counts_heap: bool) -> Self {
        Self { counts_heap, ..Self::default() }
    }

    /// Returns the medians since the last call.
    pub(super) fn take(&mut self) -> (Option<Cpu>, Option<Sides<u64>>) {
        let times = core::mem::take(&mut self.times);
        let peaks = core::mem::take(&mut self.peaks);
        let cpu = median(&times, |time| time.client).zip(median(&times, |time| time.server));
        let heap =
            median(&peaks, |peak| peak.client.max(0) as u64).zip(median(&peaks, |peak| peak.server.max(0) as u64));
        (
            cpu.map(|(client, server)| Cpu { client, server, unit: "ns" }),
            heap.filter(|_| self.counts_heap).map(|(client, server)| Sides { client, server }),
        )
    }
}

fn median<T>(of: &[T], value: impl Fn(&T) -> u64) -> Option<u64> {
    let mut values: Vec<u64> = of.iter().map(value).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

impl Probe for Meter {
    fn begin(&mut self) {
        (self.nanoseconds, self.in_use, self.peak) = Default::default();
    }

    fn call(&mut self, party: Party, run: &mut dyn FnMut()) {
        let began = thread_time();
        let ((), heap) = terse_heap::measure(run);
        *self.nanoseconds.of_mut(party) += thread_time().saturating_sub(began);
        let in_use = self.in_use.of_mut(party);
        let peak = self.peak.of_mut(party);
        *peak = (*in_use + heap.peak).max(*peak);
        *in_use += heap.kept;
    }

    fn end(&mut self) {
        self.times.push(self.nanoseconds);
        self.peaks.push(self.peak);
    }
}

/// Returns the processor time of this thread, in nanoseconds.
fn thread_time() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}
