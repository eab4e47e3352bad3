//! A pledge with constrained BRSKI, one registrar, and a driver on a virtual clock.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use pki_types::{CertificateDer, UnixTime};
use terse_aws_lc::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::SigningKey;
use terse_tls::{Credential, Instant, Now};

use super::super::pki::{self, Late, NOW, PKI, at};
use super::datagrams::Wire;
use super::*;
use crate::pledge::{Request as PledgeRequest, coaps};
use crate::voucher::MAX_LEN;

/// An input that owns its parts.
enum Reply {
    Connected(ConnectionId, Vec<CertificateDer<'static>>),
    ConnectedByKey(ConnectionId, Vec<u8>),
    Response(ConnectionId, PledgeRequest, Response),
    Signed(SignatureId, Vec<u8>),
    Key(Arc<dyn SigningKey>),
    Stored(bool),
}

pub(super) struct World {
    pub(super) pledge: Pledge<Coaps>,
    pub(super) now: u64,
    pub(super) rng: SeededRng,
    pub(super) registrar: Registrar,
    pub(super) events: Vec<Event>,
    /// When connections began, and with which credential.
    pub(super) connects: Vec<(u64, Identity)>,
    pub(super) stored: Option<Enrollment>,
    pub(super) identity_key: Option<Vec<u8>>,
    pub(super) stores_identity_keys: bool,
    /// Whether keys answer later, and what the IDevID's key answers in place of a signature.
    pub(super) has_late_keys: bool,
    pub(super) false_signature: Option<Vec<u8>>,
    pub(super) connection: Option<ConnectionId>,
    /// What carries requests and responses as messages, if they are not simply handed over.
    pub(super) wire: Option<Wire>,
    replies: VecDeque<Reply>,
    ldevid_key: Arc<dyn SigningKey>,
}

pub(super) fn config(form: Coaps) -> PledgeConfig<Coaps> {
    config_with(form, PKI.idevid.clone(), [PKI.vouchers.root().clone()].into())
}

pub(super) fn config_with(
    form: Coaps,
    idevid: Credential,
    manufacturer: Vec<CertificateDer<'static>>,
) -> PledgeConfig<Coaps> {
    PledgeConfig::with_form(form, &PROVIDER, idevid, manufacturer, Default::default()).unwrap()
}

impl World {
    pub(super) fn new(registrar: Registrar) -> Self {
        Self::with(config(Coaps::default()), registrar)
    }

    pub(super) fn with(config: PledgeConfig<Coaps>, registrar: Registrar) -> Self {
        Self::begin(config, registrar, None)
    }

    pub(super) fn with_wire(config: PledgeConfig<Coaps>, registrar: Registrar, wire: Wire) -> Self {
        Self::begin(config, registrar, Some(wire))
    }

    fn begin(config: PledgeConfig<Coaps>, registrar: Registrar, wire: Option<Wire>) -> Self {
        let mut world = Self {
            pledge: Pledge::new(Arc::new(config)),
            now: 1_000,
            rng: SeededRng::new(7),
            registrar,
            events: Vec::new(),
            connects: Vec::new(),
            stored: None,
            identity_key: None,
            stores_identity_keys: true,
            has_late_keys: false,
            false_signature: None,
            connection: None,
            wire,
            replies: VecDeque::new(),
            ldevid_key: pki::new_key(),
        };
        world.give(Input::Found(&[Proxy(1)]));
        world
    }

    pub(super) fn date(&self) -> UnixTime {
        at(NOW + self.now / 1_000)
    }

    fn time(&self) -> Now {
        Now::new(Instant(self.now), Some(self.date()))
    }

    pub(super) fn give(&mut self, input: Input<'_>) {
        let now = self.time();
        let commands = self.pledge.handle(now, &mut self.rng, input);
        assert!(commands.len() <= 4, "{commands:?}");
        commands.into_iter().for_each(|command| self.execute(command));
    }

    /// The network loses the connection.
    pub(super) fn lose(&mut self) {
        self.replies.clear();
        if let Some(connection) = self.connection.take() {
            self.give(Input::Lost(connection));
        }
    }

    fn step(&mut self) {
        match self.replies.pop_front() {
            Some(Reply::Connected(connection, chain)) => {
                self.give(Input::Connected { connection, presented: Presented::Chain(&chain) });
            }
            Some(Reply::ConnectedByKey(connection, key)) => {
                self.give(Input::Connected { connection, presented: Presented::RawPublicKey(&key) });
            }
            Some(Reply::Response(connection, request, response)) => {
                let response = coaps::response(&request, &response);
                self.give(Input::Response { connection, response });
            }
            Some(Reply::Signed(signature, bytes)) => self.give(Input::Signed(signature, Ok(bytes))),
            Some(Reply::Key(key)) => self.give(Input::Key(Ok(key))),
            Some(Reply::Stored(is_stored)) => self.give(Input::Stored(is_stored)),
            None => {
                let timeout = self.pledge.poll_timeout().expect("something is to be done");
                self.now = self.now.max(timeout.0);
                self.give(Input::Timer);
            }
        }
    }

    pub(super) fn run(&mut self, limit: usize, mut is_reached: impl FnMut(&Self) -> bool) {
        for _ in 0..limit {
            if is_reached(self) {
                return;
            }
            self.step();
        }
        panic!("not reached: {:?}, {:?}", self.pledge, self.events);
    }

    pub(super) fn run_to(&mut self, phase: Phase) {
        self.run(1_000, |world| world.pledge.phase() == phase);
    }

    /// Goes on until the attempt has failed, and returns why.
    pub(super) fn run_to_failure(&mut self) -> AttemptFailed {
        let failed = |event: &Event| match event {
            Event::Failed(_, why) => Some(*why),
            _ => None,
        };
        self.run(1_000, |world| world.events.iter().any(|event| failed(event).is_some()));
        assert_eq!(self.connection, None);
        self.events.iter().find_map(failed).unwrap()
    }

    /// Returns why the enrollment has failed, and checks that the registrar was told of it.
    pub(super) fn run_to_enrollment_failure(&mut self) -> EnrollmentFailed {
        let AttemptFailed::Enrollment(why) = self.run_to_failure() else { panic!("{:?}", self.events) };
        let last = self.registrar.statuses.last().unwrap();
        assert_eq!((last.status, last.reason.as_deref()), (false, Some(why.reason())));
        assert_eq!(self.registrar.requests.last().unwrap().resource, Resource::EnrollStatus);
        assert!(self.stored.is_none());
        why
    }

    /// Returns the payloads that were sent to this resource.
    pub(super) fn payloads(&self, resource: Resource) -> Vec<&[u8]> {
        let requests = self.registrar.requests.iter().filter(|request| request.resource == resource);
        requests.map(|request| request.payload.as_slice()).collect()
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Connect { connection, to, identity } => {
                assert_eq!((self.connection, to), (None, Target::Proxy(Proxy(1))));
                self.connects.push((self.now, identity));
                self.connection = Some(connection);
                if let Some(wire) = &mut self.wire {
                    wire.begin(&mut self.rng);
                }
                self.replies.push_back(match &self.registrar.raw_public_key {
                    Some(key) => Reply::ConnectedByKey(connection, key.clone()),
                    None => Reply::Connected(connection, self.registrar.chain.clone()),
                });
            }
            Command::Send(connection, request) => {
                assert_eq!(self.connection, Some(connection));
                assert!(request.max_response <= crate::est::MAX_BODY_LEN);
                if request.path.starts_with("/.well-known/brski/") {
                    assert_eq!(request.max_response, MAX_LEN);
                }
                let mapped = coaps::request(&request).expect("each request has one of CoAP");
                let now = self.time();
                let response = match &mut self.wire {
                    Some(wire) => wire.exchange(now, &mut self.rng, mapped, &mut self.registrar),
                    None => self.registrar.answer(&mapped),
                };
                self.replies.push_back(Reply::Response(connection, request, response));
            }
            Command::Close(connection) => {
                assert_eq!(self.connection.take(), Some(connection));
                self.replies.clear();
            }
            Command::Sign { signature, identity, scheme, message } => {
                let key = match identity {
                    Identity::Idevid => pki::idevid_key(),
                    Identity::Ldevid => self.ldevid_key.clone(),
                };
                let signed = key.sign(scheme, &message, &mut self.rng).unwrap().done().unwrap();
                self.replies.push_back(Reply::Signed(signature, self.false_signature.clone().unwrap_or(signed)));
            }
            Command::MakeKey => {
                let key = self.ldevid_key.clone();
                self.replies.push_back(Reply::Key(if self.has_late_keys { Arc::new(Late(key)) } else { key }));
            }
            Command::Store(enrollment) => {
                self.stored = Some(*enrollment);
                self.replies.push_back(Reply::Stored(true));
            }
            Command::StoreIdentityKey(file) => {
                self.identity_key = Some(file.to_vec());
                self.replies.push_back(Reply::Stored(self.stores_identity_keys));
            }
            Command::Inform(event) => self.events.push(event),
        }
    }
}
