//! A device of a whole network: it connects, reports again and again, and connects anew when a report stays without an answer or
//! a handshake fails. It enrols again when it is told to, and then connects with its new certificate.
//!
//! What must always hold: a device has one connection at most, and one request on it that waits for an answer; every wait ends.

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;

use terse_tls::summary::Mode;
use terse_tls::{ClientConfig, ServerAddress};

use super::message::{Request, take_answer};
use super::{Clock, Exchange, Processor, Program, Role, Watcher};
use crate::computing;
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::probe::Party;
use crate::{Random, Time, tcp};

/// What all devices of a network have in common.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The server as devices know it.
    pub(crate) server: ServerAddress,
    pub(crate) remote: SocketAddr,
    /// The port over UDP.
    pub(crate) port: u16,
    /// The configuration of TCP; `None` over UDP.
    pub(crate) tcp: Option<tcp::Config>,
    pub(crate) clock: Clock,
    /// The device that computes, if that takes time.
    pub(crate) computer: Option<Arc<computing::Device>>,
    /// The time between two reports; zero for none.
    pub(crate) period: Duration,
    /// The bytes of a report, and of its answer.
    pub(crate) report: (u16, u16),
    /// The bytes of the requests with which a device enrols again, and of their answers.
    pub(crate) enrolment: Vec<(u16, u16)>,
    /// The first wait for an answer, and how often a request is sent again.
    pub(crate) timeout: Duration,
    pub(crate) retries: u8,
    /// A device waits up to this before it connects.
    pub(crate) spread: Duration,
    /// The first wait after a handshake that failed, and the most that it grows to.
    pub(crate) wait: Duration,
    pub(crate) longest_wait: Duration,
}

/// A device.
pub(crate) struct Device<'w, 'a> {
    plan: Arc<Plan>,
    config: Arc<ClientConfig>,
    /// The configuration after the device has enrolled again.
    renewed: Option<Arc<ClientConfig>>,
    watcher: &'w Watcher<'a>,
    random: Random,
    state: State,
    program: Option<Program<'w, 'a>>,
    /// How long earlier connections have computed.
    computed: Duration,
    /// When the present handshake began.
    began: Time,
    /// Handshakes in a row that failed.
    failed_in_a_row: u32,
    next_report: Option<Time>,
    /// A report that waits to be sent.
    report: Option<Request>,
    /// When the device begins to enrol again, and then how many of its requests were answered.
    renews_at: Option<Time>,
    enrolled: Option<usize>,
    outstanding: Option<Outstanding>,
    next_number: u32,
    received: Vec<u8>,
    /// What became of it.
    pub(crate) history: History,
}

/// What became of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// Its last handshake that was complete.
    pub(crate) connection: Option<Established>,
    /// Handshakes that it began.
    pub(crate) attempts: u32,
    /// Handshakes that failed.
    pub(crate) failures: u32,
    /// Why the last one of them did.
    pub(crate) failure: Option<String>,
    /// The reports that are counted: those that are due from the first of these times on, before the second one.
    pub(crate) counted: Option<(Time, Time)>,
    /// Reports that were counted, whether or not there was a connection to send them on.
    pub(crate) reports: u64,
    /// Why the device cannot be run at all: nobody knows how long it computes.
    pub(crate) no_time: Option<String>,
    /// From when on answers to reports are noted, and the first one.
    pub(crate) watched: Option<Time>,
    pub(crate) answered: Option<Time>,
}

/// A handshake that was complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Established {
    /// Which one it was, of all that the device began.
    pub(crate) number: u32,
    /// When it began, and when it was complete on the device's side.
    pub(crate) began: Time,
    pub(crate) at: Time,
    /// What it left out.
    pub(crate) mode: Mode,
    /// Whether the device had a new certificate.
    pub(crate) is_renewed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Off,
    Waiting(Time),
    Connecting,
    Connected,
}

/// A request that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    request: Request,
    is_report: bool,
    again_at: Time,
    wait: Duration,
    left: u8,
}

impl<'w, 'a> Device<'w, 'a> {
    /// Creates a device that is switched off.
    pub(crate) fn new(plan: Arc<Plan>, config: Arc<ClientConfig>, watcher: &'w Watcher<'a>, random: Random) -> Self {
        Self {
            plan,
            config,
            renewed: None,
            watcher,
            random,
            state: State::Off,
            program: None,
            computed: Duration::ZERO,
            began: Time::ZERO,
            failed_in_a_row: 0,
            next_report: None,
            report: None,
            renews_at: None,
            enrolled: None,
            outstanding: None,
            next_number: 0,
            received: Vec::new(),
            history: History::default(),
        }
    }

    /// Lets the device enrol again from `at` on, after which it connects with this configuration.
    pub(crate) fn renew_at(&mut self, at: Time, config: Arc<ClientConfig>) {
        (self.renews_at, self.renewed) = (Some(at), Some(config));
    }

    /// Returns how long the device has computed.
    pub(crate) fn computing(&self) -> Duration {
        self.computed + self.program.as_ref().map_or(Duration::ZERO, Program::computing)
    }

    /// Begins a handshake.
    fn connect(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let plan = &self.plan;
        let (server, remote) = (plan.server.clone(), plan.remote);
        let role = Role::Client { config: self.config.clone(), server, remote, port: plan.port };
        let processor = Processor::new(Party::Client, self.watcher, plan.computer.clone());
        let seed = u64::from(self.random.next_u32()) << 32 | u64::from(self.random.next_u32());
        let (exchange, tcp) = (Exchange::OF_SILENT_CLIENT, plan.tcp.clone());
        let mut program = Program::new(role, exchange, tcp, Random::new(seed, 0), plan.clock, processor);
        self.history.attempts += 1;
        (self.state, self.began) = (State::Connecting, now);
        program.start(now, sockets);
        self.program = Some(program);
    }

    /// Gives the connection up, if there is one, and connects again after a while.
    fn disconnect(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if let Some(mut program) = self.program.take() {
            program.abandon(sockets);
            self.computed += program.computing();
        }
        (self.outstanding, self.report) = (None, None);
        self.received.clear();
        let wait = match self.failed_in_a_row {
            0 => self.up_to(self.plan.spread),
            failed => {
                let wait = self.plan.wait.saturating_mul(1 << (failed - 1).min(20)).min(self.plan.longest_wait);
                wait / 2 + self.up_to(wait)
            }
        };
        self.state = State::Waiting(now + wait);
    }

    /// Returns a random time up to this one.
    fn up_to(&mut self, most: Duration) -> Duration {
        most.mul_f64(f64::from(self.random.next_u32()) / (f64::from(u32::MAX) + 1.0))
    }

    /// Looks at what has become of the connection.
    fn look(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let Some(program) = &mut self.program else { return };
        if let Some(no_time) = &program.processor.no_time {
            self.history.no_time = Some(no_time.to_string());
            self.state = State::Off;
            return;
        }
        if self.state == State::Connecting
            && let Some(at) = program.connected
        {
            let mode = program.connection().map(|connection| connection.summary().mode).unwrap_or_default();
            let is_renewed = self.renewed.as_ref().is_some_and(|renewed| Arc::ptr_eq(renewed, &self.config));
            let (number, began) = (self.history.attempts, self.began);
            self.history.connection = Some(Established { number, began, at, mode, is_renewed });
            (self.state, self.failed_in_a_row) = (State::Connected, 0);
            if !self.plan.period.is_zero() && self.next_report.is_none() {
                self.next_report = Some(now + self.up_to(self.plan.period));
            }
        }
        let Some(program) = &mut self.program else { return };
        if program.is_over() {
            if self.state == State::Connecting {
                self.failed_in_a_row += 1;
                self.history.failures += 1;
                self.history.failure = program.failure.clone();
            }
            return self.disconnect(now, sockets);
        }
        if let Some(connection) = program.connection().filter(|_| self.state == State::Connected) {
            let mut buffer = [0; 1_024];
            loop {
                match connection.recv(&mut buffer) {
                    0 => break,
                    len => self.received.extend_from_slice(&buffer[..len]),
                }
            }
            while let Some(number) = take_answer(&mut self.received) {
                self.answered(now, number, sockets);
            }
        }
    }

    /// Takes the answer to a request.
    fn answered(&mut self, now: Time, number: u32, sockets: &mut Sockets<'_>) {
        let Some(outstanding) = self.outstanding.take_if(|outstanding| outstanding.request.number == number) else {
            return; // an answer that came twice
        };
        if outstanding.is_report {
            let is_watched = self.history.watched.is_some_and(|from| outstanding.request.at >= from);
            if is_watched && self.history.answered.is_none() {
                self.history.answered = Some(now);
            }
            return;
        }
        let enrolled = self.enrolled.map_or(1, |enrolled| enrolled + 1);
        self.enrolled = Some(enrolled);
        if let Some(renewed) = self.renewed.clone().filter(|_| enrolled >= self.plan.enrolment.len()) {
            (self.config, self.enrolled) = (renewed, None);
            // The server ends the old connection when the new one begins (RFC 6347, 4.2.8; RFC 9147, 5.11).
            self.disconnect(now, sockets);
            self.state = State::Waiting(now);
        }
    }

    /// Does what is due.
    fn proceed(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if let State::Waiting(at) = self.state
            && at <= now
        {
            self.connect(now, sockets);
            self.look(now, sockets);
        }
        if self.renews_at.is_some_and(|at| at <= now) {
            (self.renews_at, self.enrolled) = (None, Some(0));
        }
        while let Some(due) = self.next_report.filter(|at| *at <= now) {
            self.next_report = Some(due + self.plan.period);
            let is_counted = self.history.counted.is_some_and(|(from, until)| (from..until).contains(&due));
            self.history.reports += u64::from(is_counted);
            // Without a connection, or behind a report that has no answer yet, it is lost.
            if self.state == State::Connected && self.report.is_none() {
                let (len, reply) = self.plan.report;
                self.report = Some(Request { len, reply, number: 0, at: due });
            }
        }
        if self.outstanding.is_some_and(|outstanding| outstanding.again_at <= now) {
            self.repeat(now, sockets);
        }
        if self.state == State::Connected && self.outstanding.is_none() {
            let block = self.enrolled.and_then(|done| self.plan.enrolment.get(done));
            let block = block.map(|(len, reply)| Request { len: *len, reply: *reply, number: 0, at: now });
            let is_report = block.is_none();
            if let Some(request) = block.or_else(|| self.report.take()) {
                let request = Request { number: self.next_number, ..request };
                self.next_number = self.next_number.wrapping_add(1);
                let (wait, left) = (self.plan.timeout, self.plan.retries);
                self.outstanding = Some(Outstanding { request, is_report, again_at: now + wait, wait, left });
                self.send(&request, sockets);
                self.look(now, sockets);
            }
        }
    }

    /// Sends a request without an answer again, or gives the connection up. TCP repeats by itself.
    fn repeat(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let Some(outstanding) = &mut self.outstanding else { return };
        if outstanding.left == 0 {
            return self.disconnect(now, sockets);
        }
        let wait = outstanding.wait.saturating_mul(2);
        *outstanding = Outstanding { again_at: now + wait, wait, left: outstanding.left - 1, ..*outstanding };
        let request = outstanding.request;
        if self.plan.tcp.is_none() {
            self.send(&request, sockets);
            self.look(now, sockets);
        }
    }

    fn send(&mut self, request: &Request, sockets: &mut Sockets<'_>) {
        if let Some(program) = &mut self.program {
            program.act(sockets, |connection| connection.send(&request.encode()).map(drop));
        }
    }

    /// Whether an event is of the present connection.
    fn concerns(&self, event: SocketEvent) -> bool {
        let (SocketEvent::Connected(socket)
        | SocketEvent::Readable(socket)
        | SocketEvent::Writable(socket)
        | SocketEvent::PeerFinished(socket)
        | SocketEvent::Closed(socket)
        | SocketEvent::Failed(socket, _)
        | SocketEvent::Accepted { socket, .. }) = event;
        self.socket() == Some(socket)
    }

    fn socket(&self) -> Option<SocketId> {
        self.program.as_ref().and_then(Program::socket)
    }
}

impl Application for Device<'_, '_> {
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.state = State::Waiting(now + self.up_to(self.plan.spread));
        self.proceed(now, sockets);
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        if !self.concerns(event) {
            return;
        }
        if let Some(program) = &mut self.program {
            program.handle_event(now, event, sockets);
        }
        self.look(now, sockets);
        if matches!(event, SocketEvent::Closed(_) | SocketEvent::Failed(..)) && self.program.is_some() {
            // TCP is over, and TLS had nothing to say about it.
            if self.state == State::Connecting {
                self.failed_in_a_row += 1;
                self.history.failures += 1;
                self.history.failure = Some("the server has closed the connection".into());
            }
            self.disconnect(now, sockets);
        }
        self.proceed(now, sockets);
    }

    fn poll_timeout(&self) -> Option<Time> {
        let waits = match self.state {
            State::Off => return None,
            State::Waiting(at) => Some(at),
            State::Connecting | State::Connected => None,
        };
        let again = self.outstanding.map(|outstanding| outstanding.again_at);
        let program = self.program.as_ref().and_then(Program::poll_timeout);
        [waits, self.next_report, self.renews_at, again, program].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        if let Some(program) = &mut self.program
            && program.poll_timeout().is_some_and(|at| at <= now)
        {
            program.handle_timeout(now, sockets);
            self.look(now, sockets);
        }
        self.proceed(now, sockets);
    }
}
