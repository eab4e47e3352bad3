//! Identity-based key agreement for `terse-tls`: both algorithms of ID-3DH, and the private key generator (PKG) that makes
//! the keys. `docs/identity-format.md` has all encodings, hashes and tags.
//!
//! - [`ristretto255`]: the default on devices. A peer's key needs a public part, which is sent once and then kept.
//! - `bls12381` (feature `bls12381`): a peer's key follows from its identity alone, and costs pairings.
//! - [`Generator`]: the PKG as a library.
//! - [`files`]: keys, parameters and secrets in PEM.
//!
//! What must always hold: a point from outside is decoded strictly, in the subgroup of prime order, and is not the identity
//! element; nothing depends in time on a secret; secrets are wiped and never printed.
//!
//! ```
//! use terse_ibc::Generator;
//! use terse_tls::identity::IdentityAlgorithm;
//! # use terse_tls::crypto::{CryptoError, Rng};
//! # struct OsRng(u8);
//! # impl Rng for OsRng {
//! #     fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
//! #         out.fill_with(|| { self.0 = self.0.wrapping_mul(5).wrapping_add(1); self.0 });
//! #         Ok(())
//! #     }
//! # }
//!
//! let mut rng = OsRng(7); // the system's generator
//! let generator = Generator::new(IdentityAlgorithm::Ristretto255, 1, 4_102_444_800, &mut rng)?;
//! let key = generator.issue(&"dns:broker.example".parse()?)?;
//! assert_eq!(key.identity().to_string(), "dns:broker.example");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

extern crate alloc;
#[cfg(test)]
extern crate std;

/// The snippet of the page.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/identity.md")]
struct Page;

/// The snippet of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "bls12381")]
pub mod bls12381;
mod ephemeral;
pub mod files;
mod generator;
pub mod renewal;
pub mod ristretto255;
#[cfg(all(test, feature = "bls12381"))]
mod vectors;

pub use generator::{Generator, IssueError};
