//! Records made and opened outside of the engine, with the secrets of its key log: what no honest side sends (RFC 9846,
//! 5.2 and 7).

use std::sync::{Mutex, PoisonError};

use terse_tls::crypto::{AeadKey, NONCE_LEN, Tls13Suite};
use terse_tls::{ContentType, KeyLog};

/// A key log that keeps what it hears.
#[derive(Debug, Default)]
pub struct KeyLogLines(Mutex<Vec<KeyLogLine>>);

/// One line of a key log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLogLine {
    /// Such as `CLIENT_TRAFFIC_SECRET_0`.
    pub label: &'static str,
    /// Of the ClientHello.
    pub client_random: [u8; 32],
    /// The secret.
    pub secret: Vec<u8>,
}

impl KeyLogLines {
    /// All lines so far.
    pub fn lines(&self) -> Vec<KeyLogLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The secret with `label`, which must have been logged.
    pub fn secret(&self, label: &str) -> Vec<u8> {
        let line = self.lines().into_iter().find(|line| line.label == label);
        line.unwrap_or_else(|| panic!("{label} was not logged")).secret
    }
}

impl KeyLog for KeyLogLines {
    fn log(&self, label: &'static str, client_random: &[u8; 32], secret: &[u8]) {
        let line = KeyLogLine { label, client_random: *client_random, secret: secret.to_vec() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// Length of a record's header.
pub const HEADER_LEN: usize = 5;

/// An unprotected record.
pub fn plaintext(content_type: ContentType, fragment: &[u8]) -> Vec<u8> {
    let mut record = header(content_type, fragment.len()).to_vec();
    record.extend_from_slice(fragment);
    record
}

/// A record's header.
pub fn header(content_type: ContentType, len: usize) -> [u8; HEADER_LEN] {
    let [high, low] = (len as u16).to_be_bytes();
    [content_type.0, 3, 3, high, low]
}

/// Cuts a stream into records; the last one may be cut short.
pub fn records(mut stream: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while !stream.is_empty() {
        let len = match stream {
            [_, _, _, high, low, ..] => HEADER_LEN + usize::from(u16::from_be_bytes([*high, *low])),
            _ => stream.len(),
        };
        let (record, rest) = stream.split_at(len.min(stream.len()));
        records.push(record.to_vec());
        stream = rest;
    }
    records
}

/// One direction of a connection under one key.
pub struct Forge {
    suite: &'static Tls13Suite,
    secret: Vec<u8>,
    key: Box<dyn AeadKey>,
    iv: [u8; NONCE_LEN],
    sequence_number: u64,
}

impl Forge {
    /// Under a traffic secret of `suite`.
    pub fn new(suite: &'static Tls13Suite, secret: &[u8]) -> Self {
        let mut key = vec![0; suite.aead.key_len()];
        expand_label(suite, secret, b"key", &mut key);
        let mut iv = [0; NONCE_LEN];
        expand_label(suite, secret, b"iv", &mut iv);
        let key = suite.aead.key(&key).expect("a key of the right length");
        Self { suite, secret: secret.to_vec(), key, iv, sequence_number: 0 }
    }

    /// The next generation (RFC 9846, 7.2).
    pub fn update(&mut self) {
        let mut secret = vec![0; self.secret.len()];
        expand_label(self.suite, &self.secret, b"traffic upd", &mut secret);
        *self = Self::new(self.suite, &secret);
    }

    /// Leaves out the numbers of `records` records that were sent or received otherwise.
    pub fn skip(&mut self, records: u64) {
        self.sequence_number += records;
    }

    /// A record with `content`.
    pub fn record(&mut self, content_type: ContentType, content: &[u8]) -> Vec<u8> {
        self.seal(&[content, &[content_type.0]].concat())
    }

    /// A record around a whole TLSInnerPlaintext: content, type and padding, or whatever else.
    pub fn seal(&mut self, inner: &[u8]) -> Vec<u8> {
        let tag_len = self.suite.aead.tag_len();
        let header = header(ContentType::APPLICATION_DATA, inner.len() + tag_len);
        let (mut data, mut tag) = (inner.to_vec(), vec![0; tag_len]);
        let nonce = self.next_nonce();
        self.key.seal(&nonce, &header, &mut data, &mut tag).expect("a record can be sealed");
        [&header[..], &data, &tag].concat()
    }

    /// The TLSInnerPlaintext of a record with its header, if it is authentic: type and content.
    pub fn open(&mut self, record: &[u8]) -> Option<(ContentType, Vec<u8>)> {
        let (header, body) = record.split_at_checked(HEADER_LEN)?;
        let mut data = body.to_vec();
        let nonce = self.next_nonce();
        let len = self.key.open(&nonce, header, &mut data).ok()?;
        data.truncate(len);
        let end = data.iter().rposition(|byte| *byte != 0)?;
        let content_type = ContentType(data[end]);
        data.truncate(end);
        Some((content_type, data))
    }

    fn next_nonce(&mut self) -> [u8; NONCE_LEN] {
        let mut nonce = self.iv;
        for (byte, sequence) in nonce[NONCE_LEN - 8..].iter_mut().zip(self.sequence_number.to_be_bytes()) {
            *byte ^= sequence;
        }
        self.sequence_number += 1;
        nonce
    }
}

/// `HKDF-Expand-Label` without a context (RFC 9846, 7.1).
fn expand_label(suite: &Tls13Suite, secret: &[u8], label: &[u8], out: &mut [u8]) {
    let label = [b"tls13 ", label].concat();
    let info = [&(out.len() as u16).to_be_bytes()[..], &[label.len() as u8], &label, &[0]].concat();
    suite.hash.hkdf_expand(secret, &[&info], out).expect("a short output");
}
