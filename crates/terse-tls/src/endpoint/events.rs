//! The handles and events by which an endpoint tells the application about its connections.

use alloc::vec::Vec;

use super::Path;
use crate::error::Error;

/// The handle of a connection of an [`crate::Endpoint`]. Handles are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionHandle(pub(super) u64);

/// An event of a connection, which [`crate::Endpoint::poll_event`] returns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointEvent {
    /// The handshake is complete.
    Connected,
    /// The application data of one datagram came.
    Data(Vec<u8>),
    /// The early data of one datagram came, which may be a replay ([`crate::Connection::recv_early_data`]). A request for a
    /// cookie rejects early data (RFC 9846, 4.3.10), so it only comes without [`crate::EndpointLimits::require_cookie`], or if
    /// a ticket replaced the cookie.
    EarlyData(Vec<u8>),
    /// The private key returned [`crate::crypto::Signing::Pending`]: see [`crate::Connection::signature_request`].
    NeedSignature,
    /// The store returned [`core::task::Poll::Pending`]: see [`crate::Connection::store_request`] and
    /// [`crate::Endpoint::provide_store_answer`].
    NeedStore,
    /// The peer sent close_notify: it sends nothing more.
    PeerClosed,
    /// The peer has another address now, or another header at the same one (RFC 9146, 6): see [`crate::AddressChange`].
    AddressChanged {
        /// The old path.
        from: Path,
        /// The new path.
        to: Path,
    },
    /// The connection has failed.
    Failed(Error),
    /// A client on the same path began another connection, with a cookie. This connection, which the peer has lost,
    /// was removed (RFC 6347, 4.2.8).
    Replaced,
    /// The connection was removed to make room for another one before its handshake was complete. This is only reported
    /// if early data was reported before.
    Evicted,
}

impl EndpointEvent {
    /// Whether the event reports that its connection was removed.
    pub(super) const fn outlives_connection(&self) -> bool {
        matches!(self, Self::Replaced | Self::Evicted)
    }

    pub(super) fn data(&self) -> Option<&[u8]> {
        match self {
            Self::Data(data) | Self::EarlyData(data) => Some(data),
            _ => None,
        }
    }
}
