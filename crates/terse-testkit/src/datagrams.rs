//! A pair is a client and a server over datagrams, on a virtual clock: a test decides the fate of each datagram.

use alloc::sync::Arc;
use core::time::Duration;

use pki_types::UnixTime;
use terse_tls::{ClientConfig, Connection, Error, Instant, Now, ServerConfig};

use crate::late::LateStore;
use crate::pair::{Failed, Side, at};
use crate::pki::server_address;
use crate::rng::SeededRng;

/// The time that a datagram takes, in milliseconds.
pub const DELAY: u64 = 20;

/// The time after which a test gives up, in milliseconds of virtual time.
const PATIENCE: u64 = 3_600_000;

/// The fate of a datagram: for each copy that arrives, its delay in milliseconds and its bytes.
pub type Fate = Vec<(u64, Vec<u8>)>;

/// A datagram that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The sender.
    pub from: Side,
    /// The number of the datagram among those of both sides, from 0.
    pub number: usize,
    /// The time when it was sent, in milliseconds.
    pub sent: u64,
    /// The bytes of the datagram.
    pub bytes: Vec<u8>,
}

impl Datagram {
    /// Returns the fate of a datagram that arrives after [`DELAY`].
    pub fn arrives(&self) -> Fate {
        self.arrives_after(DELAY)
    }

    /// Returns the fate of a datagram that arrives after `delay`.
    pub fn arrives_after(&self, delay: u64) -> Fate {
        vec![(delay, self.bytes.clone())]
    }
}

/// A client and a server.
pub struct DatagramPair {
    /// The client.
    pub client: Connection,
    /// The server.
    pub server: Connection,
    /// The time of both sides.
    pub now: Now,
    /// All datagrams so far, lost ones included.
    pub sent: Vec<Datagram>,
    /// The application data that each side received, a datagram each.
    pub received: [Vec<Vec<u8>>; 2],
    /// The early data that the server received, a datagram each.
    pub early_data: Vec<Vec<u8>>,
    /// The server's store, if it answers later, and its delay in milliseconds.
    pub late: Option<(Arc<LateStore>, u64)>,
    /// The time when the store answers a pending request.
    answers_at: Option<u64>,
    arriving: Vec<Arriving>,
    client_rng: SeededRng,
    server_rng: SeededRng,
    failures: [Option<Error>; 2],
}

struct Arriving {
    time: u64,
    order: usize,
    to: Side,
    bytes: Vec<u8>,
}

impl DatagramPair {
    /// Creates a new connection.
    pub fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, seed: u64) -> Self {
        Self::at(client, server, seed, at(0))
    }

    /// Creates a new connection at `now`.
    pub fn at(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, seed: u64, now: Now) -> Self {
        let (mut client_rng, server_rng) = (SeededRng::new(seed), SeededRng::new(!seed));
        Self {
            client: Connection::client(client.clone(), server_address(), now, &mut client_rng).expect("a client"),
            server: Connection::server(server.clone(), now).expect("a server"),
            now,
            sent: Vec::new(),
            received: [Vec::new(), Vec::new()],
            early_data: Vec::new(),
            late: None,
            answers_at: None,
            arriving: Vec::new(),
            client_rng,
            server_rng,
            failures: [None, None],
        }
    }

    /// Runs until no datagram is in flight and no timer is set, or for an hour. `fate` decides the fate of each
    /// datagram. Returns the first failure.
    pub fn run(&mut self, mut fate: impl FnMut(&Datagram) -> Fate) -> Result<(), Failed> {
        let mut first = Ok(());
        let end = self.now.monotonic.0 + PATIENCE;
        while let Some(result) = self.step(&mut fate, end) {
            first = first.and(result);
        }
        first
    }

    /// Sends what is ready; then the next datagram arrives, or a timer expires. Returns `None` if that is after `end`,
    /// or never.
    pub fn step(&mut self, fate: &mut impl FnMut(&Datagram) -> Fate, end: u64) -> Option<Result<(), Failed>> {
        for side in Side::BOTH {
            self.transmit(side, fate);
        }
        let arrival = self.arriving.iter().map(|arriving| arriving.time).min();
        let timers = Side::BOTH.map(|side| self.side(side).0.poll_timeout().map(|Instant(time)| time));
        let next = arrival.into_iter().chain(timers.into_iter().flatten()).chain(self.answers_at).min();
        let next = next.filter(|next| *next <= end)?;
        self.pass_to(next);
        if self.answers_at.is_some_and(|time| time <= next) {
            return Some(self.answer_store());
        }
        if let Some(arriving) = self.next_arrival(next) {
            return Some(self.deliver(arriving.to, arriving.bytes));
        }
        let now = self.now;
        let [client, server] = Side::BOTH.map(|side| {
            let result = self.side(side).0.handle_timeout(now);
            self.note(side, result)
        });
        Some(client.and(server))
    }

    /// Runs as [`Self::run`] does, on a path that loses nothing.
    pub fn run_well(&mut self) -> Result<(), Failed> {
        self.run(Datagram::arrives)
    }

    /// Sends `data` from `side`, in one datagram.
    pub fn send(&mut self, side: Side, data: &[u8]) -> Result<(), Failed> {
        let taken = self.side(side).0.send(data).map_err(|error| Failed { side, error })?;
        assert_eq!(taken, data.len());
        Ok(())
    }

    /// Returns why `side` gave up the connection.
    pub fn failure(&self, side: Side) -> Option<&Error> {
        self.failures[side as usize].as_ref()
    }

    /// Returns one side, and its randomness.
    pub fn side(&mut self, side: Side) -> (&mut Connection, &mut SeededRng) {
        match side {
            Side::Client => (&mut self.client, &mut self.client_rng),
            Side::Server => (&mut self.server, &mut self.server_rng),
        }
    }

    /// Delivers one datagram to `side`.
    pub fn deliver(&mut self, side: Side, mut bytes: Vec<u8>) -> Result<(), Failed> {
        let now = self.now;
        let mut rest = &mut bytes[..];
        let result = loop {
            let (connection, rng) = match side {
                Side::Client => (&mut self.client, &mut self.client_rng),
                Side::Server => (&mut self.server, &mut self.server_rng),
            };
            match connection.handle_input(now, rng, rest) {
                Ok(taken) => rest = &mut rest[taken..],
                Err(error) => break Err(error),
            }
            let mut data = vec![0; 0x4000];
            let (early, len) = (connection.recv_early_data(&mut data), connection.recv(&mut data));
            if early > 0 {
                data.truncate(early);
                self.early_data.push(data);
            } else if len > 0 {
                data.truncate(len);
                self.received[side as usize].push(data);
            } else if rest.is_empty() || is_waiting(connection) {
                break Ok(());
            }
        };
        self.ask_store();
        self.note(side, result)
    }

    /// Schedules the answer of the store, if the server has asked it.
    fn ask_store(&mut self) {
        if let (Some((_, delay)), None, Some(_)) = (&self.late, self.answers_at, self.server.store_request()) {
            self.answers_at = Some(self.now.monotonic.0 + delay);
        }
    }

    /// Gives the server the store's answer.
    fn answer_store(&mut self) -> Result<(), Failed> {
        self.answers_at = None;
        let request = self.server.store_request().cloned();
        let (Some((late, _)), Some(request)) = (&self.late, request) else { return Ok(()) };
        let result = self.server.provide_store_answer(self.now, &mut self.server_rng, late.answer(&request));
        self.ask_store();
        let result = self.note(Side::Server, result);
        result.and_then(|()| self.deliver(Side::Server, Vec::new())) // it reads what came meanwhile
    }

    /// Sends the output of `side`.
    pub fn transmit(&mut self, side: Side, fate: &mut impl FnMut(&Datagram) -> Fate) {
        let mut buffer = vec![0; 0x1_0000];
        let now = self.now;
        while let Some(len) = self.side(side).0.poll_transmit(now, &mut buffer) {
            let number = self.sent.len();
            let datagram = Datagram { from: side, number, sent: now.monotonic.0, bytes: buffer[..len].to_vec() };
            for (order, (delay, bytes)) in fate(&datagram).into_iter().enumerate() {
                let time = now.monotonic.0 + delay;
                self.arriving.push(Arriving { time, order: 4 * number + order, to: side.other(), bytes });
            }
            self.sent.push(datagram);
        }
    }

    fn next_arrival(&mut self, until: u64) -> Option<Arriving> {
        let due = self.arriving.iter().enumerate().filter(|(_, arriving)| arriving.time <= until);
        let (index, _) = due.min_by_key(|(_, arriving)| (arriving.time, arriving.order))?;
        Some(self.arriving.remove(index))
    }

    fn pass_to(&mut self, time: u64) {
        let time = time.max(self.now.monotonic.0);
        let passed = (time / 1000).saturating_sub(self.now.monotonic.0 / 1000);
        let unix = self.now.unix.map(|unix| UnixTime::since_unix_epoch(Duration::from_secs(unix.as_secs() + passed)));
        self.now = Now::new(Instant(time), unix);
    }

    fn note(&mut self, side: Side, result: Result<(), Error>) -> Result<(), Failed> {
        result.map_err(|error| {
            self.failures[side as usize].get_or_insert(error);
            Failed { side, error }
        })
    }
}

/// Whether a connection waits for a signature or for its store, so that datagrams that come meanwhile are lost.
fn is_waiting(connection: &Connection) -> bool {
    connection.signature_request().is_some() || connection.store_request().is_some()
}
