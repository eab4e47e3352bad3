//! A pair is a client and a server on a virtual clock, with a wire between them that a test can see and change.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::UnixTime;
use terse_tls::identity::KnownPeers;
use terse_tls::{ClientConfig, Connection, Error, Event, Instant, Now, ServerAddress, ServerConfig};

use crate::late::LateStore;
use crate::pki::{self, server_address};
use crate::rng::SeededRng;
use crate::setup::Stores;

/// An end of a [`Pair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// An error, and the side that returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The side whose call failed.
    pub side: Side,
    /// The error.
    pub error: Error,
}

/// A client and a server.
pub struct Pair {
    /// The client.
    pub client: Connection,
    /// The server.
    pub server: Connection,
    /// The time of both sides.
    pub now: Now,
    /// All bytes that the client sent.
    pub from_client: Vec<u8>,
    /// All bytes that the server sent.
    pub from_server: Vec<u8>,
    /// The length of the pieces in which input is delivered: 1 means byte by byte.
    pub stretch: usize,
    /// All early data that the server received.
    pub early_data: Vec<u8>,
    /// The stores of both sides, if the setup has them.
    pub stores: Option<Stores>,
    /// What the client and the server know about peers with identity keys, if both have one.
    pub known_peers: Option<[Arc<KnownPeers>; 2]>,
    /// The server's store, if it answers later.
    pub late: Option<Arc<LateStore>>,
    client_rng: SeededRng,
    server_rng: SeededRng,
    failures: [Option<Error>; 2],
}

impl Pair {
    /// Creates a new connection at [`pki::NOW`].
    pub fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, seed: u64) -> Self {
        Self::at(client, server, seed, at(0))
    }

    /// Creates a new connection at `now`.
    pub fn at(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, seed: u64, now: Now) -> Self {
        Self::to(server_address(), client, server, seed, now)
    }

    /// Creates a new connection of a client that calls the server `address`.
    pub fn to(
        address: ServerAddress,
        client: &Arc<ClientConfig>,
        server: &Arc<ServerConfig>,
        seed: u64,
        now: Now,
    ) -> Self {
        let (mut client_rng, server_rng) = (SeededRng::new(seed), SeededRng::new(!seed));
        Self {
            client: Connection::client(client.clone(), address, now, &mut client_rng).expect("a client"),
            server: Connection::server(server.clone(), now).expect("a server"),
            now,
            from_client: Vec::new(),
            from_server: Vec::new(),
            stretch: usize::MAX,
            early_data: Vec::new(),
            stores: None,
            known_peers: client
                .identity()
                .zip(server.identity())
                .map(|(of_client, of_server)| [of_client.store().clone(), of_server.store().clone()]),
            late: None,
            client_rng,
            server_rng,
            failures: [None, None],
        }
    }

    /// Carries bytes both ways until neither side has more. After an error both sides go on; the first error is
    /// returned.
    pub fn run(&mut self) -> Result<(), Failed> {
        let mut first = Ok(());
        for _ in 0..MAX_ROUNDS {
            let to_server = self.transmit(Side::Client);
            let to_client = self.transmit(Side::Server);
            if to_server.is_empty() && to_client.is_empty() {
                return first;
            }
            for (side, bytes) in [(Side::Server, to_server), (Side::Client, to_client)] {
                let result = self.deliver(side, bytes);
                first = first.and(result);
            }
        }
        panic!("the two do not stop talking");
    }

    /// Returns the output of `side`.
    pub fn transmit(&mut self, side: Side) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 2048];
        let now = self.now;
        while let Some(len) = self.side(side).0.poll_transmit(now, &mut buffer) {
            bytes.extend_from_slice(&buffer[..len]);
        }
        match side {
            Side::Client => self.from_client.extend_from_slice(&bytes),
            Side::Server => self.from_server.extend_from_slice(&bytes),
        }
        bytes
    }

    /// Delivers `bytes` to `side`, as far as it takes them. Early data is read; bytes after other data are lost.
    pub fn deliver(&mut self, side: Side, mut bytes: Vec<u8>) -> Result<(), Failed> {
        bytes.chunks_mut(self.stretch).try_for_each(|part| self.deliver_part(side, part))
    }

    fn deliver_part(&mut self, side: Side, mut part: &mut [u8]) -> Result<(), Failed> {
        let now = self.now;
        loop {
            let (connection, rng) = self.side(side);
            match connection.handle_input(now, rng, part) {
                Ok(taken) => part = &mut part[taken..],
                Err(error) => return self.note(side, Err(error)),
            }
            if let (Side::Server, Some(late)) = (side, self.late.clone())
                && self.server.store_request().is_some()
            {
                let result = late.serve(&mut self.server, now, &mut self.server_rng, part);
                self.note(side, result)?;
                continue;
            }
            let (connection, _) = self.side(side);
            let mut early_data = [0; 0x4000];
            let len = connection.recv_early_data(&mut early_data);
            if len == 0 {
                return Ok(());
            }
            self.early_data.extend_from_slice(&early_data[..len]);
        }
    }

    fn note(&mut self, side: Side, result: Result<(), Error>) -> Result<(), Failed> {
        result.map_err(|error| {
            self.failures[side as usize].get_or_insert(error);
            Failed { side, error }
        })
    }

    /// Returns why `side` gave up the connection, if a call of [`Self::deliver`] or [`Self::run`] failed.
    pub fn failure(&self, side: Side) -> Option<&Error> {
        self.failures[side as usize].as_ref()
    }

    /// Runs the handshake; both sides must be connected afterwards.
    pub fn handshake(&mut self) -> Result<(), Failed> {
        self.run()?;
        for side in Side::BOTH {
            assert_eq!(self.side(side).0.poll_event(), Some(Event::Connected), "{side:?} is not connected");
        }
        Ok(())
    }

    /// Sends `data` from `side`, and returns what the other side receives.
    pub fn carry(&mut self, side: Side, data: &[u8]) -> Result<Vec<u8>, Failed> {
        let taken = self.side(side).0.send(data).map_err(|error| Failed { side, error })?;
        assert_eq!(taken, data.len(), "the send buffer is full");
        let bytes = self.transmit(side);
        self.receive(side.other(), bytes)
    }

    /// Delivers `bytes` to `side`, and returns the application data in them.
    pub fn receive(&mut self, side: Side, mut bytes: Vec<u8>) -> Result<Vec<u8>, Failed> {
        let mut received = Vec::new();
        let mut rest = &mut bytes[..];
        let now = self.now;
        let late = self.late.clone();
        let (connection, rng) = self.side(side);
        while !rest.is_empty() {
            let taken = connection.handle_input(now, rng, rest).map_err(|error| Failed { side, error })?;
            rest = &mut rest[taken..];
            if let Some(late) = &late {
                late.serve(connection, now, rng, rest).map_err(|error| Failed { side, error })?;
            }
            let mut buffer = [0; 0x4000];
            let len = connection.recv(&mut buffer);
            received.extend_from_slice(&buffer[..len]);
        }
        Ok(received)
    }

    /// Closes both sides in order, the server first, so that the client receives its close_notify.
    pub fn close(&mut self) -> Result<(), Failed> {
        self.server.close();
        self.run()?;
        self.client.close();
        self.run()
    }

    /// Returns one side, and its randomness.
    pub fn side(&mut self, side: Side) -> (&mut Connection, &mut SeededRng) {
        match side {
            Side::Client => (&mut self.client, &mut self.client_rng),
            Side::Server => (&mut self.server, &mut self.server_rng),
        }
    }
}

/// The most rounds: more than any handshake takes.
const MAX_ROUNDS: usize = 64;

impl Side {
    /// Both sides.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// Returns the peer of this side.
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Returns the time `seconds` after [`pki::NOW`], on both clocks.
pub fn at(seconds: u64) -> Now {
    let unix = UnixTime::since_unix_epoch(Duration::from_secs(pki::NOW + seconds));
    Now::new(Instant(seconds * 1000), Some(unix))
}
