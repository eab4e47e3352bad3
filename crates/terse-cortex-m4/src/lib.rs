//! A [`CryptoProvider`] for Cortex-M4, M7, and M33 with DSP: P-256 in assembly, everything else from `terse-rustcrypto`.
//!
//! [`PROVIDER`] names everything. The modules have the names of those of `terse-rustcrypto`, so that a firmware changes
//! from one crate to the other by its `use` lines alone:
//!
//! ```ignore
//! use terse_cortex_m4::{group, hash, sign, suites, verify};
//! use terse_tls::crypto::CryptoProvider;
//!
//! static SENSOR: CryptoProvider = CryptoProvider::new("sensor", verify::P256, hash::SHA256, sign::load_p256_key)
//!     .tls13_suites(&[&suites::TLS_AES_128_CCM_SHA256])
//!     .groups(&[group::SECP256R1]);
//! ```
//!
//! Randomness comes from the `rng` arguments only, and is used as by `terse-rustcrypto`: with the same randomness both
//! give the same keys, shares, secrets and signatures, byte for byte.
//!
//! # Targets
//!
//! The assembly is [P256-Cortex-M4](https://github.com/Emill/P256-Cortex-M4) by Emil Lenngren. It needs the
//! multiplications of Armv7E-M (UMAAL): `thumbv7em-none-eabi`, `thumbv7em-none-eabihf` and the two of `thumbv8m.main`. A
//! Cortex-M33 has them with the DSP extension only, which its target does not say: without it, the first operation on P-256 ends in
//! a fault. The authors document that the assembly runs in constant time on processors without a data cache, which a Cortex-M4 and
//! M33 are; a Cortex-M7 may have one, and then its cache must not be shared with an attacker's code. A build runs
//! `arm-none-eabi-gcc` with the headers of newlib (Debian's packages `gcc-arm-none-eabi` and `libnewlib-arm-none-eabi`).
//!
//! For any other target without an operating system the build fails: use `terse-rustcrypto` there. On a computer the crate
//! is empty, so that a workspace with a firmware in it can be built and checked.
//!
//! [`CryptoProvider`]: terse_tls::crypto::CryptoProvider
#![cfg_attr(not(cortex_m4), doc = "", doc = "[`PROVIDER`]: #targets")]
#![no_std]
#![deny(unsafe_code)]
#![warn(clippy::std_instead_of_core, clippy::std_instead_of_alloc)]

#[cfg(all(target_os = "none", not(cortex_m4)))]
compile_error!(
    "terse-cortex-m4 needs the instructions of Armv7E-M: build for thumbv7em or thumbv8m.main with DSP, or use \
     terse-rustcrypto, which has the same modules, on this target"
);

#[cfg(any(cortex_m4, test))]
extern crate alloc;

#[cfg(cortex_m4)]
mod ffi;
#[cfg(cortex_m4)]
pub mod group;
#[cfg(cortex_m4)]
mod number;
#[cfg(cortex_m4)]
pub mod sign;
#[cfg(any(cortex_m4, test))]
mod signature;
#[cfg(cortex_m4)]
mod stack;
#[cfg(cortex_m4)]
pub mod verify;

#[cfg(cortex_m4)]
pub use terse_rustcrypto::{aead, hash, record_number, suites};

/// The provider with everything that this crate offers, in its order of preference.
#[cfg(cortex_m4)]
pub static PROVIDER: terse_tls::crypto::CryptoProvider =
    terse_tls::crypto::CryptoProvider::new("cortex-m4", verify::ALL, hash::SHA256, sign::load_key)
        .tls13_suites(suites::ALL_TLS13)
        .tls12_suites(suites::ALL_TLS12)
        .groups(group::ALL)
        .sha1(Some(hash::sha1))
        .sha512(Some(hash::sha512));
