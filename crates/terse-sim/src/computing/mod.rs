//! Computing time: a device is the time of each cryptographic operation as data, and a connection takes the time of the
//! operations that it really carried out.
//!
//! The engine runs unmodified. [`counting`] wraps a crypto provider so that every call of it is noted; [`observe`] returns
//! what was noted in a piece of work, and [`Device::time`] how long a device takes for it. The cryptography of EDHOC is
//! wrapped in the same way.
//!
//! What must always hold: an operation that a device has no time for is an error, never free; without a device nothing is
//! counted, and a run is the same as if this module did not exist.
//!
//! # What is not counted
//!
//! Only what a provider or an identity key computes takes time. All else of the engine is free: parsing, copying, and the
//! hashes that it computes itself (fingerprints of certificates, some 2 kB in a handshake that is cached). Free is also
//! what is small beside the operation that it belongs to: the expansion of AEAD keys; in identity handshakes the decoding of
//! points with the check of their subgroup, and hashes to scalars.

mod counter;
mod device;
mod edhoc;
mod identity;
mod operation;
mod provider;

pub use counter::{Counts, observe};
pub use device::{Device, DeviceError, Devices, NoTime};
pub(crate) use edhoc::CountingEdhoc;
pub use identity::CountingIdentityKey;
pub use operation::{Operation, SignatureKey};
pub use provider::{counting, is_counting};
