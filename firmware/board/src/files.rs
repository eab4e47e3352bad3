//! Files of the computer that runs QEMU, in the folder where it was started, by semihosting (Arm, "Semihosting for AArch32 and
//! AArch64", 5).

#![allow(unsafe_code)]

use alloc::vec;
use alloc::vec::Vec;

use cortex_m_semihosting::syscall;

use terse_device::random::SEED_LEN;
use terse_device::storage::Slots;

/// Returns the content of a file; `None` if it cannot be read.
pub fn read(name: &str) -> Option<Vec<u8>> {
    let file = File::open(name, READ)?;
    // SAFETY: the file is open.
    let len = unsafe { syscall!(FLEN, file.0) };
    let len = if len <= MAX_FILE { len } else { return None };
    let mut content = vec![0; len];
    // SAFETY: the buffer has so many bytes. The call returns how many of them it has not filled.
    let missing = unsafe { syscall!(READ, file.0, content.as_mut_ptr(), len) };
    (missing == 0).then_some(content)
}

/// Writes a file. Returns whether all of it was written.
pub fn write(name: &str, content: &[u8]) -> bool {
    let Some(file) = File::open(name, WRITE) else { return false };
    // SAFETY: the buffer has so many bytes. The call returns how many of them it has not written.
    let missing = unsafe { syscall!(WRITE, file.0, content.as_ptr(), content.len()) };
    missing == 0
}

/// Returns what a device gets at a start, from `boot.bin`: a seed of 32 bytes, and the time in seconds since 1970.
pub fn boot() -> Option<([u8; SEED_LEN], u64)> {
    let boot = read("boot.bin")?;
    let (seed, time) = boot.split_first_chunk()?;
    Some((*seed, u64::from_be_bytes(time.try_into().ok()?)))
}

/// An open file.
struct File(usize);

impl File {
    /// Opens a file. The name is given with its length, and with a zero behind it all the same.
    fn open(name: &str, mode: usize) -> Option<Self> {
        let mut text = Vec::from(name);
        text.push(0);
        // SAFETY: the text has a zero at its end, and so many bytes before.
        let handle = unsafe { syscall!(OPEN, text.as_ptr(), mode, name.len()) };
        (handle != usize::MAX).then_some(Self(handle))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: the file is open, and nobody uses it any more.
        unsafe { syscall!(CLOSE, self.0) };
    }
}

/// The modes `rb` and `wb`.
const READ: usize = 1;
const WRITE: usize = 5;

/// The longest file that is read, in bytes.
const MAX_FILE: usize = 16_384;

/// Two files as the slots of the storage.
pub struct Flash;

impl Slots for Flash {
    fn read(&mut self, slot: usize) -> Vec<u8> {
        read(NAMES[slot % 2]).unwrap_or_default()
    }

    fn write(&mut self, slot: usize, content: &[u8]) -> bool {
        write(NAMES[slot % 2], content)
    }
}

const NAMES: [&str; 2] = ["slot0.bin", "slot1.bin"];
