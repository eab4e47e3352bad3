//! A join proxy for datagrams (draft-ietf-anima-constrained-join-proxy-20): it passes those of pledges on to a registrar of
//! constrained BRSKI, and the registrar's answers back.
//!
//! [`terse_brski::join_proxy`] decides what is passed on, and has the limits. Here are the sockets, in two modes:
//!
//! | | stateful | stateless |
//! |---|---|---|
//! | towards the registrar | a socket for each pledge | one socket, JPY messages |
//! | kept | at most 16 times [`UdpLimits::per_interface`] pledges | nothing of a pledge |
//! | a new registrar | for pledges that were not answered yet | for all |
//!
//! ICMP errors about a registrar make the next one be used. They are not passed on to pledges: that takes a raw socket. A pledge
//! sees that nothing is answered.
//!
//! ```no_run
//! use terse_onboard::discovery::Place;
//! use terse_onboard::join_proxy::{Mode, UdpLimits, UdpProxy};
//! use tokio::sync::watch;
//!
//! # async fn serve() -> std::io::Result<()> {
//! let socket = tokio::net::UdpSocket::bind("[fe80::1%eth0]:5684").await?;
//! let (_registrars, known) = watch::channel(vec![Place::new("registrar.plant.example", 5685)]);
//! let proxy = UdpProxy::new(socket, Mode::Stateless, known, Default::default(), UdpLimits::default())?;
//! let (_stop, stopped) = watch::channel(false);
//! proxy.run(stopped).await?;
//! # Ok(())
//! # }
//! ```
//!
//! What must always hold: sending never waits for a peer; one task reads what pledges send, and nothing that one of them sends
//! stops it; sockets are bounded in number.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use serde::Deserialize;
use terse_brski::join_proxy::{Failover, OnLink, Refusal, Stateful, StatefulLimits, StatelessLimits};
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, watch};

use crate::discovery::Place;
use crate::discovery::coap::Sought;

mod config;
mod errors;
mod front;
mod registrars;
mod stateful;
mod stateless;

pub use config::UdpConfig;
use front::Front;
use registrars::Registrars;

/// How a join proxy knows which pledge an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By the source port that the pledge has at the proxy. The registrar sees plain datagrams.
    Stateful,
    /// By a header before each datagram, which the registrar returns (JPY).
    Stateless,
}

impl Mode {
    /// Returns what discovery by CoAP looks for: the registrars that speak what the proxy sends them.
    pub const fn sought(self) -> Sought {
        match self {
            Self::Stateful => Sought::Registrar,
            Self::Stateless => Sought::StatelessRegistrar,
        }
    }
}

/// The limits of a join proxy for datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpLimits {
    /// The most pledges (ports) of one address at a time, in the stateful mode.
    pub per_address: usize,
    /// The most pledges of one interface at a time, in the stateful mode.
    pub per_interface: usize,
    /// How long a pledge is remembered after the last datagram, in the stateful mode.
    pub idle: Duration,
    /// The largest IP packet. Of it 48 bytes are for IP and UDP, and in the stateless mode 38 for the message around a datagram.
    pub mtu: usize,
    /// The datagrams of an interface that are passed on in a second.
    pub datagrams_per_second: u32,
}

/// The numbers of the draft, and 1,000 datagrams a second.
impl Default for UdpLimits {
    fn default() -> Self {
        let idle = Duration::from_secs(30);
        Self { per_address: 2, per_interface: 10, idle, mtu: 1_280, datagrams_per_second: 1_000 }
    }
}

/// What a join proxy for datagrams has done. Datagrams of pledges and of registrars are counted together where there is one count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UdpCounters {
    /// The datagrams that were passed on to a registrar.
    pub passed_on: u64,
    /// The answers that were passed on to a pledge.
    pub answered: u64,
    /// The datagrams of pledges that were too many, or of too many pledges.
    pub refused: u64,
    /// The datagrams that came from elsewhere than a link.
    pub off_link: u64,
    /// The datagrams that were empty or too long.
    pub wrong_length: u64,
    /// The answers that had no header of this proxy.
    pub not_authentic: u64,
    /// The answers that came when their pledge was forgotten.
    pub late: u64,
    /// The datagrams for which there was no registrar.
    pub unreachable: u64,
    /// The datagrams that a socket did not take, or of which the network reported that they are too long for it.
    pub unsent: u64,
}

impl UdpCounters {
    fn refuse(&mut self, refusal: Refusal) {
        match refusal {
            Refusal::OffLink => self.off_link += 1,
            Refusal::Length => self.wrong_length += 1,
            Refusal::NotAuthentic => self.not_authentic += 1,
            Refusal::Gone => self.late += 1,
            _ => self.refused += 1, // too many, in one way or another
        }
    }
}

/// A join proxy for datagrams.
pub struct UdpProxy {
    front: Front,
    mode: Mode,
    registrars: watch::Receiver<Vec<Place>>,
    failures: Option<mpsc::Sender<Place>>,
    on_link: OnLink,
    limits: UdpLimits,
}

impl UdpProxy {
    /// Creates a join proxy whose pledges send to `socket`, for these registrars, the preferred one first. Pledges have
    /// link-local addresses, or others that are `on_link`. Fails if the address of the socket cannot be read, or if it is the
    /// unspecified one: an answer would come from whatever address the system chooses, and a pledge takes none from elsewhere
    /// than where it has sent to.
    pub fn new(
        socket: UdpSocket,
        mode: Mode,
        registrars: watch::Receiver<Vec<Place>>,
        on_link: OnLink,
        limits: UdpLimits,
    ) -> io::Result<Self> {
        Ok(Self { front: Front::new(socket)?, mode, registrars, failures: None, on_link, limits })
    }

    /// Tells `failures` which registrars cannot be reached or are silent, for [`follow`](super::follow).
    #[must_use]
    pub fn report_failures(self, failures: mpsc::Sender<Place>) -> Self {
        Self { failures: Some(failures), ..self }
    }

    /// Returns the address where pledges send to, whose port is the join port.
    pub const fn local_addr(&self) -> SocketAddr {
        self.front.address
    }

    /// Runs until `stop` becomes true. Fails if there are no random bytes for the key of the stateless mode.
    pub async fn run(self, mut stop: watch::Receiver<bool>) -> io::Result<UdpCounters> {
        let Self { front, mode, registrars, failures, on_link, limits } = self;
        let room = limits.mtu.saturating_sub(PACKET_HEADERS);
        let UdpLimits { per_address, per_interface, idle, datagrams_per_second, .. } = limits;
        let silence = match mode {
            Mode::Stateful => Failover::FIRST_SILENCE,
            Mode::Stateless => Failover::LONG_SILENCE,
        };
        let registrars = Registrars::start(registrars, failures, silence);
        match mode {
            Mode::Stateful => {
                let max_content = room;
                let limits = StatefulLimits { per_address, per_interface, idle, max_content, datagrams_per_second };
                Ok(stateful::run(front, registrars, Stateful::new(limits, on_link), max_content, &mut stop).await)
            }
            Mode::Stateless => {
                let max_content = room.saturating_sub(JPY_OVERHEAD);
                let limits = StatelessLimits { max_content, datagrams_per_second };
                stateless::run(front, registrars, on_link, limits, &mut stop).await
            }
        }
    }
}

/// Creates a socket that sends to a registrar, and receives from it alone.
async fn connect(registrar: SocketAddr) -> io::Result<UdpSocket> {
    let unspecified = match registrar {
        SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
    };
    let socket = UdpSocket::bind(unspecified).await?;
    socket.connect(registrar).await?;
    socket.writable().await?; // it has just been made: so it is, and the runtime knows it then
    Ok(socket)
}

/// The headers of IPv6 and UDP.
const PACKET_HEADERS: usize = 48;

/// The room for the message around a datagram (draft-ietf-anima-constrained-join-proxy-20, "JPY Message Overhead and MTU Size").
const JPY_OVERHEAD: usize = 38;
