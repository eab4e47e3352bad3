//! The sending half of a link over a stream: packs handshake messages into records.

use alloc::vec::Vec;

use super::MESSAGE_HEADER_LEN;
use crate::error::Error;
use crate::link::{Link, Outgoing, RecordLimits, empty};
use crate::record::stream::{HEADER_LEN, MAX_TAIL, RecordKey, write_header, write_plaintext};
use crate::schedule::EpochKeys;
use crate::time::Instant;
use crate::wire::{Alert, ContentType, Encode, EndOfEarlyData, HandshakeType, Transport, Writer};

/// The sending half of a link over a stream.
pub(crate) struct Sender {
    /// Complete records from `sent` to `complete`, and then the next record while it is made: space for its header, and
    /// the handshake messages of the flight, which are protected in place.
    pub(super) output: Vec<u8>,
    sent: usize,
    complete: usize,
    key: Option<RecordKey>,
    limits: RecordLimits,
    /// Whether the ChangeCipherSpec of compatibility mode is still to be sent.
    owes_change_cipher_spec: bool,
    /// How many bytes of records were made.
    produced: u64,
    /// Whether a closing alert was sent: close_notify or a fatal one.
    closed: bool,
    #[cfg(terse_testing)]
    fault: Option<alloc::sync::Arc<dyn crate::Fault>>,
}

impl Sender {
    pub(crate) const fn new(compatibility_mode: bool) -> Self {
        Self {
            output: Vec::new(),
            sent: 0,
            complete: 0,
            key: None,
            limits: RecordLimits::DEFAULT,
            owes_change_cipher_spec: compatibility_mode,
            produced: 0,
            closed: false,
            #[cfg(terse_testing)]
            fault: None,
        }
    }

    #[cfg(terse_testing)]
    pub(crate) fn with_fault(self, fault: Option<alloc::sync::Arc<dyn crate::Fault>>) -> Self {
        Self { fault, ..self }
    }

    /// Makes a record of the bytes at the end of the output: space for its header, and the content.
    fn complete(&mut self, content_type: ContentType) -> Result<(), Error> {
        match &mut self.key {
            Some(key) => key.protect(content_type, &mut self.output, self.complete)?,
            None => {
                let record = &mut self.output[self.complete..];
                write_header(content_type, record);
                if self.produced == 0 && record.get(HEADER_LEN) == Some(&HandshakeType::CLIENT_HELLO.0) {
                    // RFC 9846, 5.1: the record of an initial ClientHello has the version TLS 1.0, for old peers.
                    record[2] = 1; // in the header that was just written
                }
            }
        }
        self.count();
        Ok(())
    }

    /// Counts the bytes at the end of the output as a complete record.
    fn count(&mut self) {
        self.produced += (self.output.len() - self.complete) as u64;
        self.complete = self.output.len();
    }

    /// Returns how many bytes precede the content of the next record.
    fn head_len(&self) -> usize {
        self.key.as_ref().map_or(HEADER_LEN, RecordKey::head_len)
    }

    /// Returns how many bytes of messages were pushed and are not in a record yet.
    fn flight_len(&self) -> usize {
        (self.output.len() - self.complete).saturating_sub(self.head_len())
    }

    fn drop_flight(&mut self) {
        self.output.truncate(self.complete);
    }

    /// Sends a ChangeCipherSpec, which is never protected: TLS 1.2 here has one handshake per connection, and in TLS
    /// 1.3 it has no meaning.
    fn change_cipher_spec(&mut self) {
        if !self.closed {
            write_plaintext(ContentType::CHANGE_CIPHER_SPEC, &[1], &mut self.output);
            self.count();
        }
    }
}

impl Outgoing for Sender {
    fn transmit(&mut self, _: Instant, out: &mut [u8]) -> usize {
        let waiting = &self.output[self.sent..self.complete];
        let len = waiting.len().min(out.len());
        out[..len].copy_from_slice(&waiting[..len]);
        self.sent += len;
        if self.sent == self.output.len() {
            empty(&mut self.output);
            (self.sent, self.complete) = (0, 0);
        } else if self.sent > self.output.len() / 2 {
            self.output.drain(..self.sent); // otherwise it would accumulate while the peer reads slowly
            self.complete -= self.sent;
            self.sent = 0;
        }
        len
    }

    fn produced(&self) -> u64 {
        self.produced
    }

    fn key_nears_limit(&self) -> bool {
        self.key.as_ref().is_some_and(RecordKey::nears_limit)
    }

    fn key_is_exhausted(&self) -> bool {
        self.key.as_ref().is_some_and(RecordKey::is_exhausted)
    }

    fn max_fragment(&self) -> usize {
        self.limits.of(self.key.is_some())
    }

    fn record(&mut self, content_type: ContentType, fragment: &[u8]) -> Result<(), Error> {
        self.end_of_flight()?;
        if self.closed {
            return Ok(());
        }
        let content = self.complete + self.head_len();
        self.output.reserve(self.head_len() + fragment.len() + MAX_TAIL);
        self.output.resize(content, 0);
        self.output.extend_from_slice(fragment);
        self.complete(content_type)
    }

    fn last_alert(&mut self, alert: Alert) -> Result<(), Error> {
        self.alert(alert)?;
        self.closed = true;
        Ok(())
    }
}

impl Link for Sender {
    fn transport(&self) -> Transport {
        Transport::Stream
    }

    fn connection_id(&self) -> Option<(&[u8], bool)> {
        None
    }

    fn use_connection_id(&mut self, _: &[u8]) {}

    fn pending(&self) -> usize {
        self.complete - self.sent
    }

    fn push(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<&[u8], Error> {
        let mut count = Writer::new(&mut []);
        body.encode(&mut count);
        let len = MESSAGE_HEADER_LEN + count.len();
        let head_len = if self.output.len() == self.complete { self.head_len() } else { 0 };
        let before = self.output.len();
        let start = before + head_len;
        self.output.reserve_exact(head_len + len + MAX_TAIL);
        self.output.resize(start + len, 0);
        let mut writer = Writer::new(&mut self.output[start..]);
        kind.encode(&mut writer);
        writer.vec::<3>(|writer| body.encode(writer));
        if let Err(error) = writer.finish() {
            self.output.truncate(before);
            return Err(error.into());
        }
        #[cfg(terse_testing)]
        if let Some(fault) = &self.fault {
            let mut message = self.output.split_off(start);
            fault.message(kind, &mut message);
            self.output.append(&mut message);
        }
        Ok(&self.output[start..])
    }

    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error> {
        self.end_of_flight()?;
        let key = RecordKey::new(keys)?;
        if let EpochKeys::Tls12(_) = keys {
            self.owes_change_cipher_spec = false;
            self.change_cipher_spec();
        }
        self.key = Some(key);
        Ok(())
    }

    fn new_keys_beside_early_data(&mut self, _: &EpochKeys) -> Result<(), Error> {
        Ok(())
    }

    fn abandon_early_data(&mut self) {
        self.key = None;
    }

    fn end_of_early_data(&mut self) -> Result<Option<&[u8]>, Error> {
        self.push(HandshakeType::END_OF_EARLY_DATA, &EndOfEarlyData).map(Some)
    }

    fn limits(&mut self) -> &mut RecordLimits {
        &mut self.limits
    }

    fn alert(&mut self, alert: Alert) -> Result<(), Error> {
        self.drop_flight();
        let mut bytes = [0; 2];
        alert.encode(&mut Writer::new(&mut bytes));
        self.record(ContentType::ALERT, &bytes)
    }

    fn compatibility_mode(&mut self) {
        self.owes_change_cipher_spec = true;
    }

    fn compatibility_point(&mut self) -> Result<(), Error> {
        if core::mem::take(&mut self.owes_change_cipher_spec) {
            self.end_of_flight()?;
            self.change_cipher_spec();
        }
        Ok(())
    }

    fn can_update_keys(&self) -> bool {
        true
    }

    fn end_of_flight(&mut self) -> Result<(), Error> {
        match self.flight_len() {
            len if len == 0 || self.closed => self.drop_flight(),
            len if len <= self.max_fragment() => self.complete(ContentType::HANDSHAKE)?,
            _ => {
                let flight = self.output.split_off(self.complete);
                for fragment in flight[self.head_len()..].chunks(self.max_fragment()) {
                    self.record(ContentType::HANDSHAKE, fragment)?;
                }
            }
        }
        Ok(())
    }
}
