//! Every handshake mode side by side on the same link: what goes over the wire, layer by layer, and when (BiTHaC, V-A).

mod capture;
mod connect;
mod failed;
pub mod itls;
mod measure;
pub mod paper;
mod parties;
mod repeated;
mod row;
mod runs;
mod setting;
mod sums;

pub use crate::probe::{Party, Probe, Unwatched};
pub use capture::Captured;
pub(crate) use capture::Keys;
pub(crate) use connect::Start;
pub use failed::Failed;
pub use measure::{Comparison, Measured, Single};
pub use parties::{IdentityKeys, Pair, Parties};
pub use repeated::Repeated;
pub use row::{Bytes, Cpu, Messages, Row, Runs, Sides, Times};
pub(crate) use runs::seed;
pub use setting::{IpVersion, Mode, Setting, Version};
