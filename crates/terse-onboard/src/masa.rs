//! The MASA of a manufacturer as a service (RFC 8995, 5.4 to 5.8), and the factory that makes its devices.
//!
//! A registrar posts its voucher request, which is verified, decided on, signed and stored, in this order; what is decided is
//! in [`terse_brski::masa`]. The same bytes again are answered with the voucher that was stored.
//!
//! | request | answer |
//! |---|---|
//! | POST, brski/requestvoucher | a voucher; 202 with Retry-After while the signer is at work |
//! | POST, brski/requestauditlog | the audit log of a device, for who has or had it |
//! | GET, health | 200 if the database answers, else 503 |
//!
//! The first two are below .well-known (RFC 8995, 5.4 and 5.8), the last is at the root. Every other answer has a text for
//! people. 401: the request needs a customer's password or certificate. 408 and 413: the body came too slowly, or is longer
//! than any request. 429: there were too many requests from this address, or vouchers for this device. 503: the database
//! failed, or there is too much to do.
//!
//! What must always hold: a voucher leaves only after it, its entry in the audit log and the new owner were committed in one
//! transaction; that transaction fails if the device has changed since the decision, whichever process changed it; what a
//! stranger sends costs no write to the database.

mod config;
mod customers;
mod error;
mod factory;
mod issue;
mod keys;
mod log;
mod metrics;
mod operator;
mod pages;
mod problem;
mod register;
mod reload;
mod revocation;
mod routes;
mod service;
mod signer;
mod store;
mod watched;

pub use config::{
    Authentication, CustomerConfig, KeyFiles, ManufacturerConfig, MasaConfig, MasaLimits, RevocationConfig,
};
pub use error::MasaError;
pub use factory::{InitOptions, Written, init, make_idevid};
pub use log::{
    Finding, Imported, InvalidHead, LogHead, Problem as LogProblem, Progress, VerifyOptions, export_log, import_log,
    verify_export, verify_log,
};
pub use operator::{Change, DeviceLog, change_device, device_logs};
pub use register::{DeviceOptions, NotRegistered, Registration, register_idevids};
pub use reload::MasaReloader;
pub use service::{Checked, MasaService};
pub use signer::VoucherSigner;
pub use store::{MasaStore, Record};
