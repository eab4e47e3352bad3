//! What many runs of one row measured, and what is drawn of it.

use serde::Serialize;

use super::{Measured, Quantity};

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The time from the SYN or the first ClientHello until the client has the server's last message.
    pub seconds: f64,
    /// The bytes on the air in that time.
    pub bytes: u64,
}

/// The runs of one row. None of the results below exists without runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Samples(pub Vec<Sample>);

impl Samples {
    /// Returns the mean and the standard deviation of the runs as a sample (divided by n - 1; 0 for one run).
    pub fn measured(&self, quantity: Quantity) -> Option<Measured> {
        let values = self.values(quantity);
        let count = values.len() as f64;
        let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / count)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        Some(Measured { mean, deviation })
    }

    /// Returns the median: the mean of the two in the middle, if their number is even.
    pub fn median(&self, quantity: Quantity) -> Option<f64> {
        let values = self.values(quantity);
        let middle = values.len() / 2;
        let upper = *values.get(middle)?;
        Some(if values.len().is_multiple_of(2) { (values[middle - 1] + upper) / 2.0 } else { upper })
    }

    /// Returns the least value.
    pub fn minimum(&self, quantity: Quantity) -> Option<f64> {
        self.values(quantity).first().copied()
    }

    /// Returns how much these runs under loss are above the same row without: the median over the minimum without, as the
    /// paper's figure 6 compares them.
    pub fn growth_over(&self, ideal: &Self, quantity: Quantity) -> Option<f64> {
        let minimum = ideal.minimum(quantity).filter(|minimum| *minimum > 0.0)?;
        Some(self.median(quantity)? / minimum)
    }

    /// Returns all values in order.
    fn values(&self, quantity: Quantity) -> Vec<f64> {
        let value = |sample: &Sample| match quantity {
            Quantity::Seconds => sample.seconds,
            Quantity::Bytes => sample.bytes as f64,
        };
        let mut values: Vec<f64> = self.0.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}
