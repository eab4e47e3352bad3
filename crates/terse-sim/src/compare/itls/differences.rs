//! What differs from the paper, and why: a sentence for each difference.

use super::point::Figure;

/// A part of the paper's evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Tables I and II.
    Tables,
    /// A figure.
    Figure(Figure),
}

/// A difference from the paper.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The parts that it is about.
    pub parts: &'static [Part],
    /// A sentence that says what differs, and why.
    pub text: &'static str,
}

/// All differences.
pub const DIFFERENCES: &[Difference] = &[];
