//! The pledge as the program of a host: it carries out the commands of the state machine, in either form.

use alloc::sync::Arc;
use std::collections::VecDeque;

use terse_brski::pledge::{
    Command, ConnectionId, Event, Form, Identity, Input, Pledge, PledgeConfig, Presented, Proxy, SignatureId,
};
use terse_tls::Credential;
use terse_tls::crypto::{CryptoError, SigningKey};

use super::clock::Clock;
use super::journal::Shared;
use super::link::{Link, Report};
use super::step::Step;
use crate::host::{Application, SocketEvent, Sockets};
use crate::{Random, Time};

/// A pledge.
pub(super) struct PledgeProgram<F: Form, L> {
    pledge: Pledge<F>,
    link: L,
    clock: Clock,
    random: Random,
    journal: Shared,
    idevid: Credential,
    ldevid_key: Arc<dyn SigningKey>,
    ldevid: Option<Credential>,
    connection: Option<ConnectionId>,
    /// What the pledge gets of its own key and storage.
    answers: VecDeque<OwnAnswer>,
}

enum OwnAnswer {
    Key,
    Signed(SignatureId, Result<Vec<u8>, CryptoError>),
    Stored,
}

impl<F: Form, L: Link> PledgeProgram<F, L> {
    /// Creates a pledge that is new.
    pub(super) fn new(
        config: PledgeConfig<F>,
        link: L,
        (idevid, ldevid_key): (Credential, Arc<dyn SigningKey>),
        clock: Clock,
        random: Random,
        journal: Shared,
    ) -> Self {
        Self {
            pledge: Pledge::new(Arc::new(config)),
            link,
            clock,
            random,
            journal,
            idevid,
            ldevid_key,
            ldevid: None,
            connection: None,
            answers: VecDeque::new(),
        }
    }

    /// Gives the state machine an input, and carries out what follows from it.
    fn give(&mut self, now: Time, sockets: &mut Sockets<'_>, input: Input<'_>) {
        let commands = self.pledge.handle(self.clock.now(now), &mut self.random, input);
        commands.into_iter().for_each(|command| self.execute(now, sockets, command));
        while let Some(answer) = self.answers.pop_front() {
            let input = match answer {
                OwnAnswer::Key => Input::Key(Ok(self.ldevid_key.clone())),
                OwnAnswer::Signed(signature, signed) => Input::Signed(signature, signed),
                OwnAnswer::Stored => Input::Stored(true),
            };
            let commands = self.pledge.handle(self.clock.now(now), &mut self.random, input);
            commands.into_iter().for_each(|command| self.execute(now, sockets, command));
        }
    }

    fn execute(&mut self, now: Time, sockets: &mut Sockets<'_>, command: Command) {
        match command {
            Command::Connect { connection, identity, .. } => {
                let (credential, step) = match (identity, &self.ldevid) {
                    (Identity::Ldevid, Some(ldevid)) => (ldevid.clone(), Step::SecondHandshake),
                    _ => (self.idevid.clone(), Step::Handshake),
                };
                self.connection = Some(connection);
                self.journal.borrow_mut().begin(now, step);
                self.link.connect(now, sockets, &credential, step);
            }
            Command::Send(connection, request) if self.connection == Some(connection) => {
                if let Some(step) = Step::of(&request) {
                    self.journal.borrow_mut().begin(now, step);
                }
                self.link.send(now, sockets, &request);
            }
            Command::Close(connection) if self.connection == Some(connection) => {
                self.connection = None;
                self.link.close(now, sockets);
            }
            Command::MakeKey => self.answers.push_back(OwnAnswer::Key),
            Command::Sign { signature, identity, scheme, message } => {
                let key = match identity {
                    Identity::Idevid => self.idevid.key(),
                    Identity::Ldevid => &*self.ldevid_key,
                };
                // The keys of a simulation answer at once.
                let signing = key.sign(scheme, &message, &mut self.random);
                let signed = signing.and_then(|signing| signing.done().ok_or(CryptoError::SigningFailed));
                self.answers.push_back(OwnAnswer::Signed(signature, signed));
            }
            Command::Store(enrollment) => {
                self.ldevid = Some(enrollment.credential);
                self.answers.push_back(OwnAnswer::Stored);
            }
            Command::Inform(event) => self.note(now, event),
            _ => {} // what belongs to a connection that is gone
        }
    }

    fn note(&self, now: Time, event: Event) {
        let mut journal = self.journal.borrow_mut();
        match event {
            Event::Enrolled { is_reported } => journal.enrolled = Some((now, is_reported)),
            Event::Failed(_, why) => journal.failures.push(format!("{why}")),
            _ => {}
        }
    }

    /// Takes what the connection reports.
    fn report(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        while let Some(report) = self.link.poll_report() {
            let Some(connection) = self.connection else { continue };
            match report {
                Report::Connected(chain) => {
                    let presented = Presented::Chain(&chain);
                    self.give(now, sockets, Input::Connected { connection, presented });
                }
                Report::Response(reply) => {
                    self.give(now, sockets, Input::Response { connection, response: reply.response() });
                }
                Report::Lost(cause) => {
                    self.journal.borrow_mut().failures.push(cause);
                    self.give(now, sockets, Input::Lost(connection));
                }
            }
        }
    }
}

impl<F: Form, L: Link> Application for PledgeProgram<F, L> {
    fn start(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        self.give(now, sockets, Input::Found(&[Proxy(0)]));
        self.report(now, sockets);
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        self.link.handle_event(now, sockets, event);
        self.report(now, sockets);
    }

    fn poll_timeout(&self) -> Option<Time> {
        [self.pledge.poll_timeout(), self.link.poll_timeout()].into_iter().flatten().min().map(Clock::due)
    }

    fn handle_timeout(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let due = |at: Option<terse_tls::Instant>| at.is_some_and(|at| Clock::due(at) <= now);
        if due(self.link.poll_timeout()) {
            self.link.handle_timeout(now, sockets);
            self.report(now, sockets);
        }
        if due(self.pledge.poll_timeout()) {
            self.give(now, sockets, Input::Timer);
            self.report(now, sockets);
        }
    }
}
