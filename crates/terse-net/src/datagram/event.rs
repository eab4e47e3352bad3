//! The events of servers for datagrams, and what an event of the engine's endpoint asks of whoever drives it.

use terse_tls::{EndpointEvent, Error, Path};

/// A function that is told on which path each datagram comes, before it is handled, and is called with `None` when time
/// passes.
pub type Watch = Box<dyn FnMut(Option<&Path>) + Send>;

/// An event on a connection of a [`DatagramServer`](crate::DatagramServer), or of an endpoint of the module `tokio`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatagramEvent {
    /// The handshake is complete.
    Connected,
    /// A message arrived. It may have overtaken others, and others may be lost.
    Data(Vec<u8>),
    /// A message arrived before the handshake was complete. It may be a replay, and may have been delayed
    /// ([`terse_tls::EndpointEvent::EarlyData`]).
    EarlyData(Vec<u8>),
    /// The client sends nothing more: the connection is to be ended.
    PeerClosed,
    /// The client's address has changed, or its header behind a relay, as its connection ID showed: see
    /// [`terse_tls::AddressChange`].
    AddressChanged {
        /// The old path.
        from: Path,
        /// The new path.
        to: Path,
    },
    /// There was no traffic for as long as a connection may be idle: the connection is to be ended. Otherwise this
    /// event is repeated after the same time.
    Idle,
    /// The connection is over: the connection is to be ended.
    Failed(Error),
    /// The client has lost this connection and began another one. This one is forgotten.
    Replaced,
    /// The connection was forgotten before its handshake was complete, to make room for another one. Its early data is
    /// lost.
    Evicted,
}

/// What an event of the engine's endpoint asks for.
pub(crate) enum Demand {
    /// The application is told.
    Tell(DatagramEvent),
    /// A private key elsewhere has to sign.
    Signature,
    /// A store elsewhere has to answer.
    StoreAnswer,
}

impl Demand {
    /// Returns what `event` asks for, if anything.
    pub(crate) fn of(event: EndpointEvent) -> Option<Self> {
        Some(match event {
            EndpointEvent::Connected => Self::Tell(DatagramEvent::Connected),
            EndpointEvent::Data(data) => Self::Tell(DatagramEvent::Data(data)),
            EndpointEvent::EarlyData(data) => Self::Tell(DatagramEvent::EarlyData(data)),
            EndpointEvent::PeerClosed => Self::Tell(DatagramEvent::PeerClosed),
            EndpointEvent::AddressChanged { from, to } => Self::Tell(DatagramEvent::AddressChanged { from, to }),
            EndpointEvent::Failed(error) => Self::Tell(DatagramEvent::Failed(error)),
            EndpointEvent::Replaced => Self::Tell(DatagramEvent::Replaced),
            EndpointEvent::Evicted => Self::Tell(DatagramEvent::Evicted),
            EndpointEvent::NeedSignature => Self::Signature,
            EndpointEvent::NeedStore => Self::StoreAnswer,
            _ => return None,
        })
    }
}
