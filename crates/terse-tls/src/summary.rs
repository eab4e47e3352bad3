//! A connection's summary: what a handshake did, as data. The command line, metrics, the simulator and the benchmarks
//! all read this one structure.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::cache::{FallbackReason, Scheme};
use crate::cert::PeerIdentity;
use crate::identity::{Authority, Identity, IdentityAlgorithm};
pub use crate::wire::Transport;
use crate::wire::{CipherSuite, HandshakeType, NamedGroup, ProtocolVersion, SignatureScheme};

/// What a connection did. Complete once the handshake is; `post_handshake_bytes` grow until the end.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Summary {
    /// The negotiated version.
    pub version: Option<ProtocolVersion>,
    /// The kind of link.
    pub transport: Transport,
    /// The negotiated cipher suite.
    pub cipher_suite: Option<CipherSuite>,
    /// The group of the key exchange.
    pub group: Option<NamedGroup>,
    /// What the handshake could leave out.
    pub mode: Mode,
    /// The algorithm of an identity-based handshake.
    pub identity_algorithm: Option<IdentityAlgorithm>,
    /// The objects that were cached, in the order of the handshake.
    pub cached: Vec<CachedObject>,
    /// Who the peer is, and how it proved that.
    pub peer: Peer,
    /// Signatures in certificate chains that were verified here. The peer's CertificateVerify, which is verified in
    /// every handshake, is not counted.
    pub signatures_verified: u32,
    /// Signatures in certificate chains that were not verified again, because the chain was verified before.
    pub signatures_saved: u32,
    /// Round trips before the client may send application data: none where the server takes early data. 0 until the
    /// handshake is complete.
    pub round_trips: u32,
    /// What became of early data.
    pub early_data: EarlyDataStatus,
    /// How early data that the server takes is protected; `None` if there is none.
    pub early_data_protection: Option<EarlyDataProtection>,
    /// Why a better mode was not used.
    pub fallback: Option<FallbackReason>,
    /// What this side sent.
    pub sent: Traffic,
    /// What this side received.
    pub received: Traffic,
    /// How many datagrams were sent again; 0 on a stream.
    pub retransmissions: u32,
    /// Duration of the handshake in milliseconds of the caller's clock.
    pub handshake_ms: u64,
    /// Records that were dropped, by cause; none on a stream.
    pub dropped: Dropped,
}

impl Summary {
    /// The version as in reports: `TLS 1.2`, `DTLS 1.2`.
    pub fn version_name(&self) -> Option<String> {
        let version = self.version?;
        Some(match self.transport {
            Transport::Stream => version.to_string(),
            Transport::Datagram => alloc::format!("D{version}"),
        })
    }
}

/// Records that came in datagrams and were dropped, as if they had been lost (RFC 6347, 4.1.2.7): how many, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// No record of this protocol, or cut short.
    pub malformed: u32,
    /// Of an epoch whose keys are not known, or not any more.
    pub wrong_epoch: u32,
    /// Came before, or too old to tell (RFC 6347, 4.1.2.6).
    pub replayed: u32,
    /// Cannot be decrypted: damaged, or made by somebody else.
    pub not_authentic: u32,
    /// An alert that is not protected: anybody may have sent it.
    pub unprotected_alert: u32,
    /// A fragment that fits nothing: too long, too far ahead, or at odds with others.
    pub bad_fragment: u32,
    /// Of a type that is not due yet, or not any more.
    pub not_due: u32,
    /// Without the connection ID that was agreed on, or with another one (RFC 9146, 4).
    pub connection_id: u32,
}

impl Dropped {
    /// The causes by name, as in reports.
    pub const fn by_cause(&self) -> [(&'static str, u32); 8] {
        [
            ("malformed", self.malformed),
            ("wrong_epoch", self.wrong_epoch),
            ("replayed", self.replayed),
            ("not_authentic", self.not_authentic),
            ("unprotected_alert", self.unprotected_alert),
            ("bad_fragment", self.bad_fragment),
            ("not_due", self.not_due),
            ("connection_id", self.connection_id),
        ]
    }

    /// All of them.
    pub const fn total(&self) -> u32 {
        let Self { malformed, wrong_epoch, replayed, not_authentic, .. } = *self;
        let Self { unprotected_alert, bad_fragment, not_due, connection_id, .. } = *self;
        malformed
            .saturating_add(wrong_epoch)
            .saturating_add(replayed)
            .saturating_add(not_authentic)
            .saturating_add(unprotected_alert)
            .saturating_add(bad_fragment)
            .saturating_add(not_due)
            .saturating_add(connection_id)
    }
}

/// What a handshake could leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Nothing.
    #[default]
    Full,
    /// What was cached, by this scheme.
    Cached(Scheme),
    /// All certificates: the session goes on with the key of an earlier one.
    Resumed,
    /// All certificates: both sides have a pre-shared key from outside.
    Psk,
    /// All certificates: both sides have identity keys.
    Identity,
}

impl Mode {
    /// The negotiated scheme if at least one object was cached.
    pub(crate) const fn of(any_cached: bool, scheme: Option<Scheme>) -> Self {
        match scheme {
            Some(scheme) if any_cached => Self::Cached(scheme),
            _ => Self::Full,
        }
    }

    /// As in reports: `full`, `rfc7924`, `bithac`, `compact`, `resumed`, `psk`, `identity`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Cached(scheme) => scheme.name(),
            Self::Resumed => "resumed",
            Self::Psk => "psk",
            Self::Identity => "identity",
        }
    }
}

/// An object of the handshake that was cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CachedObject {
    /// The server's Certificate.
    ServerCertificate,
    /// The server's CertificateRequest.
    CertificateRequest,
    /// The client's Certificate.
    ClientCertificate,
}

impl CachedObject {
    /// As in reports: `server_certificate` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServerCertificate => "server_certificate",
            Self::CertificateRequest => "certificate_request",
            Self::ClientCertificate => "client_certificate",
        }
    }
}

/// The peer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Peer {
    /// The identity in its certificate, the same whether the certificate was sent or cached, or the session resumed.
    pub identity: Option<PeerIdentity>,
    /// The name of the pre-shared key from outside that both sides have.
    pub psk_identity: Option<Vec<u8>>,
    /// The identity that it has an identity key for, with the authority that made the key.
    pub identity_based: Option<IdentityBasedPeer>,
    /// How it proved its identity.
    pub authenticated_by: AuthenticatedBy,
    /// The scheme that it signed this handshake with; `None` where it signs nothing: in a session that is resumed, or
    /// with a pre-shared key.
    pub signature_scheme: Option<SignatureScheme>,
    /// What the OCSP response that was stapled to its certificate in this handshake says.
    pub staple: Staple,
    /// The identity's certificate was accepted although the device does not know the time.
    pub time_unchecked: bool,
}

impl Peer {
    /// Who the peer is, for reports: the identity that it proved, else the name of the pre-shared key.
    pub fn name(&self) -> Option<String> {
        let key = self.psk_identity.as_deref().map(|name| String::from_utf8_lossy(name).into_owned());
        let key = key.or(self.identity_based.as_ref().map(ToString::to_string));
        self.identity.as_ref().map(ToString::to_string).or(key)
    }
}

/// A peer with an identity key. An identity alone names nobody, since two authorities may make keys for the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdentityBasedPeer {
    /// The authority that made the key, in its current epoch.
    pub authority: Authority,
    /// The identity, within that authority.
    pub identity: Identity,
}

/// Prints the identity and the authority: `dns:broker.example (authority 0011223344556677)`.
impl fmt::Display for IdentityBasedPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (authority {})", self.identity, self.authority)
    }
}

/// What a stapled OCSP response says (RFC 6066, 8). One that says anything but good ends the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Staple {
    /// There was none, or it was not asked for.
    #[default]
    None,
    /// The certificate is good.
    Good,
}

impl Staple {
    /// As in reports: `none`, `good`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Good => "good",
        }
    }
}

/// How a peer proved its identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthenticatedBy {
    /// Not at all.
    #[default]
    None,
    /// Not at all: it presented a certificate that was not verified, or a raw public key that nobody knew. In a handshake
    /// that is complete it has signed with that key ([`Connection::presented`](crate::Connection::presented)).
    Presented,
    /// With a certificate that it sent, in this handshake or in the one that this session began with.
    Certificate,
    /// With the key of a certificate that was verified in an earlier handshake.
    CachedCertificate,
    /// With a pre-shared key from outside.
    Psk,
    /// With an identity key.
    Identity,
}

impl AuthenticatedBy {
    /// As in reports: `none`, `presented`, `certificate`, `cached_certificate`, `psk`, `identity`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Presented => "presented",
            Self::Certificate => "certificate",
            Self::CachedCertificate => "cached_certificate",
            Self::Psk => "psk",
            Self::Identity => "identity",
        }
    }
}

/// What became of early data (RFC 9846, 4.3.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyDataStatus {
    /// The client offered none.
    #[default]
    None,
    /// The server takes it.
    Accepted,
    /// The server does not take it: the application decides whether to send it again.
    Rejected,
}

impl EarlyDataStatus {
    /// As in reports: `none`, `accepted`, `rejected`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
        }
    }
}

/// How early data is protected. None of it is protected against a server that accepts it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EarlyDataProtection {
    /// By the secret of a session (RFC 9846, 2.3): whoever learns this secret, or the server's ticket keys, can read it.
    Session,
    /// By an ephemeral secret ticket (docs/identity.md): it is forward secret as soon as the server has taken the ticket.
    Ticket,
    /// By the static keys of both sides at first contact (docs/identity.md): whoever learns the server's key can read it,
    /// and can make such early data in the name of any client.
    FirstContact,
}

impl EarlyDataProtection {
    /// Returns the name for reports: `session`, `ticket` or `first_contact`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Ticket => "ticket",
            Self::FirstContact => "first_contact",
        }
    }
}

/// Bytes in one direction.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Traffic {
    /// Bytes by handshake message, header (4 bytes) included, record overhead not; repeats summed.
    pub messages: Vec<(HandshakeType, u32)>,
    /// Their sum.
    pub handshake_bytes: u64,
    /// All bytes on the transport until the handshake was complete on both sides: record headers, tags and
    /// ChangeCipherSpec included.
    pub record_bytes: u64,
    /// The part of `record_bytes` that is application data: early data of a client, and what a server has answered to it.
    pub early_data_bytes: u64,
    /// Bytes of handshake messages (tickets, key updates) after that, in their records.
    pub post_handshake_bytes: u64,
    /// Datagrams until the handshake was complete; 0 on a stream.
    pub datagrams: u32,
}

impl Traffic {
    /// Counts a ticket that comes within the handshake (TLS 1.2): its message goes where tickets are counted.
    pub(crate) const fn count_ticket(&mut self, len: usize) {
        self.post_handshake_bytes += len as u64;
    }

    /// Counts a message of the handshake; one that only follows it counts in `post_handshake_bytes` alone.
    pub(crate) fn count_message(&mut self, message: HandshakeType, len: usize) {
        if matches!(
            message,
            HandshakeType::KEY_UPDATE
                | HandshakeType::NEW_SESSION_TICKET
                | HandshakeType::REQUEST_CONNECTION_ID
                | HandshakeType::NEW_CONNECTION_ID
        ) {
            return;
        }
        let len = len as u32;
        self.handshake_bytes += u64::from(len);
        match self.messages.iter_mut().find(|(counted, _)| *counted == message) {
            Some((_, sum)) => *sum = sum.saturating_add(len), // HelloRequest may come any number of times
            None => self.messages.push((message, len)),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
