//! A client is hostile: these tests show what a server refuses, and with which alert.

use terse_testkit::fault::{add_extension, edit_extensions, fault, first, nth, remove_extension};
use terse_testkit::pair::Side;
use terse_tls::summary::Mode;
use terse_tls::{
    AlertDescription as Alert, Error, ExtensionType as Ext, HandshakeType, InvalidMessage, PeerMisbehaved,
};

use super::world::{Kept, World, run};

const CH: HandshakeType = HandshakeType::CLIENT_HELLO;

/// A second connection, whose ClientHello is altered: refused so, and the session is not used up by it.
fn refuses(alter: fn(&mut Vec<u8>), error: impl Into<Error>, alert: Alert) {
    let error = error.into();
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        world.connect(0);
        let stored = world.sessions.to_bytes();
        world.setup.client.fault(Some(first(CH, alter)));
        let mut pair = world.pair(1);
        let failed = pair.run().unwrap_err();
        assert_eq!((failed.side, &failed.error), (Side::Server, &error));
        assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(alert)));

        // Whoever saw the ticket in the clear cannot spoil it for its owner.
        world.setup.client.fault(None);
        let again = terse_tls::resume::MemoryClientSessions::from_bytes(&stored, 4).unwrap();
        let mut resumption = world.setup.client.config().resumption().unwrap().clone();
        resumption.store = alloc::sync::Arc::new(again);
        world.setup.client.resumption(resumption);
        assert_eq!(world.mode(2), Mode::Resumed);
    }
}

/// Changes the body of `pre_shared_key`.
fn edit_psk(message: &mut Vec<u8>, edit: impl FnOnce(&mut Vec<u8>)) {
    edit_extensions(message, |all| edit(&mut all.last_mut().expect("pre_shared_key").1));
}

#[test]
fn a_wrong_binder() {
    refuses(|m| *m.last_mut().unwrap() ^= 1, PeerMisbehaved::BadBinder, Alert::DECRYPT_ERROR);
    refuses(|m| m[6] ^= 1, PeerMisbehaved::BadBinder, Alert::DECRYPT_ERROR); // another random
    refuses(|m| add_extension(m, Ext(0x1234), b""), PeerMisbehaved::BadBinder, Alert::DECRYPT_ERROR);
    let longer = |m: &mut Vec<u8>| {
        edit_psk(m, |body| {
            let at = body.len() - 33;
            body[at] += 1;
            body[at - 1] += 1;
            body.push(0);
        });
    };
    refuses(longer, PeerMisbehaved::BadBinder, Alert::DECRYPT_ERROR);
}

#[test]
fn a_changed_ticket_age() {
    let age = |m: &mut Vec<u8>| {
        edit_psk(m, |body| {
            let at = body.len() - 36;
            body[at] ^= 1;
        })
    };
    refuses(age, PeerMisbehaved::BadBinder, Alert::DECRYPT_ERROR);
}

#[test]
fn a_key_that_is_not_last() {
    let swap = |m: &mut Vec<u8>| edit_extensions(m, |all| all.rotate_right(1));
    let error = PeerMisbehaved::MisplacedExtension(Ext::PRE_SHARED_KEY);
    refuses(swap, error, Alert::ILLEGAL_PARAMETER);
    let behind = |m: &mut Vec<u8>| edit_extensions(m, |all| all.push((Ext(0x1234), vec![])));
    refuses(behind, error, Alert::ILLEGAL_PARAMETER);
}

#[test]
fn a_key_without_modes() {
    let error = PeerMisbehaved::MissingExtension(Ext::PSK_KEY_EXCHANGE_MODES);
    refuses(|m| remove_extension(m, Ext::PSK_KEY_EXCHANGE_MODES), error, Alert::MISSING_EXTENSION);
}

#[test]
fn lists_that_do_not_parse() {
    let missing_binder = |m: &mut Vec<u8>| {
        edit_psk(m, |body| {
            let identities = 2 + usize::from(u16::from_be_bytes([body[0], body[1]]));
            let identity = body[2..identities].to_vec();
            body.splice(identities..identities, identity.iter().copied());
            let len = (2 * identity.len()) as u16;
            body[..2].copy_from_slice(&len.to_be_bytes());
        })
    };
    refuses(missing_binder, InvalidMessage::IllegalValue, Alert::ILLEGAL_PARAMETER);
    refuses(|m| edit_psk(m, Vec::clear), InvalidMessage::Truncated, Alert::DECODE_ERROR);
    refuses(|m| edit_psk(m, |body| *body = vec![0; 4]), InvalidMessage::IllegalLength, Alert::DECODE_ERROR);
    let no_modes = |m: &mut Vec<u8>| terse_testkit::fault::set_extension(m, Ext::PSK_KEY_EXCHANGE_MODES, &[0]);
    refuses(no_modes, InvalidMessage::IllegalLength, Alert::DECODE_ERROR);
}

/// The binder of the second ClientHello covers the first one and the HelloRetryRequest.
#[test]
fn a_binder_over_the_wrong_transcript() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        world.connect(0);
        world.setup = world.setup.with_hello_retry(true);
        // The server saw another first ClientHello than the client has in mind.
        let mut pair = world.pair(1);
        let mut hello = pair.transmit(Side::Client);
        *hello.last_mut().unwrap() ^= 1; // of a binder that nobody checks yet
        pair.deliver(Side::Server, hello).unwrap();
        let failed = pair.run().unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Server, PeerMisbehaved::BadBinder.into()));
    }
}

#[test]
fn a_second_client_hello_with_a_wrong_binder() {
    let mut world = World::new(Kept::InTickets);
    world.connect(0);
    world.setup = world.setup.with_hello_retry(false);
    world.setup.client.fault(Some(nth(CH, 1, |m| *m.last_mut().unwrap() ^= 1)));
    assert_eq!(world.refused(1).error, PeerMisbehaved::BadBinder.into());
}

/// A client may leave its keys out of the second ClientHello (RFC 9846, 4.2.2).
#[test]
fn a_second_client_hello_without_the_key_is_a_full_handshake() {
    let mut world = World::new(Kept::InTickets);
    world.connect(0);
    world.setup = world.setup.with_hello_retry(false);
    world.setup.client.fault(Some(nth(CH, 1, |m| remove_extension(m, Ext::PRE_SHARED_KEY))));
    assert_eq!(world.mode(1), Mode::Full);
}

#[test]
fn early_data_in_the_second_client_hello() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.connect(0);
    world.setup = world.setup.with_hello_retry(false);
    world.setup.client.fault(Some(nth(CH, 1, |m| add_extension(m, Ext::EARLY_DATA, b""))));
    let failed = run(&mut world.pair(1)).unwrap_err();
    assert_eq!((failed.side, failed.error), (Side::Server, PeerMisbehaved::ChangedClientHello.into()));
}

/// EndOfEarlyData may be neither left out nor doubled, nor come under the wrong key.
#[test]
fn an_end_of_early_data_that_is_not_as_it_should_be() {
    const END: HandshakeType = HandshakeType::END_OF_EARLY_DATA;
    let alter_end = |alter: fn(&mut Vec<u8>)| {
        let mut world = World::with_early_data(Kept::InTickets);
        world.connect(0);
        world.setup.client.fault(Some(first(END, alter)));
        run(&mut world.pair(1)).unwrap_err()
    };
    let failed = alter_end(Vec::clear);
    assert_eq!((failed.side, failed.error.alert()), (Side::Server, Some(Alert::BAD_RECORD_MAC)));
    let failed = alter_end(|m| m.extend_from_within(..));
    assert_eq!(failed.error, PeerMisbehaved::MessageCrossesKeyChange.into());
    let failed = alter_end(|m| m[3] = 1);
    assert_eq!(failed.side, Side::Server);
    let failed = alter_end(|m| *m = vec![END.0, 0, 0, 1, 0]);
    assert_eq!(failed.error, InvalidMessage::TrailingData.into());
}

#[test]
fn an_end_of_early_data_where_there_is_none() {
    for early in [false, true] {
        let mut world = if early { World::with_early_data(Kept::InTickets) } else { World::new(Kept::InTickets) };
        world.connect(0);
        if early {
            // The early data is rejected, so the server must not see its end.
            world.setup.server.resumption(Some(world.server_resumption(Kept::InTickets, 7200)));
        }
        let end = [HandshakeType::END_OF_EARLY_DATA.0, 0, 0, 0];
        world.setup.client.fault(Some(fault(move |_, kind, message| {
            if matches!(kind, HandshakeType::CERTIFICATE | HandshakeType::FINISHED) {
                message.splice(0..0, end);
            }
        })));
        let failed = run(&mut world.pair(1)).unwrap_err();
        let error = PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::END_OF_EARLY_DATA);
        assert_eq!((failed.side, failed.error), (Side::Server, error.into()));
    }
}

/// A client sends certificates where a pre-shared key authenticates it.
#[test]
fn a_certificate_in_a_resumed_handshake() {
    let mut world = World::new(Kept::InTickets);
    world.connect(0);
    world.setup.client.fault(Some(first(HandshakeType::FINISHED, |m| {
        m.splice(0..0, [HandshakeType::CERTIFICATE.0, 0, 0, 4, 0, 0, 0, 0]);
    })));
    let failed = world.refused(1);
    let error = PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::CERTIFICATE);
    assert_eq!((failed.side, failed.error), (Side::Server, error.into()));
}

/// A ClientHello of a client without certificates needs no signature_algorithms; but without a key that is known they are
/// missing (RFC 9846, 4.3.3).
#[test]
fn signature_algorithms_are_missing_only_where_they_are_needed() {
    let strip: fn(&mut Vec<u8>) = |m| remove_extension(m, Ext::SIGNATURE_ALGORITHMS);
    refuses(strip, PeerMisbehaved::BadBinder, Alert::DECRYPT_ERROR); // the key is known, the binder covered them
    let mut world = World::new(Kept::InTickets);
    world.connect(0);
    world.setup.server.resumption(None);
    world.setup.client.fault(Some(first(CH, strip)));
    let failed = world.refused(1);
    let error = PeerMisbehaved::MissingExtension(Ext::SIGNATURE_ALGORITHMS);
    assert_eq!((failed.side, failed.error), (Side::Server, error.into()));
}

/// A client with a forged Finished does not resume, and does not show as connected.
#[test]
fn a_wrong_finished() {
    let mut world = World::new(Kept::InTickets);
    world.connect(0);
    world.setup.client.fault(Some(first(HandshakeType::FINISHED, |m| m[10] ^= 1)));
    let mut pair = world.pair(1);
    assert_eq!(pair.run().unwrap_err().error, PeerMisbehaved::BadFinished.into());
    assert!(!pair.server.is_connected());
}
