//! Our own side over datagrams in this process, for what the command cannot be told: when to replace its keys.
//!
//! Nothing happens by itself: the calls do what is due meanwhile.

use core::time::Duration;
use std::net::{Ipv4Addr, UdpSocket};

use serde_json::Value;
use terse_net::{DatagramClient, DatagramEvent, DatagramServer, NetError, OsRng, Report};
use terse_tls::{ApiMisuse, Connection, ConnectionHandle, EndpointLimits, Error};

use super::Remote;
use crate::case::{Case, clock};
use crate::process::LIMIT;

/// A client that sends to `port` of this machine.
pub(super) fn client(case: &Case, port: u16) -> Client {
    let socket = local();
    socket.connect((Ipv4Addr::LOCALHOST, port)).expect("a local address");
    let connection = Connection::client(case.client_config(), case.address(), clock().now(), &mut OsRng);
    let mut client = DatagramClient::new(connection.expect("a valid configuration"), socket, clock());
    client.set_limit(LIMIT);
    Client(client)
}

/// A server, and its port.
pub(super) fn server(case: &Case) -> (Server, u16) {
    let socket = local();
    let port = socket.local_addr().expect("bound above").port();
    let server = DatagramServer::new(case.server_config(), EndpointLimits::default(), socket, clock());
    let server = server.expect("a valid configuration");
    (Server { server, client: None, received: Vec::new(), report: None }, port)
}

fn local() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port")
}

/// Our client.
pub(super) struct Client(DatagramClient);

impl Remote for Client {
    fn send(&mut self, data: &[u8]) {
        if !self.0.connection().is_connected() {
            self.0.handshake().unwrap_or_else(|error| panic!("our handshake failed: {error}"));
        }
        self.0.send(data).unwrap_or_else(|error| panic!("our client cannot send: {error}"));
    }

    fn expect(&mut self, data: &[u8]) {
        let mut buffer = [0; 0x1000];
        self.0.set_limit(LIMIT);
        let len = self.0.receive(&mut buffer).unwrap_or_else(|error| panic!("our client cannot receive: {error}"));
        assert_eq!(&buffer[..len], data);
    }

    fn update_keys(&mut self) {
        self.0.update_keys(true).unwrap_or_else(|error| panic!("our client cannot change keys: {error}"));
    }

    fn close(&mut self) {
        self.0.close().unwrap_or_else(|error| panic!("our client cannot close: {error}"));
    }

    fn report(&mut self) -> Option<Value> {
        Some(said(self.0.connection()))
    }
}

/// Our server, with one client.
pub(super) struct Server {
    server: DatagramServer,
    client: Option<ConnectionHandle>,
    received: Vec<u8>,
    report: Option<Value>,
}

impl Server {
    /// Does what is due until `is_done`.
    fn run(&mut self, mut is_done: impl FnMut(&mut Self) -> bool) {
        let start = std::time::Instant::now();
        while !is_done(self) {
            assert!(start.elapsed() < LIMIT, "what our server waits for did not happen in time");
            match self.server.next_event(Some(Duration::from_millis(10))) {
                Ok(Some((handle, DatagramEvent::Connected))) => self.client = Some(handle),
                Ok(Some((_, DatagramEvent::Data(data)))) => self.received.extend(data),
                Ok(Some((handle, DatagramEvent::PeerClosed))) => {
                    self.report = self.server.connection(handle).map(said);
                    self.server.end(handle);
                }
                Ok(None) => {}
                other => panic!("our server: {other:?}"),
            }
        }
    }

    fn client(&self) -> ConnectionHandle {
        self.client.expect("a client that has said something")
    }
}

impl Remote for Server {
    fn send(&mut self, data: &[u8]) {
        let sent = self.server.send(self.client(), data);
        sent.unwrap_or_else(|error| panic!("our server cannot send: {error}"));
    }

    fn expect(&mut self, data: &[u8]) {
        self.run(|server| server.received.len() >= data.len());
        assert_eq!(core::mem::take(&mut self.received), data);
    }

    fn update_keys(&mut self) {
        let client = self.client();
        self.run(|server| match server.server.update_keys(client, true) {
            Err(NetError::Tls(Error::ApiMisuse(ApiMisuse::KeyUpdateUnderWay))) => false,
            result => result.map(|()| true).unwrap_or_else(|error| panic!("our server cannot change keys: {error}")),
        });
    }

    fn expect_close(&mut self) {
        self.run(|server| server.report.is_some());
    }

    fn report(&mut self) -> Option<Value> {
        self.report.take()
    }
}

fn said(connection: &Connection) -> Value {
    serde_json::to_value(Report::new(connection.summary(), None)).expect("a report is JSON")
}
