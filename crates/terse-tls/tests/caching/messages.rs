//! Listens to handshake messages on both sides, and makes them by hand.

use alloc::sync::Arc;
use std::sync::Mutex;

use terse_testkit::fault::fault;
use terse_testkit::pair::Side;
use terse_tls::{Fault, HandshakeType, ProtocolVersion};

use super::world::{Done, TLS12, TLS13, World};

/// All handshake messages of one connection, in order, as both sides meant them.
pub(crate) struct Messages(Vec<(Side, HandshakeType, Vec<u8>)>);

impl Messages {
    /// Connects, and listens.
    pub(crate) fn of(world: &mut World) -> (Self, Done) {
        let messages = Arc::new(Mutex::new(Vec::new()));
        let ear = |side| -> Option<Arc<dyn Fault>> {
            let messages = messages.clone();
            Some(fault(move |_, kind, message| messages.lock().unwrap().push((side, kind, message.clone()))))
        };
        world.client.fault(ear(Side::Client));
        world.server.fault(ear(Side::Server));
        let done = world.connect().unwrap();
        world.client.fault(None);
        world.server.fault(None);
        let messages = messages.lock().unwrap().clone();
        (Self(messages), done)
    }

    /// Each with its header.
    pub(crate) fn bytes(&self) -> Vec<&[u8]> {
        self.0.iter().map(|(_, _, bytes)| &bytes[..]).collect()
    }

    /// Returns who sent which message.
    pub(crate) fn kinds(&self) -> Vec<(Side, u8)> {
        self.0.iter().map(|(side, kind, _)| (*side, kind.0)).collect()
    }

    /// Returns the first message of its kind from `side`.
    pub(crate) fn find(&self, side: Side, kind: HandshakeType) -> &[u8] {
        let found = self.0.iter().find(|(from, sent, _)| (*from, *sent) == (side, kind));
        &found.expect("the message was sent").2
    }
}

/// Returns the message in which a server replies to the caching extensions.
pub(crate) fn reply_of(version: ProtocolVersion) -> HandshakeType {
    match version {
        TLS12 => HandshakeType::SERVER_HELLO,
        _ => HandshakeType::ENCRYPTED_EXTENSIONS,
    }
}

/// The body of a Certificate with an empty context; each entry is its data and its extensions, which TLS 1.2 does not
/// have.
pub(crate) fn certificate(version: ProtocolVersion, entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let uint24 = |len: usize| (len as u32).to_be_bytes()[1..].to_vec();
    let mut list = Vec::new();
    for (cert_data, extensions) in entries {
        list.extend([&uint24(cert_data.len())[..], cert_data].concat());
        if version == TLS13 {
            list.extend([&(extensions.len() as u16).to_be_bytes()[..], extensions].concat());
        }
    }
    let context: &[u8] = if version == TLS13 { &[0] } else { &[] };
    [context, &uint24(list.len()), &list].concat()
}

/// Returns the body that stands for the server's Certificate.
pub(crate) fn cached_form(version: ProtocolVersion, fingerprint: &[u8]) -> Vec<u8> {
    match version {
        TLS12 => [&[fingerprint.len() as u8], fingerprint].concat(),
        _ => certificate(version, &[(fingerprint, &[])]),
    }
}

/// Returns the body that stands for the client's Certificate.
pub(crate) fn reduced_form(version: ProtocolVersion) -> Vec<u8> {
    match version {
        TLS12 => Vec::new(),
        _ => certificate(version, &[(&[], &[])]),
    }
}
