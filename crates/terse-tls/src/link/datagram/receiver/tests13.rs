//! Tests of the receiving half in DTLS 1.3, with a peer that has the keys but violates the protocol.

use alloc::vec::Vec;

use alloc::vec;

use super::*;
use crate::record::datagram::WriteEpoch;
use crate::schedule::tls13::TrafficSecret;
use crate::test_crypto::{suite, traffic_secret};
use crate::wire::HandshakeType;

static SUITE: crate::crypto::Tls13Suite = suite(1 << 24);

/// Returns the traffic secrets of the handshake, and of application data.
fn secrets() -> [TrafficSecret; 2] {
    let handshake = traffic_secret(&SUITE, 1);
    let application = handshake.update().unwrap();
    [handshake, application]
}

fn keys(secret: TrafficSecret) -> EpochKeys {
    EpochKeys::Tls13(secret)
}

/// The peer, which makes records in both epochs.
struct Peer([WriteEpoch; 2]);

impl Peer {
    fn new() -> Self {
        Self(secrets().map(|secret| WriteEpoch::new(&keys(secret), 0).unwrap()))
    }

    fn messages(&mut self, epoch: usize, seqs: &[u16]) -> Vec<u8> {
        let content: Vec<_> = seqs.iter().flat_map(|seq| message(*seq)).collect();
        let epoch = &mut self.0[epoch - 2];
        let (head, tail) = (epoch.head_len(&[], false), epoch.tail_len(&[], content.len()));
        let mut record = vec![0; head + content.len() + tail];
        record[head..head + content.len()].copy_from_slice(&content);
        epoch.seal(ContentType::HANDSHAKE, &[], false, content.len(), &mut record).unwrap();
        record
    }
}

fn message(seq: u16) -> Vec<u8> {
    let header = FragmentHeader::whole(HandshakeType::FINISHED, seq, 3);
    [&header.bytes()[..], &[7; 3]].concat()
}

/// Returns a receiver in the middle of the handshake.
fn receiver() -> Receiver {
    let mut receiver = Receiver::new(1_000, MAX_FRAGMENT, &Datagrams::default(), None);
    let [handshake, _] = secrets();
    receiver.new_keys(&keys(handshake)).unwrap();
    receiver
}

fn receive(receiver: &mut Receiver, mut record: Vec<u8>) -> Result<Received, Error> {
    receiver.receive(Instant(0), &mut record).map(|record| record.received)
}

/// Handles the next message, which ends the handshake.
fn finish(receiver: &mut Receiver) -> Result<(), Error> {
    let len = receiver.message()?.expect("it is there").len();
    receiver.consume(len);
    let [_, application] = secrets();
    receiver.new_keys(&keys(application))
}

fn crosses() -> Error {
    PeerMisbehaved::MessageCrossesKeyChange.into()
}

#[test]
fn no_message_follows_the_last_one_under_its_keys() {
    let mut peer = Peer::new();
    for extra in [&[0, 1][..], &[1, 0]] {
        let mut receiver = receiver();
        assert_eq!(receive(&mut receiver, peer.messages(2, extra)), Ok(Received::Handshake));
        assert_eq!(finish(&mut receiver), Err(crosses()), "it came with the last one");
    }
    let mut ahead = receiver();
    assert_eq!(receive(&mut ahead, peer.messages(2, &[1])), Ok(Received::Handshake));
    assert_eq!(receive(&mut ahead, peer.messages(2, &[0])), Ok(Received::Handshake));
    assert_eq!(finish(&mut ahead), Err(crosses()), "it came before the last one");
    let mut after = receiver();
    assert_eq!(receive(&mut after, peer.messages(2, &[0])), Ok(Received::Handshake));
    assert_eq!(finish(&mut after), Ok(()));
    assert_eq!(receive(&mut after, peer.messages(2, &[0])), Ok(Received::Nothing), "the last one again");
    assert_eq!(receive(&mut after, peer.messages(3, &[1])), Ok(Received::Handshake));
    assert_eq!(receive(&mut after, peer.messages(2, &[2])), Err(crosses()));
}
