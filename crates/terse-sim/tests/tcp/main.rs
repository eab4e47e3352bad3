//! TCP, by scenarios of its RFCs and by properties of pairs of connections.

mod pair;
mod transfers;
