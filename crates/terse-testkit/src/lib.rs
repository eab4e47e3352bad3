//! This crate is for the tests and benchmarks of Terse only.
//!
//! - [`allocator`]: counts the heap in use
//! - [`datagrams`]: a client and a server over datagrams, which may be lost
//! - [`mod@fault`]: a side that misbehaves
//! - [`forge`]: records made outside of the engine
//! - [`identity`]: identity keys
//! - [`late`]: a store that answers later
//! - `openssl`: the `openssl` command, with certificates that a test issues
//! - [`pair`]: a client and a server on a virtual clock
//! - [`pki`]: a small PKI
//! - [`setup`]: configurations that fit together
//! - [`vectors`]: public test vectors
//! - [`rng`]: randomness that can be replayed
//! - [`mod@provider_suite`]: one test suite for every crypto provider

#[cfg(not(terse_testing))]
compile_error!(
    "tests need the engine with `--cfg terse_testing`: debug builds inside Terse's own checkout have it, \
     others say RUSTFLAGS=\"--cfg terse_testing\""
);

extern crate alloc;

pub use terse_heap as allocator;
#[doc(inline)]
pub use terse_provider_suite as provider_suite;
pub use terse_provider_suite::provider_suite;

pub mod datagrams;
pub mod fault;
pub mod forge;
#[cfg(feature = "identities")]
pub mod identity;
pub mod late;
#[cfg(feature = "issue")]
pub mod openssl;
pub mod pair;
pub mod pki;
pub mod rng;
pub mod setup;
pub mod vectors;
