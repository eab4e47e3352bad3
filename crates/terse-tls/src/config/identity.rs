//! The configuration of identity-based handshakes (docs/identity.md).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::ServerAddress;
use super::code::{IdentityCode, IdentityEarlyCode, begin_identity};
use crate::crypto::IdentityKey;
use crate::error::{ApiMisuse, IdentityRefused};
use crate::identity::{DeniedIdentities, Identity, IdentityParameters, KnownPeers};
use crate::identity_early_data::{FirstContactMemory, SecretTickets};
use crate::time::Now;
use pki_types::ServerName;

/// How many peers are known, unless the application says something else.
const DEFAULT_KNOWN_PEERS: usize = 64;

/// A client's identity, and what it expects of servers with identities. With [`super::ConfigBuilder::trust`] the client
/// falls back to certificates for servers that do not know its authority: the weaker of both trusts then counts.
#[derive(Clone)]
pub struct ClientIdentity {
    /// The code of the handshake, which nothing else names.
    pub(crate) begin: IdentityCode,
    pub(crate) key: Arc<dyn IdentityKey>,
    pub(crate) server: Option<Identity>,
    pub(crate) known_peers: Arc<KnownPeers>,
    pub(crate) denied: Option<Arc<DeniedIdentities>>,
    pub(crate) hedge: bool,
    pub(crate) hybrid: bool,
    pub(crate) without_clock: bool,
    /// The code of early data, if [`Self::early_data`] or [`Self::first_contact`] was called.
    pub(crate) early: Option<&'static IdentityEarlyCode>,
    pub(crate) early_data: bool,
    /// How many bytes of early data may be sent at first contact.
    pub(crate) first_contact: u32,
}

impl ClientIdentity {
    /// Creates the configuration of a client with this identity key.
    ///
    /// # Defaults
    ///
    /// The server is expected to have its DNS name as identity. Public parts of the keys of 64 servers are kept in
    /// memory. Nobody is denied. There is no hedge, no hybrid key agreement, no early data, and a client that does not
    /// know the time does not connect.
    pub fn new(key: Arc<dyn IdentityKey>) -> Self {
        let known_peers = Arc::new(KnownPeers::new(DEFAULT_KNOWN_PEERS));
        Self {
            begin: begin_identity,
            key,
            server: None,
            known_peers,
            denied: None,
            hedge: false,
            hybrid: false,
            without_clock: false,
            early: None,
            early_data: false,
            first_contact: 0,
        }
    }

    /// Sets the identity that the server must have, in place of its DNS name.
    #[must_use]
    pub fn server(self, server: impl Into<Option<Identity>>) -> Self {
        Self { server: server.into(), ..self }
    }

    /// Sets the store of public parts, which may be shared by configurations.
    #[must_use]
    pub fn known_peers(self, known_peers: Arc<KnownPeers>) -> Self {
        Self { known_peers, ..self }
    }

    /// Returns the store of public parts.
    pub const fn store(&self) -> &Arc<KnownPeers> {
        &self.known_peers
    }

    /// Sets the list of servers that are denied.
    #[must_use]
    pub fn denied(self, denied: Arc<DeniedIdentities>) -> Self {
        Self { denied: Some(denied), ..self }
    }

    /// Sets whether the ClientHello has a key share of the preferred group beside the identity, which saves a round trip
    /// with servers that use certificates, and costs 36 bytes with X25519. It has no effect without trust in
    /// certificates.
    #[must_use]
    pub fn hedge(self, hedge: bool) -> Self {
        Self { hedge, ..self }
    }

    /// Sets whether X25519MLKEM768 is offered beside the identity, whose shared secret is added to the key schedule. It
    /// protects what is recorded now against quantum computers of the future, and costs about 2.3 kB.
    #[must_use]
    pub fn hybrid(self, hybrid: bool) -> Self {
        Self { hybrid, ..self }
    }

    /// Sets whether a client that does not know the time accepts keys whose epoch may be over. The summary then has
    /// `time_unchecked`.
    #[must_use]
    pub fn accept_without_clock(self, without_clock: bool) -> Self {
        Self { without_clock, ..self }
    }

    /// Sets whether the client asks servers for ephemeral secret tickets, and uses one on the next connection for early data
    /// ([`crate::Connection::send_early_data`]). Such early data is forward secret. A network may deliver it twice, and then
    /// the server takes one at most; but the client may also send it again after a rejection.
    #[must_use]
    pub fn early_data(self, early_data: bool) -> Self {
        Self { early: Some(IdentityEarlyCode::CODE), early_data, ..self }
    }

    /// Sets how many bytes of early data may be sent to a server without a ticket of it, of which only the name is known
    /// (and, with `id3dh-ristretto255`, the public part of its key). Such early data is **not forward secret**: whoever
    /// learns the server's identity key can read it. The client must know the time, and must not offer TLS 1.2.
    ///
    /// Default: 0, which is none.
    #[must_use]
    pub fn first_contact(self, max_size: u32) -> Self {
        Self { early: Some(IdentityEarlyCode::CODE), first_contact: max_size, ..self }
    }

    /// Returns whether early data may be offered.
    pub(crate) const fn may_offer_early_data(&self) -> bool {
        self.early_data || self.first_contact > 0
    }

    /// Returns the identity that the server at `address` must have.
    pub fn expected(&self, address: &ServerAddress) -> Result<Identity, ApiMisuse> {
        match (&self.server, &address.name) {
            (Some(server), _) => Ok(server.clone()),
            (None, ServerName::DnsName(name)) => Identity::dns_name(name).map_err(|_| ApiMisuse::NoExpectedIdentity),
            (None, _) => Err(ApiMisuse::NoExpectedIdentity),
        }
    }
}

/// A server's identities, and what it does with clients that have one or none.
#[derive(Clone)]
pub struct ServerIdentity {
    pub(crate) keys: Vec<Arc<dyn IdentityKey>>,
    pub(crate) known_peers: Arc<KnownPeers>,
    pub(crate) denied: Option<Arc<DeniedIdentities>>,
    pub(crate) anonymous_clients: bool,
    pub(crate) without_clock: bool,
    pub(crate) tickets: Option<SecretTickets>,
    pub(crate) first_contact: Option<Arc<FirstContactMemory>>,
}

impl ServerIdentity {
    /// Creates the configuration of a server with these identity keys: of several identities, of which the client's
    /// server name selects one, and the first one is used otherwise; of the current and the previous epoch; and of
    /// several authorities.
    ///
    /// # Defaults
    ///
    /// Public parts of the keys of 64 clients are kept in memory. Nobody is denied. Clients that offer no identity are
    /// refused, unless they must have a certificate. A server that does not know the time refuses identities.
    /// There are no tickets, and no early data at first contact.
    pub fn new(keys: impl IntoIterator<Item = Arc<dyn IdentityKey>>) -> Self {
        Self {
            keys: keys.into_iter().collect(),
            known_peers: Arc::new(KnownPeers::new(DEFAULT_KNOWN_PEERS)),
            denied: None,
            anonymous_clients: false,
            without_clock: false,
            tickets: None,
            first_contact: None,
        }
    }

    /// Sets the store of public parts, which may be shared by configurations.
    #[must_use]
    pub fn known_peers(self, known_peers: Arc<KnownPeers>) -> Self {
        Self { known_peers, ..self }
    }

    /// Returns the store of public parts.
    pub const fn store(&self) -> &Arc<KnownPeers> {
        &self.known_peers
    }

    /// Sets the list of clients that are denied.
    #[must_use]
    pub fn denied(self, denied: Arc<DeniedIdentities>) -> Self {
        Self { denied: Some(denied), ..self }
    }

    /// Sets whether clients may connect that prove no identity at all, neither by an identity key nor by a certificate.
    #[must_use]
    pub fn anonymous_clients(self, anonymous_clients: bool) -> Self {
        Self { anonymous_clients, ..self }
    }

    /// Sets whether a server that does not know the time accepts keys whose epoch may be over. The summary then has
    /// `time_unchecked`.
    #[must_use]
    pub fn accept_without_clock(self, without_clock: bool) -> Self {
        Self { without_clock, ..self }
    }

    /// Sets where ephemeral secret tickets are kept, which clients use for early data on their next connection. How much
    /// early data is accepted is set by [`super::ConfigBuilder::early_data`], without which there is none.
    #[must_use]
    pub fn tickets(self, tickets: SecretTickets) -> Self {
        Self { tickets: Some(tickets), ..self }
    }

    /// Accepts early data from clients without a ticket, within the window of [`super::ConfigBuilder::early_data`]. It is
    /// **not forward secret**, and whoever learns this server's identity key can make it in the name of any client. The
    /// server must know the time. Each ClientHello with such early data costs a key agreement.
    #[must_use]
    pub fn first_contact(self, memory: Arc<FirstContactMemory>) -> Self {
        Self { first_contact: Some(memory), ..self }
    }
}

/// Checks that the epoch of a key is not over. Returns whether the time is unknown, if that is accepted.
pub(crate) fn check_epoch(
    parameters: &IdentityParameters,
    now: Now,
    without_clock: bool,
) -> Result<bool, IdentityRefused> {
    match now.unix {
        Some(now) if now.as_secs() > parameters.not_after() => Err(IdentityRefused::Expired),
        Some(_) => Ok(false),
        None if without_clock => Ok(true),
        None => Err(IdentityRefused::ClockUnknown),
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").field("identity", self.key.identity()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identities: Vec<_> = self.keys.iter().map(|key| key.identity()).collect();
        f.debug_struct("ServerIdentity").field("identities", &identities).finish_non_exhaustive()
    }
}
