//! How a connection over datagrams behaves (DTLS): sizes, timers, connection IDs.

use crate::error::ApiMisuse;

/// Makes a connection run over datagrams: DTLS instead of TLS, of the same versions. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Datagrams {
    /// The largest datagram that is sent, in bytes, [`Self::LEAST_DATAGRAM`] to [`Self::LARGEST_DATAGRAM`]: what an IP packet on the path leaves for UDP, 28
    /// bytes less than its MTU with IPv4 and 48 less with IPv6. What is received may be of any size.
    pub max_datagram: usize,
    /// How long an answer is waited for before a flight is sent again, while nothing is known of the path; doubled each
    /// time (RFC 6347, 4.2.4.1).
    pub initial_timeout: u64,
    /// The least that it becomes once the round trip was measured.
    pub min_timeout: u64,
    /// The most that it becomes.
    pub max_timeout: u64,
    /// How often a flight is sent again before the connection is given up ([`crate::Error::TimedOut`]).
    pub max_retransmissions: u8,
    /// Offer connection IDs, or answer them (RFC 9146), with one of so many bytes for the records that come here; 0:
    /// those that are sent may have one, those that come here need none. A server answers them if it is an
    /// [`crate::Endpoint`].
    pub connection_id: Option<u8>,
    /// With connection IDs, offer to answer checks whether this side is where its records come from, and answer such an
    /// offer (RFC 9853). Only an application that checks its peers' addresses itself goes without.
    pub return_routability_check: bool,
    /// Speak `TLS_AES_128_CCM_8_SHA256` in DTLS 1.3 as well, if it is enabled. Its tags can be guessed: after 64
    /// records that are not authentic the peer is asked for new keys, and after 128 under one key the connection ends
    /// (RFC 9147, 4.5.3 and Appendix B.3), so that whoever can send as many to a side can cut it off. Only where nobody
    /// else can.
    pub short_tags: bool,
    /// End a handshake at once on an alert that is not protected. Anybody who can guess the address can send one, so
    /// without this it is believed only when the peer does not go on before the next timeout.
    pub believe_unprotected_alerts: bool,
    /// Go without a defence, for tests that show what it is for.
    #[cfg(terse_testing)]
    pub without: Option<Defence>,
}

/// What a connection over datagrams does against those who can send it some, but have no keys.
#[cfg_attr(not(terse_testing), allow(unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defence {
    /// What came before is dropped (RFC 6347, 4.1.2.6).
    #[cfg(terse_testing)]
    ReplayProtection,
    /// The number of a record that is not protected keeps out no other.
    #[cfg(terse_testing)]
    UnverifiedNumbers,
    /// What came in the clear does not count once there are keys.
    Epochs,
    /// ChangeCipherSpec changes nothing: records say which epoch they are of.
    ChangeCipherSpec,
    /// Of what overtook a change of keys, little is held.
    HeldBound,
    /// Records without the connection ID that was agreed on are dropped (RFC 9146, 3).
    ConnectionIds,
    /// What is no record, or not authentic, is dropped (RFC 6347, 4.1.2.7).
    Dropping,
    /// A flight is sent again only so often for a peer that asks for it.
    RepeatBound,
    /// Parts of flights are acknowledged, and only what is missing is sent again (RFC 9147, 7). Without, only the last
    /// flight is acknowledged, and flights go again as a whole.
    PartialAcks,
}

impl Default for Datagrams {
    /// For the Internet: datagrams that fit the least MTU of IPv6, 1 s (RFC 6347, 4.2.4.1), given up after some three
    /// minutes.
    fn default() -> Self {
        Self {
            max_datagram: 1_232,
            initial_timeout: 1_000,
            min_timeout: 1_000,
            max_timeout: 60_000,
            max_retransmissions: 7,
            connection_id: None,
            return_routability_check: true,
            short_tags: false,
            believe_unprotected_alerts: false,
            #[cfg(terse_testing)]
            without: None,
        }
    }
}

impl Datagrams {
    /// The least [`Self::max_datagram`] in bytes: what a record and the header of a fragment take, and a byte of it.
    pub const LEAST_DATAGRAM: usize = 50;

    /// The greatest [`Self::max_datagram`] in bytes: the longest that UDP over IPv4 carries.
    pub const LARGEST_DATAGRAM: usize = 65_507;

    /// Goes without a defence, for tests that show what it is for.
    #[cfg(terse_testing)]
    #[must_use]
    pub const fn without(self, without: Option<Defence>) -> Self {
        Self { without, ..self }
    }

    /// Returns these settings with another [`max_datagram`](field@Self::max_datagram).
    #[must_use]
    pub const fn max_datagram(self, max_datagram: usize) -> Self {
        Self { max_datagram, ..self }
    }

    /// Returns these settings with another [`initial_timeout`](field@Self::initial_timeout).
    #[must_use]
    pub const fn initial_timeout(self, initial_timeout: u64) -> Self {
        Self { initial_timeout, ..self }
    }

    /// Returns these settings with another [`min_timeout`](field@Self::min_timeout).
    #[must_use]
    pub const fn min_timeout(self, min_timeout: u64) -> Self {
        Self { min_timeout, ..self }
    }

    /// Returns these settings with another [`max_timeout`](field@Self::max_timeout).
    #[must_use]
    pub const fn max_timeout(self, max_timeout: u64) -> Self {
        Self { max_timeout, ..self }
    }

    /// Returns these settings with another [`max_retransmissions`](field@Self::max_retransmissions).
    #[must_use]
    pub const fn max_retransmissions(self, max_retransmissions: u8) -> Self {
        Self { max_retransmissions, ..self }
    }

    /// Returns these settings with another [`connection_id`](field@Self::connection_id).
    #[must_use]
    pub const fn connection_id(self, connection_id: Option<u8>) -> Self {
        Self { connection_id, ..self }
    }

    /// Returns these settings with another [`return_routability_check`](field@Self::return_routability_check).
    #[must_use]
    pub const fn return_routability_check(self, return_routability_check: bool) -> Self {
        Self { return_routability_check, ..self }
    }

    /// Returns these settings with another [`short_tags`](field@Self::short_tags).
    #[must_use]
    pub const fn short_tags(self, short_tags: bool) -> Self {
        Self { short_tags, ..self }
    }

    /// Returns these settings with another [`believe_unprotected_alerts`](field@Self::believe_unprotected_alerts).
    #[must_use]
    pub const fn believe_unprotected_alerts(self, believe_unprotected_alerts: bool) -> Self {
        Self { believe_unprotected_alerts, ..self }
    }

    /// For constrained networks: the first timeout is 9 s (RFC 7925, 11), until the round trip was measured.
    pub fn constrained() -> Self {
        Self { initial_timeout: 9_000, max_retransmissions: 5, ..Self::default() }
    }

    pub(super) const fn check(&self) -> Result<(), ApiMisuse> {
        let ids = match self.connection_id {
            Some(len) => len as usize,
            None => 0,
        };
        if self.max_datagram < Self::LEAST_DATAGRAM + ids || self.max_datagram > Self::LARGEST_DATAGRAM {
            return Err(ApiMisuse::DatagramOutOfRange);
        }
        if self.min_timeout == 0 || self.initial_timeout < self.min_timeout || self.max_timeout < self.initial_timeout {
            return Err(ApiMisuse::TimeoutsOutOfRange);
        }
        Ok(())
    }
}
