//! The engine runs on a host of the simulator: TLS over TCP, DTLS over UDP. The client sends a line, the server answers
//! it, and both close.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use pki_types::UnixTime;
use terse_sim::host::{Application, SocketEvent, SocketId, Sockets};
use terse_sim::tcp::Config;
use terse_sim::{Random, Time};
use terse_testkit::pki::{NOW, server_address};
use terse_tls::{ClientConfig, Connection, Instant, KeyLog, Now, ServerConfig};

/// The line of the client, which the server echoes.
pub(crate) const LINE: &[u8] = b"a line of the application";

/// A side of a connection.
#[derive(Debug)]
pub(crate) struct Engine {
    side: Side,
    tcp: Option<Config>,
    connection: Option<Connection>,
    random: Random,
    socket: Option<SocketId>,
    peer: Option<SocketAddr>,
    /// Output that the socket of a stream did not take yet.
    unsent: Vec<u8>,
    said: bool,
    pub(crate) heard: Vec<u8>,
}

#[derive(Debug)]
pub(crate) enum Side {
    Client(Arc<ClientConfig>, SocketAddr),
    Server(Arc<ServerConfig>),
}

/// A key log that keeps its lines.
#[derive(Debug, Default)]
pub(crate) struct Keys(pub(crate) Mutex<String>);

impl KeyLog for Keys {
    fn log(&self, label: &'static str, client_random: &[u8; 32], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
        self.0.lock().expect("nobody panicked").push_str(&line);
    }
}

impl Engine {
    /// Creates an engine over TCP with this configuration, or over UDP.
    pub(crate) fn new(side: Side, tcp: Option<Config>, random: Random) -> Self {
        Self {
            side,
            tcp,
            connection: None,
            random,
            socket: None,
            peer: None,
            unsent: Vec::new(),
            said: false,
            heard: Vec::new(),
        }
    }

    fn begin(&mut self, now: Time) {
        self.connection = Some(match &self.side {
            Side::Client(config, _) => {
                let client = Connection::client(config.clone(), server_address(), at(now), &mut self.random);
                client.expect("a configuration that works")
            }
            Side::Server(config) => Connection::server(config.clone(), at(now)).expect("a configuration that works"),
        });
    }

    fn take(&mut self, now: Time, input: &mut [u8]) {
        let Some(connection) = &mut self.connection else { return };
        let (mut rest, mut buffer) = (input, [0; 256]);
        while !rest.is_empty() {
            let taken = connection.handle_input(at(now), &mut self.random, rest).expect("an honest peer");
            rest = &mut rest[taken..];
            while let len @ 1.. = connection.recv(&mut buffer) {
                self.heard.extend_from_slice(&buffer[..len]);
            }
        }
    }

    /// Reads, writes and sends all that is due.
    fn go_on(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let (Some(connection), Some(socket)) = (&mut self.connection, self.socket) else { return };
        let is_client = matches!(self.side, Side::Client(..));
        if connection.is_connected() && !self.said && (is_client || !self.heard.is_empty()) {
            self.said = true;
            connection.send(LINE).expect("it is connected");
        }
        if is_client && !self.heard.is_empty() {
            connection.close();
        }
        let mut buffer = [0; 2048];
        while let Some(len) = connection.poll_transmit(at(now), &mut buffer) {
            match self.peer {
                Some(peer) if self.tcp.is_none() => {
                    sockets.send_to(socket, peer, &buffer[..len]).expect("datagrams are made to fit");
                }
                _ => self.unsent.extend_from_slice(&buffer[..len]),
            }
        }
        let taken = sockets.send(socket, &self.unsent);
        self.unsent.drain(..taken);
        if is_client && !self.heard.is_empty() && self.unsent.is_empty() && self.tcp.is_some() {
            sockets.close(socket);
        }
    }
}

impl Application for Engine {
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        match (&self.side, &self.tcp) {
            (Side::Client(_, peer), Some(config)) => self.socket = sockets.connect(*peer, config.clone()),
            (Side::Server(_), Some(config)) => assert!(sockets.listen(4433, config.clone()).is_some()),
            (Side::Client(_, peer), None) => {
                self.peer = Some(*peer);
                self.socket = sockets.bind(0);
                self.begin(now);
                self.go_on(now, sockets);
            }
            (Side::Server(_), None) => self.socket = sockets.bind(4433),
        }
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        match event {
            SocketEvent::Connected(socket) | SocketEvent::Accepted { socket, .. } => {
                self.socket = Some(socket);
                self.begin(now);
            }
            SocketEvent::Readable(socket) if self.tcp.is_some() => {
                let mut input = vec![0; sockets.readable(socket)];
                sockets.recv(socket, &mut input);
                self.take(now, &mut input);
            }
            SocketEvent::Readable(socket) => {
                while let Some((peer, mut datagram)) = sockets.recv_from(socket) {
                    self.peer = Some(peer);
                    if self.connection.is_none() {
                        self.begin(now);
                    }
                    self.take(now, &mut datagram);
                }
            }
            SocketEvent::PeerFinished(socket) => sockets.close(socket),
            _ => {}
        }
        self.go_on(now, sockets);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.connection.as_ref()?.poll_timeout().map(|Instant(at)| Time::from_millis(at))
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(at(now)).expect("the peer answers in the end");
        }
        self.go_on(now, sockets);
    }
}

/// Returns virtual time as the engine's time.
fn at(now: Time) -> Now {
    let unix = UnixTime::since_unix_epoch(core::time::Duration::from_secs(NOW + now.as_millis() / 1000));
    Now::new(Instant(now.as_millis()), Some(unix))
}
