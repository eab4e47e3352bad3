//! The receiving half of a link over a stream: decrypts records and joins them into handshake messages.

use alloc::vec::Vec;

use super::MESSAGE_HEADER_LEN;
use crate::crypto::CryptoError;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::link::plaintext::Plaintext;
use crate::link::{Incoming, Received, Record};
use crate::record::stream::{HEADER_LEN, Header, MAX_ENCRYPTED, MAX_FRAGMENT, RecordKey};
use crate::schedule::EpochKeys;
use crate::time::Instant;
use crate::wire::{Alert, ContentType, Parse};

/// How many empty or ignored records may come in a row.
pub(super) const MAX_IGNORED_RECORDS: u8 = 32;

/// The fewest bytes that a protected record has beside its content: the content type, and a tag (RFC 9846, 5.2).
const MIN_EXPANSION: usize = 1 + 16;

/// The fewest bytes of early data that a skipped record counts as, since small records cost work as well.
const MIN_SKIPPED: usize = 8;

/// The receiving half of a link over a stream.
pub(crate) struct Receiver {
    /// The beginning of a record that has not arrived completely.
    pub(super) partial: Vec<u8>,
    /// Handshake bytes, which are valid from `consumed` on.
    pub(super) joined: Vec<u8>,
    consumed: usize,
    pub(super) plaintext: Plaintext,
    key: Option<RecordKey>,
    /// TLS 1.2: the key that the peer's next ChangeCipherSpec puts in force. While it is set, only ChangeCipherSpec and
    /// alerts are accepted.
    next_key: Option<RecordKey>,
    /// The longest content of a protected record. TLS 1.3 counts the content type as well.
    limit: usize,
    pub(super) max_message: usize,
    /// The longest content of any record.
    max_record: usize,
    /// Whether a ChangeCipherSpec of compatibility mode is accepted (RFC 9846, 5).
    ignores_change_cipher_spec: bool,
    /// Whether a ChangeCipherSpec was ignored.
    ignored_change_cipher_spec: bool,
    ignored_records: u8,
    /// How many bytes of early data are still skipped.
    early_data: usize,
    /// Whether a protected record was decrypted: early data is not skipped after that.
    authenticated: bool,
}

impl Receiver {
    pub(crate) const fn new(max_message: usize, max_record: usize) -> Self {
        Self {
            partial: Vec::new(),
            joined: Vec::new(),
            consumed: 0,
            plaintext: Plaintext::new(),
            key: None,
            next_key: None,
            limit: MAX_FRAGMENT + 1,
            max_message,
            max_record,
            ignores_change_cipher_spec: false,
            ignored_change_cipher_spec: false,
            ignored_records: 0,
            early_data: 0,
            authenticated: false,
        }
    }

    /// Returns how many bytes are buffered of a record, of messages, and of application data.
    #[cfg(terse_testing)]
    pub(crate) fn buffered(&self) -> [usize; 3] {
        [self.partial.len(), self.joined.len(), self.plaintext.len()]
    }
}

impl Incoming for Receiver {
    fn receive(&mut self, _: Instant, input: &mut [u8]) -> Result<Record, Error> {
        let whole = |taken, len, received| Record { taken, received, len, is_dropped: false, newest: None };
        let nothing = |taken| whole(taken, 0, Received::Nothing);
        if !self.plaintext.is_empty() {
            return Ok(nothing(0));
        }
        if self.partial.is_empty()
            && let Some(header) = input.first_chunk()
        {
            let header = self.check(Header::parse(*header))?;
            if let Some(record) = input.get_mut(..HEADER_LEN + header.len) {
                return Ok(whole(record.len(), record.len(), self.open(header, record)?));
            }
        }
        let mut taken = self.fill(HEADER_LEN, input);
        let Some(header) = self.partial.first_chunk() else {
            return Ok(nothing(taken));
        };
        let header = self.check(Header::parse(*header))?;
        taken += self.fill(HEADER_LEN + header.len, &input[taken..]);
        if self.partial.len() < HEADER_LEN + header.len {
            return Ok(nothing(taken));
        }
        let mut record = core::mem::take(&mut self.partial);
        Ok(whole(taken, record.len(), self.open(header, &mut record)?))
    }

    fn message(&self) -> Result<Option<&[u8]>, Error> {
        let bytes = &self.joined[self.consumed..];
        let Some(header) = bytes.first_chunk() else { return Ok(None) };
        let len = message_len(*header);
        if len > MESSAGE_HEADER_LEN + self.max_message {
            return Err(InvalidMessage::HandshakeTooLarge.into());
        }
        Ok(bytes.get(..len))
    }

    fn consume(&mut self, len: usize) {
        self.consumed += len;
        if self.consumed >= self.joined.len() {
            self.joined = Vec::new(); // frees the memory: the next flight may come much later
            self.consumed = 0;
        }
    }

    /// Expects records under `keys`: in TLS 1.3 from the next record on, in TLS 1.2 after a ChangeCipherSpec, which
    /// must come next. No part of a message may be left from before (RFC 9846, 5.1).
    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error> {
        if !self.joined.is_empty() {
            return Err(PeerMisbehaved::MessageCrossesKeyChange.into());
        }
        let key = Some(RecordKey::new(keys)?);
        match keys {
            EpochKeys::Tls12(_) if self.ignored_change_cipher_spec => {
                return Err(PeerMisbehaved::BadChangeCipherSpec.into());
            }
            EpochKeys::Tls12(_) => self.next_key = key,
            EpochKeys::Tls13(_) => self.key = key,
        }
        Ok(())
    }

    fn early_data_keys(&mut self, keys: &EpochKeys) -> Result<bool, Error> {
        self.new_keys(keys)?;
        Ok(true)
    }

    fn has_waiting(&self) -> bool {
        false
    }

    fn limit_records(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Skips records from now on, up to `bytes` of early data, until one can be decrypted (RFC 9846, 4.3.10).
    fn skip_early_data(&mut self, bytes: usize) {
        self.early_data = bytes;
    }

    fn ignore_change_cipher_spec(&mut self, ignore: bool) {
        self.ignores_change_cipher_spec = ignore;
    }

    fn plaintext(&self) -> &Plaintext {
        &self.plaintext
    }

    fn plaintext_mut(&mut self) -> &mut Plaintext {
        &mut self.plaintext
    }

    /// Counts an empty or ignored record; too many in a row are refused.
    fn ignored(&mut self) -> Result<(), Error> {
        self.ignored_records += 1;
        if self.ignored_records > MAX_IGNORED_RECORDS {
            return Err(PeerMisbehaved::TooManyEmptyRecords.into());
        }
        Ok(())
    }

    fn not_due(&mut self, content_type: ContentType) -> Result<(), Error> {
        Err(PeerMisbehaved::UnexpectedRecord(content_type).into())
    }
}

impl Receiver {
    fn check(&self, header: Header) -> Result<Header, Error> {
        let is_early = self.early_data > 0 && header.content_type == ContentType::APPLICATION_DATA;
        header.check(match &self.key {
            Some(key) => key.max_len(self.limit.min(self.max_record + 1)),
            None if is_early => MAX_ENCRYPTED.min(self.max_record + 256),
            None => self.max_record,
        })?; // before any of the record is buffered
        Ok(header)
    }

    fn fill(&mut self, up_to: usize, input: &[u8]) -> usize {
        let missing = up_to.saturating_sub(self.partial.len()).min(input.len());
        extend(&mut self.partial, &input[..missing], up_to);
        missing
    }

    fn open(&mut self, header: Header, record: &mut [u8]) -> Result<Received, Error> {
        let content_type = header.content_type;
        if content_type == ContentType::CHANGE_CIPHER_SPEC {
            return self.change_cipher_spec(&record[HEADER_LEN..]);
        }
        if self.next_key.is_some() && content_type != ContentType::ALERT {
            return Err(PeerMisbehaved::UnexpectedRecord(content_type).into());
        }
        let skipped = header.len.saturating_sub(MIN_EXPANSION).max(MIN_SKIPPED);
        let is_early = !self.authenticated && skipped <= self.early_data;
        let (content_type, content) = match &mut self.key {
            Some(key) if key.covers(content_type) => match key.deprotect(record, self.limit) {
                Err(Error::Crypto(CryptoError::DecryptFailed)) if is_early => {
                    self.early_data -= skipped;
                    return Ok(Received::Nothing);
                }
                opened => {
                    self.authenticated = true;
                    opened?
                }
            },
            // The peer failed before it had keys, so its alert is not protected.
            Some(_) if content_type == ContentType::ALERT && !self.authenticated => {
                (content_type, &record[HEADER_LEN..])
            }
            None if content_type == ContentType::APPLICATION_DATA && is_early => {
                self.early_data -= skipped;
                return Ok(Received::Nothing);
            }
            None if content_type != ContentType::APPLICATION_DATA => (content_type, &record[HEADER_LEN..]),
            _ => return Err(PeerMisbehaved::UnexpectedRecord(content_type).into()),
        };
        self.content(content_type, content)
    }

    fn content(&mut self, content_type: ContentType, content: &[u8]) -> Result<Received, Error> {
        if !self.joined.is_empty() && content_type != ContentType::HANDSHAKE {
            return Err(PeerMisbehaved::InterleavedRecord.into());
        }
        match content_type {
            ContentType::HANDSHAKE if content.is_empty() => Err(PeerMisbehaved::EmptyFragment.into()),
            ContentType::HANDSHAKE => {
                self.joined.drain(..self.consumed); // otherwise they would accumulate while messages end within records
                self.consumed = 0;
                let whole = self.joined.first_chunk().map_or(0, |header| message_len(*header));
                extend(&mut self.joined, content, whole);
                self.ignored_records = 0;
                Ok(Received::Handshake)
            }
            ContentType::ALERT if content.is_empty() => Err(PeerMisbehaved::EmptyFragment.into()),
            ContentType::ALERT => Ok(Received::Alert(Alert::parse_all(content)?)),
            ContentType::APPLICATION_DATA if content.is_empty() => {
                self.ignored()?;
                Ok(Received::ApplicationData)
            }
            ContentType::APPLICATION_DATA => {
                self.plaintext.set(content);
                self.ignored_records = 0;
                Ok(Received::ApplicationData)
            }
            other => Err(PeerMisbehaved::UnexpectedRecord(other).into()),
        }
    }

    fn change_cipher_spec(&mut self, content: &[u8]) -> Result<Received, Error> {
        if content != [1] || !self.joined.is_empty() {
            return Err(PeerMisbehaved::BadChangeCipherSpec.into());
        }
        match self.next_key.take() {
            Some(key) => self.key = Some(key),
            None if self.ignores_change_cipher_spec => {
                self.ignored_change_cipher_spec = true;
                self.ignored()?;
            }
            None => return Err(PeerMisbehaved::BadChangeCipherSpec.into()),
        }
        Ok(Received::Nothing)
    }
}

/// Returns the length of a handshake message, header included.
fn message_len([_, a, b, c]: [u8; MESSAGE_HEADER_LEN]) -> usize {
    MESSAGE_HEADER_LEN + u32::from_be_bytes([0, a, b, c]) as usize
}

/// Appends `bytes` to a buffer that will have `whole` bytes. The capacity is doubled up to that, so that little memory
/// is reserved for bytes that a peer only announces.
fn extend(vec: &mut Vec<u8>, bytes: &[u8], whole: usize) {
    let needed = vec.len() + bytes.len();
    if needed > vec.capacity() {
        let len = needed.max(whole.min(2 * vec.capacity()));
        vec.reserve_exact(len - vec.len());
    }
    vec.extend_from_slice(bytes);
}
