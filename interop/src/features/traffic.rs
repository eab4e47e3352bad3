//! After the handshake there are data, key updates, and the end of the connection.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use terse_net::NetError;
use terse_tls::{Error, HandshakeType, Trace, TraceEvent};

use super::extensions::lines;
use super::{Cell, Feature};
use crate::case::Case;
use crate::meeting::Meeting;

pub(super) fn features() -> Vec<Feature> {
    vec![
        Feature::tls13("key_update_by_ours", key_update_by_ours),
        Feature::tls13("key_update_by_the_peer", key_update_by_the_peer),
        Feature::new("close_notify_by_ours", close_by_ours),
        Feature::new("close_notify_by_the_peer", close_by_the_peer),
        Feature::new("end_without_close_notify_is_noticed", truncation),
        Feature::new("large_data", large_data),
        Feature::new("byte_by_byte", byte_by_byte),
    ]
}

fn case() -> Case {
    Case::mutual(&terse_aws_lc::PROVIDER)
}

/// The peer follows our new keys, and replaces its own on request (RFC 9846, 4.7.3).
fn key_update_by_ours(cell: Cell) {
    let updates = Arc::new(Updates::default());
    let mut meeting = cell.connect(&Case { trace: Some(updates.clone()), ..case() });
    meeting.exchange("before");
    for round in 1..=3 {
        meeting.ours.update_keys(true).expect("a finished handshake");
        meeting.exchange(&format!("after {round}"));
        assert_eq!(updates.received(), round, "the peer answers each request");
    }
    meeting.ours.update_keys(false).expect("a finished handshake");
    meeting.exchange("after 4");
    assert_eq!(updates.received(), 3, "nothing was requested");
    meeting.close();
}

/// Our side follows the peer's new keys, and answers requests (RFC 9846, 4.7.3).
fn key_update_by_the_peer(cell: Cell) {
    let updates = Arc::new(Updates::default());
    let mut meeting = cell.connect(&Case { trace: Some(updates.clone()), ..case() });
    meeting.exchange("before");
    for round in 1..=2 {
        match meeting.remote.updates_keys_on() {
            Some((command, answer)) => {
                meeting.send(command);
                meeting.expect(answer);
            }
            None => meeting.remote.update_keys(),
        }
        meeting.exchange(&format!("after {round}"));
        assert_eq!(updates.received(), round);
    }
    meeting.close();
}

/// Counts the KeyUpdate messages that were received.
#[derive(Default)]
struct Updates(AtomicU32);

impl Updates {
    fn received(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Trace for Updates {
    fn event(&self, event: TraceEvent<'_>) {
        if matches!(event, TraceEvent::Received(HandshakeType::KEY_UPDATE, _)) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn close_by_ours(cell: Cell) {
    let mut meeting = cell.connect(&case());
    meeting.exchange("once");
    meeting.close();
}

fn close_by_the_peer(cell: Cell) {
    let mut meeting = cell.connect(&Case { server_closes: true, ..case() });
    match meeting.remote.closes_on() {
        Some(command) => meeting.send(command),
        None => {
            meeting.exchange("once");
            meeting.remote.close();
        }
    }
    meeting.expect_close();
}

/// A connection that ends without close_notify is an error, as data may be missing (RFC 9846, 6.1).
fn truncation(cell: Cell) {
    let mut meeting = cell.connect(&case());
    meeting.exchange("once");
    meeting.remote.vanish();
    match meeting.receive_nothing() {
        Err(NetError::Tls(Error::Truncated) | NetError::Io(_)) => {}
        other => panic!("taken for a proper end: {other:?}"),
    }
    assert!(!meeting.ours.peer_closed());
}

/// A megabyte is sent each way.
fn large_data(cell: Cell) {
    let mut meeting = cell.connect(&case());
    let data = lines(21_000);
    meeting.carry(&data, &data);
    meeting.close();
}

/// The transport may cut the stream anywhere.
fn byte_by_byte(cell: Cell) {
    let case = cell.case(&case());
    let mut meeting = Meeting::in_stretches(cell.peer, cell.role, &case, 1);
    meeting.handshake(&case);
    meeting.exchange("once");
    meeting.close();
}
