//! Counters of what an endpoint dropped and refused.

/// Counters of an [`super::Endpoint`]. Its connections count what they drop themselves ([`crate::summary::Dropped`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointCounters {
    /// Requests for a cookie that were sent to clients without a cookie, or with a wrong or an old one.
    pub cookies_sent: u32,
    /// Tickets that were accepted instead of a cookie.
    pub tickets_spent: u32,
    /// Datagrams without a valid record of DTLS, or with a ClientHello that does not parse.
    pub malformed: u32,
    /// Datagrams on a path without a connection that have no ClientHello.
    pub unknown_address: u32,
    /// Datagrams with a connection ID that no connection has.
    pub unknown_connection_id: u32,
    /// Datagrams of a connection that came on another path, if [`super::AddressChange::Refuse`] is configured.
    pub other_address: u32,
    /// Incomplete ClientHellos that were dropped to make room for others.
    pub hellos_dropped: u32,
    /// Connections that were removed to make room for others before their handshake was complete.
    pub half_open_dropped: u32,
    /// ClientHellos that were refused, mostly for lack of room.
    pub refused: u32,
    /// ClientHellos, or fragments of one, that exceed the longest accepted message: 4,096 bytes, or
    /// `max_handshake_message` if that is less.
    pub hellos_too_long: u32,
    /// Datagrams whose application data was dropped, because too much waited to be read.
    pub data_dropped: u32,
    /// Messages of the application that were refused, because too much waited to be sent ([`super::Endpoint::send`]).
    pub messages_refused: u32,
    /// How often the limit of three times the received bytes has stopped sending to an address that is not validated.
    pub amplification: u32,
    /// Path challenges that were sent to new and to old addresses (RFC 9853).
    pub path_challenges: u32,
    /// How often a peer was still at its old address, although newer records came from another one: an attacker
    /// forwards copies of its records faster.
    pub paths_kept: u32,
    /// How often neither the new nor the old address answered a path challenge.
    pub paths_unproven: u32,
    /// Path responses that answer no challenge, come from a wrong address, or come again.
    pub path_responses_dropped: u32,
}

impl EndpointCounters {
    /// Returns the counters with their names in reports.
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
