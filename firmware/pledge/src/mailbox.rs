//! The device of these images: a page of memory that it shares with a radio's driver, and a page of flash with its identity.
//!
//! The other side, which may be a driver, the second core of a radio, or a debugger, writes and reads the same memory at any
//! time, so that every access here is volatile: the compiler can foresee nothing of it.
//!
//! What must always hold: lengths that the other side writes are checked.

#![allow(unsafe_code)]

use core::ptr::{addr_of, addr_of_mut};
use core::time::Duration;

use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_brski::pledge::{Event, Target};
use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{Instant, Now};

use crate::board::{Board, Received};

/// The memory at `mailbox`.
#[repr(C)]
struct Memory {
    /// Milliseconds since the start.
    milliseconds: u64,
    /// Seconds since 1970; 0 if they are not known.
    unix: u64,
    /// Another random word at each reading; 0 if there is none.
    random: u32,
    /// How many bytes have come; this side writes 0 when it has taken them. All bits are set at the end of a stream.
    received_len: u32,
    received: [u8; FRAME_LEN],
    /// How many bytes are to be sent; the other side writes 0 when it has taken them.
    sent_len: u32,
    sent: [u8; FRAME_LEN],
    /// What the socket is to be connected to: the number of a proxy, or 0 for none.
    peer: u32,
    /// How many bytes of this record are to be appended to the storage; the other side writes 0 when they are there.
    stored_len: u32,
    stored: [u8; STORED_LEN],
    /// The number of events.
    events: u32,
}

const FRAME_LEN: usize = 1_536;
const STORED_LEN: usize = 256;

// The linker script says where they are.
#[allow(non_upper_case_globals)]
unsafe extern "C" {
    static mut mailbox: Memory;
    static provisioned: u8;
}

/// The device. There is one.
pub struct Mailbox(());

macro_rules! read {
    ($($place:tt)+) => {
        // SAFETY: the linker script reserves the memory for this struct, and any bits are a value of its fields.
        unsafe { addr_of!(mailbox.$($place)+).read_volatile() }
    };
}

macro_rules! write {
    ([$($place:tt)+] = $value:expr) => {
        // SAFETY: as above; this side has no references to the memory.
        unsafe { addr_of_mut!(mailbox.$($place)+).write_volatile($value) }
    };
}

impl Mailbox {
    /// Returns the device, once for each reset.
    #[allow(clippy::new_without_default)] // there is one
    pub const fn new() -> Self {
        Self(())
    }

    /// Returns the items that the manufacturer has written: certificates of the IDevID, then an empty item, certificates of the
    /// manufacturer, then an empty item, and the key of the IDevID. Each is preceded by its length in two bytes, the first of
    /// which counts more.
    pub fn provisioned(&self) -> Provisioned {
        let mut place = 0;
        Provisioned { idevid: certificates(&mut place), manufacturer: certificates(&mut place), key: item(&mut place) }
    }

    fn append(&mut self, item: &[u8]) -> bool {
        let len = u16::try_from(item.len()).unwrap_or(u16::MAX).to_be_bytes();
        [&len[..], item].into_iter().all(|bytes| bytes.chunks(STORED_LEN).all(|chunk| self.append_chunk(chunk)))
    }

    fn append_chunk(&mut self, chunk: &[u8]) -> bool {
        for (index, byte) in chunk.iter().enumerate() {
            write!([stored[index]] = *byte);
        }
        write!([stored_len] = chunk.len() as u32);
        let deadline = self.now().monotonic.0 + STORAGE_TIMEOUT_MS;
        while read!(stored_len) != 0 {
            if self.now().monotonic.0 > deadline {
                return false;
            }
        }
        true
    }
}

/// What the manufacturer has written into a device.
pub struct Provisioned {
    /// The IDevID and the certificates above it.
    pub idevid: Vec<CertificateDer<'static>>,
    /// The certificates under which vouchers are signed.
    pub manufacturer: Vec<CertificateDer<'static>>,
    /// The private key of the IDevID, in PKCS#8.
    pub key: Vec<u8>,
}

fn certificates(place: &mut usize) -> Vec<CertificateDer<'static>> {
    let items = core::iter::from_fn(|| Some(item(place)).filter(|item| !item.is_empty()));
    items.take(MAX_CERTIFICATES).map(CertificateDer::from).collect()
}

fn item(place: &mut usize) -> Vec<u8> {
    let mut byte = || {
        let at = *place;
        *place += 1;
        // SAFETY: the linker script reserves so many bytes.
        if at < PROVISIONED_LEN { unsafe { addr_of!(provisioned).add(at).read_volatile() } } else { 0 }
    };
    let len = u16::from_be_bytes([byte(), byte()]);
    // A page that nothing was written to has all bits set.
    if usize::from(len) > PROVISIONED_LEN { Vec::new() } else { (0..len).map(|_| byte()).collect() }
}

const PROVISIONED_LEN: usize = 4_096;
const MAX_CERTIFICATES: usize = 4;

impl Rng for Mailbox {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError> {
        for chunk in out.chunks_mut(4) {
            let word = Some(read!(random)).filter(|word| *word != 0).ok_or(CryptoError::RandomFailed)?;
            chunk.iter_mut().zip(word.to_ne_bytes()).for_each(|(to, from)| *to = from);
        }
        Ok(())
    }
}

impl Board for Mailbox {
    fn now(&mut self) -> Now {
        let unix = Some(read!(unix)).filter(|seconds| *seconds != 0);
        let unix = unix.map(|seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds)));
        Now::new(Instant(read!(milliseconds)), unix)
    }

    fn open(&mut self, to: &Target) {
        let peer = match to {
            Target::Proxy(proxy) => proxy.0,
            _ => ELSEWHERE,
        };
        write!([peer] = peer);
    }

    fn close(&mut self) {
        write!([peer] = 0);
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let len = match read!(received_len) {
            0 => return Received::Nothing,
            u32::MAX => return Received::End,
            len => (len as usize).min(FRAME_LEN).min(buffer.len()),
        };
        for (index, byte) in buffer.iter_mut().take(len).enumerate() {
            *byte = read!(received[index]);
        }
        write!([received_len] = 0);
        Received::Bytes(len)
    }

    fn transmit(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(FRAME_LEN) {
            while read!(sent_len) != 0 {}
            for (index, byte) in chunk.iter().enumerate() {
                write!([sent[index]] = *byte);
            }
            write!([sent_len] = chunk.len() as u32);
        }
    }

    fn wait(&mut self, until: Option<Instant>) {
        while read!(received_len) == 0 && until.is_none_or(|until| self.now().monotonic < until) {}
    }

    fn store(&mut self, chain: &[CertificateDer<'_>], key: &[u8], anchors: &[CertificateDer<'_>]) -> bool {
        let end: &[u8] = &[];
        let chain = chain.iter().map(AsRef::as_ref);
        let anchors = anchors.iter().map(AsRef::as_ref);
        chain.chain([end]).chain(anchors).chain([end, key]).all(|item| self.append(item))
    }

    fn inform(&mut self, _: Event) {
        let events = read!(events).wrapping_add(1);
        write!([events] = events);
    }
}

/// The number of a host that a registrar has named: the other side has no names.
const ELSEWHERE: u32 = u32::MAX;

/// How long a page of flash takes at most, in milliseconds.
const STORAGE_TIMEOUT_MS: u64 = 1_000;
