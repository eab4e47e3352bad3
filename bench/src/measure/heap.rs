//! The heap of one connection: what was asked of malloc, by C and Rust alike. Configurations, trust and keys are there
//! before, and are not counted.
//!
//! Peak: from the connection's making until the handshake is complete. Idle: after it, buffers included. These libraries
//! do nothing between calls, so there is nothing to wait for.

use super::{Field, Metric, Sample, Warm};
use crate::probe::HeapProbe;
use crate::stack::{Mode, Side, Stack};

/// Of both sides, in a full handshake.
pub fn measure(stack: &dyn Stack, field: Field) -> Result<Vec<Sample>, String> {
    let mut warm = Warm::new(stack, field.with(Mode::Full))?;
    let mut most = [0_i64; 4];
    for _ in 0..REPEATS {
        let mut probe = HeapProbe::new();
        warm.open(&mut probe)?;
        let (client, server) = (probe.heap(Side::Client), probe.heap(Side::Server));
        let seen = [client.peak, client.in_use, server.peak, server.in_use];
        most = core::array::from_fn(|index| most[index].max(seen[index]));
        warm.end(&mut probe)?;
    }
    let metrics = [Metric::ClientHeapPeak, Metric::ClientHeapIdle, Metric::ServerHeapPeak, Metric::ServerHeapIdle];
    Ok(metrics.into_iter().zip(most).map(|(metric, most)| field.sample(stack, metric, most as f64)).collect())
}

/// A signature's length is chance, and so may be a buffer's.
const REPEATS: usize = 3;
