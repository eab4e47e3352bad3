//! The same over datagrams: a server for all, which may forget its clients, and a client that comes from here and there, on a
//! path that loses, doubles and delays; sometimes everything breaks off, and nobody says a word.
//!
//! A path loses a few datagrams of a connection at most, so that no connection may fail for that. But where one broke off, what
//! the server still sends to it may reach the next one from there when an answer is due, and be taken for that: nothing in
//! DTLS says which ClientHello a ServerHello answers. Then the attempt after it must succeed.

use alloc::collections::BTreeSet;
use core::net::SocketAddr;

use terse_testkit::pair::{Failed, Side};
use terse_testkit::rng::{SeededRng, seeds};
use terse_tls::summary::Peer;
use terse_tls::{
    Connection, ConnectionHandle, Datagrams, Endpoint, EndpointEvent, EndpointLimits, Error, Instant, Now, Summary,
};

use super::model::{CHANGES, Model, STEP_KINDS};
use super::world::World;

const SEQUENCES: u64 = 120;
const STEPS: usize = 14;

#[test]
fn model_caching_changes_nothing_but_the_bytes_over_datagrams() {
    let (mut connections, mut cached, mut spent) = (0, 0, 0);
    for seed in seeds(SEQUENCES) {
        let mut model = DatagramModel::new(seed);
        (0..STEPS).for_each(|_| model.step());
        model.settle();
        connections += model.model.connections;
        cached += model.model.cached;
        spent += model.spent + model.location.endpoint.counters().tickets_spent;
    }
    println!("{connections} connections, {cached} cached, {spent} without a cookie");
    assert!(cached * 3 > connections, "only {cached} of {connections} connections cached anything");
    assert!(spent > 100, "only {spent} tickets stood for a cookie");
}

/// The server, and the network in front of it.
struct Location {
    endpoint: Endpoint,
    rng: SeededRng,
    /// The time, in milliseconds.
    time: u64,
}

/// What a path does with datagrams.
#[derive(Clone, Copy)]
struct Path {
    from: SocketAddr,
    /// How many datagrams the path loses at most.
    losses: usize,
    /// After so many datagrams, the path carries none.
    end: usize,
    /// The client says goodbye in the end, which not all do.
    closes: bool,
}

impl Path {
    const fn good(from: SocketAddr) -> Self {
        Self { from, losses: 0, end: usize::MAX, closes: true }
    }
}

struct DatagramModel {
    model: Model,
    location: Location,
    /// Tickets, by servers that were.
    spent: u32,
    /// From where connections broke off.
    left: BTreeSet<SocketAddr>,
}

impl DatagramModel {
    fn new(seed: u64) -> Self {
        let mut model = Model::new(seed);
        let max_datagram = [548, 1_232][model.below(2)];
        let datagrams = Datagrams::default().max_datagram(max_datagram);
        model.world.client.datagrams(Some(datagrams));
        model.world.server.datagrams(Some(datagrams));
        let location = Location::new(&model.world, SeededRng::new(!seed));
        Self { model, location, spent: 0, left: BTreeSet::new() }
    }

    fn step(&mut self) {
        match self.model.below(STEP_KINDS) {
            0..8 => self.connect(),
            8..CHANGES => self.break_off(),
            nth => {
                self.model.change(nth);
                self.restart();
            }
        }
    }

    /// Starts the server's process anew, with what is configured now.
    fn restart(&mut self) {
        self.spent += self.location.endpoint.counters().tickets_spent;
        let location = Location::new(&self.model.world, self.location.rng.clone());
        self.location = Location { time: self.location.time, ..location };
    }

    /// Two clients' homes, each with a NAT, and never more than a few losses.
    fn path(&mut self) -> Path {
        let last = self.model.pick("from", &[1, 1, 2]);
        let port = self.model.pick("port of origin", &[4000, 4000, 4001]);
        let losses = self.model.pick("losses", &[0, 1, 4]);
        let closes = self.model.pick("goodbye", &[true, true, false]);
        Path { losses, closes, ..Path::good(SocketAddr::from(([192, 0, 2, last], port))) }
    }

    /// Returns what the same two sides do without a cache, on a good path.
    fn without_cache(&mut self) -> Result<[Peer; 2], Failed> {
        let world = &mut self.model.world;
        let caches = (world.client.edit_cache(Option::take), world.server.edit_cache(Option::take));
        let path = Path::good(SocketAddr::from(([192, 0, 2, 99], 4000)));
        let result = Location::new(world, SeededRng::new(5)).connection(world, path);
        world.client.cache(caches.0);
        world.server.cache(caches.1);
        result.expect("it does not break off").map(|[client, server]| [client.peer, server.peer])
    }

    fn connect(&mut self) {
        let path = self.path();
        let _ = self.connect_by(path);
    }

    fn connect_by(&mut self, path: Path) -> Result<[Summary; 2], Failed> {
        self.model.note("connect".into());
        let expected = self.without_cache();
        let mut result = self.location.connection(&self.model.world, path).expect("it does not break off");
        if self.left.remove(&path.from) && expected.is_ok() && result.is_err() {
            result = self.location.connection(&self.model.world, path).expect("it does not break off");
        }
        self.model.check(expected, result.clone());
        result
    }

    fn break_off(&mut self) {
        let end = self.model.below(10);
        self.model.note(format!("breaks off after {end}"));
        let path = Path { end, ..self.path() };
        self.left.insert(path.from);
        let _ = self.location.connection(&self.model.world, path);
    }

    /// Checks that caching is well again once both sides are, whatever happened.
    fn settle(&mut self) {
        let is_well = self.model.heal();
        self.restart();
        let path = Path::good(SocketAddr::from(([192, 0, 2, 1], 4000)));
        if is_well {
            let is_cached = |_| {
                let [client, _] = self.connect_by(path).expect("both are well");
                self.model.world.is_cached(&client)
            };
            assert!((0..24 + 3).any(is_cached), "{}", self.model.context());
        }
        let _ = self.connect_by(path);
    }
}

impl Location {
    fn new(world: &World, mut rng: SeededRng) -> Self {
        let (_, server) = world.configurations();
        Self { endpoint: Endpoint::new(server, EndpointLimits::default(), &mut rng).expect("a server"), rng, time: 0 }
    }

    /// Makes a connection with data both ways. Returns the first failure of either side, or `None` if it breaks off.
    fn connection(&mut self, world: &World, path: Path) -> Option<Result<[Summary; 2], Failed>> {
        let (config, _) = world.configurations();
        let now = Now::new(Instant(self.time), world.client_clock.unix);
        let client = Connection::client(config, world.address.clone(), now, &mut self.rng).expect("a client");
        let mut run = Run {
            location: self,
            world,
            path,
            client,
            handle: None,
            arriving: Vec::new(),
            answers: Vec::new(),
            sent: 0,
            failed: None,
        };
        let is_whole = run.until_it_is_quiet(|run| run.failed.is_some() || run.is_connected());
        if is_whole && run.failed.is_none() && run.is_connected() {
            run.say_something();
        }
        let result = match (run.failed.take(), run.handle) {
            (Some(failed), _) => Some(Err(failed)),
            (None, Some(handle)) if is_whole && run.is_connected() => {
                let server = run.location.endpoint.connection(handle).expect("it is there").summary().clone();
                Some(Ok([run.client.summary().clone(), server]))
            }
            (None, _) => None,
        };
        if path.closes && path.end == usize::MAX {
            run.client.close();
            run.until_it_is_quiet(|_| false);
            run.handle.into_iter().for_each(|handle| run.location.endpoint.remove(handle));
        }
        drop(run);
        self.time += 2_000;
        result
    }
}

/// A connection, with its datagrams that are on their way.
struct Run<'a> {
    location: &'a mut Location,
    world: &'a World,
    path: Path,
    client: Connection,
    handle: Option<ConnectionHandle>,
    arriving: Vec<(u64, Side, Vec<u8>)>,
    /// When the store answers to connections.
    answers: Vec<(u64, ConnectionHandle)>,
    sent: usize,
    failed: Option<Failed>,
}

impl Run<'_> {
    fn now(&self, side: Side) -> Now {
        let clock = match side {
            Side::Client => self.world.client_clock,
            Side::Server => self.world.server_clock,
        };
        Now::new(Instant(self.location.time), clock.unix)
    }

    fn is_connected(&mut self) -> bool {
        let server = self.handle.and_then(|handle| self.location.endpoint.connection(handle));
        self.client.is_connected() && server.is_some_and(|server| server.is_connected())
    }

    /// Until it is `done`, or nothing is on its way and nobody waits for more than a few minutes. `false`: it broke off.
    fn until_it_is_quiet(&mut self, done: impl Fn(&mut Self) -> bool) -> bool {
        let end = self.location.time + 400_000;
        loop {
            self.transmit();
            if done(self) {
                return true;
            }
            if self.sent > self.path.end {
                self.arriving.clear();
                return false;
            }
            let timers = [self.location.endpoint.poll_timeout(), self.client.poll_timeout()];
            let timers = timers.into_iter().flatten().map(|Instant(time)| time);
            let arrivals = self.arriving.iter().map(|(time, ..)| *time);
            let answers = self.answers.iter().map(|(time, _)| *time);
            let Some(next) = timers.chain(arrivals).chain(answers).min().filter(|next| *next <= end) else {
                return true;
            };
            self.location.time = self.location.time.max(next);
            if let Some(index) = self.answers.iter().position(|(time, _)| *time <= next) {
                self.answer(index);
                continue;
            }
            match self.arriving.iter().position(|(time, ..)| *time <= next) {
                Some(index) => self.deliver(index),
                None => self.time_passes(),
            }
        }
    }

    fn transmit(&mut self) {
        let mut buffer = [0; 2_048];
        let (client, server) = (self.now(Side::Client), self.now(Side::Server));
        while let Some(len) = self.client.poll_transmit(client, &mut buffer) {
            self.carry(Side::Server, &buffer[..len]);
        }
        while let Some((to, len)) = self.location.endpoint.poll_transmit(server, &mut buffer) {
            if to == self.path.from {
                self.carry(Side::Client, &buffer[..len]);
            }
        }
        while let Some((handle, event)) = self.location.endpoint.poll_event() {
            match event {
                EndpointEvent::Connected => self.handle = Some(handle),
                // One that was broken off before; of this one, the client says so.
                EndpointEvent::Failed(Error::TimedOut) => {}
                EndpointEvent::Failed(error) => {
                    self.failed.get_or_insert(Failed { side: Side::Server, error });
                }
                EndpointEvent::NeedStore => {
                    let later = self.location.rng.below(1_500) as u64;
                    self.answers.push((self.location.time + later, handle));
                }
                _ => {}
            }
        }
    }

    /// The store has looked, and the connection may be gone.
    fn answer(&mut self, index: usize) {
        let (_, handle) = self.answers.remove(index);
        let connection = self.location.endpoint.connection(handle);
        let Some(request) = connection.and_then(|connection| connection.store_request().cloned()) else { return };
        let (answer, now) = (self.world.late_store().answer(&request), self.now(Side::Server));
        let result = self.location.endpoint.provide_store_answer(now, &mut self.location.rng, handle, answer);
        assert_eq!(result, Ok(()), "it was asked");
    }

    /// Decides what the path does with a datagram.
    fn carry(&mut self, to: Side, datagram: &[u8]) {
        self.sent += 1;
        let (chance, later) = (self.location.rng.below(100), self.location.rng.below(3_000) as u64);
        let mut arrives = |after| self.arriving.push((self.location.time + after, to, datagram.to_vec()));
        match chance {
            0..20 if self.path.losses > 0 => self.path.losses -= 1,
            20..30 => {
                arrives(20);
                arrives(20 + later);
            }
            30..40 => arrives(20 + later),
            _ => arrives(20),
        }
    }

    fn deliver(&mut self, index: usize) {
        let (_, to, mut datagram) = self.arriving.remove(index);
        let now = self.now(to);
        if to == Side::Server {
            return self.location.endpoint.handle_datagram(now, &mut self.location.rng, self.path.from, &mut datagram);
        }
        let mut data = [0; 2_048];
        let result = self.client.handle_input(now, &mut self.location.rng, &mut datagram).map(|_| ());
        self.client.recv(&mut data);
        self.note(result);
    }

    fn time_passes(&mut self) {
        let (client, server) = (self.now(Side::Client), self.now(Side::Server));
        self.location.endpoint.handle_timeout(server);
        let result = self.client.handle_timeout(client);
        self.note(result);
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(error) = result {
            self.failed.get_or_insert(Failed { side: Side::Client, error });
        }
    }

    /// Hands each datagram to the other side; it may be lost.
    fn say_something(&mut self) {
        self.client.send(b"data").expect("it is connected");
        let server = self.handle.and_then(|handle| self.location.endpoint.connection(handle));
        server.expect("it is there").send(b"data").expect("it is connected");
        self.until_it_is_quiet(|_| false);
    }
}
