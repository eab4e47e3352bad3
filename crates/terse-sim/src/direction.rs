//! The two ways over a link.

/// One of the two ways over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the end that was named first (a client, a device) to the second.
    Up,
    /// From the second end to the first.
    Down,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Returns the other direction.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}
