//! For tests and benchmarks of Terse only.
//!
//! - [`pair`]: a client and a server on a virtual clock
//! - [`pki`]: a small PKI
//! - [`rng`]: randomness that can be replayed
//! - [`mod@provider_suite`]: one test suite for every crypto provider

pub mod pair;
pub mod pki;
pub mod provider_suite;
pub mod rng;
