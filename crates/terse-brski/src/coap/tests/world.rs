//! A client, a server, and the network between them.

use alloc::vec;
use alloc::vec::Vec;

use terse_testkit::rng::SeededRng;
use terse_tls::{Instant, Now};

use crate::coap::{
    Client, ClientConfig, Failure, IncomingRequest, MAX_DATAGRAM, Request, RequestId, Response, Server, ServerConfig,
};

/// What happens to a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Deliver,
    Lose,
    /// It arrives twice.
    Double,
    /// It arrives after so many milliseconds more.
    Delay(u64),
    /// Only so many bytes of it arrive.
    Truncate(usize),
}

/// A datagram that was sent: the time, whether the client has sent it, and its bytes.
pub(super) type Sent = (Instant, bool, Vec<u8>);

/// Client and server, and what is under way.
pub(super) struct World {
    pub(super) client: Client,
    pub(super) server: Server,
    pub(super) rng: SeededRng,
    pub(super) now: Instant,
    /// What was sent, the oldest first.
    pub(super) sent: Vec<Sent>,
    /// The requests that the server had to carry out.
    pub(super) requests: Vec<IncomingRequest>,
    /// How long the server works on a request, in milliseconds.
    pub(super) works_for: u64,
    under_way: Vec<(Instant, bool, Vec<u8>)>,
    in_work: Vec<(Instant, RequestId, Response)>,
}

impl World {
    pub(super) fn new(client: ClientConfig, server: ServerConfig) -> Self {
        let mut rng = super::rng(1);
        Self {
            client: Client::new(client, &mut rng).unwrap(),
            server: Server::new(server, &mut rng).unwrap(),
            rng,
            now: Instant(0),
            sent: Vec::new(),
            requests: Vec::new(),
            works_for: 0,
            under_way: Vec::new(),
            in_work: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Now {
        Now::new(self.now, None)
    }

    /// Runs one request until its end, where `answer` is what the server makes of it, and `fate` decides over each datagram
    /// by its number.
    pub(super) fn run(
        &mut self,
        request: Request,
        answer: impl Fn(&IncomingRequest) -> Response,
        mut fate: impl FnMut(usize) -> Fate,
    ) -> Result<Response, Failure> {
        self.client.request(self.now(), &mut self.rng, request).unwrap();
        for _ in 0..MAX_STEPS {
            self.transmit(&mut fate);
            if let Some(outcome) = self.client.poll_response() {
                assert!(!self.client.is_busy() && self.client.poll_timeout().is_none());
                return outcome;
            }
            self.step(&answer);
        }
        panic!("no end");
    }

    /// Lets what is under way arrive, and timers expire, until nothing is left to do.
    pub(super) fn settle(&mut self) {
        for _ in 0..MAX_STEPS {
            self.transmit(&mut |_| Fate::Deliver);
            if self.next_event().is_none() {
                return;
            }
            self.step(&|_| panic!("nothing is asked"));
        }
        panic!("no end");
    }

    fn transmit(&mut self, fate: &mut impl FnMut(usize) -> Fate) {
        let mut out = vec![0; MAX_DATAGRAM];
        let now = self.now();
        for is_from_client in [true, false] {
            while let Some(len) = match is_from_client {
                true => self.client.poll_transmit(now, &mut out),
                false => self.server.poll_transmit(now, &mut out),
            } {
                let (number, datagram) = (self.sent.len(), out[..len].to_vec());
                self.sent.push((self.now, is_from_client, datagram.clone()));
                let arrival = Instant(self.now.0 + LATENCY_MS);
                match fate(number) {
                    Fate::Deliver => self.under_way.push((arrival, is_from_client, datagram)),
                    Fate::Lose => {}
                    Fate::Double => {
                        self.under_way.push((arrival, is_from_client, datagram.clone()));
                        self.under_way.push((arrival, is_from_client, datagram));
                    }
                    Fate::Delay(ms) => self.under_way.push((Instant(arrival.0 + ms), is_from_client, datagram)),
                    Fate::Truncate(len) => {
                        let len = len.min(datagram.len());
                        self.under_way.push((arrival, is_from_client, datagram[..len].to_vec()));
                    }
                }
            }
        }
    }

    fn next_event(&self) -> Option<Instant> {
        let arrivals = self.under_way.iter().map(|(at, ..)| *at);
        let answers = self.in_work.iter().map(|(at, ..)| *at);
        let timers = [self.client.poll_timeout(), self.server.poll_timeout()].into_iter().flatten();
        arrivals.chain(answers).chain(timers).min()
    }

    /// Goes on to the next event, and handles all that are due.
    fn step(&mut self, answer: &impl Fn(&IncomingRequest) -> Response) {
        self.now = self.now.max(self.next_event().expect("something leads on"));
        let now = self.now();
        let (due, later) = core::mem::take(&mut self.under_way).into_iter().partition(|(at, ..)| *at <= self.now);
        self.under_way = later;
        let due: Vec<Sent> = due;
        for (_, is_from_client, datagram) in due {
            match is_from_client {
                true => self.server.handle_input(now, &datagram),
                false => self.client.handle_input(now, &mut self.rng, &datagram),
            }
        }
        while let Some((id, request)) = self.server.poll_request() {
            let response = answer(&request);
            self.requests.push(request);
            self.in_work.push((Instant(self.now.0 + self.works_for), id, response));
        }
        let (done, later): (Vec<_>, _) =
            core::mem::take(&mut self.in_work).into_iter().partition(|(at, ..)| *at <= self.now);
        self.in_work = later;
        for (_, id, response) in done {
            self.server.respond(now, &mut self.rng, id, response).unwrap();
        }
        self.client.handle_timeout(now);
        self.server.handle_timeout(now);
    }
}

/// How long a datagram is under way.
const LATENCY_MS: u64 = 10;

/// More than any run takes.
const MAX_STEPS: usize = 20_000;
