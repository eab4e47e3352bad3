//! A pledge, the proxies around it, and a driver on a virtual clock. What must always hold is checked at every command.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::{CertificateDer, UnixTime};
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::{CryptoError, SigningKey};
use terse_tls::{Instant, Now};

use super::super::*;
use super::pki::{self, Late, NOW, at};
use super::registrar::{Answer, Registrar};
use crate::voucher::MAX_LEN;

/// An input that owns its parts.
#[derive(Clone)]
pub(super) enum Reply {
    Connected(ConnectionId, Vec<CertificateDer<'static>>),
    Response(ConnectionId, Answer),
    Lost(ConnectionId),
    Signed(SignatureId, Vec<u8>),
    SigningFailed(SignatureId),
    Key(Result<Arc<dyn SigningKey>, CryptoError>),
    Stored(bool),
    Timer,
}

pub(super) struct World {
    pub(super) pledge: Pledge,
    pub(super) now: u64,
    /// Whether the pledge has a clock.
    pub(super) has_clock: bool,
    pub(super) rng: SeededRng,
    /// What comes next.
    pub(super) replies: VecDeque<Reply>,
    pub(super) registrars: BTreeMap<Proxy, Registrar>,
    /// The registrar at the origin of a redirection.
    pub(super) elsewhere: Option<Registrar>,
    pub(super) events: Vec<(u64, Event)>,
    /// When connections began, where to, and with which credential.
    pub(super) connects: Vec<(u64, Target, Identity)>,
    pub(super) closes: usize,
    pub(super) stored: Option<Enrollment>,
    /// Whether the key of the LDevID answers later.
    pub(super) has_late_key: bool,
    ldevid_key: Arc<dyn SigningKey>,
    open: Option<(ConnectionId, Target)>,
    is_imprinted: bool,
}

impl World {
    pub(super) fn new(registrar: Registrar) -> Self {
        Self::with(pki::config(), [(Proxy(1), registrar)])
    }

    pub(super) fn with(config: PledgeConfig, registrars: impl IntoIterator<Item = (Proxy, Registrar)>) -> Self {
        let registrars: BTreeMap<_, _> = registrars.into_iter().collect();
        let mut world = Self {
            pledge: Pledge::new(Arc::new(config)),
            now: 1_000,
            has_clock: true,
            rng: SeededRng::new(7),
            replies: VecDeque::new(),
            registrars,
            elsewhere: None,
            events: Vec::new(),
            connects: Vec::new(),
            closes: 0,
            stored: None,
            has_late_key: false,
            ldevid_key: pki::new_key(),
            open: None,
            is_imprinted: false,
        };
        let proxies: Vec<_> = world.registrars.keys().copied().collect();
        world.give(Input::Found(&proxies));
        world
    }

    pub(super) fn time(&self) -> Now {
        Now::new(Instant(self.now), self.has_clock.then(|| at(NOW + self.now / 1_000)))
    }

    pub(super) fn date(&self) -> UnixTime {
        at(NOW + self.now / 1_000)
    }

    pub(super) fn registrar(&mut self) -> &mut Registrar {
        self.registrars.get_mut(&Proxy(1)).unwrap()
    }

    pub(super) fn key(&self) -> &dyn SigningKey {
        &*self.ldevid_key
    }

    /// Gives an input to the pledge, and executes its commands.
    pub(super) fn give(&mut self, input: Input<'_>) {
        let commands = self.pledge.handle(self.time(), &mut self.rng, input);
        assert!(commands.len() <= 4, "{commands:?}");
        for command in commands {
            self.execute(command);
        }
        let _ = std::format!("{:?}", self.pledge);
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        match reply {
            Reply::Connected(connection, chain) => {
                self.give(Input::Connected { connection, presented: Presented::Chain(&chain) })
            }
            Reply::Response(connection, answer) => {
                let mut response = Response::new(answer.status, &answer.body);
                response.content_type = answer.content_type.map(str::as_bytes);
                response.retry_after = answer.retry_after.as_deref().map(str::as_bytes);
                response.location = answer.location.as_deref().map(str::as_bytes);
                self.give(Input::Response { connection, response });
            }
            Reply::Lost(connection) => {
                if self.open.as_ref().is_some_and(|(open, _)| *open == connection) {
                    self.open = None;
                }
                self.give(Input::Lost(connection));
            }
            Reply::Signed(signature, bytes) => self.give(Input::Signed(signature, Ok(bytes))),
            Reply::SigningFailed(signature) => self.give(Input::Signed(signature, Err(CryptoError::SigningFailed))),
            Reply::Key(key) => self.give(Input::Key(key)),
            Reply::Stored(is_stored) => self.give(Input::Stored(is_stored)),
            Reply::Timer => self.give(Input::Timer),
        }
    }

    /// Does what comes next: the next reply, or else the timer. Returns false if there is nothing.
    pub(super) fn step(&mut self) -> bool {
        let reply = match self.replies.pop_front() {
            Some(reply) => reply,
            None => match self.pledge.poll_timeout() {
                Some(timeout) => {
                    self.now = self.now.max(timeout.0);
                    Reply::Timer
                }
                None => return false,
            },
        };
        self.reply(reply);
        true
    }

    /// Goes on until `is_reached`, and fails if that is not in `limit` steps.
    pub(super) fn run(&mut self, limit: usize, mut is_reached: impl FnMut(&Self) -> bool) {
        for _ in 0..limit {
            if is_reached(self) {
                return;
            }
            assert!(self.step(), "nothing to do: {:?}, {:?}", self.pledge, self.events);
        }
        panic!("not reached: {:?}, {:?}", self.pledge, self.events);
    }

    pub(super) fn run_to(&mut self, phase: Phase) {
        self.run(1_000, |world| world.pledge.phase() == phase);
    }

    /// Goes on until an attempt has failed, and returns why.
    pub(super) fn run_to_failure(&mut self) -> AttemptFailed {
        let seen = self.failures().len();
        self.run(1_000, |world| world.failures().len() > seen);
        self.failures()[seen]
    }

    pub(super) fn failures(&self) -> Vec<AttemptFailed> {
        let failed = |(_, event): &(u64, Event)| match event {
            Event::Failed(_, why) => Some(*why),
            _ => None,
        };
        self.events.iter().filter_map(failed).collect()
    }

    pub(super) fn connection(&self) -> ConnectionId {
        self.open.as_ref().expect("a connection is open").0
    }

    pub(super) fn is_connected(&self) -> bool {
        self.open.is_some()
    }

    fn at_target(&mut self, target: &Target) -> Option<&mut Registrar> {
        match target {
            Target::Proxy(proxy) => self.registrars.get_mut(proxy),
            Target::Origin(_) => self.elsewhere.as_mut(),
        }
    }

    fn execute(&mut self, command: Command) {
        assert!(!std::format!("{command:?}").is_empty());
        match command {
            Command::Connect { connection, to, identity } => {
                assert_eq!(self.open, None, "there is one connection at a time");
                assert_eq!(identity == Identity::Ldevid, self.stored.is_some(), "the LDevID is used when it is stored");
                self.connects.push((self.now, to.clone(), identity));
                self.open = Some((connection, to.clone()));
                let chain = self.at_target(&to).map(|registrar| registrar.chain.clone());
                self.replies.push_back(match chain {
                    Some(chain) => Reply::Connected(connection, chain),
                    None => Reply::Lost(connection),
                });
            }
            Command::Send(connection, request) => {
                let target = match &self.open {
                    Some((open, target)) if *open == connection => target.clone(),
                    open => panic!("sent on {connection:?} while {open:?} is open"),
                };
                assert!(request.path.starts_with('/') && request.path.bytes().all(|byte| byte.is_ascii_graphic()));
                match self.is_imprinted || request.path.ends_with("voucher_status") {
                    true => assert!(request.max_response <= crate::est::MAX_BODY_LEN),
                    false => assert_eq!(request.max_response, MAX_LEN),
                }
                let answer = self.at_target(&target).map(|registrar| registrar.answer(&request));
                self.replies
                    .push_back(answer.map_or(Reply::Lost(connection), |answer| Reply::Response(connection, answer)));
            }
            Command::Close(connection) => {
                assert_eq!(self.open.take().map(|(open, _)| open), Some(connection));
                self.closes += 1;
                self.replies.clear();
            }
            Command::Sign { signature, identity, scheme, message } => {
                let key = match identity {
                    Identity::Idevid => pki::idevid_key(),
                    Identity::Ldevid => self.ldevid_key.clone(),
                };
                let signed = key.sign(scheme, &message, &mut self.rng).unwrap().done().unwrap();
                self.replies.push_back(Reply::Signed(signature, signed));
            }
            Command::MakeKey => {
                assert!(self.is_imprinted);
                let key = self.ldevid_key.clone();
                let key = if self.has_late_key { Arc::new(Late(key)) } else { key };
                self.replies.push_back(Reply::Key(Ok(key)));
            }
            Command::Store(enrollment) => {
                assert!(self.is_imprinted);
                self.stored = Some(*enrollment);
                self.replies.push_back(Reply::Stored(true));
            }
            Command::StoreIdentityKey(_) => panic!("only CoAPS has identity keys"),
            Command::Inform(event) => {
                match event {
                    Event::Imprinted(_) => self.is_imprinted = true,
                    Event::Failed(..) => {
                        self.is_imprinted = false;
                        self.stored = None;
                    }
                    Event::Enrolled { .. } => assert!(self.is_imprinted && self.stored.is_some()),
                    Event::Waiting | Event::NoIdentityKey(_) => {}
                }
                self.events.push((self.now, event));
            }
        }
    }
}
