//! Scenario files: a 6TiSCH network, its peers and its rows in TOML, and how they are run (`docs/scenarios.md`).
//!
//! What must always hold: a file that was read can be run; one that cannot is refused with the line, the key and what would be
//! right; and a file that is [printed](ScenarioFile::to_toml) reads back as the same scenarios.

mod energy;
pub mod fleet;
mod keys;
mod mesh;
mod mistake;
mod network;
mod options;
mod outcome;
mod peer;
mod places;
mod print;
mod read;
mod rows;
mod run;
mod station;
mod statistics;
mod timeline;
mod tree;
mod visit;

pub use keys::Key;
pub use mistake::{Mistake, Mistakes};
pub use options::*;
pub use outcome::{Air, Charge, Forming, Outcome, ScheduledCell, Standing, Tunnel};
pub use rows::{Row, ScenarioFile};
pub use run::{CannotRun, MakesParties, Prepared};
pub use statistics::Statistics;
pub use timeline::{MOST_FRAMES, Timeline, TimelineFrame};

#[cfg(test)]
mod tests;
