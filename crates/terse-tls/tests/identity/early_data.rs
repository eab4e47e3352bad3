//! Early data of identity-based handshakes (docs/identity-format.md, 8).
//!
//! - [`tickets`]: early data under an ephemeral secret ticket, which is delivered once
//! - [`first_contact`]: early data without a ticket, within its window
//! - [`answers`] to early data, before the handshake is complete
//! - [`datagrams`]: over DTLS, with loss, and where a ticket proves the address
//! - [`schedule`]: the keys, derived once more
//! - [`stateless`]: tickets that the client keeps for the server

mod answers;
mod datagrams;
mod first_contact;
mod schedule;
mod stateless;
mod tickets;

use alloc::sync::Arc;

use terse_testkit::identity::IdentityKeys;
use terse_testkit::pair::{Pair, Side, at};
use terse_tls::identity::IdentityAlgorithm;
use terse_tls::identity_early_data::{FirstContactMemory, MemorySecretTickets, SecretTickets};
use terse_tls::resume::ServerEarlyData;
use terse_tls::summary::{EarlyDataProtection, EarlyDataStatus};
use terse_tls::{
    ClientConfig, ClientIdentity, ConfigBuilder, Connection, Error, IdentityRefused, ProtocolVersion, ServerConfig,
    ServerIdentity,
};

use super::PROVIDER;

const DATA: &[u8] = b"a reading";

/// The seconds that a ticket lives.
const LIFETIME: u32 = 3600;

/// The most bytes of early data that the server takes.
const MAX_SIZE: u32 = 1000;

const RISTRETTO255: IdentityAlgorithm = IdentityAlgorithm::Ristretto255;

/// A client and a server that remember each other from one connection to the next.
struct World {
    client: ConfigBuilder<ClientConfig>,
    server: ConfigBuilder<ServerConfig>,
    of_client: ClientIdentity,
    of_server: ServerIdentity,
    tickets: Arc<MemorySecretTickets>,
    algorithm: IdentityAlgorithm,
    connections: u64,
}

impl World {
    /// Creates both sides, which want early data under tickets.
    fn new(algorithm: IdentityAlgorithm) -> Self {
        let keys = IdentityKeys::shared(algorithm);
        let (client, server) = (keys.client.clone(), keys.server.clone());
        let mut of_client = ClientConfig::builder(PROVIDER);
        of_client.versions([ProtocolVersion::TLS_1_3]);
        let mut of_server = ServerConfig::builder(PROVIDER);
        of_server.versions([ProtocolVersion::TLS_1_3]).early_data(ServerEarlyData::new(MAX_SIZE));
        let tickets = Arc::new(MemorySecretTickets::new(8));
        let store = SecretTickets::Stateful { store: tickets.clone(), lifetime_seconds: LIFETIME };
        Self {
            client: of_client,
            server: of_server,
            of_client: ClientIdentity::new(client).early_data(true),
            of_server: ServerIdentity::new([server]).tickets(store),
            tickets,
            algorithm,
            connections: 0,
        }
    }

    /// Creates both sides after a first connection, in which the client has got a ticket.
    fn with_ticket(algorithm: IdentityAlgorithm) -> Self {
        let mut world = Self::new(algorithm);
        world.connect(0);
        assert_eq!(world.tickets.len(), 1);
        world
    }

    fn server_config(&self) -> Arc<ServerConfig> {
        Arc::new(self.server.clone().identity(self.of_server.clone()).build().expect("a valid configuration"))
    }

    fn client_config(&self) -> Arc<ClientConfig> {
        Arc::new(self.client.clone().identity(self.of_client.clone()).build().expect("a valid configuration"))
    }

    /// Begins a connection so many seconds after the beginning.
    fn pair(&mut self, seconds: u64) -> Pair {
        self.connections += 1;
        Pair::at(&self.client_config(), &self.server_config(), self.connections, at(seconds))
    }

    /// Begins a connection whose client sends [`DATA`] early.
    fn early_pair(&mut self, seconds: u64) -> Pair {
        let mut pair = self.pair(seconds);
        assert_eq!(pair.client.send_early_data(DATA), Ok(DATA.len()), "early data is offered");
        pair
    }

    /// Runs a connection without early data.
    fn connect(&mut self, seconds: u64) {
        let mut pair = self.pair(seconds);
        pair.handshake().expect("a handshake");
    }

    /// Runs a connection whose early data is accepted.
    fn connect_early(&mut self, seconds: u64, protection: EarlyDataProtection) {
        let mut pair = self.early_pair(seconds);
        pair.handshake().expect("a handshake");
        assert_eq!(pair.early_data, DATA);
        check_accepted([&pair.client, &pair.server], protection);
        super::check_traffic(&mut pair);
    }

    /// Runs a connection whose early data is rejected.
    fn connect_rejected(&mut self, seconds: u64) {
        let mut pair = self.early_pair(seconds);
        pair.handshake().expect("a handshake");
        assert_eq!(pair.early_data, b"");
        check_rejected([&pair.client, &pair.server]);
        super::check_traffic(&mut pair);
    }
}

fn check_accepted(sides: [&Connection; 2], protection: EarlyDataProtection) {
    for side in sides {
        let summary = side.summary();
        assert_eq!((summary.early_data, summary.early_data_protection), (EarlyDataStatus::Accepted, Some(protection)));
        assert_eq!(summary.round_trips, 0);
    }
    let algorithm = sides[0].summary().identity_algorithm.expect("an identity");
    super::check_identified(sides.map(Connection::summary), algorithm);
}

fn check_rejected(sides: [&Connection; 2]) {
    for side in sides {
        assert_eq!(side.summary().early_data, EarlyDataStatus::Rejected);
        assert_eq!(side.summary().early_data_protection, None);
    }
}

/// Delivers `flight` to a new server, and returns it with the early data that it delivered to its application.
fn serve(config: &Arc<ServerConfig>, flight: &[u8], seconds: u64) -> (Served, Option<Error>) {
    let mut server = Served::new(config, seconds);
    let failure = server.take(flight);
    (server, failure)
}

/// A server without a client: what a network replays to it.
struct Served {
    connection: Connection,
    rng: terse_testkit::rng::SeededRng,
    now: terse_tls::Now,
    delivered: Vec<u8>,
}

impl Served {
    fn new(config: &Arc<ServerConfig>, seconds: u64) -> Self {
        let now = at(seconds);
        let connection = Connection::server(config.clone(), now).expect("a server");
        Self { connection, rng: terse_testkit::rng::SeededRng::new(seconds + 99), now, delivered: Vec::new() }
    }

    /// Takes bytes of a stream, and delivers early data.
    fn take(&mut self, bytes: &[u8]) -> Option<Error> {
        let mut bytes = bytes.to_vec();
        let mut rest = &mut bytes[..];
        loop {
            match self.connection.handle_input(self.now, &mut self.rng, rest) {
                Ok(taken) => rest = &mut rest[taken..],
                Err(error) => return Some(error),
            }
            let mut buffer = [0; 256];
            let len = self.connection.recv_early_data(&mut buffer);
            self.delivered.extend_from_slice(&buffer[..len]);
            if len == 0 && rest.is_empty() {
                return None;
            }
        }
    }

    fn status(&self) -> EarlyDataStatus {
        self.connection.summary().early_data
    }
}

/// Splits the client's first flight into its ClientHello and the records of early data.
fn split_hello(flight: &[u8]) -> (&[u8], &[u8]) {
    flight.split_at(5 + usize::from(u16::from_be_bytes([flight[3], flight[4]])))
}

const TAKEN: Error = Error::Identity(IdentityRefused::EarlyDataTaken);
