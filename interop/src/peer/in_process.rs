//! Runs our own side over datagrams in this process, for orders that the command does not take: when to replace its keys,
//! and when to change its connection ID.
//!
//! Nothing happens in the background: each call also does what is due meanwhile.

use core::net::SocketAddr;
use core::time::Duration;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Instant;

use serde_json::Value;
use terse_net::{OsRng, Report};
use terse_tls::{
    ApiMisuse, Connection, ConnectionHandle, ConnectionIdUsage, Endpoint, EndpointEvent, EndpointLimits, Error, Event,
    Now, ProtocolVersion,
};

use super::{Implementation, Remote, Way};
use crate::case::{Case, clock};
use crate::features::Carrier;
use crate::process::LIMIT;

/// Both versions of DTLS.
pub(super) struct TerseNet;

impl Implementation for TerseNet {
    fn name(&self) -> &'static str {
        "terse-net"
    }

    fn version(&self) -> Result<String, String> {
        Ok(env!("CARGO_PKG_VERSION").into())
    }

    fn speaks(&self, _: ProtocolVersion, carrier: Carrier) -> bool {
        carrier == Carrier::Udp
    }

    fn server(&self, case: &Case) -> Option<(Box<dyn Remote>, u16)> {
        let (server, port) = server(case);
        Some((Box::new(server), port))
    }

    fn client(&self, case: &Case, way: Way) -> Option<Box<dyn Remote>> {
        Some(Box::new(client(case, way.port())))
    }
}

/// Returns a client that sends to `port` of this machine.
fn client(case: &Case, port: u16) -> InProcess<Client> {
    let connection = Connection::client(case.client_config(), case.address(), clock().now(), &mut OsRng);
    let server = (Ipv4Addr::LOCALHOST, port).into();
    InProcess::new(Client { connection: connection.expect("a valid configuration"), server })
}

/// Returns a server and its port.
fn server(case: &Case) -> (InProcess<Server>, u16) {
    let endpoint = Endpoint::new(case.server_config(), EndpointLimits::default(), &mut OsRng);
    let own = InProcess::new(Server { endpoint: endpoint.expect("a valid configuration"), client: None });
    let port = own.socket.local_addr().expect("it is bound").port();
    (own, port)
}

/// Our side with its socket.
struct InProcess<T> {
    side: T,
    socket: UdpSocket,
    received: Vec<u8>,
    has_ended: bool,
}

/// What an [`InProcess`] asks of our client or server.
trait InProcessSide {
    fn take(&mut self, now: Now, from: SocketAddr, datagram: &mut [u8]) -> Result<(), Error>;
    fn next(&mut self, now: Now, out: &mut [u8]) -> Option<(SocketAddr, usize)>;
    /// Adds received data to `received`. Returns whether the other side has closed.
    fn has_ended(&mut self, received: &mut Vec<u8>) -> bool;
    fn pass_time(&mut self, now: Now) -> Result<(), Error>;
    /// Returns the connection, once there is one.
    fn connection(&mut self) -> Option<&mut Connection>;
    fn change_connection_id(&mut self) -> Result<(), Error>;
}

impl<T: InProcessSide> InProcess<T> {
    fn new(side: T) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        socket.set_read_timeout(Some(Duration::from_millis(5))).expect("longer than nothing");
        Self { side, socket, received: Vec::new(), has_ended: false }
    }

    /// Does what is due until `is_done` returns true.
    fn run(&mut self, mut is_done: impl FnMut(&mut Self) -> Result<bool, Error>) {
        let start = Instant::now();
        let mut buffer = [0; 0x1_0000];
        loop {
            let done = is_done(self).unwrap_or_else(|error| panic!("our side cannot: {error}"));
            while let Some((to, len)) = self.side.next(clock().now(), &mut buffer) {
                let _ = self.socket.send_to(&buffer[..len], to); // else it counts as lost
            }
            if done {
                return;
            }
            assert!(start.elapsed() < LIMIT, "what our side waits for did not happen in time");
            let result = match self.socket.recv_from(&mut buffer) {
                Ok((len, from)) => self.side.take(clock().now(), from, &mut buffer[..len]),
                Err(_) => self.side.pass_time(clock().now()), // the end of the wait
            };
            result.unwrap_or_else(|error| panic!("our side failed: {error}"));
            self.has_ended |= self.side.has_ended(&mut self.received);
        }
    }

    /// Calls `act` until it no longer has to wait for an earlier key update or change of connection IDs.
    fn with_connection(&mut self, mut act: impl FnMut(&mut T) -> Result<(), Error>) {
        self.run(|own| match act(&mut own.side) {
            Err(Error::ApiMisuse(ApiMisuse::KeyUpdateUnderWay | ApiMisuse::ConnectionIdsUnderWay)) => Ok(false),
            result => result.map(|()| true),
        });
    }
}

impl<T: InProcessSide> Remote for InProcess<T> {
    fn send(&mut self, data: &[u8]) {
        self.run(|own| Ok(own.side.connection().is_some_and(|connection| connection.is_connected())));
        self.run(|own| own.side.connection().map_or(Ok(0), |connection| connection.send(data)).map(|len| len > 0));
    }

    fn expect(&mut self, data: &[u8]) {
        self.run(|own| Ok(own.received.len() >= data.len()));
        assert_eq!(core::mem::take(&mut self.received), data);
    }

    fn update_keys(&mut self) {
        self.with_connection(|side| side.connection().expect("a connection").update_keys(true));
    }

    fn change_connection_id(&mut self) {
        self.with_connection(InProcessSide::change_connection_id);
    }

    fn close(&mut self) {
        self.run(|own| {
            own.side.connection().expect("a connection").close();
            Ok(true)
        });
    }

    fn expect_close(&mut self) {
        self.run(|own| Ok(own.has_ended));
    }

    fn report(&mut self) -> Option<Value> {
        let connection = self.side.connection().expect("a connection");
        Some(serde_json::to_value(Report::new(connection.summary(), None)).expect("a report is JSON"))
    }
}

/// Our client in this process.
struct Client {
    connection: Connection,
    server: SocketAddr,
}

impl InProcessSide for Client {
    fn take(&mut self, now: Now, _: SocketAddr, datagram: &mut [u8]) -> Result<(), Error> {
        let taken = self.connection.handle_input(now, &mut OsRng, datagram)?;
        assert_eq!(taken, datagram.len(), "one message for a datagram, and no signature that is waited for");
        Ok(())
    }

    fn next(&mut self, now: Now, out: &mut [u8]) -> Option<(SocketAddr, usize)> {
        self.connection.poll_transmit(now, out).map(|len| (self.server, len))
    }

    fn has_ended(&mut self, received: &mut Vec<u8>) -> bool {
        let mut buffer = [0; 0x1000];
        let len = self.connection.recv(&mut buffer);
        received.extend_from_slice(&buffer[..len]);
        core::iter::from_fn(|| self.connection.poll_event()).any(|event| event == Event::PeerClosed)
    }

    fn pass_time(&mut self, now: Now) -> Result<(), Error> {
        match self.connection.poll_timeout() {
            Some(timeout) if timeout <= now.monotonic => self.connection.handle_timeout(now),
            _ => Ok(()),
        }
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        Some(&mut self.connection)
    }

    fn change_connection_id(&mut self) -> Result<(), Error> {
        self.connection.issue_connection_ids(1, ConnectionIdUsage::CidImmediate, &mut OsRng)
    }
}

/// Our server in this process, with one client.
struct Server {
    endpoint: Endpoint,
    client: Option<ConnectionHandle>,
}

impl InProcessSide for Server {
    fn take(&mut self, now: Now, from: SocketAddr, datagram: &mut [u8]) -> Result<(), Error> {
        self.endpoint.handle_datagram(now, &mut OsRng, from, datagram);
        Ok(())
    }

    fn next(&mut self, now: Now, out: &mut [u8]) -> Option<(SocketAddr, usize)> {
        self.endpoint.poll_transmit(now, out).map(|(to, len)| (to.address(), len))
    }

    fn has_ended(&mut self, received: &mut Vec<u8>) -> bool {
        let mut has_ended = false;
        while let Some((handle, event)) = self.endpoint.poll_event() {
            match event {
                EndpointEvent::Connected => self.client = Some(handle),
                EndpointEvent::Data(data) => received.extend(data),
                EndpointEvent::PeerClosed => has_ended = true,
                other => panic!("our server: {other:?}"),
            }
        }
        has_ended
    }

    fn pass_time(&mut self, now: Now) -> Result<(), Error> {
        self.endpoint.handle_timeout(now);
        Ok(())
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        self.endpoint.connection(self.client?)
    }

    fn change_connection_id(&mut self) -> Result<(), Error> {
        let client = self.client.expect("a client that has said something");
        self.endpoint.issue_connection_ids(client, 1, ConnectionIdUsage::CidImmediate, &mut OsRng)
    }
}
