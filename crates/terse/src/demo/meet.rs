//! The two parties of `terse demo` connect on loopback: over TCP, or over UDP.

use alloc::sync::Arc;
use core::time::Duration;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::{io, thread};

use terse_net::{DatagramClient, DatagramEvent, DatagramServer, NetError, OsRng, Stream, Timed, explain};
use terse_tls::summary::Summary;
use terse_tls::{
    CipherSuite, ClientConfig, ConfigBuilder, Connection, Datagrams, EndpointLimits, Error, ServerAddress,
};

use super::{BROKER, Demo, SENSOR, failed};
use crate::failure::Failure;

/// The result of a connection, as both sides saw it, with the problem if it failed.
pub(super) struct Outcome {
    pub(super) client: Summary,
    pub(super) server: Summary,
    pub(super) problem: Option<String>,
}

/// The time limit of a connection: none takes longer, on any machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The retransmission timeout in milliseconds: loopback loses nothing, so that only a slow machine could let a timer
/// expire.
const PATIENCE: u64 = 20_000;

const MEASUREMENT: &[u8] = b"21.5 C";
const ANSWER: &[u8] = b"noted";

impl Demo {
    /// Connects over TCP with TLS 1.3.
    pub(super) fn meet_over_a_stream(&self, mut config: ConfigBuilder<ClientConfig>) -> Result<Outcome, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(no_socket)?;
        let address = listener.local_addr().map_err(no_socket)?;
        // The kernel completes a connection before it is accepted.
        let client_socket = TcpStream::connect(address).map_err(no_socket)?;
        let (server_socket, _) = listener.accept().map_err(no_socket)?;

        // A device offers what it needs, not everything that it could do.
        config.suites(vec![CipherSuite::TLS_AES_128_GCM_SHA256]);
        let first = config.config().common().groups().first().copied();
        config.groups(first.as_slice());
        let client = self.sensor(&config)?;
        let server =
            Connection::server(Arc::new(self.server.build().map_err(failed)?), self.clock.now()).map_err(failed)?;
        let mut client = self.stream(client, client_socket).map_err(no_socket)?;
        let mut server = self.stream(server, server_socket).map_err(no_socket)?;

        let (client_result, server_result) = thread::scope(|scope| {
            let broker = scope.spawn(|| broker_on_a_stream(&mut server));
            let client_result = sensor_on_a_stream(&mut client);
            if client_result.is_err() {
                client.transport_mut().linger(Duration::from_secs(2));
            }
            (client_result, broker.join())
        });
        let problem = problem(client_result, server_result);
        Ok(Outcome {
            client: client.connection().summary().clone(),
            server: server.connection().summary().clone(),
            problem,
        })
    }

    /// Connects over UDP with DTLS 1.3.
    pub(super) fn meet_over_datagrams(&self, mut config: ConfigBuilder<ClientConfig>) -> Result<Outcome, Failure> {
        let datagrams = Datagrams::default().initial_timeout(PATIENCE).min_timeout(PATIENCE);
        let server_socket = UdpSocket::bind("127.0.0.1:0").map_err(no_socket)?;
        let address = server_socket.local_addr().map_err(no_socket)?;
        let client_socket = UdpSocket::bind("127.0.0.1:0").map_err(no_socket)?;
        client_socket.connect(address).map_err(no_socket)?;

        config.datagrams(Some(datagrams));
        let mut client = DatagramClient::new(self.sensor(&config)?, client_socket, self.clock);
        client.set_limit(TIME_LIMIT);
        let mut config = self.server.clone();
        config.datagrams(Some(datagrams));
        let config = Arc::new(config.build().map_err(failed)?);
        let server = DatagramServer::new(config, EndpointLimits::default(), server_socket, self.clock);
        let mut server = server.map_err(failed)?;

        let mut server_summary = Summary::default();
        let (client_result, server_result) = thread::scope(|scope| {
            let broker = scope.spawn(|| broker_on_datagrams(&mut server, &mut server_summary));
            (sensor_on_datagrams(&mut client), broker.join())
        });
        let problem = problem(client_result, server_result);
        Ok(Outcome { client: client.connection().summary().clone(), server: server_summary, problem })
    }

    fn sensor(&self, config: &ConfigBuilder<ClientConfig>) -> Result<Connection, Failure> {
        // The port is part of the cache's scope, and loopback picks a new one each time.
        let address = ServerAddress::new(self.name.clone(), 8883);
        let config = Arc::new(config.build().map_err(failed)?);
        Connection::client(config, address, self.clock.now(), &mut OsRng).map_err(failed)
    }

    fn stream(&self, connection: Connection, socket: TcpStream) -> io::Result<Stream<Timed>> {
        let mut transport = Timed::new(socket)?;
        transport.set_limit(TIME_LIMIT);
        Ok(Stream::new(connection, transport, self.clock))
    }
}

/// Sends a measurement, reads the answer, and waits for the server's close_notify: only then is the cache entry
/// confirmed.
fn sensor_on_a_stream(stream: &mut Stream<Timed>) -> Result<(), NetError> {
    stream.handshake()?;
    stream.send(MEASUREMENT)?;
    let mut answer = [0; 16];
    stream.receive(&mut answer)?;
    stream.close()?;
    while stream.receive(&mut answer)? > 0 {}
    Ok(())
}

fn broker_on_a_stream(stream: &mut Stream<Timed>) -> Result<(), NetError> {
    stream.handshake()?;
    let mut measurement = [0; 16];
    while stream.receive(&mut measurement)? > 0 {
        stream.send(ANSWER)?;
    }
    stream.close()
}

/// Sends a measurement, reads the answer, and waits for the server's close_notify, as [`sensor_on_a_stream`] does.
fn sensor_on_datagrams(client: &mut DatagramClient) -> Result<(), NetError> {
    client.handshake()?;
    client.send(MEASUREMENT)?;
    let mut answer = [0; 16];
    client.receive(&mut answer)?;
    client.close()?;
    while client.receive(&mut answer)? > 0 {}
    Ok(())
}

/// Serves one client, and copies the summary of its connection.
fn broker_on_datagrams(server: &mut DatagramServer, summary: &mut Summary) -> Result<(), NetError> {
    while let Some((handle, event)) = server.next_event(Some(TIME_LIMIT))? {
        if let Some(connection) = server.connection(handle) {
            *summary = connection.summary().clone();
        }
        match event {
            DatagramEvent::Data(_) => server.send(handle, ANSWER)?,
            DatagramEvent::PeerClosed => {
                server.end(handle);
                return Ok(());
            }
            DatagramEvent::Failed(error) => return Err(error.into()),
            _ => {}
        }
    }
    Err(Error::TimedOut.into())
}

fn problem(client: Result<(), NetError>, server: thread::Result<Result<(), NetError>>) -> Option<String> {
    match (client, server) {
        (_, Err(_)) => Some("the broker's thread panicked".into()),
        (Err(error), _) => Some(explain(&error, &BROKER).to_string()),
        (_, Ok(Err(error))) => Some(explain(&error, &SENSOR).to_string()),
        _ => None,
    }
}

fn no_socket(error: io::Error) -> Failure {
    Failure::Failed(format!("no connection on loopback: {error}"))
}
