//! The audit logs of all devices as one chain of hashes, which shows what a hand has changed in the database.
//!
//! Each entry is a link: its hash is made of the hash before it and of all its fields, the digests of the request and of the voucher
//! among them. The head, which is the length of the chain and its last hash, is committed together with each voucher. The chain has
//! no key: who can write to the database can make all of it anew. That shows against a head or an export that was taken before and
//! kept elsewhere, and so does an end that was cut off together with the head.
//!
//! What must always hold: the chain grows by one entry in the transaction of a voucher, whichever process commits that, at a cost
//! that does not depend on its length; what is verified is read in bounded memory, from one state of the database.

mod beside;
mod earlier;
mod entry;
mod export;
mod file;
mod finding;
mod head;
mod import;
mod line;
mod rows;
mod signature;
mod since;
mod verify;

pub(super) use earlier::link_earlier;
pub(super) use entry::{Entry, sha256};
pub use export::export_log;
pub use file::verify_export;
pub use finding::{Finding, Problem};
pub use head::{InvalidHead, LogHead};
pub use import::{Imported, import_log};
pub(super) use rows::append;
pub use verify::{VerifyOptions, verify_log};

/// What is told about long work: how many entries are done, and how many there are.
pub type Progress<'a> = &'a mut dyn FnMut(i64, i64);
