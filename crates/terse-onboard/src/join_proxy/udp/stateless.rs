//! The stateless mode on sockets: one to which pledges send, and one connected to the registrar.
//!
//! What must always hold: what comes from elsewhere than the registrar does not get here; nothing is sent to a pledge before the
//! header of the answer was verified; the source port stays, whatever the socket reports, until another registrar is used.

use core::net::SocketAddr;
use std::io;

use terse_brski::join_proxy::{HEADER_LEN, HeaderKey, OnLink, Refusal, Stateless, StatelessLimits};
use terse_net::tokio::Jpy;
use terse_net::{OsRng, is_of_network};
use terse_tls::crypto::Rng as _;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use zeroize::Zeroizing;

use super::errors::{self, is_too_long};
use super::front::Front;
use super::registrars::Registrars;
use super::{JPY_OVERHEAD, UdpCounters, connect};
use crate::stop::stopped;

struct Proxy {
    front: Front,
    registrars: Registrars,
    decisions: Stateless,
    /// The socket to the registrar, once there was something to send.
    back: Option<Back>,
    counters: UdpCounters,
}

struct Back {
    socket: UdpSocket,
    registrar: SocketAddr,
}

/// Runs until `stop` becomes true.
pub(super) async fn run(
    front: Front,
    registrars: Registrars,
    on_link: OnLink,
    limits: StatelessLimits,
    stop: &mut watch::Receiver<bool>,
) -> io::Result<UdpCounters> {
    let decisions = Stateless::new(limits, on_link, key()?, seed()?, registrars.now());
    let mut proxy = Proxy { front, registrars, decisions, back: None, counters: UdpCounters::default() };
    // One byte more shows that a datagram is too long.
    let mut input = vec![0; JPY_OVERHEAD + limits.max_content + 1];
    let mut answer = vec![0; JPY_OVERHEAD + limits.max_content + 1];
    loop {
        let due = proxy.registrars.at(proxy.decisions.key_due());
        tokio::select! {
            (len, pledge) = proxy.front.receive(&mut input[JPY_OVERHEAD..]) => {
                proxy.pass_on(&mut input, len, pledge).await;
            }
            received = receive(proxy.back.as_ref(), &mut answer) => proxy.answer(received, &answer),
            () = tokio::time::sleep_until(due) => match key() {
                Ok(key) => proxy.decisions.renew_key(key, proxy.registrars.now()),
                Err(error) => return Err(error),
            },
            () = stopped(stop) => return Ok(proxy.counters),
        }
    }
}

/// Waits for an answer, for ever if there is nobody who could send one.
async fn receive(back: Option<&Back>, answer: &mut [u8]) -> io::Result<usize> {
    match back {
        Some(back) => errors::receive(&back.socket, answer).await,
        None => core::future::pending().await,
    }
}

impl Proxy {
    /// Passes a datagram on that stands behind the first [`JPY_OVERHEAD`] bytes of `input`.
    async fn pass_on(&mut self, input: &mut [u8], len: usize, pledge: SocketAddr) {
        let header = match self.decisions.header(pledge, len, self.registrars.now()) {
            Ok(header) => header,
            Err(refusal) => return self.counters.refuse(refusal),
        };
        let Some(message) = frame(&header, input, len) else {
            return self.counters.refuse(Refusal::Length); // it fits, by the limits
        };
        if self.find_registrar().await.is_none() {
            self.counters.unreachable += 1;
            return;
        }
        let Some(back) = &self.back else { return }; // it is there now
        match back.socket.try_send(message) {
            Ok(_) => self.counters.passed_on += 1,
            Err(error) => {
                self.counters.unsent += 1;
                if is_of_network(&error) {
                    self.registrars.failed(back.registrar);
                }
            }
        }
    }

    /// Connects to the registrar that is used now, unless that was done.
    async fn find_registrar(&mut self) -> Option<()> {
        let registrar = self.registrars.pass_on()?;
        if self.back.as_ref().is_some_and(|back| back.registrar == registrar) {
            return Some(());
        }
        self.back = None;
        match connect(registrar).await {
            Ok(socket) => self.back = Some(Back { socket, registrar }),
            Err(error) => {
                self.registrars.not_connected(registrar, &error);
            }
        }
        self.back.as_ref().map(drop)
    }

    /// Passes an answer on.
    fn answer(&mut self, received: io::Result<usize>, answer: &[u8]) {
        let Some(Back { registrar, .. }) = self.back else { return }; // it came from there
        let message = match received {
            Ok(len) => answer.get(..len).unwrap_or_default(),
            Err(error) if is_of_network(&error) => return self.registrars.failed(registrar),
            Err(error) => {
                self.counters.unsent += u64::from(is_too_long(&error));
                return;
            }
        };
        let now = self.registrars.now();
        let decisions = &mut self.decisions;
        let found = Jpy::parse(message).map_err(|_| Refusal::NotAuthentic).and_then(|(header, content)| {
            let pledge = decisions.pledge(header, content.len(), now)?;
            Ok((pledge, message.get(content).unwrap_or_default()))
        });
        let (pledge, content) = match found {
            Ok(found) => found,
            Err(refusal) => return self.counters.refuse(refusal),
        };
        self.registrars.answered(registrar);
        match self.front.send(content, pledge) {
            true => self.counters.answered += 1,
            false => self.counters.unsent += 1,
        }
    }
}

/// Writes the beginning of the message right before its content, which stands behind the first [`JPY_OVERHEAD`] bytes of `input`.
fn frame<'a>(header: &[u8; HEADER_LEN], input: &'a mut [u8], len: usize) -> Option<&'a [u8]> {
    let mut prefix = [0; JPY_OVERHEAD];
    let prefix_len = Jpy::prefix(header, len, &mut prefix)?;
    let begin = JPY_OVERHEAD.checked_sub(prefix_len)?;
    input.get_mut(begin..JPY_OVERHEAD)?.copy_from_slice(prefix.get(..prefix_len)?);
    input.get(begin..JPY_OVERHEAD.checked_add(len)?)
}

/// Returns a new key.
fn key() -> io::Result<HeaderKey> {
    let mut bytes = Zeroizing::new([0; HeaderKey::LEN]);
    OsRng.fill(&mut *bytes).map_err(no_random_bytes)?;
    Ok(HeaderKey::new(&bytes))
}

fn seed() -> io::Result<[u64; 2]> {
    let mut bytes = [[0; 8]; 2];
    OsRng.fill(bytes.as_flattened_mut()).map_err(no_random_bytes)?;
    Ok(bytes.map(u64::from_ne_bytes))
}

fn no_random_bytes(_: terse_tls::crypto::CryptoError) -> io::Error {
    io::Error::other("the system gives no random bytes")
}

#[cfg(test)]
mod tests;
