//! A stateless join proxy as the program of a mote: the decisions are those of [`terse_brski::join_proxy`].

use core::net::SocketAddr;
use core::time::Duration;

use terse_brski::join_proxy::{HeaderKey, OnLink, Stateless, StatelessLimits};
use terse_tls::crypto::{CryptoError, Rng as _};

use crate::direction::Direction;
use crate::host::{Application, SocketEvent, SocketId, Sockets};
use crate::onboarding::journal::Shared;
use crate::onboarding::jpy;
use crate::{Random, Time};

/// A join proxy.
pub(super) struct JoinProxy {
    decisions: Stateless,
    registrar: SocketAddr,
    journal: Shared,
    /// Where pledges send, and the socket towards the registrar.
    sockets: Option<[SocketId; 2]>,
}

impl JoinProxy {
    /// Creates a proxy to this registrar, for datagrams of this length.
    pub(super) fn new(
        registrar: SocketAddr,
        max_content: usize,
        mut random: Random,
        journal: Shared,
    ) -> Result<Self, CryptoError> {
        let mut key = [0; HeaderKey::LEN];
        random.fill(&mut key)?;
        let mut number = || u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
        let seed = [number(), number()];
        let limits = StatelessLimits { max_content, datagrams_per_second: DATAGRAMS_PER_SECOND };
        let decisions = Stateless::new(limits, OnLink::default(), HeaderKey::new(&key), seed, Duration::ZERO);
        Ok(Self { decisions, registrar, journal, sockets: None })
    }

    /// Passes a datagram on, and returns where it goes, if anywhere.
    fn pass(&mut self, now: Time, is_of_pledge: bool, from: SocketAddr, datagram: &mut Vec<u8>) -> Option<SocketAddr> {
        let now = now.since(Time::ZERO);
        if is_of_pledge {
            let header = self.decisions.header(from, datagram.len(), now).ok()?;
            self.journal.borrow_mut().note_passed(Direction::Up, datagram);
            *datagram = jpy::encode(&header, datagram);
            return Some(self.registrar);
        }
        let header = jpy::take(datagram).filter(|_| from == self.registrar)?;
        let pledge = self.decisions.pledge(&header, datagram.len(), now).ok()?;
        self.journal.borrow_mut().note_passed(Direction::Down, datagram);
        Some(pledge)
    }
}

impl Application for JoinProxy {
    fn start(&mut self, _now: Time, sockets: &mut Sockets<'_>) {
        self.sockets = sockets.bind(JOIN_PORT).zip(sockets.bind(SOURCE_PORT)).map(|(front, back)| [front, back]);
    }

    fn handle_event(&mut self, now: Time, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let (SocketEvent::Readable(socket), Some([front, back])) = (event, self.sockets) else { return };
        let is_of_pledge = socket == front;
        while let Some((from, mut datagram)) = sockets.recv_from(socket) {
            if let Some(to) = self.pass(now, is_of_pledge, from, &mut datagram) {
                // What is too long, or has no way, is as good as lost.
                let _ = sockets.send_to(if is_of_pledge { back } else { front }, to, &datagram);
            }
        }
    }
}

/// The ports are some of the sixteen that RFC 6282, 4.3.3, compresses to four bits each.
pub(super) const JOIN_PORT: u16 = 0xf0b0;
const SOURCE_PORT: u16 = 0xf0b1;
/// The port of the registrar for JPY messages.
pub(super) const REGISTRAR_PORT: u16 = 0xf0b2;

/// More than the network carries; a pledge has a 32nd of them.
const DATAGRAMS_PER_SECOND: u32 = 1_000;
