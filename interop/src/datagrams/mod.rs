//! DTLS 1.2 and 1.3 (RFC 6347, RFC 9147): two programs, one of them ours, with a [`relay`] between them that sees every datagram.
//!
//! Our side is the command `terse`, because over UDP much of what can go wrong is outside of a connection: cookies,
//! addresses, several clients on one socket. [`pair::Pair`] is one meeting.

use terse_tls::{ContentType, HandshakeType};

pub mod pair;
pub mod passage;
pub mod records;
pub mod relay;
pub mod report;

/// What a [`crate::case::Case`] says about datagrams.
#[derive(Clone, Debug, Default)]
pub struct Datagrams {
    /// The longest IP packet that our side sends.
    pub our_mtu: Option<u16>,
    /// The longest IP packet that the peer sends.
    pub peer_mtu: Option<u16>,
    /// How long our connection ID is (RFC 9146); 0: we use the peer's, and want none.
    pub our_connection_id: Option<u8>,
    /// How long the peer's connection ID is.
    pub peer_connection_id: Option<u8>,
    /// The caching scheme of our side, as `terse` spells it.
    pub our_cache: Option<&'static str>,
}

impl Datagrams {
    /// The same for another implementation in our place, with its own peer.
    #[must_use]
    pub const fn seen_by_the_other(&self) -> Self {
        Self {
            our_mtu: self.peer_mtu,
            peer_mtu: self.our_mtu,
            our_connection_id: self.peer_connection_id,
            peer_connection_id: self.our_connection_id,
            our_cache: None,
        }
    }
}

/// What the client says, once a connection.
pub const PING: &[u8] = b"ping\n";

/// What the server says.
pub const PONG: &[u8] = b"pong\n";

/// Headers of IPv4 and UDP.
pub const IP_AND_UDP: u16 = 20 + 8;

/// What a server sends to a client whose address it does not know (RFC 6347, 4.3.2).
pub const HELLO_VERIFY_REQUEST: HandshakeType = HandshakeType(3);

/// The outer type of records with a connection ID (RFC 9146, 4).
pub const TLS12_CID: ContentType = ContentType(25);

/// The records that DTLS 1.3 protects have no outer type; this is what their first byte begins with (RFC 9147, 4).
pub const UNIFIED_HEADER: ContentType = ContentType(0b0010_0000);

/// What acknowledges records that are not protected (RFC 9147, 7).
pub const ACK: ContentType = ContentType(26);
