//! The scheduling function of static schedules: it never changes a cell by itself, and serves what neighbours ask for.

use super::scheduling::SchedulingFunction;

/// A scheduling function that wants nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    /// The 6P timeout, in slots.
    pub(crate) timeout: u64,
}

impl SchedulingFunction for Fixed {
    fn sfid(&self) -> u8 {
        SFID
    }

    fn timeout(&self) -> u64 {
        self.timeout
    }
}

/// The last identifier: nobody has registered it (RFC 8480, 6.2.5).
const SFID: u8 = 0xFF;
