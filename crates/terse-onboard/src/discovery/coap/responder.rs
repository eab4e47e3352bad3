//! The side that answers.
//!
//! What must always hold: nothing is kept of who asks, but answers to questions by multicast that wait for their time, at most
//! [`MAX_PENDING`] on a link; an answer comes from the address that was asked, or from that of the link; who floods uses up his
//! share of the rate; only `stop` ends it.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::io;

use terse_brski::coap::discovery::{Arrival, answer};
use terse_brski::coap::{MAX_DATAGRAM, Payload};
use terse_net::OsRng;
use terse_tls::crypto::Rng as _;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::link::routable_addresses;
use super::rate::Shared;
use super::sockets::{self, receive};
use super::{Link, Links};
use crate::stop::stopped;

/// Answers `GET /.well-known/core` by plain CoAP: for a join proxy, or for a registrar.
///
/// ```no_run
/// use terse_onboard::discovery::coap::{CoreResponder, Links, PORT};
///
/// # async fn serve() -> std::io::Result<()> {
/// let coaps = "[::]:5684".parse().unwrap();
/// let responder = CoreResponder::new(Links::registrar(coaps, None)).beside(coaps, PORT)?;
/// let (_stop, stopped) = tokio::sync::watch::channel(false);
/// responder.run(stopped).await;
/// # Ok(())
/// # }
/// ```
pub struct CoreResponder {
    links: Links,
    places: Vec<Place>,
}

/// Where questions come, and where their answers come from.
struct Place {
    socket: UdpSocket,
    address: SocketAddr,
    /// What is sent to the group on the link of the address.
    group: Option<UdpSocket>,
}

/// What a responder has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoreCounters {
    /// The messages that were answered.
    pub answered: u64,
    /// The messages about which there is nothing to say, or that are none.
    pub ignored: u64,
    /// The messages that were too many.
    pub refused: u64,
}

impl CoreResponder {
    /// Creates a responder that listens nowhere yet, and answers with these links.
    pub const fn new(links: Links) -> Self {
        Self { links, places: Vec::new() }
    }

    /// Listens beside a service at this address, at another port: at the same address and, if it is link-local, at the group of
    /// its interface. If it is the unspecified address, at each address that the host has now, and at the group of each link; an
    /// address that cannot be used is left out then, and logged.
    pub fn beside(mut self, service: SocketAddr, port: u16) -> io::Result<Self> {
        if let Some(link) = Link::with_address(service)? {
            return self.on_link(&link, port);
        }
        if !service.ip().is_unspecified() {
            return self.at(SocketAddr::new(service.ip(), port));
        }
        let has = |address: &IpAddr| address.is_ipv4() || service.is_ipv6();
        let addresses = routable_addresses()?.into_iter().filter(has);
        let at_addresses = addresses.map(|ip| Place::at(SocketAddr::new(ip, port)));
        let links = if service.is_ipv6() { Link::all()? } else { Vec::new() };
        for place in at_addresses.chain(links.iter().map(|link| Place::on_link(link, port))) {
            match place {
                Ok(place) => self.places.push(place),
                Err(error) => tracing::warn!("{error}"),
            }
        }
        Ok(self)
    }

    /// Listens at this address, which is one of the host: an answer from the unspecified one may come from where it was not
    /// asked.
    pub fn at(mut self, address: SocketAddr) -> io::Result<Self> {
        if address.ip().is_unspecified() {
            let problem = format!("{address}: give one address, from which answers come");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        self.places.push(Place::at(address)?);
        Ok(self)
    }

    /// Listens on a link: at the group of all CoAP nodes and at the host's link-local address. Where another service of the host
    /// has the port of that address, it listens at the group alone, and its answers come from another port (RFC 7252, 8.2).
    pub fn on_link(mut self, link: &Link, port: u16) -> io::Result<Self> {
        self.places.push(Place::on_link(link, port)?);
        Ok(self)
    }

    /// Returns the addresses where it listens. At a link-local one it has the group of the interface, too.
    pub fn local_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.places.iter().map(|place| place.address)
    }

    /// Runs until `stop` becomes true.
    pub async fn run(self, mut stop: watch::Receiver<bool>) -> CoreCounters {
        let links = self.links;
        let mut running = JoinSet::new();
        for place in self.places {
            running.spawn(place.run(links.clone(), stop.clone()));
        }
        let mut counters = CoreCounters::default();
        while let Some(of_place) = running.join_next().await {
            counters.add(of_place.unwrap_or_default());
        }
        // One that listens nowhere runs as long as others.
        stopped(&mut stop).await;
        counters
    }
}

impl Place {
    fn at(address: SocketAddr) -> io::Result<Self> {
        let socket = sockets::bound(address).map_err(|error| at(address, &error))?;
        Ok(Self { address: socket.local_addr()?, socket, group: None })
    }

    fn on_link(link: &Link, port: u16) -> io::Result<Self> {
        let socket = match sockets::bound(link.address(port)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                tracing::info!(interface = link.name(), port, "the port is in use; only multicast is answered there");
                sockets::bound(link.address(0))
            }
            bound => bound,
        };
        let socket = socket.map_err(|error| at(link.address(port), &error))?;
        let address = socket.local_addr()?;
        let group_port = if port == 0 { address.port() } else { port };
        let group = sockets::of_group(link, group_port).map_err(|error| at(link.address(group_port), &error))?;
        Ok(Self { socket, address, group: Some(group) })
    }

    async fn run(self, links: Links, mut stop: watch::Receiver<bool>) -> CoreCounters {
        let (own, rate) = (self.address, Shared::new());
        let mut asked = Asked { links, own, rate, counters: CoreCounters::default() };
        let mut pending = Pending::default();
        let (mut input, mut of_group) = (vec![0; MAX_DATAGRAM + 1], vec![0; MAX_DATAGRAM + 1]);
        loop {
            tokio::select! {
                (len, from) = receive(&self.socket, &mut input) => {
                    if let Some(answer) = asked.answer(input.get(..len).unwrap_or_default(), from, Arrival::Unicast) {
                        self.send(&answer, from);
                    }
                }
                (len, from) = receive_group(self.group.as_ref(), &mut of_group) => {
                    if let Some(answer) = asked.answer(of_group.get(..len).unwrap_or_default(), from, Arrival::Multicast) {
                        pending.push(answer, from);
                    }
                }
                () = pending.due() => pending.take_due().for_each(|(answer, to)| self.send(&answer, to)),
                () = stopped(&mut stop) => return asked.counters,
            }
        }
    }

    /// Sends an answer. One that the socket does not take at once is lost, as any datagram may be.
    fn send(&self, answer: &[u8], to: SocketAddr) {
        if let Err(error) = self.socket.try_send_to(answer, to) {
            tracing::debug!(%error, %to, "an answer was not sent");
        }
    }
}

/// What is needed to answer.
struct Asked {
    links: Links,
    own: SocketAddr,
    rate: Shared,
    counters: CoreCounters,
}

impl Asked {
    fn answer(&mut self, datagram: &[u8], from: SocketAddr, arrival: Arrival) -> Option<Payload> {
        if !self.rate.admit(from.ip()) {
            self.counters.refused += 1;
            return None;
        }
        // A question that came by multicast came from the link; who says otherwise wants others to be answered.
        let is_there = arrival == Arrival::Unicast || is_of_link(from.ip(), self.own);
        let is_usable = is_there && from.port() != 0;
        let links = |query: &[String]| self.links.answer(query, self.own);
        let answered = is_usable.then(|| answer(datagram, arrival, &mut OsRng, links).ok().flatten()).flatten();
        match answered {
            Some(_) => self.counters.answered += 1,
            None => self.counters.ignored += 1,
        }
        answered
    }
}

/// Answers that wait, so that those of many hosts do not come at once (RFC 7252, 8.2).
#[derive(Default)]
struct Pending(Vec<(Instant, Payload, SocketAddr)>);

impl Pending {
    /// Lets an answer wait for a random part of the leisure. One for which there is no room is lost.
    fn push(&mut self, answer: Payload, to: SocketAddr) {
        if self.0.len() < MAX_PENDING {
            self.0.push((Instant::now() + leisure(), answer, to));
        }
    }

    /// Waits for the time of the next one, or for ever.
    async fn due(&self) {
        match self.0.iter().map(|(at, ..)| *at).min() {
            Some(at) => tokio::time::sleep_until(at).await,
            None => core::future::pending().await,
        }
    }

    fn take_due(&mut self) -> impl Iterator<Item = (Payload, SocketAddr)> {
        let now = Instant::now();
        self.0.extract_if(.., move |(at, ..)| *at <= now).map(|(_, answer, to)| (answer, to))
    }
}

impl CoreCounters {
    const fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.ignored += other.ignored;
        self.refused += other.refused;
    }
}

async fn receive_group(group: Option<&UdpSocket>, buffer: &mut [u8]) -> (usize, SocketAddr) {
    match group {
        Some(group) => receive(group, buffer).await,
        None => core::future::pending().await,
    }
}

/// Whether an address is on the link of a link-local one.
fn is_of_link(from: IpAddr, own: SocketAddr) -> bool {
    let is_link_local = |ip: IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    is_link_local(from) && is_link_local(own.ip())
}

/// Returns how long an answer waits. Without randomness all is as good as a part.
fn leisure() -> Duration {
    let mut random = [u8::MAX; 2];
    let _ = OsRng.fill(&mut random);
    LEISURE.mul_f64(f64::from(u16::from_be_bytes(random)) / f64::from(u16::MAX))
}

fn at(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("questions cannot arrive at {address}: {error}; choose another address or port"),
    )
}

/// For how long an answer to a question by multicast waits at most. That is the leisure of RFC 7252, 8.2, for five hosts that
/// answer with 100 bytes each, at 1 kB/s.
pub const LEISURE: Duration = Duration::from_millis(500);

/// The most answers that wait on a link.
pub const MAX_PENDING: usize = 64;
