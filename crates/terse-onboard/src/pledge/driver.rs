//! The driver of the pledge's machine: its commands become connections, keys and files, and what comes of them its inputs.
//!
//! What must always hold: commands are executed in their order; what a command answers at once is an input before anything
//! else is waited for.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::time::Duration;

use terse_brski::pledge::{Command, ConnectionId, Enrollment, Identity, Phase, Pledge, Proxy, SignatureId, Target};
use terse_brski::voucher::Assertion;
use terse_net::{Clock, OsRng};
use terse_tls::crypto::{CryptoError, SigningKey};
use terse_tls::{SignatureRequest, SignatureScheme, identity};
use tokio::sync::mpsc;
use zeroize::Zeroizing;

use super::connection::{self, Connection, Means, Report};
use super::places::Places;
use super::signer::{LateSigner, Signed};
use super::timings::{Stage, Timings};
use super::{CredentialDirectory, Device, GaveUp, Onboarded, Progress, Settings, SocketForm};
use crate::discovery::{Discovery, Place};

mod answer;
mod news;

use answer::Answer;

/// One onboarding.
pub(super) struct Driver<'a, F: SocketForm, O> {
    device: &'a Device<F>,
    credentials: &'a CredentialDirectory,
    settings: &'a Settings,
    observe: O,
    clock: Clock,
    pledge: Pledge<F>,
    places: Places,
    connection: Option<Connection>,
    reports: (connection::Reports, mpsc::Receiver<(ConnectionId, Report)>),
    /// What commands have answered at once.
    answers: VecDeque<Answer>,
    /// Where the last connection goes, for reports.
    place: Option<Place>,
    /// The proxy of the last attempt.
    proxy: Option<Proxy>,
    /// The place that has just failed, or has given way because it only makes the pledge wait. Discovery is told of it.
    failed: Option<Place>,
    /// The signature that is waited for.
    signing: Option<(SignatureId, Signed)>,
    failures: u32,
    key: Option<Zeroizing<pki_types::PrivateKeyDer<'static>>>,
    enrollment: Option<Enrollment>,
    /// The identity of the identity key, once that is stored.
    identity: Option<identity::Identity>,
    assertion: Option<Assertion>,
    phase: Phase,
    timings: Timings,
}

/// How an onboarding ends.
enum End {
    Enrolled { is_reported: bool },
    GaveUp(GaveUp),
}

impl<'a, F: SocketForm, O: FnMut(Progress) + Send> Driver<'a, F, O> {
    pub(super) fn new(
        device: &'a Device<F>,
        credentials: &'a CredentialDirectory,
        settings: &'a Settings,
        observe: O,
    ) -> Self {
        let pledge = Pledge::new(device.config().clone());
        Self {
            device,
            credentials,
            settings,
            observe,
            clock: Clock::new(),
            phase: pledge.phase(),
            pledge,
            places: Places::default(),
            connection: None,
            reports: mpsc::channel(4), // one connection at a time, whose reports wait for requests
            answers: VecDeque::new(),
            place: None,
            proxy: None,
            failed: None,
            signing: None,
            failures: 0,
            key: None,
            enrollment: None,
            identity: None,
            assertion: None,
            timings: Timings::begin(),
        }
    }

    pub(super) async fn run(mut self, mut discovery: impl Discovery) -> Result<Onboarded, GaveUp> {
        let limit = tokio::time::Instant::now() + self.settings.discovery_limit;
        loop {
            let answer = match self.answers.pop_front() {
                Some(answer) => answer,
                None => {
                    let can_give_up =
                        self.settings.max_failures.is_some() && self.places.is_empty() && self.failures == 0;
                    let timeout = self.until_timeout();
                    tokio::select! {
                        Some((connection, report)) = self.reports.1.recv() => Answer::Report(connection, report),
                        change = discovery.next() => {
                            self.changed(change);
                            continue;
                        }
                        (signature, signed) = answer_of(&mut self.signing) => Answer::Signed(signature, signed),
                        () = sleep(timeout) => Answer::Timer,
                        () = tokio::time::sleep_until(limit), if can_give_up => return Err(GaveUp::NoProxy),
                    }
                }
            };
            let end = self.handle(answer).await;
            if let Some(place) = self.failed.take() {
                discovery.failed(&place);
            }
            match end {
                Some(End::Enrolled { is_reported }) => return self.onboarded(is_reported),
                Some(End::GaveUp(why)) => return Err(why),
                None => {}
            }
        }
    }

    /// Returns how long the machine wants nothing by itself.
    fn until_timeout(&self) -> Option<Duration> {
        let timeout = self.pledge.poll_timeout()?;
        Some(Duration::from_millis(timeout.0.saturating_sub(self.clock.now().monotonic.0)))
    }

    /// Gives an input to the machine, and executes what it wants.
    async fn handle(&mut self, answer: Answer) -> Option<End> {
        let now = self.clock.now();
        let is_connected = matches!(answer, Answer::Report(_, Report::Connected(_)));
        let commands = answer.give(|input| self.pledge.handle(now, &mut OsRng, input));
        let begins = |command: &Command| matches!(command, Command::Connect { identity: Identity::Ldevid, .. });
        let connects_with_ldevid =
            commands.iter().any(begins) || (self.timings.is_in(Stage::ConnectLdevid) && !is_connected);
        let mut end = None;
        for command in commands {
            if let Command::Inform(event) = command {
                end = end.or(self.inform(event));
            } else {
                self.enter(connects_with_ldevid);
                self.execute(command).await;
            }
        }
        self.enter(connects_with_ldevid);
        end
    }

    /// Notes the phase that the machine is in.
    fn enter(&mut self, connects_with_ldevid: bool) {
        let phase = self.pledge.phase();
        self.timings.enter(match phase {
            Phase::RequestIdentityKey | Phase::ReportEnrollment if connects_with_ldevid => Stage::ConnectLdevid,
            phase => Stage::Phase(phase),
        });
        if core::mem::replace(&mut self.phase, phase) != phase
            && let Some(place) = &self.place
            && !matches!(phase, Phase::Discover | Phase::Enrolled)
        {
            (self.observe)(Progress::Phase(place.clone(), phase));
        }
    }

    async fn execute(&mut self, command: Command) {
        match command {
            Command::Connect { connection, to, identity } => self.connect(connection, to, identity),
            Command::Send(connection, request) => {
                if let Some(own) = self.connection.as_ref().filter(|own| own.id() == connection) {
                    own.send(request);
                }
            }
            Command::Close(connection) => {
                self.connection.take_if(|own| own.id() == connection);
            }
            Command::Sign { signature, identity, scheme, message } => self.sign(signature, identity, scheme, message),
            Command::MakeKey => {
                let key = self.make_key();
                self.answers.push_back(Answer::Key(key));
            }
            Command::Store(enrollment) => {
                let is_stored = self.store(*enrollment).await;
                self.answers.push_back(Answer::Stored(is_stored));
            }
            Command::StoreIdentityKey(file) => {
                let is_stored = self.store_identity_key(file).await;
                self.answers.push_back(Answer::Stored(is_stored));
            }
            _ => {}
        }
    }

    /// Asks for a signature that comes later. There is one at a time: the machine wants no earlier one any more.
    fn sign(&mut self, id: SignatureId, identity: Identity, scheme: SignatureScheme, message: Vec<u8>) {
        let signer = self.device.signer().filter(|_| identity == Identity::Idevid);
        match signer {
            Some(signer) => {
                let request = SignatureRequest::new(self.device.idevid().clone(), scheme, message);
                self.signing = Some((id, signer.ask(request)));
            }
            // The keys of LDevIDs are here, and answer at once.
            None => self.answers.push_back(Answer::Signed(id, Err(CryptoError::SigningFailed))),
        }
    }

    fn connect(&mut self, id: ConnectionId, to: Target, identity: Identity) {
        self.signing = None; // one of an earlier attempt is not wanted any more
        let place = match to {
            Target::Proxy(proxy) => {
                self.proxy = Some(proxy);
                self.places.of(proxy).cloned()
            }
            Target::Origin(origin) => {
                let host = origin.host().trim_start_matches('[').trim_end_matches(']');
                Some(Place::new(host, origin.port()))
            }
            _ => None,
        };
        let credential = match identity {
            Identity::Idevid => Some(self.device.idevid().clone()),
            Identity::Ldevid => self.enrollment.as_ref().map(|enrollment| enrollment.credential.clone()),
        };
        match (place, credential) {
            (Some(place), Some(credential)) => {
                self.place = Some(place.clone());
                let signer = self.device.signer().inspect(|signer| signer.forget_failure()).map(LateSigner::function);
                let (clock, counters) = (self.clock, self.timings.counters().clone());
                let certificate_type = self.device.config().certificate_type();
                let coaps = self.settings.coaps;
                let means = Means { credential, certificate_type, signer, clock, counters, coaps };
                self.connection = Some(Connection::begin::<F::Peer>(id, place, means, self.reports.0.clone()));
            }
            _ => self.answers.push_back(Answer::Report(id, Report::Lost)), // discovery has forgotten the place meanwhile
        }
    }

    /// Makes the key of the LDevID, which waits here until there is a certificate for it.
    fn make_key(&mut self) -> Result<Arc<dyn SigningKey>, CryptoError> {
        let key = self.settings.algorithm.new_key().map_err(|_| CryptoError::SigningFailed)?;
        let signing = terse_aws_lc::PROVIDER.load_key(&key).map_err(|_| CryptoError::SigningFailed)?;
        self.key = Some(key);
        Ok(signing)
    }

    async fn store(&mut self, enrollment: Enrollment) -> bool {
        let Some(key) = self.key.take() else { return false };
        let stored = self.credentials.store(enrollment.credential.chain(), key, &enrollment.anchors).await;
        match stored {
            Ok(()) => self.enrollment = Some(enrollment),
            Err(problem) => (self.observe)(Progress::NotStored(problem.to_string())),
        }
        self.enrollment.is_some()
    }

    async fn store_identity_key(&mut self, file: Zeroizing<Vec<u8>>) -> bool {
        match self.credentials.store_identity_key(file).await {
            Ok(identity) => self.identity = Some(identity),
            Err(problem) => (self.observe)(Progress::NotStored(problem.to_string())),
        }
        self.identity.is_some()
    }

    fn onboarded(self, is_reported: bool) -> Result<Onboarded, GaveUp> {
        let Self { enrollment, identity, assertion: Some(assertion), place: Some(proxy), timings, .. } = self else {
            return Err(GaveUp::NoProxy); // the machine enrolls nobody without a voucher
        };
        let (credential, anchors) =
            enrollment.map(|Enrollment { credential, anchors, .. }| (credential, anchors)).unzip();
        let anchors = anchors.unwrap_or_default();
        Ok(Onboarded { credential, anchors, identity, proxy, assertion, is_reported, timings })
    }
}

/// Waits for the signature that is under way, or for ever if there is none.
async fn answer_of(signing: &mut Option<(SignatureId, Signed)>) -> (SignatureId, Result<Vec<u8>, CryptoError>) {
    let Some((id, signed)) = signing else { return core::future::pending().await };
    let answer = (*id, signed.await);
    *signing = None;
    answer
}

/// Waits for a time, or for ever.
async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => core::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
