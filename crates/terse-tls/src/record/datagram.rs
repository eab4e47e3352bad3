//! The epochs of a connection over datagrams, in DTLS 1.2 and DTLS 1.3. The version is unknown while records are
//! unprotected.

use alloc::boxed::Box;

use super::{datagram12, datagram13};
use crate::crypto::CryptoError;
use crate::schedule::EpochKeys;
use crate::wire::ContentType;

/// The number of a record: its epoch, and the sequence number in it (RFC 9147, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordNumber {
    pub(crate) epoch: u64,
    pub(crate) sequence_number: u64,
}

/// Sends the records of one epoch.
pub(crate) enum WriteEpoch {
    /// Unprotected records of either version, and records of DTLS 1.2.
    Dtls12(datagram12::WriteEpoch),
    /// Protected records of DTLS 1.3.
    Dtls13(Box<datagram13::WriteEpoch>),
}

impl WriteEpoch {
    /// Returns epoch 0, which is unprotected. Its first record has the number `next`.
    pub(crate) const fn unprotected(next: u64) -> Self {
        Self::Dtls12(datagram12::WriteEpoch::unprotected(next))
    }

    /// Creates a protected epoch. In DTLS 1.2 it has the number `next_epoch`.
    pub(crate) fn new(keys: &EpochKeys, next_epoch: u16) -> Result<Self, CryptoError> {
        Ok(match keys {
            EpochKeys::Tls12(keys) => Self::Dtls12(datagram12::WriteEpoch::new(next_epoch, keys)?),
            EpochKeys::Tls13(secret) => Self::Dtls13(Box::new(datagram13::WriteEpoch::new(secret)?)),
        })
    }

    /// Returns the number of the next record.
    pub(crate) const fn next(&self) -> RecordNumber {
        match self {
            Self::Dtls12(epoch) => RecordNumber { epoch: epoch.epoch() as u64, sequence_number: epoch.next() },
            Self::Dtls13(epoch) => RecordNumber { epoch: epoch.epoch(), sequence_number: epoch.next() },
        }
    }

    pub(crate) const fn is_protected(&self) -> bool {
        match self {
            Self::Dtls12(epoch) => epoch.is_protected(),
            Self::Dtls13(_) => true,
        }
    }

    pub(crate) const fn is_dtls13(&self) -> bool {
        matches!(self, Self::Dtls13(_))
    }

    /// Returns how many bytes precede the content of the next record. `is_last` says that it is the last one of its
    /// datagram.
    pub(crate) fn head_len(&self, cid: &[u8], is_last: bool) -> usize {
        match self {
            Self::Dtls12(epoch) => epoch.head_len(cid),
            Self::Dtls13(epoch) => epoch.head_len(cid, !is_last),
        }
    }

    /// Returns how many bytes follow `content` bytes of content.
    pub(crate) fn tail_len(&self, cid: &[u8], content: usize) -> usize {
        match self {
            Self::Dtls12(epoch) => epoch.tail_len(cid),
            Self::Dtls13(epoch) => epoch.tail_len(content),
        }
    }

    /// Returns the most bytes that the last record of a datagram has beside its content.
    pub(crate) fn max_expansion(&self, cid: &[u8]) -> usize {
        match self {
            Self::Dtls12(epoch) => epoch.head_len(cid) + epoch.tail_len(cid),
            Self::Dtls13(epoch) => epoch.max_expansion(cid),
        }
    }

    /// Makes a record in place. `record` has space for the head, `content` bytes of content, and space for the tail.
    pub(crate) fn seal(
        &mut self,
        content_type: ContentType,
        cid: &[u8],
        is_last: bool,
        content: usize,
        record: &mut [u8],
    ) -> Result<(), CryptoError> {
        match self {
            Self::Dtls12(epoch) => epoch.seal(content_type, cid, record),
            Self::Dtls13(epoch) => epoch.seal(content_type, cid, !is_last, content, record),
        }
    }

    /// Notes that an authentic record came from the peer.
    pub(crate) const fn peer_is_there(&mut self) {
        if let Self::Dtls13(epoch) = self {
            epoch.peer_is_there();
        }
    }

    /// Whether the key should be updated, which only DTLS 1.3 can do.
    pub(crate) const fn nears_limit(&self) -> bool {
        match self {
            Self::Dtls12(_) => false,
            Self::Dtls13(epoch) => epoch.nears_limit(),
        }
    }

    /// Whether no more application data may be sent.
    pub(crate) const fn is_exhausted(&self) -> bool {
        match self {
            Self::Dtls12(epoch) => epoch.is_exhausted(),
            Self::Dtls13(epoch) => epoch.is_exhausted(),
        }
    }
}

/// Receives the records of one epoch.
pub(crate) enum ReadEpoch {
    /// Unprotected records of either version, and records of DTLS 1.2.
    Dtls12(datagram12::ReadEpoch),
    /// Protected records of DTLS 1.3.
    Dtls13(Box<datagram13::ReadEpoch>),
}

impl ReadEpoch {
    pub(crate) fn unprotected() -> Self {
        Self::Dtls12(datagram12::ReadEpoch::unprotected())
    }

    /// Creates a protected epoch. In DTLS 1.2 it has the number `next_epoch`.
    pub(crate) fn new(keys: &EpochKeys, next_epoch: u16) -> Result<Self, CryptoError> {
        Ok(match keys {
            EpochKeys::Tls12(keys) => Self::Dtls12(datagram12::ReadEpoch::new(next_epoch, keys)?),
            EpochKeys::Tls13(secret) => Self::Dtls13(Box::new(datagram13::ReadEpoch::new(secret)?)),
        })
    }

    pub(crate) const fn epoch(&self) -> u64 {
        match self {
            Self::Dtls12(epoch) => epoch.epoch() as u64,
            Self::Dtls13(epoch) => epoch.epoch(),
        }
    }

    pub(crate) const fn is_protected(&self) -> bool {
        match self {
            Self::Dtls12(epoch) => epoch.is_protected(),
            Self::Dtls13(_) => true,
        }
    }

    pub(crate) const fn is_dtls13(&self) -> bool {
        matches!(self, Self::Dtls13(_))
    }

    /// Returns the highest number of an authentic record, or of any record if the epoch is unprotected.
    pub(crate) const fn newest(&self) -> Option<u64> {
        match self {
            Self::Dtls12(epoch) => epoch.newest(),
            Self::Dtls13(epoch) => epoch.newest(),
        }
    }

    /// Whether so many records failed authentication that the peer should be asked to update its key, which only DTLS
    /// 1.3 can do.
    pub(crate) const fn has_many_forgeries(&self) -> bool {
        match self {
            Self::Dtls12(_) => false,
            Self::Dtls13(epoch) => epoch.has_many_forgeries(),
        }
    }
}
