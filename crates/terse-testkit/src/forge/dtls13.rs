//! Records of DTLS 1.3 are made and opened outside of the engine (RFC 9147, 4). The unified header, encrypted record
//! numbers, and the keys of an epoch are implemented a second time.

use terse_tls::ContentType;
use terse_tls::crypto::{AeadKey, MASK_SAMPLE_LEN, NONCE_LEN, RecordNumberKey, Tls13Suite};

use super::expand_label;

/// The prefix of the labels (RFC 9147, 5.9).
const PREFIX: &[u8] = b"dtls13";

/// One epoch of a connection over datagrams, in one direction.
pub struct DatagramForge {
    suite: &'static Tls13Suite,
    secret: Vec<u8>,
    epoch: u64,
    key: Box<dyn AeadKey>,
    iv: [u8; NONCE_LEN],
    numbers: Box<dyn RecordNumberKey>,
    /// The number of the record that is made next, or that follows the last one that was opened.
    next: u64,
}

/// A record that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedRecord {
    /// Its record number.
    pub number: u64,
    /// Its content type.
    pub content_type: ContentType,
    /// Its content.
    pub content: Vec<u8>,
    /// The number of bytes that it took of the datagram.
    pub len: usize,
}

/// The bits of the first byte of a header, `001CSLEE`.
const FIXED: u8 = 0b0010_0000;
const CID: u8 = 0b0001_0000;
const LONG_NUMBER: u8 = 0b0000_1000;
const LENGTH: u8 = 0b0000_0100;
const EPOCH: u8 = 0b0000_0011;

impl DatagramForge {
    /// Creates a forge from a traffic secret of `suite`.
    pub fn new(suite: &'static Tls13Suite, secret: &[u8], epoch: u64) -> Self {
        let mut key = vec![0; suite.aead.key_len()];
        expand_label(suite, secret, PREFIX, b"sn", &mut key);
        let numbers = suite.record_numbers.key(&key).expect("a key of the right length");
        expand_label(suite, secret, PREFIX, b"key", &mut key);
        let mut iv = [0; NONCE_LEN];
        expand_label(suite, secret, PREFIX, b"iv", &mut iv);
        let key = suite.aead.key(&key).expect("a key of the right length");
        Self { suite, secret: secret.to_vec(), epoch, key, iv, numbers, next: 0 }
    }

    /// Returns the forge of the next epoch (RFC 9846, 7.2).
    pub fn updated(&self) -> Self {
        let mut next = vec![0; self.secret.len()];
        expand_label(self.suite, &self.secret, PREFIX, b"traffic upd", &mut next);
        Self::new(self.suite, &next, self.epoch + 1)
    }

    /// Returns the number of this epoch.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Sets the number of the next record.
    pub const fn at(&mut self, number: u64) -> &mut Self {
        self.next = number;
        self
    }

    /// Returns a record with `content`, 16 bits of its number, and a length.
    pub fn record(&mut self, content_type: ContentType, content: &[u8]) -> Vec<u8> {
        self.seal(&[content, &[content_type.0]].concat())
    }

    /// Returns a record around a whole DTLSInnerPlaintext, which may be malformed.
    pub fn seal(&mut self, inner: &[u8]) -> Vec<u8> {
        let tag_len = self.suite.aead.tag_len();
        let mut header = vec![FIXED | LONG_NUMBER | LENGTH | self.epoch as u8 & EPOCH];
        header.extend_from_slice(&(self.next as u16).to_be_bytes());
        header.extend_from_slice(&((inner.len() + tag_len) as u16).to_be_bytes());
        let (mut body, mut tag) = (inner.to_vec(), vec![0; tag_len]);
        self.key.seal(&self.nonce(self.next), &header, &mut body, &mut tag).expect("a record can be sealed");
        body.extend_from_slice(&tag);
        mask(&*self.numbers, &mut header[1..3], &body).expect("not shorter than a sample");
        self.next += 1;
        [header, body].concat()
    }

    /// Returns the record at the beginning of `datagram`, if it is authentic and has no connection ID.
    pub fn open(&mut self, datagram: &[u8]) -> Option<OpenedRecord> {
        let first = *datagram.first()?;
        if first & 0b1110_0000 != FIXED || first & CID != 0 || first & EPOCH != self.epoch as u8 & EPOCH {
            return None;
        }
        let number_len = if first & LONG_NUMBER != 0 { 2 } else { 1 };
        let header_len = 1 + number_len + if first & LENGTH != 0 { 2 } else { 0 };
        let (header, body) = datagram.split_at_checked(header_len)?;
        let len = match header {
            [.., high, low] if first & LENGTH != 0 => usize::from(u16::from_be_bytes([*high, *low])),
            _ => body.len(),
        };
        let (mut header, mut body) = (header.to_vec(), body.get(..len)?.to_vec());
        mask(&*self.numbers, &mut header[1..1 + number_len], &body)?;
        let low = header[1..1 + number_len].iter().fold(0, |low, byte| low << 8 | u64::from(*byte));
        let number = self.closest(low, 1 << (8 * number_len));
        let len = self.key.open(&self.nonce(number), &header, &mut body).ok()?;
        body.truncate(len);
        let end = body.iter().rposition(|byte| *byte != 0)?;
        let content_type = ContentType(body[end]);
        body.truncate(end);
        self.next = self.next.max(number + 1);
        let len = header_len + len + self.suite.aead.tag_len();
        Some(OpenedRecord { number, content_type, content: body, len })
    }

    /// Returns the number that equals `low` modulo `size` and is closest to the next one.
    fn closest(&self, low: u64, size: u64) -> u64 {
        let base = self.next / size * size + low;
        let candidates = [base.checked_sub(size), Some(base), Some(base + size)];
        candidates.into_iter().flatten().min_by_key(|number| number.abs_diff(self.next)).unwrap_or(base)
    }

    fn nonce(&self, number: u64) -> [u8; NONCE_LEN] {
        let mut nonce = self.iv;
        for (byte, number) in nonce[NONCE_LEN - 8..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }
}

/// Encrypts or decrypts a record number.
fn mask(key: &dyn RecordNumberKey, number: &mut [u8], body: &[u8]) -> Option<()> {
    let mask = key.mask(body.first_chunk::<MASK_SAMPLE_LEN>()?);
    number.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    Some(())
}
