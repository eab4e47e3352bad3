//! What a host of a scenario runs: one side of a handshake, of the engine, of a script or of EDHOC.

use core::time::Duration;

use crate::engine::Program;
use crate::host::{Application, SocketEvent, Sockets};
use crate::{Time, edhoc, script};

/// One side of a handshake.
pub(super) enum Peer<'w, 'a> {
    /// The engine.
    Engine(Box<Program<'w, 'a>>),
    /// A script.
    Script(Box<script::Peer>),
    /// EDHOC.
    Edhoc(edhoc::Peer),
}

impl Peer<'_, '_> {
    /// Returns when the handshake was complete on this side.
    pub(super) fn connected(&self) -> Option<Time> {
        match self {
            Self::Engine(program) => program.connected,
            Self::Script(peer) => peer.connected(),
            Self::Edhoc(peer) => peer.outcome()?.connected,
        }
    }

    /// Returns why the handshake failed on this side, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        match self {
            Self::Engine(program) => program.failure.clone(),
            Self::Script(peer) => peer.failure().map(str::to_owned),
            Self::Edhoc(peer) => peer.outcome()?.failure.clone(),
        }
    }

    /// Returns how often this side sent a flight of DTLS again.
    pub(super) fn repeated_flights(&mut self) -> u64 {
        match self {
            Self::Engine(program) => {
                program.connection().map_or(0, |connection| u64::from(connection.summary().retransmissions))
            }
            Self::Script(peer) => peer.outcomes().map(|outcome| u64::from(outcome.repeated_flights)).sum(),
            Self::Edhoc(peer) => peer.outcome().map_or(0, |outcome| u64::from(outcome.repeated_flights)),
        }
    }

    /// Returns how long this side has computed, as far as it counts that.
    pub(super) fn computed(&self) -> Option<Duration> {
        match self {
            Self::Engine(program) => Some(program.computing()),
            Self::Script(_) => None,
            Self::Edhoc(peer) => Some(peer.computing()),
        }
    }

    fn application(&mut self) -> &mut dyn Application {
        match self {
            Self::Engine(program) => &mut **program,
            Self::Script(peer) => &mut **peer,
            Self::Edhoc(peer) => peer,
        }
    }
}

impl Application for Peer<'_, '_> {
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.application().start(now, sockets);
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        self.application().handle_event(now, event, sockets);
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Engine(program) => program.poll_timeout(),
            Self::Script(peer) => peer.poll_timeout(),
            Self::Edhoc(peer) => peer.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.application().handle_timeout(now, sockets);
    }
}
