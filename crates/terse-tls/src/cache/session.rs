//! What a client's handshake does with its cache.
//!
//! The handshake reaches the session by a vtable, which only [`ClientCache`](super::ClientCache) names: a firmware that caches
//! nothing has none of the code.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::client::{Context, Failure, Learned, Selection};
use super::scheme::{CodePoints, ExpectedReply};
use super::{ClientCache, FallbackReason, Fingerprint, Parts, PeerEntry, RequestEntry, Scope, TicketSubject};
use crate::cert::VerifiedPeer;
use crate::error::Error;
use crate::time::Now;
use crate::wire::{EncodeError, Extensions, ExtensionsBuilder, ProtocolVersion};

/// Reads the record of a scope, and decides what is offered.
pub(crate) type Begin = fn(&ClientCache, Scope, Context<'_>) -> Box<dyn CacheSession>;

/// The session of one connection with the cache. Dropping it releases a held ticket. It lives as long as the connection, and so
/// does its memory.
pub(crate) trait CacheSession: Send + Sync {
    /// Writes the caching extensions of a ClientHello.
    fn write_offers(&self, code_points: CodePoints, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError>;

    /// Returns what the server selected, by one scheme, and notes it. It is not authenticated yet.
    fn read_reply(&mut self, extensions: Extensions<'_>, expected: &ExpectedReply<'_>) -> Result<Selection, Error>;

    /// Returns why less than everything was offered, or used as the server says.
    fn reason(&self) -> Option<FallbackReason>;

    /// Returns the Certificate that the client offers to have left out.
    fn server_certificate(&self) -> Option<&PeerEntry>;

    /// Returns the CertificateRequest that the client offers to have left out.
    fn certificate_request(&self) -> Option<&RequestEntry>;

    /// Returns the client's own Certificate that the offered ticket stands for.
    fn named_own_certificate(&self) -> Option<Fingerprint>;

    /// Returns an entry for the server's chain or raw public key, whose Certificate message of `version` has
    /// `fingerprint`, verified under the `trust_id` of this handshake. Returns `None` if it is not to be kept.
    fn entry(&self, fingerprint: Fingerprint, version: ProtocolVersion, peer: &Arc<VerifiedPeer>) -> Option<PeerEntry>;

    /// Returns what the ticket of this handshake stands for, if one was negotiated: what the server showed, sent or
    /// cached, and what this side has proven.
    fn names(&self, parts: Parts) -> Option<TicketSubject>;

    /// Notes that the server's Finished was verified. With `unknown` the server did not select the offered ticket,
    /// because it said so or because it does not take part (any more). In both cases no later connection may show the
    /// ticket again.
    fn server_finished(&mut self, unknown: bool);

    /// Keeps what was learned, and the new ticket as `newer`, once this side has sent its Finished.
    fn finished(&mut self, learned: Learned);

    /// Ends the session without learning anything, because the handshake was resumed or had a pre-shared key
    /// (docs/caching.md, 4.6).
    fn resumed(&mut self);

    /// Notes that the server has this handshake's ticket, because application data, a NewSessionTicket or a
    /// close_notify came under application keys. May be called for each of them.
    fn confirmed(&mut self);

    /// Notes that this side has closed the connection and nothing failed. The server will have this handshake's ticket
    /// then, though it may never say so, and the ticket that was shown is not shown again (docs/caching.md, 4.3). If
    /// the last flight is lost all the same, the next handshake is a full one.
    fn closed(&mut self);

    /// Notes that the connection failed. Once [`Self::confirmed`] was called, this does nothing but release the ticket.
    fn failed(&mut self, failure: Failure, now: Now);

    /// Lets other connections offer tickets, at the end of a connection whose session is not dropped yet.
    fn release(&mut self);
}
