//! Tests of both halves of the link over a stream: which records a peer may send, and how much is kept.

use alloc::vec;
use alloc::vec::Vec;

use super::receiver::MAX_IGNORED_RECORDS;
use super::*;
use crate::crypto::CryptoError;
use crate::error::{Error, InvalidMessage, PeerMisbehaved};
use crate::link::{Incoming, KEPT_BUFFER, Link, Outgoing, Received, Record};
use crate::record::stream::{HEADER_LEN, Header, MAX_FRAGMENT, RecordKey, write_plaintext};
use crate::schedule::EpochKeys;
use crate::test_crypto::{SUITE, traffic_secret};
use crate::time::Instant;
use crate::wire::{Alert, AlertDescription, ContentType, Finished, HandshakeType};

mod receiver;
mod sender;
mod tls12;

const MAX_MESSAGE: usize = 1000;

const NOW: Instant = Instant(0);

/// What was received, in order.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Message(Vec<u8>),
    Data(Vec<u8>),
    Alert(Alert),
}

/// Receives `bytes` in chunks of at most `stretch` bytes, as a connection does.
fn receive(receiver: &mut Receiver, bytes: &[u8], stretch: usize) -> Result<Vec<Event>, Error> {
    let mut events = Vec::new();
    for part in bytes.chunks(stretch) {
        let mut part = part.to_vec();
        let mut rest = &mut part[..];
        while !rest.is_empty() {
            let Record { taken, received, .. } = receiver.receive(NOW, rest)?;
            assert!(taken > 0, "no progress");
            rest = &mut rest[taken..];
            match received {
                Received::Nothing => {}
                Received::Handshake => take_messages(receiver, &mut events)?,
                Received::ApplicationData => events.push(Event::Data(take_data(receiver))),
                Received::Alert(alert) => events.push(Event::Alert(alert)),
                Received::Repeated | Received::Ack { .. } | Received::ReturnRoutabilityCheck(_) => {
                    panic!("for datagrams")
                }
            }
            assert_bounded(receiver);
        }
    }
    Ok(events)
}

fn take_messages(receiver: &mut Receiver, events: &mut Vec<Event>) -> Result<(), Error> {
    while let Some(message) = receiver.message()? {
        let message = message.to_vec();
        receiver.consume(message.len());
        events.push(Event::Message(message));
    }
    Ok(())
}

fn take_data(receiver: &mut Receiver) -> Vec<u8> {
    let mut data = vec![0; MAX_FRAGMENT];
    let len = receiver.plaintext_mut().read(&mut data);
    data.truncate(len);
    data
}

/// Asserts that no more is kept than one record, one message, and the record that ended it.
fn assert_bounded(receiver: &Receiver) {
    assert!(receiver.partial.len() <= HEADER_LEN + MAX_FRAGMENT + 256);
    assert!(receiver.plaintext.bytes.len() <= MAX_FRAGMENT);
    assert!(receiver.joined.len() <= MESSAGE_HEADER_LEN + receiver.max_message + MAX_FRAGMENT);
}

/// Returns the keys of one direction in TLS 1.3.
fn tls13(seed: u8) -> EpochKeys {
    EpochKeys::Tls13(traffic_secret(&SUITE, seed))
}

fn record_key(seed: u8) -> RecordKey {
    RecordKey::new(&tls13(seed)).unwrap()
}

fn plaintext(content_type: ContentType, fragment: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    write_plaintext(content_type, fragment, &mut record);
    record
}

fn protected(key: &mut RecordKey, content_type: ContentType, fragment: &[u8]) -> Vec<u8> {
    let mut record = Vec::new();
    key.append(content_type, fragment, &mut record).unwrap();
    record
}

/// Returns a message of type Finished with `len` bytes of body.
fn message(len: usize) -> Vec<u8> {
    let [_, length @ ..] = (len as u32).to_be_bytes();
    let body = (0..len).map(|byte| byte as u8);
    [20].into_iter().chain(length).chain(body).collect()
}
