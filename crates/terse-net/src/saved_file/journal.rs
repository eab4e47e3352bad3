//! The journal of a saved file holds the changes since its contents were written, in order, each as `length(4) ||
//! sum(8) || entry`. `sum` is the beginning of a SHA-256 over the checksum of the contents (to which the journal is
//! thus bound), the offset of the entry in the file, and the entry.
//!
//! What must always hold: an entry counts only if it is whole and all entries before it are, so that every prefix of
//! the file is a state that once existed; nothing is appended to a file that another process has changed.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{BODY_AT, MAX_LEN, atomic};

/// The end of a file that this process wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// The checksum of the contents, to which the journal is bound.
    pub(super) seal: [u8; 32],
    /// The length of the contents.
    pub(super) body: usize,
    /// The length of the file.
    pub(super) len: u64,
}

/// The length in bytes that a journal may always have; beyond it, a journal may be as long as the contents.
pub(super) const LEAST_LIMIT: usize = 0x4000;

const HEADER_LEN: usize = 4 + 8;

/// Returns the entries in the file `bytes` after its contents, and where they end. Anything after that end was never
/// written whole.
pub(super) fn read<'a>(seal: [u8; 32], bytes: &'a [u8], body: &[u8]) -> (Vec<&'a [u8]>, usize) {
    let mut entries = Vec::new();
    let mut at = BODY_AT + body.len();
    while let Some(entry) = bytes.get(at..).and_then(|rest| entry_at(seal, at, rest)) {
        entries.push(entry);
        at += HEADER_LEN + entry.len();
    }
    (entries, at)
}

fn entry_at(seal: [u8; 32], at: usize, rest: &[u8]) -> Option<&[u8]> {
    let (len, rest) = rest.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let entry = rest.get(..u32::from_be_bytes(*len) as usize)?;
    (*sum == self::sum(seal, at, entry)).then_some(entry)
}

fn sum(seal: [u8; 32], at: usize, entry: &[u8]) -> [u8; 8] {
    let place = (at as u64).to_be_bytes();
    let sum: [u8; 32] = Sha256::new().chain_update(seal).chain_update(place).chain_update(entry).finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = sum;
    [a, b, c, d, e, f, g, h]
}

impl Tail {
    /// Returns the new end and the bytes of `entries`, or `None` if the journal would become too long.
    pub(super) fn with(self, entries: &[Zeroizing<Vec<u8>>]) -> Option<(Self, Zeroizing<Vec<u8>>)> {
        // With room for all, nothing is moved, and so no copy of a secret stays behind.
        let len = entries.iter().map(|entry| HEADER_LEN + entry.len()).sum();
        let mut bytes = Zeroizing::new(Vec::with_capacity(len));
        for entry in entries {
            let at = usize::try_from(self.len).ok()? + bytes.len();
            bytes.extend_from_slice(&u32::try_from(entry.len()).ok()?.to_be_bytes());
            bytes.extend_from_slice(&sum(self.seal, at, entry));
            bytes.extend_from_slice(entry);
        }
        let len = self.len + bytes.len() as u64;
        let limit = BODY_AT + self.body + self.body.max(LEAST_LIMIT);
        (len <= limit as u64 && len <= MAX_LEN).then_some((self, bytes))
    }

    /// Appends `bytes` and forces them to the disk. Returns `None` if the file at `path` is not as this process left
    /// it.
    pub(super) fn append(self, path: &Path, bytes: &[u8]) -> io::Result<Option<Self>> {
        let mut file = match atomic::open_to_append(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let metadata = file.metadata()?;
        if metadata.len() != self.len || !metadata.is_file() || !atomic::is_private(&metadata) {
            return Ok(None);
        }
        if !self.is_ours(&file)? {
            return Ok(None);
        }
        if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_data()) {
            let _ = file.set_len(self.len); // a rest of it would not count in any case
            return Err(error);
        }
        Ok(Some(Self { len: self.len + bytes.len() as u64, ..self }))
    }

    /// Whether `file` still has the contents that this end belongs to: another process may have replaced it.
    fn is_ours(&self, file: &File) -> io::Result<bool> {
        let mut sum = [0; 32];
        atomic::read_at(file, &mut sum, (BODY_AT - 32) as u64)?;
        Ok(sum == self.seal)
    }
}
