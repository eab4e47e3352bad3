//! TCP is tested by scenarios of its RFCs, and by properties of pairs of connections.

mod closing;
mod constrained;
mod drill;
mod ecn;
mod pair;
mod recovery;
mod timeouts;
mod transfers;
mod windows;
