//! The radio: who hears whom, and how well.

mod connectivity;

pub use connectivity::Connectivity;
