//! The stateful mode on sockets: one to which pledges send, and one for each pledge, connected to the registrar.
//!
//! What must always hold: there are no more sockets than the table has tuples, and those that it had a second ago; an answer is
//! passed on by the tuple whose socket it came on; answers are read for as long as a socket is there, whatever it reports.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use terse_brski::join_proxy::{Passed, Stateful, Tuple};
use terse_net::is_of_network;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::MissedTickBehavior;

use super::errors::{is_too_long, receive};
use super::front::Front;
use super::registrars::Registrars;
use super::{UdpCounters, connect};
use crate::stop::stopped;

/// What the task that reads from pledges shares with those that read answers.
struct Shared {
    front: Front,
    registrars: Registrars,
    max_content: usize,
    state: Mutex<State>,
}

struct State {
    decisions: Stateful,
    counters: UdpCounters,
}

/// The socket of a tuple, and the task that reads answers from it, which ends with this.
struct Source {
    socket: Arc<UdpSocket>,
    registrar: SocketAddr,
    task: AbortHandle,
}

impl Drop for Source {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs until `stop` becomes true.
pub(super) async fn run(
    front: Front,
    registrars: Registrars,
    decisions: Stateful,
    max_content: usize,
    stop: &mut watch::Receiver<bool>,
) -> UdpCounters {
    let state = Mutex::new(State { decisions, counters: UdpCounters::default() });
    let shared = Arc::new(Shared { front, registrars, max_content, state });
    let mut sources = HashMap::new();
    let mut input = vec![0; max_content + 1]; // one more shows that a datagram is too long
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            (len, pledge) = shared.front.receive(&mut input) => {
                shared.pass_on(&mut sources, input.get(..len).unwrap_or_default(), pledge).await;
            }
            _ = sweep.tick() => {
                let now = shared.registrars.now();
                shared.lock().decisions.expire(now);
                shared.sweep(&mut sources);
            }
            () = stopped(stop) => break,
        }
    }
    shared.lock().counters
}

impl Shared {
    /// Passes a datagram of a pledge on.
    async fn pass_on(self: &Arc<Self>, sources: &mut HashMap<Tuple, Source>, content: &[u8], pledge: SocketAddr) {
        let Some(passed) = self.decide(pledge, content.len()) else { return };
        let sent = self.find_source(sources, passed).await.map(|source| (source.socket.try_send(content), source));
        let mut state = self.lock();
        match sent {
            None => state.counters.unreachable += 1,
            Some((Ok(_), _)) => state.counters.passed_on += 1,
            Some((Err(error), source)) => {
                state.counters.unsent += 1;
                if is_of_network(&error) {
                    self.registrars.failed(source.registrar);
                    state.decisions.failed(&passed.tuple, self.registrars.now());
                }
            }
        }
    }

    fn decide(&self, pledge: SocketAddr, len: usize) -> Option<Passed> {
        let now = self.registrars.now();
        let mut state = self.lock();
        match state.decisions.from_pledge(pledge, len, now) {
            Ok(passed) => Some(passed),
            Err(refusal) => {
                state.counters.refuse(refusal);
                None
            }
        }
    }

    /// Returns the source of a tuple. Until a registrar has answered there, it is one to the registrar that is used now.
    async fn find_source<'a>(
        self: &Arc<Self>,
        sources: &'a mut HashMap<Tuple, Source>,
        passed: Passed,
    ) -> Option<&'a Source> {
        let Passed { tuple, is_answered, .. } = passed;
        let registrar = match sources.get(&tuple) {
            Some(source) if is_answered => source.registrar,
            _ => self.registrars.pass_on()?,
        };
        if sources.get(&tuple).is_none_or(|source| source.registrar != registrar) {
            self.sweep(sources); // what it may have replaced
            sources.remove(&tuple);
            sources.insert(tuple, self.open(tuple, registrar).await?);
        }
        sources.get(&tuple)
    }

    async fn open(self: &Arc<Self>, tuple: Tuple, registrar: SocketAddr) -> Option<Source> {
        match connect(registrar).await {
            Ok(socket) => {
                let socket = Arc::new(socket);
                let task = tokio::spawn(self.clone().answer(socket.clone(), registrar, tuple)).abort_handle();
                Some(Source { socket, registrar, task })
            }
            Err(error) => {
                self.registrars.not_connected(registrar, &error);
                None
            }
        }
    }

    /// Closes the sockets of tuples that are gone.
    fn sweep(&self, sources: &mut HashMap<Tuple, Source>) {
        let state = self.lock();
        sources.retain(|tuple, _| state.decisions.has(tuple));
    }

    /// Passes the answers of a registrar on, until it is aborted.
    async fn answer(self: Arc<Self>, socket: Arc<UdpSocket>, registrar: SocketAddr, tuple: Tuple) -> Infallible {
        let mut input = vec![0; self.max_content + 1];
        loop {
            match receive(&socket, &mut input).await {
                Ok(len) => self.answer_with(input.get(..len).unwrap_or_default(), registrar, &tuple),
                Err(error) => self.fail(&error, registrar, &tuple),
            }
        }
    }

    fn answer_with(&self, content: &[u8], registrar: SocketAddr, tuple: &Tuple) {
        let now = self.registrars.now();
        self.registrars.answered(registrar);
        let mut state = self.lock();
        match state.decisions.from_registrar(tuple, content.len(), now) {
            Ok(pledge) if self.front.send(content, pledge) => state.counters.answered += 1,
            Ok(_) => state.counters.unsent += 1,
            Err(refusal) => state.counters.refuse(refusal),
        }
    }

    /// Takes what the socket of a tuple reports.
    fn fail(&self, error: &io::Error, registrar: SocketAddr, tuple: &Tuple) {
        let mut state = self.lock();
        if is_of_network(error) {
            self.registrars.failed(registrar);
            state.decisions.failed(tuple, self.registrars.now());
        } else if is_too_long(error) {
            state.counters.unsent += 1;
        }
    }

    /// Nobody panics with the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often the tuples that have ended are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
