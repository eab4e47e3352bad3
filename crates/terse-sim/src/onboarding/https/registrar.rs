//! A registrar over HTTPS.

use alloc::sync::Arc;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pki_types::CertificateDer;
use terse_tls::{Connection, ServerConfig};

use super::PORT;
use super::message::Message;
use super::stream::Stream;
use crate::direction::Direction;
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::onboarding::clock::Clock;
use crate::onboarding::journal::Shared;
use crate::onboarding::services::{Asked, Services};
use crate::{Random, Time, tcp};

/// A registrar.
pub(in crate::onboarding) struct HttpsRegistrar {
    config: Arc<ServerConfig>,
    tcp: tcp::Config,
    services: Rc<RefCell<Services>>,
    clock: Clock,
    random: Random,
    journal: Shared,
    peers: BTreeMap<SocketId, Peer>,
}

/// A pledge, and the certificates that it has presented.
struct Peer {
    stream: Stream,
    presented: Vec<CertificateDer<'static>>,
}

impl HttpsRegistrar {
    pub(in crate::onboarding) fn new(
        (config, tcp): (Arc<ServerConfig>, tcp::Config),
        services: Rc<RefCell<Services>>,
        clock: Clock,
        random: Random,
        journal: Shared,
    ) -> Self {
        Self { config, tcp, services, clock, random, journal, peers: BTreeMap::new() }
    }

    fn receive(&mut self, now: Time, sockets: &mut Sockets<'_>, socket: SocketId) {
        let engine_now = self.clock.now(now);
        let Some(Peer { stream, presented }) = self.peers.get_mut(&socket) else { return };
        let came = stream.receive(engine_now, &mut self.random, sockets);
        if let Some(chain) = came.connected {
            *presented = chain;
        }
        for message in &came.messages {
            let path = message.start.split(' ').nth(1).unwrap_or_default();
            let asked = Asked {
                path,
                content_type: message.field("Content-Type"),
                accept: message.field("Accept"),
                body: &message.body,
                is_constrained: false,
            };
            let given = self.services.borrow_mut().answer(presented, &asked, self.clock.unix(now));
            let content_type = Some(given.content_type).filter(|content_type| !content_type.is_empty());
            let retry_after = given.retry_after.map(|seconds| seconds.to_string());
            let answer = Message::new(format!("HTTP/1.1 {} {}", given.status, reason(given.status)), given.body);
            let answer = answer.with("Content-Type", content_type).with("Retry-After", retry_after.as_deref());
            stream.send(&answer);
        }
        if came.over.is_some() {
            stream.close();
        }
        stream.flush(engine_now, sockets, &mut self.journal.borrow_mut());
        if came.over.is_some() {
            self.peers.remove(&socket);
            sockets.close(socket);
        }
    }
}

impl Application for HttpsRegistrar {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        sockets.listen(PORT, self.tcp.clone());
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match event {
            SocketEvent::Accepted { socket, .. } => {
                match Connection::server(self.config.clone(), self.clock.now(now)) {
                    Ok(connection) => {
                        let stream = Stream::new(socket, Direction::Down, connection);
                        self.peers.insert(socket, Peer { stream, presented: Vec::new() });
                    }
                    Err(error) => self.journal.borrow_mut().fail(error),
                }
            }
            SocketEvent::Readable(socket) => self.receive(now, sockets, socket),
            SocketEvent::Writable(socket) => {
                if let Some(peer) = self.peers.get_mut(&socket) {
                    peer.stream.flush(self.clock.now(now), sockets, &mut self.journal.borrow_mut());
                }
            }
            SocketEvent::PeerFinished(socket) => {
                if self.peers.remove(&socket).is_some() {
                    sockets.close(socket);
                }
            }
            SocketEvent::Closed(socket) | SocketEvent::Failed(socket, _) => drop(self.peers.remove(&socket)),
            SocketEvent::Connected(_) => {}
        }
    }
}

/// Returns the reason phrase of a status (RFC 9110, 15).
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "",
    }
}
