//! Two connections run over a path that loses, doubles and delays, on a virtual clock.

use core::time::Duration;
use terse_sim::tcp::{Config, Connection, Ecn, Segment, Transmit};
use terse_sim::{Random, Time};

/// The faults of a path, in each direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) loss: f64,
    pub(crate) duplication: f64,
    pub(crate) reordering: f64,
    pub(crate) marking: f64,
}

/// The application's reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// The bytes of one read; `write_size` is that of one write.
    pub(crate) read_size: usize,
    pub(crate) write_size: usize,
    /// The time of the first read.
    pub(crate) reads_from: Time,
    /// The pause after each write.
    pub(crate) pause: Duration,
}

/// One side, and the state of its application.
pub(crate) struct Side {
    pub(crate) connection: Option<Connection>,
    pub(crate) config: Config,
    pub(crate) initial_sequence: u32,
    /// The data that the application writes; `sent` is how much of it the connection has taken.
    pub(crate) to_send: Vec<u8>,
    pub(crate) sent: usize,
    pub(crate) closed: bool,
    pub(crate) received: Vec<u8>,
    /// The time of the application's next write.
    writes_from: Time,
    pub(crate) habits: Habits,
}

/// A client, a server, and the packets in flight between them.
pub(crate) struct Pair {
    pub(crate) now: Time,
    pub(crate) client: Side,
    pub(crate) server: Side,
    pub(crate) delay: Duration,
    pub(crate) faults: Faults,
    random: Random,
    /// The time of arrival, a number that keeps the order, whether the packet goes to the server, and the packet.
    flying: Vec<(Time, u64, bool, Transmit)>,
    sent: u64,
    /// All segments in order: the time, whether the client sent it, and the segment.
    pub(crate) log: Vec<(Time, bool, Segment)>,
}

impl Side {
    fn new(config: Config, initial_sequence: u32, to_send: Vec<u8>) -> Self {
        Self {
            connection: None,
            config,
            initial_sequence,
            to_send,
            sent: 0,
            closed: false,
            received: Vec::new(),
            writes_from: Time::ZERO,
            habits: Habits {
                read_size: usize::MAX,
                write_size: usize::MAX,
                reads_from: Time::ZERO,
                pause: Duration::ZERO,
            },
        }
    }

    /// Lets the application read and write what it can.
    fn run(&mut self, now: Time) {
        let Some(connection) = &mut self.connection else { return };
        if now >= self.habits.reads_from {
            let mut buffer = vec![0; connection.readable().min(self.habits.read_size)];
            let len = connection.recv(now, &mut buffer);
            self.received.extend_from_slice(&buffer[..len]);
        }
        let rest = &self.to_send[self.sent..];
        if !rest.is_empty() && now >= self.writes_from {
            let taken = connection.send(now, &rest[..rest.len().min(self.habits.write_size)]);
            self.sent += taken;
            self.writes_from = now + self.habits.pause;
        }
        if self.sent == self.to_send.len() && !self.closed {
            connection.close(now);
            self.closed = true;
        }
    }

    /// Returns when the application does something by itself.
    fn wakes(&self, now: Time) -> Option<Time> {
        let connection = self.connection.as_ref()?;
        // An application that reads or writes little at a time is soon back.
        let soon = now + Duration::from_millis(5);
        let reads = (connection.readable() > 0).then(|| soon.max(self.habits.reads_from));
        let writes =
            (connection.send_capacity() > 0 && self.sent < self.to_send.len()).then(|| soon.max(self.writes_from));
        [reads, writes].into_iter().flatten().min()
    }

    pub(crate) fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("the SYN has not arrived")
    }
}

impl Pair {
    pub(crate) fn new(seed: u64, (client, server): (Config, Config), to_server: Vec<u8>, to_client: Vec<u8>) -> Self {
        let mut random = Random::new(seed, 0);
        // The initial number is near the end of the sequence space, half of the time.
        let mut initial = || if random.happens(0.5) { u32::MAX - random.next_u32() % 2000 } else { random.next_u32() };
        let mut client = Side::new(client, initial(), to_server);
        let server = Side::new(server, initial(), to_client);
        let connection = Connection::connect(client.config.clone(), 50_000, 443, client.initial_sequence, Time::ZERO);
        client.connection = Some(connection);
        Self {
            now: Time::ZERO,
            client,
            server,
            delay: Duration::from_millis(50),
            faults: Faults::default(),
            random,
            flying: Vec::new(),
            sent: 0,
            log: Vec::new(),
        }
    }

    /// Runs until nothing happens any more, or until `limit`. Returns false if the limit was reached.
    pub(crate) fn run(&mut self, limit: Time) -> bool {
        let mut steps = 0;
        loop {
            self.client.run(self.now);
            self.server.run(self.now);
            self.transmit(true);
            self.transmit(false);
            let timeouts = [&self.client, &self.server].map(|side| side.connection.as_ref()?.poll_timeout());
            let arrival = self.flying.iter().map(|(time, ..)| *time).min();
            let wakes = [&self.client, &self.server].map(|side| side.wakes(self.now));
            let events = timeouts.into_iter().chain(wakes).flatten().chain(arrival);
            let Some(next) = events.min() else { return true };
            if next > limit {
                return false;
            }
            // An expired timer that is not handled would stop time.
            steps = if next > self.now { 0 } else { steps + 1 };
            assert!(steps < 100, "time stands still at {:?}", self.now);
            self.now = self.now.max(next);
            self.deliver();
            for side in [&mut self.client, &mut self.server] {
                if let Some(connection) = side.connection.as_mut() {
                    connection.handle_timeout(self.now);
                }
            }
        }
    }

    fn transmit(&mut self, from_client: bool) {
        let side = if from_client { &mut self.client } else { &mut self.server };
        let Some(connection) = side.connection.as_mut() else { return };
        let mut burst = 0;
        while let Some(transmit) = connection.poll_transmit(self.now) {
            burst += 1;
            assert!(burst < 10_000, "it never stops sending at {:?}", self.now);
            self.log.push((self.now, from_client, transmit.segment.clone()));
            let copies = if self.random.happens(self.faults.duplication) { 2 } else { 1 };
            for _ in 0..copies {
                let mut packet = transmit.clone();
                if packet.ecn == Ecn::Ect0 && self.random.happens(self.faults.marking) {
                    packet.ecn = Ecn::Ce;
                }
                let lost = self.random.happens(self.faults.loss);
                let late = self.random.happens(self.faults.reordering);
                let extra = Duration::from_millis(if late { u64::from(self.random.next_u32() % 200) } else { 0 });
                if !lost {
                    self.sent += 1;
                    self.flying.push((self.now + self.delay + extra, self.sent, from_client, packet));
                }
            }
        }
    }

    fn deliver(&mut self) {
        self.flying.sort_by_key(|(time, number, ..)| (*time, *number));
        let arrived = self.flying.iter().take_while(|(time, ..)| *time <= self.now).count();
        for (_, _, to_server, packet) in self.flying.drain(..arrived) {
            let side = if to_server { &mut self.server } else { &mut self.client };
            // The network carries bytes.
            let segment = Segment::parse(&packet.segment.encode()).expect("our own segments are segments");
            assert_eq!(segment, packet.segment);
            match &mut side.connection {
                Some(connection) => connection.handle_segment(self.now, &segment, packet.ecn),
                none => *none = Connection::accept(side.config.clone(), &segment, side.initial_sequence, self.now),
            }
        }
    }
}
