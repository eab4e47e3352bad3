//! What a link does against those who can send it datagrams but have no keys: one function for each defence, which says
//! what holds with it. A test takes one away, to show what it is for; nothing else asks for that.
//!
//! What must always hold: without `--cfg terse_testing` nobody can take one away.

use super::receiver::MAX_HELD;
use crate::config::{Datagrams, Defence};
use crate::error::Error;
use crate::record::datagram12::Refused;
use crate::record::{datagram12, datagram13};
use crate::wire::ContentType;

/// The defences of a link: all, but for one that a test took away.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Defences {
    #[cfg(terse_testing)]
    pub(super) without: Option<Defence>,
}

impl Datagrams {
    pub(super) const fn defences(&self) -> Defences {
        Defences {
            #[cfg(terse_testing)]
            without: self.without,
        }
    }
}

impl Defences {
    /// Opens a record of DTLS 1.2, or one that is not protected: none whose number came before (RFC 6347, 4.1.2.6). The
    /// number of a record that is not protected keeps out no other.
    pub(super) fn open_once12<'a>(
        self,
        epoch: &mut datagram12::ReadEpoch,
        header: &datagram12::Header,
        record: &'a mut [u8],
        limit: usize,
    ) -> Result<(ContentType, &'a [u8]), Refused> {
        #[cfg(terse_testing)]
        if !self.have(Defence::ReplayProtection) {
            epoch.forget();
        } else if !self.have(Defence::UnverifiedNumbers)
            && !epoch.is_protected()
            && epoch.newest().is_some_and(|newest| header.number <= newest)
        {
            return Err(Refused::Replayed);
        }
        epoch.open(header, record, limit)
    }

    /// Opens a record of DTLS 1.3, as [`Self::open_once12`] (RFC 9147, 4.5.1).
    pub(super) fn open_once13<'a>(
        self,
        epoch: &mut datagram13::ReadEpoch,
        header: &datagram13::Header,
        record: &'a mut [u8],
        limit: usize,
    ) -> Result<datagram13::Opened<'a>, Refused> {
        #[cfg(terse_testing)]
        if !self.have(Defence::ReplayProtection) {
            epoch.forget();
        }
        epoch.open(header, record, limit)
    }

    /// What is no record, or not authentic, is dropped, as anybody can send it (RFC 6347, 4.1.2.7): it is not the `error`
    /// that ends a connection over a stream.
    pub(super) fn drop_instead_of(self, error: impl Into<Error>) -> Result<(), Error> {
        if self.have(Defence::Dropping) { Ok(()) } else { Err(error.into()) }
    }

    /// Whether a record is refused, which `has_other` connection ID than the one that was agreed on, or none (RFC 9146, 3;
    /// RFC 9147, 9).
    pub(super) fn refuse_connection_id(self, has_other: bool) -> bool {
        has_other && self.have(Defence::ConnectionIds)
    }

    /// Whether messages count in records of an epoch that `is_due`, or is not: those that came in the clear do not, once
    /// there are keys.
    pub(super) fn take_messages(self, is_due: bool) -> bool {
        is_due || !self.have(Defence::Epochs)
    }

    /// A ChangeCipherSpec that is not protected changes nothing: records say which epoch they are of. It is not the
    /// `error` that it can be over a stream.
    pub(super) fn ignore_change_cipher_spec(self, error: impl Into<Error>) -> Result<(), Error> {
        if self.have(Defence::ChangeCipherSpec) { Ok(()) } else { Err(error.into()) }
    }

    /// Whether so many bytes may be held of records that overtook a change of keys.
    pub(super) fn may_hold(self, bytes: usize) -> bool {
        bytes <= MAX_HELD || !self.have(Defence::HeldBound)
    }

    /// How often a flight is sent again for a peer that asks for it: as often as because of a timeout.
    pub(super) fn max_repeats(self, max_retransmissions: u8) -> u32 {
        if self.have(Defence::RepeatBound) { max_retransmissions.into() } else { u32::MAX }
    }

    /// Parts of flights are acknowledged, and only what is missing is sent again (RFC 9147, 7).
    pub(super) fn acknowledge_parts(self) -> bool {
        self.have(Defence::PartialAcks)
    }

    #[cfg(terse_testing)]
    fn have(self, defence: Defence) -> bool {
        self.without != Some(defence)
    }

    #[cfg(not(terse_testing))]
    const fn have(self, _: Defence) -> bool {
        true
    }
}
