//! The code that handles messages on one side.
//!
//! A connection calls it by a pointer, which only the constructors of that side name. A firmware with clients alone has no server in
//! it: its linker drops the rest.

use super::{Handshake, Message, Output};
use crate::error::Error;

/// What handles messages and signatures on one side.
pub(crate) struct Code {
    /// Handles the next message.
    pub(crate) handle: fn(Handshake, Message<'_>, &mut Output<'_>) -> Result<Handshake, Error>,
    /// Continues with the signature that [`Handshake::signature_request`] requests.
    pub(crate) signed: fn(Handshake, &[u8], &mut Output<'_>) -> Result<Handshake, Error>,
}

impl Code {
    /// Clients.
    pub(crate) const CLIENT: &'static Self = &Self { handle: client, signed: signed_by_client };

    /// Servers.
    pub(crate) const SERVER: &'static Self = &Self { handle: server, signed: signed_by_server };
}

fn client(handshake: Handshake, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
    match handshake {
        Handshake::Client(state) => state.handle(message, output),
        Handshake::Tls12Client(state) => state.handle(message, output),
        Handshake::Tls13Client(state) => state.handle(message, output),
        state => traffic(state, message, output),
    }
}

pub(super) fn server(handshake: Handshake, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
    match handshake {
        Handshake::Server(state) => state.handle(message, output),
        Handshake::Tls12Server(state) => state.handle(message, output),
        Handshake::Tls13Server(state) => state.handle(message, output),
        state => traffic(state, message, output),
    }
}

/// Handles a message after the handshake.
fn traffic(handshake: Handshake, message: Message<'_>, output: &mut Output<'_>) -> Result<Handshake, Error> {
    match handshake {
        Handshake::Tls12Traffic(state) => state.handle(message, output).map(Handshake::Tls12Traffic),
        Handshake::Tls13Traffic(state) => state.handle(message, output).map(Handshake::Tls13Traffic),
        _ => Err(message.unexpected()),
    }
}

fn signed_by_client(handshake: Handshake, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
    match handshake {
        Handshake::Tls12Client(state) => state.signed(signature, output),
        Handshake::Tls13Client(state) => state.signed(signature, output),
        state => Ok(state),
    }
}

fn signed_by_server(handshake: Handshake, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
    match handshake {
        Handshake::Tls12Server(state) => state.signed(signature, output),
        Handshake::Tls13Server(state) => state.signed(signature, output),
        state => Ok(state),
    }
}
