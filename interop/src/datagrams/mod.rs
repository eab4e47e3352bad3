//! DTLS 1.2 and 1.3 (RFC 6347, RFC 9147) run between two programs, one of them ours, with a [`relay`] that sees every
//! datagram.
//!
//! Our side is the command `terse`, because over UDP much of what can go wrong is outside of a connection: cookies,
//! addresses, several clients on one socket. A [`pair::Pair`] is one connection, or several in turn.

use terse_tls::{ContentType, HandshakeType};

pub mod loss;
pub mod pair;
pub mod passage;
pub mod records;
pub mod relay;
pub mod report;

/// The options of a [`crate::case::Case`] for datagrams.
#[derive(Clone, Debug, Default)]
pub struct Datagrams {
    /// The length of the longest IP packet that our side sends.
    pub our_mtu: Option<u16>,
    /// The length of the longest IP packet that the peer sends.
    pub peer_mtu: Option<u16>,
    /// The length of our connection ID (RFC 9146); with 0 we use the peer's, and have none.
    pub our_connection_id: Option<u8>,
    /// The length of the peer's connection ID.
    pub peer_connection_id: Option<u8>,
    /// The caching scheme of our side, in the words of `terse`.
    pub our_cache: Option<&'static str>,
}

impl Datagrams {
    /// Returns the options for another implementation in our place, with its own peer.
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

/// The client's data, once in each connection.
pub const PING: &[u8] = b"ping\n";

/// The server's data.
pub const PONG: &[u8] = b"pong\n";

/// The length of the headers of IPv4 and UDP.
pub const IP_AND_UDP: u16 = 20 + 8;

/// The message of a server to a client whose address it does not know (RFC 6347, 4.3.2).
pub const HELLO_VERIFY_REQUEST: HandshakeType = HandshakeType(3);

/// The outer type of records with a connection ID (RFC 9146, 4).
pub const TLS12_CID: ContentType = ContentType(25);

/// The first bits of a record that DTLS 1.3 protects, in place of an outer type (RFC 9147, 4).
pub const UNIFIED_HEADER: ContentType = ContentType(0b0010_0000);

/// The type of acknowledgements that are not protected (RFC 9147, 7).
pub const ACK: ContentType = ContentType(26);
