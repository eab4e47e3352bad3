//! What is wrong with a chain: where, and how.

use core::fmt;
use std::path::{Path, PathBuf};

use super::LogHead;
use super::entry::Entry;

/// The first thing that is wrong with the audit log. It displays as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The export that it is in; without one it is in the database.
    pub file: Option<PathBuf>,
    /// The entry's place in the chain, from 1; it may be missing there.
    pub position: Option<i64>,
    /// The device, as the entry says.
    pub serial_number: Option<String>,
    /// The entry's number among those of the device, as it says.
    pub number: Option<i64>,
    /// How it is wrong.
    pub problem: Problem,
}

/// How an audit log is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The entry has not the hash that it was issued with: it was changed, or it was inserted, or one before it was removed and
    /// those after it were given other places.
    Changed,
    /// There is no such entry, and there must be: there are later ones, or the head counts more.
    Missing,
    /// The entry was issued after another one than that before it, namely the one at this position.
    OutOfOrder(i64),
    /// The entry and another one have both been issued after the entry at this position.
    Forked(i64),
    /// The entry has no place in the chain: nobody has issued it.
    Unlinked,
    /// The entry is after the last one that the head counts.
    AfterHead,
    /// The last entry is right, and the head has another hash.
    Head,
    /// The stored voucher, or what is recorded of it, is not the one that the entry is about.
    VoucherChanged,
    /// The voucher of the entry is not there.
    VoucherMissing,
    /// There is a voucher without an entry.
    VoucherUnlogged,
    /// The device is recorded with another number of entries than it has.
    Entries,
    /// The device is recorded with an owner who did not get its last voucher.
    Owner,
    /// There are entries of a device that is not recorded.
    DeviceMissing,
    /// The chain was another one when the earlier head or export was taken: this is the first entry that differs, as far as
    /// that says.
    Earlier,
    /// The chain had more entries when the earlier head or export was taken: so many.
    Shorter(i64),
}

impl Problem {
    /// Returns the name, for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::OutOfOrder(_) => "out-of-order",
            Self::Forked(_) => "forked",
            Self::Unlinked => "unlinked",
            Self::AfterHead => "after-head",
            Self::Head => "head",
            Self::VoucherChanged => "voucher-changed",
            Self::VoucherMissing => "voucher-missing",
            Self::VoucherUnlogged => "voucher-unlogged",
            Self::Entries => "entries",
            Self::Owner => "owner",
            Self::DeviceMissing => "device-missing",
            Self::Earlier => "earlier",
            Self::Shorter(_) => "shorter",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "it was changed or inserted, or one before it was removed",
            Self::Missing => "it is missing",
            Self::OutOfOrder(after) => return write!(f, "it is out of order: it was issued after entry {after}"),
            Self::Forked(after) => return write!(f, "the chain is forked: another entry follows entry {after}, too"),
            Self::Unlinked => "it has no place in the chain",
            Self::AfterHead => "it is after the last entry that the head counts",
            Self::Head => "it is the last one, and the head has another hash",
            Self::VoucherChanged => "its voucher was changed",
            Self::VoucherMissing => "its voucher is missing",
            Self::VoucherUnlogged => "there is a voucher without an entry",
            Self::Entries => "the device is recorded with another number of entries",
            Self::Owner => "the device is recorded with an owner who did not get its last voucher",
            Self::DeviceMissing => "there are entries of a device that is not recorded",
            Self::Earlier => "it was another one before",
            Self::Shorter(length) => return write!(f, "it is missing: there were {length} entries before"),
        })
    }
}

impl Finding {
    pub(super) const fn at(position: i64, problem: Problem) -> Self {
        Self { file: None, position: Some(position), serial_number: None, number: None, problem }
    }

    pub(super) const fn of(entry: &LogHead, problem: Problem) -> Self {
        Self::at(entry.length, problem)
    }

    pub(super) const fn of_device(serial_number: Option<String>, number: Option<i64>, problem: Problem) -> Self {
        Self { file: None, position: None, serial_number, number, problem }
    }

    /// Says which entry it is.
    pub(super) fn about(mut self, entry: Option<&Entry>) -> Self {
        self.serial_number = entry.map(|entry| entry.serial_number.clone());
        self.number = entry.map(|entry| entry.number);
        self
    }

    /// Says in which export it is.
    pub(super) fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.into());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        f.write_str("the audit log is not as it was issued")?;
        if let Some(position) = self.position {
            write!(f, "; entry {position}")?;
        }
        // Whoever changed a database may have put anything there.
        match (&self.serial_number, self.number) {
            (Some(serial_number), Some(number)) => write!(f, "; number {number} of the device {serial_number:?}")?,
            (Some(serial_number), None) => write!(f, "; the device {serial_number:?}")?,
            _ => {}
        }
        let advice = match self.file {
            Some(_) => "take another copy of the export",
            None => "keep a copy of the database, and compare it with earlier ones and exports",
        };
        write!(f, ": {}; {advice}", self.problem)
    }
}
