//! What an endpoint dropped and refused.

/// Counts of an [`super::Endpoint`]. What its connections drop, they count themselves ([`crate::summary::Dropped`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointCounters {
    /// HelloVerifyRequests that were sent: to clients that came without a cookie, or with a wrong or an old one.
    pub cookies_sent: u32,
    /// Tickets that were taken for a cookie.
    pub tickets_spent: u32,
    /// Datagrams that are no record of DTLS, or a ClientHello that does not parse.
    pub malformed: u32,
    /// Datagrams from an address that has no connection, which begin none.
    pub unknown_address: u32,
    /// Datagrams with a connection ID that no connection has.
    pub unknown_connection_id: u32,
    /// Datagrams of a connection that came from another address, where that is refused.
    pub other_address: u32,
    /// Fragments of first messages that made room for others.
    pub hellos_dropped: u32,
    /// Connections that made room for others before their handshake was complete.
    pub half_open_dropped: u32,
    /// Clients that found no room.
    pub refused: u32,
    /// ClientHellos, or parts of one, that say that the message is longer than is put together: 4,096 bytes, or
    /// `max_handshake_message` if that is less.
    pub hellos_too_long: u32,
    /// Application data that was not read in time.
    pub data_dropped: u32,
    /// Messages of the application that were not taken, since too much waits for the peer already
    /// ([`super::Endpoint::send`]).
    pub messages_refused: u32,
    /// Times that more would have been sent to an address that is not proven than three times what came from it.
    pub amplification: u32,
    /// Challenges that were sent, to new and to old addresses (RFC 9853).
    pub path_challenges: u32,
    /// Times that a peer seemed to be somewhere else and was still where it was: somebody copies its records, and is
    /// faster.
    pub paths_kept: u32,
    /// Times that nobody answered at a new address, nor at the old one.
    pub paths_unproven: u32,
    /// Answers to no challenge, not from where it went, or for the second time.
    pub path_responses_dropped: u32,
}

impl EndpointCounters {
    /// The counts by name, as in reports.
    pub const fn by_name(&self) -> [(&'static str, u32); 17] {
        [
            ("cookies_sent", self.cookies_sent),
            ("tickets_spent", self.tickets_spent),
            ("malformed", self.malformed),
            ("unknown_address", self.unknown_address),
            ("unknown_connection_id", self.unknown_connection_id),
            ("other_address", self.other_address),
            ("hellos_dropped", self.hellos_dropped),
            ("half_open_dropped", self.half_open_dropped),
            ("refused", self.refused),
            ("hellos_too_long", self.hellos_too_long),
            ("data_dropped", self.data_dropped),
            ("messages_refused", self.messages_refused),
            ("amplification", self.amplification),
            ("path_challenges", self.path_challenges),
            ("paths_kept", self.paths_kept),
            ("paths_unproven", self.paths_unproven),
            ("path_responses_dropped", self.path_responses_dropped),
        ]
    }
}
