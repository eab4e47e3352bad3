//! The deepest stack of a side's calls is measured in a full handshake: creation, handshake, end.

use super::{Field, Metric, Sample, Warm};
use crate::probe::StackProbe;
use crate::stack::{Mode, Side, Stack};

/// Measures both sides.
pub fn measure(stack: &dyn Stack, field: Field) -> Result<Vec<Sample>, String> {
    let mut warm = Warm::new(stack, field.with(Mode::Full))?;
    let mut probe = StackProbe::default();
    for _ in 0..REPEATS {
        warm.handshake(&mut probe)?;
    }
    let metrics = [(Metric::ClientStack, Side::Client), (Metric::ServerStack, Side::Server)];
    Ok(metrics.map(|(metric, side)| field.sample(stack, metric, probe.deepest(side) as f64)).into())
}

/// The number of handshakes: more than one, as random numbers lead to different paths.
const REPEATS: usize = 3;
