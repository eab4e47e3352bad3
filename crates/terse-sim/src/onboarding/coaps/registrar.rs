//! A registrar over CoAPS: an endpoint of DTLS, and a server of CoAP for each connection.

use alloc::sync::Arc;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pki_types::CertificateDer;
use terse_brski::coap::{
    self, IncomingRequest, PathForm, Payload, Response, ServerConfig as CoapConfig, content_format,
};
use terse_brski::http::{CBOR, VOUCHER_COSE};
use terse_tls::{ConnectionHandle, Endpoint, EndpointEvent, EndpointLimits, Instant, Now, Path, ServerConfig};

use super::{CoapsOptions, block_size, records};
use crate::direction::Direction;
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::onboarding::clock::Clock;
use crate::onboarding::journal::Shared;
use crate::onboarding::jpy;
use crate::onboarding::services::{Asked, Services};
use crate::onboarding::step::Step;
use crate::{Random, Time};

/// A registrar.
pub(in crate::onboarding) struct CoapsRegistrar {
    options: CoapsOptions,
    endpoint: Endpoint,
    services: Rc<RefCell<Services>>,
    clock: Clock,
    random: Random,
    journal: Shared,
    socket: Option<SocketId>,
    /// The port, and whether a stateless join proxy sends there.
    port: Port,
    peers: BTreeMap<ConnectionHandle, Peer>,
    /// The handshake of each pledge that has not closed its connection: the step that it took when its first datagram came.
    handshakes: BTreeMap<Path, Step>,
}

/// The port of a registrar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::onboarding) enum Port {
    /// Pledges send datagrams of DTLS there.
    Coaps(u16),
    /// A stateless join proxy sends them there, behind its headers.
    Jpy(u16),
}

/// A pledge that is connected.
struct Peer {
    server: coap::Server,
    presented: Vec<CertificateDer<'static>>,
}

impl CoapsRegistrar {
    pub(in crate::onboarding) fn new(
        options: CoapsOptions,
        (config, port): (Arc<ServerConfig>, Port),
        services: Rc<RefCell<Services>>,
        clock: Clock,
        mut random: Random,
        journal: Shared,
    ) -> Result<Self, terse_tls::Error> {
        let endpoint = Endpoint::new(config, EndpointLimits::default(), &mut random)?;
        Ok(Self {
            options,
            endpoint,
            services,
            clock,
            random,
            journal,
            socket: None,
            port,
            peers: BTreeMap::new(),
            handshakes: BTreeMap::new(),
        })
    }

    fn events(&mut self, now: Time) {
        let engine_now = self.clock.now(now);
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                EndpointEvent::Connected => self.connected(handle),
                EndpointEvent::Data(data) => {
                    if let Some(peer) = self.peers.get_mut(&handle) {
                        peer.server.handle_input(engine_now, &data);
                    }
                    self.answer(now, handle);
                }
                EndpointEvent::PeerClosed => {
                    self.peers.remove(&handle);
                    if let Some(path) = self.endpoint.path(handle) {
                        self.handshakes.remove(path);
                    }
                    self.endpoint.connection(handle).into_iter().for_each(terse_tls::Connection::close);
                }
                EndpointEvent::Failed(_) | EndpointEvent::Replaced => drop(self.peers.remove(&handle)),
                _ => {}
            }
        }
    }

    fn connected(&mut self, handle: ConnectionHandle) {
        let Some(connection) = self.endpoint.connection(handle) else { return };
        let chain = connection.presented().into_iter().flat_map(|peer| peer.chain());
        let presented = chain.map(CertificateDer::into_owned).collect();
        let mut config = CoapConfig::default();
        config.transmission = self.options.transmission;
        config.block_size = block_size(connection.max_message());
        match coap::Server::new(config, &mut self.random) {
            Ok(server) => drop(self.peers.insert(handle, Peer { server, presented })),
            Err(error) => self.journal.borrow_mut().fail(error),
        }
    }

    /// Answers the requests of a pledge that are complete.
    fn answer(&mut self, now: Time, handle: ConnectionHandle) {
        let Some(Peer { server, presented }) = self.peers.get_mut(&handle) else { return };
        while let Some((id, request)) = server.poll_request() {
            let response = respond(&mut self.services.borrow_mut(), presented, &request, self.clock.unix(now));
            if let Err(error) = server.respond(self.clock.now(now), &mut self.random, id, response) {
                self.journal.borrow_mut().fail(error);
            }
        }
    }

    /// Sends what is ready: each message of CoAP in a datagram of its own, and nothing else with it.
    fn flush(&mut self, now: Now, sockets: &mut Sockets<'_>) {
        self.transmit(now, sockets, None);
        let mut message = [0; LONGEST_MESSAGE];
        let handles: Vec<ConnectionHandle> = self.peers.keys().copied().collect();
        for handle in handles {
            while let Some(len) =
                self.peers.get_mut(&handle).and_then(|peer| peer.server.poll_transmit(now, &mut message))
            {
                // What finds no room is as good as lost: it is sent again.
                let _ = self.endpoint.send(handle, &message[..len]);
                self.transmit(now, sockets, Some(len));
            }
        }
    }

    /// Sends the datagrams of DTLS, of which one may have a message of CoAP of this length.
    fn transmit(&mut self, now: Now, sockets: &mut Sockets<'_>, message: Option<usize>) {
        let Some(socket) = self.socket else { return };
        let mut datagram = [0; LONGEST_MESSAGE];
        while let Some((path, len)) = self.endpoint.poll_transmit(now, &mut datagram) {
            let records = records::overhead(&datagram[..len], self.options.dtls.tag_len());
            let handshake = self.handshakes.get(&path).copied().filter(|_| message != Some(len - records));
            let framed = match self.port {
                Port::Coaps(_) => datagram[..len].to_vec(),
                Port::Jpy(_) => jpy::encode(path.header(), &datagram[..len]),
            };
            if let Err(error) = sockets.send_to(socket, path.address(), &framed) {
                return self.journal.borrow_mut().fail(format!("a datagram of {len} bytes was not sent: {error:?}"));
            }
            self.journal.borrow_mut().note(Direction::Down, handshake, records, &datagram[..len]);
        }
    }

    /// Returns when a timer of the engine or of a server is due.
    fn deadline(&self) -> Option<Instant> {
        let servers = self.peers.values().filter_map(|peer| peer.server.poll_timeout());
        self.endpoint.poll_timeout().into_iter().chain(servers).min()
    }
}

impl Application for CoapsRegistrar {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        let (Port::Coaps(port) | Port::Jpy(port)) = self.port;
        self.socket = sockets.bind(port);
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let SocketEvent::Readable(socket) = event else { return };
        while let Some((from, mut datagram)) = sockets.recv_from(socket) {
            let engine_now = self.clock.now(now);
            let path = match self.port {
                Port::Coaps(_) => Some(Path::from(from)),
                Port::Jpy(_) => jpy::take(&mut datagram).and_then(|header| Path::new(from, &header)),
            };
            let Some(path) = path else { continue };
            self.handshakes.entry(path.clone()).or_insert_with(|| self.journal.borrow().step());
            self.endpoint.handle_datagram(engine_now, &mut self.random, path, &mut datagram);
            self.events(now);
            self.flush(engine_now, sockets);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.deadline().map(Clock::due)
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let engine_now = self.clock.now(now);
        self.endpoint.handle_timeout(engine_now);
        let is_due = |peer: &&mut Peer| peer.server.poll_timeout().is_some_and(|at| at <= engine_now.monotonic);
        self.peers.values_mut().filter(is_due).for_each(|peer| peer.server.handle_timeout(engine_now));
        self.events(now);
        self.flush(engine_now, sockets);
    }
}

/// Answers a request of a pledge that has presented these certificates.
fn respond(
    services: &mut Services,
    presented: &[CertificateDer<'_>],
    request: &IncomingRequest,
    time: pki_types::UnixTime,
) -> Response {
    let segments: Vec<&str> = request.resource.path(PathForm::WellKnown).collect();
    let asked = Asked {
        path: &segments.join("/"),
        content_type: request.content_format.and_then(media_type),
        accept: request.accept.and_then(media_type),
        body: &request.payload,
        is_constrained: true,
    };
    let reply = services.answer(presented, &asked, time);
    let content_format = FORMATS.iter().find(|(_, name)| *name == reply.content_type).map(|(format, _)| *format);
    Response::from_http(request.method, reply.status, reply.retry_after, content_format, Payload::new(reply.body))
}

fn media_type(format: u16) -> Option<&'static str> {
    FORMATS.iter().find(|(known, _)| *known == format).map(|(_, name)| *name)
}

/// The content formats of what pledges and registrars send.
const FORMATS: [(u16, &str); 5] = [
    (content_format::VOUCHER_COSE, VOUCHER_COSE),
    (content_format::CBOR, CBOR),
    (content_format::MULTIPART_CORE, "application/multipart-core"),
    (content_format::PKCS10, "application/pkcs10"),
    (content_format::PKIX_CERT, "application/pkix-cert"),
];

/// More than the longest message of CoAP, and than the longest datagram.
const LONGEST_MESSAGE: usize = 2_048;
