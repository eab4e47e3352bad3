//! What comes after a handshake of TLS 1.3, from a peer that has the keys: every NewSessionTicket and KeyUpdate that is
//! not quite one (RFC 9846, 4.7).

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};

use alloc::sync::Arc;
use std::sync::Mutex;

use terse_testkit::fault::{fault, first, fix_length, message};
use terse_testkit::forge::{Forge, KeyLogLines};
use terse_testkit::pair::{Side, at};
use terse_testkit::setup::Setup;
use terse_tls::cache::Scope;
use terse_tls::resume::{ClientResumption, ClientSessionStore, StoredSession};
use terse_tls::{
    AlertDescription as Alert, ContentType, Error, ExtensionType as Ext, HandshakeType, InvalidMessage, PeerMisbehaved,
};

use super::attack::{SEED, Verdict, run};
use super::modes::{TLS13, mutual};
use super::traffic::after_handshake;

/// A client that keeps sessions, and a server that issues them.
fn setup() -> Setup {
    mutual(TLS13).setup.clone().keeping()
}

/// What the server issues: a lifetime, an age, a nonce, a ticket, and extensions, of which there are none.
fn ticket() -> Vec<u8> {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let mut setup = setup();
    let ticket = sent.clone();
    setup.server.fault(Some(fault(move |_, kind, message| {
        if kind == HandshakeType::NEW_SESSION_TICKET {
            ticket.lock().unwrap().clone_from(message);
        }
    })));
    setup.pair(SEED).handshake().unwrap();
    let ticket = sent.lock().unwrap().clone();
    assert_eq!(ticket[ticket.len() - 2..], [0, 0]);
    ticket
}

/// The client gets `message` and no other ticket; also, whether it kept a session.
fn send(message: &[u8]) -> (Verdict, bool) {
    let mut setup = setup();
    setup.server.fault(Some(first(HandshakeType::NEW_SESSION_TICKET, Vec::clear)));
    let log = Arc::<KeyLogLines>::default();
    setup.server.key_log(log.clone());
    let sessions = Cell::new(0);
    let verdict = run(&setup, Side::Client, |pair| {
        pair.run().unwrap();
        let mut forge = Forge::of(pair, &terse_aws_lc::PROVIDER, &log, Side::Server);
        drop(pair.deliver(Side::Client, forge.record(ContentType::HANDSHAKE, message)));
        sessions.set(pair.stores.as_ref().unwrap().size(Side::Client).1);
        let _ = pair.server.handle_end_of_input(at(0)); // its next record would have the number of the forged one
    });
    assert!(verdict.connected);
    (verdict, sessions.get() == 1)
}

fn refused(message: &[u8], error: impl Into<Error>, alert: Alert) {
    let (verdict, kept) = send(message);
    assert_eq!((verdict.error, verdict.alert, kept), (Some(error.into()), Some(alert), false), "{message:x?}");
}

/// With `extensions`, which have lengths already.
fn with_extensions(extensions: &[u8]) -> Vec<u8> {
    let mut message = ticket();
    message.truncate(message.len() - 2);
    message.extend_from_slice(&(extensions.len() as u16).to_be_bytes());
    message.extend_from_slice(extensions);
    fix_length(&mut message);
    message
}

/// A store that counts what it is given.
#[derive(Default)]
struct Counting(AtomicUsize);

impl ClientSessionStore for Counting {
    fn put(&self, _: &Scope, _: StoredSession) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn take(&self, _: &Scope) -> Option<StoredSession> {
        None
    }
}

/// A store may write a file for each: what a server can cause is bounded. The others are read like the first ones.
#[test]
fn tickets_without_end() {
    let ticket = ticket();
    let mut setup = mutual(TLS13).setup.clone();
    let kept = Arc::new(Counting::default());
    setup.client.resumption(Some(ClientResumption::new(kept.clone())));
    setup.server.resumption(None);
    let log = Arc::<KeyLogLines>::default();
    setup.server.key_log(log.clone());
    let mut pair = setup.pair(SEED);
    pair.handshake().unwrap();
    let mut forge = Forge::of(&pair, &terse_aws_lc::PROVIDER, &log, Side::Server);
    for sent in 1..=5_000 {
        pair.deliver(Side::Client, forge.record(ContentType::HANDSHAKE, &ticket)).unwrap();
        assert_eq!(kept.0.load(Ordering::Relaxed), sent.min(4));
    }
    let data = forge.record(ContentType::APPLICATION_DATA, b"goes on");
    assert_eq!(pair.receive(Side::Client, data).unwrap(), b"goes on");
    let malformed = forge.record(ContentType::HANDSHAKE, &message(HandshakeType::NEW_SESSION_TICKET, &[0; 11]));
    let error = pair.deliver(Side::Client, malformed).unwrap_err().error;
    assert_eq!(error, InvalidMessage::IllegalLength.into());
}

#[test]
fn tickets_cut_and_extended() {
    let good = ticket();
    let (verdict, kept) = send(&good);
    assert!(verdict.error.is_none() && kept);
    for len in 4..good.len() {
        let (verdict, kept) = send(&message(HandshakeType::NEW_SESSION_TICKET, &good[4..len]));
        assert!(matches!(verdict.error, Some(Error::InvalidMessage(_))) && !kept, "{len}: {verdict:?}");
        assert_eq!(verdict.alert, Some(Alert::DECODE_ERROR), "{len}");
    }
    for more in [&[0][..], &[0, 0], &[1; 300]] {
        let long = message(HandshakeType::NEW_SESSION_TICKET, &[&good[4..], more].concat());
        refused(&long, InvalidMessage::TrailingData, Alert::DECODE_ERROR);
    }
}

/// Lifetime, age, nonce and ticket are what the server says; it is not held to them. What does not parse is refused.
#[test]
fn tickets_flipped() {
    let good = ticket();
    let nonce = 4 + 8;
    let ticket = nonce + 1 + usize::from(good[nonce]);
    let extensions = good.len() - 2;
    for (place, pattern) in (0..good.len()).flat_map(|place| [1, 0x40, 0xff].map(|pattern| (place, pattern))) {
        let mut message = good.clone();
        message[place] ^= pattern;
        let (verdict, kept) = send(&message);
        let is_value = (4..nonce).contains(&place)
            || (nonce + 1..ticket).contains(&place)
            || (ticket + 2..extensions).contains(&place);
        let context = format!("byte {place} ^ {pattern:#x}, {kept}: {verdict:?}");
        match &verdict.error {
            None => assert!(is_value || place < 4, "{context}"),
            Some(Error::InvalidMessage(_)) => assert_eq!(verdict.alert, Some(Alert::DECODE_ERROR), "{context}"),
            Some(Error::PeerMisbehaved(error)) => {
                assert!(matches!(error, PeerMisbehaved::UnexpectedHandshakeMessage(_)) && place == 0, "{context}");
            }
            error => panic!("{error:?}, {context}"),
        }
        assert!(!is_value || verdict.error.is_none(), "{context}");
        assert!(!kept || is_value, "{context}");
    }
}

/// RFC 9846, 4.7.1: unknown ones are ignored; a known one must be for this message.
#[test]
fn extensions_of_tickets() {
    for kind in [Ext(0x0a0a), Ext(0x7f01)] {
        let [a, b] = kind.0.to_be_bytes();
        for body in [&[a, b, 0, 0][..], &[a, b, 0, 2, 7, 7]] {
            let (verdict, kept) = send(&with_extensions(body));
            assert!(verdict.error.is_none() && kept, "{verdict:?}");
        }
        let twice = with_extensions(&[a, b, 0, 0, a, b, 0, 0]);
        refused(&twice, InvalidMessage::DuplicateExtension, Alert::ILLEGAL_PARAMETER);
    }
    for kind in [Ext::SERVER_NAME, Ext::KEY_SHARE, Ext::PRE_SHARED_KEY, Ext::COOKIE, Ext::SIGNATURE_ALGORITHMS] {
        let [a, b] = kind.0.to_be_bytes();
        let misplaced = PeerMisbehaved::MisplacedExtension(kind);
        refused(&with_extensions(&[a, b, 0, 0]), misplaced, Alert::ILLEGAL_PARAMETER);
    }
    let early_data = |body: &[u8]| with_extensions(&[&[0, 42, 0, body.len() as u8], body].concat());
    for len in [0, 1, 3] {
        refused(&early_data(&vec![0; len]), InvalidMessage::Truncated, Alert::DECODE_ERROR);
    }
    refused(&early_data(&[0; 5]), InvalidMessage::TrailingData, Alert::DECODE_ERROR);
    let (verdict, kept) = send(&early_data(&[0xff; 4]));
    assert!(verdict.error.is_none() && kept, "{verdict:?}");
}

/// Each of its five bytes with each other value.
#[test]
fn key_updates() {
    let good = message(HandshakeType::KEY_UPDATE, &[0]);
    for victim in Side::BOTH {
        for (place, value) in (0..good.len()).flat_map(|place| (0..=255).map(move |value| (place, value))) {
            // Only some types and lengths are tried here; `traffic` has all types.
            if value == good[place] || (place, value) == (4, 1) || (place < 4 && value % 16 > 5) {
                continue;
            }
            let mut message = good.clone();
            message[place] = value;
            let verdict = after_handshake(TLS13, victim, |forge| {
                let record = forge.record(ContentType::HANDSHAKE, &message);
                if message[4] < 2 {
                    forge.update();
                }
                [record, forge.record(ContentType::APPLICATION_DATA, b"x")].concat()
            });
            let context = format!("{victim:?}, byte {place} = {value}: {verdict:?}");
            let error = verdict.error.unwrap_or_else(|| panic!("{context}"));
            match (place, value) {
                (4, _) => assert_eq!(error, InvalidMessage::IllegalValue.into(), "{context}"),
                (0, 4) if victim == Side::Client => assert!(matches!(error, Error::InvalidMessage(_)), "{context}"),
                (0, _) => {
                    let unexpected = PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType(value));
                    assert_eq!(error, unexpected.into(), "{context}");
                }
                _ => assert!(matches!(error, Error::InvalidMessage(_) | Error::PeerMisbehaved(_) | Error::Crypto(_))),
            }
            assert!(verdict.alert.is_some(), "{context}");
        }
    }
}
