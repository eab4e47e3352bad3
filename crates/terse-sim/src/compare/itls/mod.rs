//! The evaluation of the paper on iTLS, repeated: its figures 4 to 8 and its tables I and II, with the modes of this engine
//! that stand for the paper's, on the simulated network.
//!
//! What differs from the paper, and why, is in [`DIFFERENCES`].

mod differences;
mod measure;
mod paper;
mod point;
mod series;

pub use differences::{DIFFERENCES, Difference, Part};
pub use measure::{ByLevel, Contestants, Value};
pub use paper::{Latency, Paper, Ratio, Traffic};
pub use point::{Figure, Point};
pub use series::{SecurityLevel, Series};
