//! Record bytes, both directions, until both sides are connected; the tickets of TLS 1.3, which follow, apart.
//!
//! The length of an ECDSA signature is chance (70 to 72 bytes): the cheapest of several handshakes counts.

use super::{Field, Metric, Sample, Warm};
use crate::stack::{Mode, Stack};

/// In every mode that `stack` has.
pub fn measure(stack: &dyn Stack, field: Field) -> Result<Vec<Sample>, String> {
    const MODES: [(Mode, Metric, Option<Metric>); 5] = [
        (Mode::Full, Metric::BytesFull, None),
        (Mode::Resumed, Metric::BytesResumed, Some(Metric::BytesResumedTickets)),
        (Mode::Kept, Metric::BytesKept, Some(Metric::BytesKeptTickets)),
        (Mode::Rfc7924, Metric::BytesRfc7924, None),
        (Mode::Bithac, Metric::BytesBithac, None),
    ];
    let mut samples = Vec::new();
    for (mode, metric, tickets) in MODES {
        if !stack.has(field.with(mode)) {
            continue;
        }
        let mut warm = Warm::new(stack, field.with(mode))?;
        let costs = (0..REPEATS).map(|_| warm.cost()).collect::<Result<Vec<_>, _>>()?;
        let cheapest = costs.iter().min_by_key(|cost| cost.total()).ok_or("no handshake")?;
        samples.push(field.sample(stack, metric, cheapest.total() as f64));
        if let Some(metric) = tickets.filter(|_| cheapest.tickets > 0) {
            samples.push(field.sample(stack, metric, cheapest.tickets as f64));
        }
    }
    Ok(samples)
}

/// With so many, the shortest signatures of both sides meet nearly always.
const REPEATS: usize = 16;
