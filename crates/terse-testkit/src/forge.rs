//! Records are made and opened outside of the engine, with the secrets of its key log, to send what no honest side
//! sends (RFC 9846, 5.2 and 7; RFC 5246, 6; RFC 9147, 4).

use std::sync::{Mutex, PoisonError};

use terse_tls::crypto::{AeadKey, CryptoProvider, NONCE_LEN, Tls12Nonce, Tls12Suite, Tls13Suite};
use terse_tls::{ContentType, KeyLog, ProtocolVersion};

use crate::pair::{Pair, Side};

mod dtls13;
mod tls12;

pub use dtls13::{DatagramForge, OpenedRecord};

/// A key log that keeps its lines.
#[derive(Debug, Default)]
pub struct KeyLogLines(Mutex<Vec<KeyLogLine>>);

/// One line of a key log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLogLine {
    /// The label, such as `CLIENT_TRAFFIC_SECRET_0`.
    pub label: &'static str,
    /// The random of the ClientHello.
    pub client_random: [u8; 32],
    /// The secret.
    pub secret: Vec<u8>,
}

impl KeyLogLines {
    /// Returns all lines so far.
    pub fn lines(&self) -> Vec<KeyLogLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the secret with `label`, which must have been logged.
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

/// The prefix of the labels of TLS 1.3 (RFC 9846, 7.1).
const PREFIX: &[u8] = b"tls13 ";

/// The length of a record's header.
pub const HEADER_LEN: usize = 5;

/// Returns an unprotected record.
pub fn plaintext(content_type: ContentType, fragment: &[u8]) -> Vec<u8> {
    let mut record = header(content_type, fragment.len()).to_vec();
    record.extend_from_slice(fragment);
    record
}

/// Returns a record's header.
pub fn header(content_type: ContentType, len: usize) -> [u8; HEADER_LEN] {
    let [high, low] = (len as u16).to_be_bytes();
    [content_type.0, 3, 3, high, low]
}

/// Cuts a stream into records; the last one may be incomplete.
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
    format: Format,
    key: Box<dyn AeadKey>,
    iv: [u8; NONCE_LEN],
    sequence_number: u64,
}

/// The format of protected records.
enum Format {
    /// The content type is inside; the secret makes the next generation.
    Tls13 { suite: &'static Tls13Suite, secret: Vec<u8> },
    /// The content type is outside, and perhaps a part of the nonce.
    Tls12 { suite: &'static Tls12Suite },
}

impl Forge {
    /// Creates a forge from a traffic secret of `suite`.
    pub fn new(suite: &'static Tls13Suite, secret: &[u8]) -> Self {
        let mut key = vec![0; suite.aead.key_len()];
        expand_label(suite, secret, PREFIX, b"key", &mut key);
        let mut iv = [0; NONCE_LEN];
        expand_label(suite, secret, PREFIX, b"iv", &mut iv);
        let key = suite.aead.key(&key).expect("a key of the right length");
        Self { format: Format::Tls13 { suite, secret: secret.to_vec() }, key, iv, sequence_number: 0 }
    }

    /// Creates a forge with the keys by which `sender` protects application data, after the handshake of `pair`, whose
    /// secrets are in `log`.
    pub fn of(pair: &Pair, provider: &CryptoProvider, log: &KeyLogLines, sender: Side) -> Self {
        let summary = pair.client.summary();
        let id = summary.cipher_suite.expect("a handshake");
        if summary.version == Some(ProtocolVersion::TLS_1_2) {
            let mut forge = Self::of_finished(pair, provider, log, sender);
            forge.skip(1);
            return forge;
        }
        let label = match sender {
            Side::Client => "CLIENT_TRAFFIC_SECRET_0",
            Side::Server => "SERVER_TRAFFIC_SECRET_0",
        };
        Self::new(provider.tls13_suite(id).expect("a suite of the provider"), &log.secret(label))
    }

    /// Creates a forge with the keys by which `sender` protects its Finished in TLS 1.2. The hellos are in the bytes of
    /// `pair`, and the master secret is in `log`.
    pub fn of_finished(pair: &Pair, provider: &CryptoProvider, log: &KeyLogLines, sender: Side) -> Self {
        let id = pair.client.summary().cipher_suite.or(pair.server.summary().cipher_suite).expect("a ServerHello");
        let suite = provider.tls12_suite(id).expect("a suite of the provider");
        // The random follows the headers of record and message, and the version.
        let [client, server] = [&pair.from_client, &pair.from_server].map(|stream| &stream[HEADER_LEN + 6..][..32]);
        let master_secret = log.secret("CLIENT_RANDOM");
        let (key, iv) = tls12::write_keys(suite, &master_secret, client, server, sender);
        let key = suite.aead.key(&key).expect("a key of the right length");
        Self { format: Format::Tls12 { suite }, key, iv, sequence_number: 0 }
    }

    /// Replaces the keys by the next generation (RFC 9846, 7.2).
    pub fn update(&mut self) {
        let Format::Tls13 { suite, secret } = &self.format else { panic!("TLS 1.2 cannot replace keys") };
        let mut next = vec![0; secret.len()];
        expand_label(suite, secret, PREFIX, b"traffic upd", &mut next);
        *self = Self::new(suite, &next);
    }

    /// Skips the sequence numbers of `records` records that were sent or received otherwise.
    pub fn skip(&mut self, records: u64) {
        self.sequence_number += records;
    }

    /// Returns a protected record with `content`.
    pub fn record(&mut self, content_type: ContentType, content: &[u8]) -> Vec<u8> {
        let Format::Tls12 { suite } = self.format else {
            return self.seal(&[content, &[content_type.0]].concat());
        };
        let (mut data, mut tag) = (content.to_vec(), vec![0; suite.aead.tag_len()]);
        let aad = tls12::additional_data(self.sequence_number, content_type, content.len());
        let explicit = match suite.nonce {
            Tls12Nonce::Explicit => self.sequence_number.to_be_bytes().to_vec(),
            Tls12Nonce::Implicit => Vec::new(),
        };
        let nonce = self.next_nonce();
        self.key.seal(&nonce, &aad, &mut data, &mut tag).expect("a record can be sealed");
        plaintext(content_type, &[explicit, data, tag].concat())
    }

    /// Returns a record of TLS 1.3 around a whole TLSInnerPlaintext, which may be malformed.
    pub fn seal(&mut self, inner: &[u8]) -> Vec<u8> {
        let Format::Tls13 { suite, .. } = self.format else { panic!("TLS 1.2 has no inner type") };
        let tag_len = suite.aead.tag_len();
        let header = header(ContentType::APPLICATION_DATA, inner.len() + tag_len);
        let (mut data, mut tag) = (inner.to_vec(), vec![0; tag_len]);
        let nonce = self.next_nonce();
        self.key.seal(&nonce, &header, &mut data, &mut tag).expect("a record can be sealed");
        [&header[..], &data, &tag].concat()
    }

    /// Returns the type and content of a record with its header, if it is authentic.
    pub fn open(&mut self, record: &[u8]) -> Option<(ContentType, Vec<u8>)> {
        let (header, body) = record.split_at_checked(HEADER_LEN)?;
        let Format::Tls12 { suite } = self.format else { return self.open13(header, body) };
        let explicit = if suite.nonce == Tls12Nonce::Explicit { 8 } else { 0 };
        let mut data = body.get(explicit..)?.to_vec();
        let content_type = ContentType(header[0]);
        let len = data.len().checked_sub(suite.aead.tag_len())?;
        let aad = tls12::additional_data(self.sequence_number, content_type, len);
        let nonce = self.next_nonce();
        let len = self.key.open(&nonce, &aad, &mut data).ok()?;
        data.truncate(len);
        Some((content_type, data))
    }

    fn open13(&mut self, header: &[u8], body: &[u8]) -> Option<(ContentType, Vec<u8>)> {
        let mut data = body.to_vec();
        let nonce = self.next_nonce();
        let len = self.key.open(&nonce, header, &mut data).ok()?;
        data.truncate(len);
        let end = data.iter().rposition(|byte| *byte != 0)?;
        let content_type = ContentType(data[end]);
        data.truncate(end);
        Some((content_type, data))
    }

    /// Returns the next nonce: `iv` XOR the sequence number. Where the nonce has an explicit part, `iv` has zeros
    /// there.
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
fn expand_label(suite: &Tls13Suite, secret: &[u8], prefix: &[u8], label: &[u8], out: &mut [u8]) {
    let label = [prefix, label].concat();
    let info = [&(out.len() as u16).to_be_bytes()[..], &[label.len() as u8], &label, &[0]].concat();
    suite.hash.hkdf_expand(secret, &[&info], out).expect("a short output");
}
