//! The side that asks.
//!
//! It asks in rounds, at ever longer intervals: all links of this host, or what it is told. A place that is not in the answers of
//! [`ROUNDS_KEPT`] rounds is gone.
//!
//! What must always hold: by multicast an answer comes from a link-local address, and else from the address that was asked; the
//! places that are known are bounded as those of multicast DNS are, and no answer keeps others out for ever; what comes in a
//! flood costs no other work than to be read.

use core::future::poll_fn;
use core::net::{IpAddr, SocketAddr, SocketAddrV6};
use core::task::Poll;
use core::time::Duration;
use std::io;

use terse_brski::coap::MAX_DATAGRAM;
use terse_brski::coap::discovery::Question;
use terse_net::{OsRng, is_of_network};
use terse_tls::crypto::Rng as _;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;
use tokio::time::Instant;

use super::{GROUP, Link, PORT, Sought, sockets};
use crate::discovery::mdns::known::Known;
use crate::discovery::{Change, Discovery, Place};

/// Whom a [`Seeker`] asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All hosts of all links that this host has, also of those that it gets later, at the port of CoAP.
    AllLinks,
    /// The same of the links with these interfaces.
    Links(Vec<String>),
    /// Hosts that are known, each at its port for CoAP.
    Hosts(Vec<Place>),
}

/// Finds services by CoAP.
///
/// ```no_run
/// use terse_onboard::discovery::Discovery as _;
/// use terse_onboard::discovery::coap::{Reach, Seeker, Sought};
///
/// # async fn seek() -> std::io::Result<()> {
/// let mut seeker = Seeker::new(&[Sought::JoinProxy, Sought::Registrar], Reach::AllLinks)?;
/// println!("{:?}", seeker.next().await);
/// # Ok(())
/// # }
/// ```
pub struct Seeker {
    questions: Vec<(Sought, Question)>,
    reach: Reach,
    sockets: Vec<Asking>,
    /// Which socket is read first, so that none is read alone.
    turn: usize,
    known: Known,
    round: u64,
    next_round: Instant,
    interval: Duration,
    input: Vec<u8>,
}

/// A socket, and whom it asks.
struct Asking {
    target: Target,
    socket: UdpSocket,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Link(Link),
    Host(SocketAddr),
}

impl Seeker {
    /// Creates a seeker, which begins to ask when its [`Discovery::next`] is awaited. Fails if there are no random bytes for the
    /// tokens.
    pub fn new(sought: &[Sought], reach: Reach) -> io::Result<Self> {
        let question = |sought: &Sought| Question::new(sought.query(), &mut OsRng).map(|question| (*sought, question));
        let questions = sought.iter().map(question).collect::<Result<_, _>>();
        let questions = questions.map_err(|_| io::Error::other("the system gives no random bytes"))?;
        Ok(Self {
            questions,
            reach,
            sockets: Vec::new(),
            turn: 0,
            known: Known::default(),
            round: 0,
            next_round: Instant::now(),
            interval: FIRST_INTERVAL,
            input: vec![0; MAX_DATAGRAM + 1],
        })
    }

    /// Begins a round. If the future is dropped, the round is not begun.
    async fn ask(&mut self) {
        let targets = self.targets().await;
        self.sockets.retain(|asking| targets.contains(&asking.target));
        for target in targets {
            if !self.sockets.iter().any(|asking| asking.target == target) {
                match target.open() {
                    Ok(socket) => self.sockets.push(Asking { target, socket }),
                    Err(error) => tracing::debug!(%error, ?target, "nobody can be asked there"),
                }
            }
        }
        self.round += 1;
        self.known.expire(self.round.saturating_sub(ROUNDS_KEPT));
        for (_, question) in &mut self.questions {
            for Asking { target, socket } in &self.sockets {
                let to = target.address();
                if let Err(error) = socket.try_send_to(&question.next_datagram(), to) {
                    tracing::debug!(%error, %to, "a question was not sent");
                }
            }
        }
        // RFC 7252, 4.8: as retransmissions do, so that hosts that begin together do not go on so.
        self.next_round = Instant::now() + self.interval.mul_f64(random_factor());
        self.interval = (self.interval * 2).min(LONGEST_INTERVAL);
    }

    /// Returns whom to ask now, at most [`MAX_SOCKETS`].
    async fn targets(&self) -> Vec<Target> {
        let links = |links: io::Result<Vec<Link>>| links.unwrap_or_default().into_iter().map(Target::Link).collect();
        let mut targets: Vec<_> = match &self.reach {
            Reach::AllLinks => links(Link::all()),
            Reach::Links(names) => links(Ok(names.iter().filter_map(|name| Link::named(name).ok()).collect())),
            Reach::Hosts(hosts) => {
                let mut targets = Vec::new();
                for host in hosts.iter().take(MAX_SOCKETS) {
                    let found = tokio::time::timeout(LOOK_UP, tokio::net::lookup_host((host.host(), host.port())));
                    let found = found.await.ok().and_then(Result::ok).and_then(|mut found| found.next());
                    targets.extend(found.map(Target::Host));
                }
                targets
            }
        };
        targets.truncate(MAX_SOCKETS);
        targets
    }

    /// Waits for a datagram, and takes the answer that it may be.
    async fn take_next(&mut self) {
        self.turn = self.turn.wrapping_add(1);
        let (index, received) = receive(&self.sockets, self.turn, &mut self.input).await;
        let Some(asking) = self.sockets.get(index) else { return };
        let (len, from) = match received {
            Ok(received) => received,
            Err(error) if is_of_network(&error) => return,
            Err(error) => {
                tracing::debug!(%error, "a socket has failed; the next round has another one");
                self.sockets.remove(index);
                return;
            }
        };
        if !asking.target.has(from) {
            return;
        }
        let datagram = self.input.get(..len).unwrap_or_default();
        let read = self.questions.iter().find_map(|(sought, question)| Some((*sought, question.read(datagram)?)));
        let Some((sought, answer)) = read else { return };
        if let Some(acknowledgement) = answer.acknowledgement {
            let _ = asking.socket.try_send_to(&acknowledgement, from); // it comes again, if this is lost
        }
        for address in sought.read(&answer.links, from) {
            self.known.heard(Place::from(address), self.round);
        }
    }
}

impl Discovery for Seeker {
    async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.known.changes.pop_front() {
                return change;
            }
            if Instant::now() >= self.next_round {
                self.ask().await;
                continue;
            }
            let next_round = self.next_round;
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(next_round) => {}
                () = self.take_next() => {}
            }
        }
    }

    fn failed(&mut self, place: &Place) {
        self.known.failed(place);
    }
}

impl Target {
    fn open(&self) -> io::Result<UdpSocket> {
        match self {
            Self::Link(link) => sockets::asking(link),
            Self::Host(address) => sockets::connected(*address),
        }
    }

    fn address(&self) -> SocketAddr {
        match self {
            Self::Link(link) => SocketAddrV6::new(GROUP, PORT, 0, link.index()).into(),
            Self::Host(address) => *address,
        }
    }

    /// Whether an answer from there can be one to what was asked here.
    fn has(&self, from: SocketAddr) -> bool {
        match (self, from) {
            (Self::Link(link), SocketAddr::V6(from)) => {
                from.ip().is_unicast_link_local() && from.scope_id() == link.index() && from.port() != 0
            }
            (Self::Link(_), SocketAddr::V4(_)) => false,
            (Self::Host(address), from) => same(*address, from),
        }
    }
}

/// Whether two addresses are the same place. A flow label is none of it.
fn same(one: SocketAddr, other: SocketAddr) -> bool {
    let scope = |address: SocketAddr| match address {
        SocketAddr::V6(address) => address.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    let key = |address: SocketAddr| -> (IpAddr, u16, u32) { (address.ip(), address.port(), scope(address)) };
    key(one) == key(other)
}

/// Waits until one of the sockets has a datagram or an error, and returns which one.
async fn receive(sockets: &[Asking], turn: usize, buffer: &mut [u8]) -> (usize, io::Result<(usize, SocketAddr)>) {
    poll_fn(|context| {
        for offset in 0..sockets.len() {
            let index = turn.wrapping_add(offset) % sockets.len();
            let Some(asking) = sockets.get(index) else { continue }; // there always is one
            let mut input = ReadBuf::new(buffer);
            if let Poll::Ready(received) = asking.socket.poll_recv_from(context, &mut input) {
                return Poll::Ready((index, received.map(|from| (input.filled().len(), from))));
            }
        }
        Poll::Pending
    })
    .await
}

/// Returns a number from 1 to 1.5 (RFC 7252, 4.8: ACK_RANDOM_FACTOR).
fn random_factor() -> f64 {
    let mut random = [0; 2];
    let _ = OsRng.fill(&mut random); // without randomness it is 1
    1.0 + f64::from(u16::from_be_bytes(random)) / f64::from(u16::MAX) / 2.0
}

/// The most links or hosts that are asked.
pub const MAX_SOCKETS: usize = 16;

/// For how many rounds a place is known that is in no answer.
pub(super) const ROUNDS_KEPT: u64 = 3;

/// The time between the first two rounds, at least. Each further one is twice as long.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time between two rounds, at least.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// How long a name is looked up.
const LOOK_UP: Duration = Duration::from_secs(5);
