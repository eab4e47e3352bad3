//! The record layer and the stream link: bytes cut anywhere, in both kinds of protection.

use alloc::vec;
use alloc::vec::Vec;

use crate::CipherSuite;
use crate::crypto::{CryptoProvider, Digest, SharedSecret};
use crate::error::Error;
use crate::link::Link as _;
use crate::link::stream::{MESSAGE_HEADER_LEN, Receiver, Sender};
use crate::link::{Incoming, Outgoing, Received, Record};
use crate::record::stream::{HEADER_LEN, MAX_ENCRYPTED, MAX_FRAGMENT};
use crate::schedule::EpochKeys;
use crate::schedule::tls12::{MasterSecret, Randoms};
use crate::schedule::tls13::EarlySecret;
use crate::time::Instant;
use crate::wire::{Alert, ContentType, Encoded, HandshakeType};

/// What protects records.
pub struct Keys(pub(super) EpochKeys);

impl Keys {
    /// Some keys for a suite of `provider`. `None`: it has no such suite.
    pub fn new(provider: &CryptoProvider, suite: CipherSuite) -> Option<Self> {
        if let Some(suite) = provider.tls12_suite(suite) {
            let keys = MasterSecret::resumed(suite, &[1; 48]).key_block(&Randoms { client: [1; 32], server: [2; 32] });
            return Some(Self(EpochKeys::Tls12(keys.client)));
        }
        let suite = provider.tls13_suite(suite)?;
        let early = EarlySecret::new(suite.hash, b"tls13 ", None);
        let handshake = early.handshake_secret(suite, &SharedSecret::new([1; 32].into())).ok()?;
        Some(Self(EpochKeys::Tls13(handshake.client_traffic(&Digest::new(&[0; 32])).ok()?)))
    }
}

/// What came in, in order.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Message(Vec<u8>),
    Data(Vec<u8>),
    Alert(Alert),
    Failed(Error),
}

/// Receives `stream`, which begins under no keys and goes on under `keys` after the first message, if there are any;
/// `options` are those of a receiver. Panics if it matters where `cuts` say that the stream is cut, or if more is
/// buffered than promised.
pub fn receive(keys: Option<&Keys>, options: u8, cuts: &[u8], stream: &[u8]) {
    let whole = drive(keys, options, &[], stream);
    assert_eq!(drive(keys, options, &[0], stream), whole, "byte by byte");
    assert_eq!(drive(keys, options, cuts, stream), whole, "cut as {cuts:?}");
}

fn drive(keys: Option<&Keys>, options: u8, cuts: &[u8], stream: &[u8]) -> Vec<Event> {
    let mut receiver = Receiver::new(MAX_MESSAGE, MAX_FRAGMENT);
    let mut keys = keys;
    if options & 1 != 0
        && let Some(keys) = keys.take()
    {
        receiver.new_keys(&keys.0).expect("nothing came before");
    }
    receiver.ignore_change_cipher_spec(options & 2 != 0);
    if options & 4 != 0 {
        receiver.limit_records(64);
    }
    if options & 8 != 0 {
        receiver.skip_early_data(100);
    }
    let mut events = Vec::new();
    let mut stream = stream.to_vec();
    let mut rest = &mut stream[..];
    for cut in 0.. {
        if rest.is_empty() {
            break;
        }
        let len = cuts.get(cut % cuts.len().max(1)).map_or(rest.len(), |cut| usize::from(*cut) + 1);
        let (part, next) = rest.split_at_mut(len.min(rest.len()));
        rest = next;
        if let Err(error) = take(&mut receiver, part, &mut keys, &mut events) {
            events.push(Event::Failed(error));
            break;
        }
    }
    events
}

fn take(
    receiver: &mut Receiver,
    mut part: &mut [u8],
    keys: &mut Option<&Keys>,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    while !part.is_empty() {
        let Record { taken, received, .. } = receiver.receive(Instant(0), part)?;
        assert!(taken > 0 && taken <= part.len(), "no progress");
        part = &mut part[taken..];
        match received {
            Received::Nothing => {}
            Received::Handshake => {
                while let Some(message) = receiver.message()? {
                    let message = message.to_vec();
                    receiver.consume(message.len());
                    events.push(Event::Message(message));
                    if let Some(keys) = keys.take() {
                        receiver.new_keys(&keys.0)?;
                    }
                }
            }
            Received::ApplicationData => {
                let mut data = vec![0; MAX_FRAGMENT];
                let (one, more) = data.split_at_mut(1);
                let mut len = receiver.plaintext_mut().read(one);
                len += receiver.plaintext_mut().read(more);
                data.truncate(len);
                assert!(receiver.plaintext().is_empty());
                events.push(Event::Data(data));
            }
            Received::Alert(alert) => events.push(Event::Alert(alert)),
            Received::Repeated | Received::Ack { .. } | Received::ReturnRoutabilityCheck(_) => {
                unreachable!("for datagrams")
            }
        }
        let [partial, joined, plaintext] = receiver.buffered();
        assert!(partial <= HEADER_LEN + MAX_ENCRYPTED);
        assert!(joined <= MESSAGE_HEADER_LEN + MAX_MESSAGE + MAX_FRAGMENT);
        assert!(plaintext <= MAX_FRAGMENT);
    }
    Ok(())
}

/// Sends what `script` says under `keys`, and receives it. Panics if something else arrives. `damage` is where one byte
/// of the stream is changed, and how: nothing after it may arrive that was not sent.
pub fn loopback(keys: &Keys, script: &[u8], damage: Option<(usize, u8)>) {
    let (mut sender, mut sent, mut stream) = (Sender::new(false), Vec::new(), Vec::new());
    sender.new_keys(&keys.0).expect("keys that fit");
    for step in script.chunks(3) {
        let [what, high, low] = [0, 1, 2].map(|at| step.get(at).copied().unwrap_or_default());
        let len = usize::from(u16::from_be_bytes([high, low])) % (MAX_MESSAGE + 1);
        let content = vec![what; len];
        match what % 5 {
            0 => {
                let kind = HandshakeType(what);
                sent.push(Event::Message(sender.push(kind, &Encoded(&content)).expect("it fits").to_vec()));
                sender.end_of_flight().expect("keys that are not worn");
            }
            1 if len > 0 => {
                for fragment in content.chunks(sender.max_fragment()) {
                    sender.record(ContentType::APPLICATION_DATA, fragment).expect("keys that are not worn");
                    sent.push(Event::Data(fragment.to_vec()));
                }
            }
            2 => sender.limits().limit_protected(64 + len),
            3 => {
                let alert = Alert { level: Alert::WARNING, description: crate::AlertDescription(high) };
                sender.alert(alert).expect("keys that are not worn");
                sent.push(Event::Alert(alert));
            }
            _ => {
                let mut out = vec![0; len];
                let len = sender.transmit(Instant(0), &mut out);
                stream.extend_from_slice(&out[..len]);
            }
        }
    }
    let mut out = vec![0; sender.pending()];
    let len = sender.transmit(Instant(0), &mut out);
    stream.extend_from_slice(&out[..len]);
    assert_eq!((len, sender.pending(), stream.len() as u64), (out.len(), 0, sender.produced()));
    if let Some((at, change)) = damage.filter(|(at, _)| *at < stream.len()) {
        stream[at] ^= change;
    }
    let mut receiver = Receiver::new(MAX_MESSAGE, MAX_FRAGMENT);
    receiver.new_keys(&keys.0).expect("nothing came before");
    let mut received = Vec::new();
    match take(&mut receiver, &mut stream, &mut None, &mut received) {
        Err(_) => {
            assert!(damage.is_some(), "what was sent is refused");
            received.truncate(sent.len());
        }
        Ok(()) if damage.is_none() => assert_eq!(received, sent),
        Ok(()) => {}
    }
}

/// Small, so that the fuzzer gets there.
const MAX_MESSAGE: usize = 1000;
