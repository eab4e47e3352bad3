//! The line between handshake and transport. A handshake is written once per version and speaks to a [`Link`]; it
//! never asks which one. The link hands it whole messages in order and carries whole flights away.

use crate::error::Error;
use crate::schedule::EpochKeys;
use crate::wire::{AlertDescription, Encode, HandshakeType};

// Nothing joins its parts yet.
#[allow(dead_code)]
pub(crate) mod datagram;
pub(crate) mod stream;

/// What a handshake asks of the link that carries its messages.
pub(crate) trait Link {
    /// The prefix of the key schedule's labels: `tls13 ` (RFC 9846, 7.1) or `dtls13` (RFC 9147, 5.9).
    fn label_prefix(&self) -> &'static [u8];

    /// How many bytes wait to be sent.
    fn pending(&self) -> usize;

    /// Adds a message to the flight. Returns it with its 4-byte header, as the transcript hashes it.
    fn push(&mut self, kind: HandshakeType, body: &dyn Encode) -> Result<&[u8], Error>;

    /// What is pushed from here on goes under `keys`. In TLS 1.2 a ChangeCipherSpec goes before it.
    fn new_keys(&mut self, keys: &EpochKeys) -> Result<(), Error>;

    /// What is pushed from here on is not protected any more: nobody reads the early data that was sent (RFC 9846,
    /// 4.3.10).
    fn abandon_early_data(&mut self);

    /// Early data ends here, and the peer takes it. Returns the message that says so, if this link has one (RFC 9846,
    /// 4.6; RFC 9147, 5.6).
    fn end_of_early_data(&mut self) -> Result<Option<&[u8]>, Error>;

    /// How many bytes of content go into one protected record at most.
    fn record_limit(&self) -> usize;

    /// Sends a warning alert.
    fn warn(&mut self, description: AlertDescription) -> Result<(), Error>;

    /// From here on at most `bytes` of content go into one record (RFC 6066, 4).
    fn limit_records(&mut self, bytes: usize);

    /// From here on at most `bytes` of content go into one record that is protected (RFC 8449, 4).
    fn limit_protected_records(&mut self, bytes: usize);

    /// The client speaks to middleboxes as TLS 1.2 does, so its server must as well (RFC 9846, E.4).
    fn compatibility_mode(&mut self);

    /// A middlebox that takes this for TLS 1.2 expects a ChangeCipherSpec here, the first time that this is called
    /// (RFC 9846, E.4).
    fn compatibility_point(&mut self) -> Result<(), Error>;

    /// The peer answers before more is sent: everything pushed must leave now.
    fn end_of_flight(&mut self) -> Result<(), Error>;
}
