//! The deepest stack of a side's calls in a full handshake: making the connection, the handshake, ending it.

use super::{Field, Metric, Sample, Warm};
use crate::probe::StackProbe;
use crate::stack::{Mode, Side, Stack};

/// Of both sides.
pub fn measure(stack: &dyn Stack, field: Field) -> Result<Vec<Sample>, String> {
    let mut warm = Warm::new(stack, field.with(Mode::Full))?;
    let mut probe = StackProbe::default();
    for _ in 0..REPEATS {
        warm.handshake(&mut probe)?;
    }
    let metrics = [(Metric::ClientStack, Side::Client), (Metric::ServerStack, Side::Server)];
    Ok(metrics.map(|(metric, side)| field.sample(stack, metric, probe.deepest(side) as f64)).into())
}

/// More than one: the paths of random numbers differ.
const REPEATS: usize = 3;
