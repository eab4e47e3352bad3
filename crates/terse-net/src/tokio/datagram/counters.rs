//! Counters of what an endpoint dropped between its socket and the engine.

/// Counters of what a [`DatagramEndpoint`](super::DatagramEndpoint) dropped between its socket and its
/// [`Endpoint`](terse_tls::Endpoint).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SocketCounters {
    /// Datagrams that came and were not framed as they should be.
    pub misframed: u32,
    /// Datagrams that came with a header that is too long.
    pub headers_too_long: u32,
    /// Datagrams that were not sent, because the socket had no room or failed.
    pub unsent: u32,
    /// Answers of signers and stores that came when their connection was gone, or did not wait any more.
    pub late_answers: u32,
}

impl SocketCounters {
    /// Returns the counters with their names in reports.
    pub const fn by_name(&self) -> [(&'static str, u32); 4] {
        [
            ("misframed", self.misframed),
            ("headers_too_long", self.headers_too_long),
            ("unsent", self.unsent),
            ("late_answers", self.late_answers),
        ]
    }
}
