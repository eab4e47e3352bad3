//! Epochs of a connection over datagrams, whose version is not known while nothing is protected.

use alloc::boxed::Box;

use super::{datagram12, datagram13};
use crate::crypto::CryptoError;
use crate::schedule::EpochKeys;
use crate::wire::ContentType;

/// A record's place: the epoch and the number in it (RFC 9147, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordNumber {
    pub(crate) epoch: u64,
    pub(crate) sequence_number: u64,
}

/// Sends the records of one epoch.
pub(crate) enum WriteEpoch {
    /// Of epoch 0 in either version, and of DTLS 1.2.
    Dtls12(datagram12::WriteEpoch),
    /// Protected, of DTLS 1.3.
    Dtls13(Box<datagram13::WriteEpoch>),
}

impl WriteEpoch {
    /// Epoch 0, which protects nothing; its first record has the number `next`.
    pub(crate) const fn unprotected(next: u64) -> Self {
        Self::Dtls12(datagram12::WriteEpoch::unprotected(next))
    }

    /// In DTLS 1.2 it has the number `next_epoch`.
    pub(crate) fn new(keys: &EpochKeys, next_epoch: u16) -> Result<Self, CryptoError> {
        Ok(match keys {
            EpochKeys::Tls12(keys) => Self::Dtls12(datagram12::WriteEpoch::new(next_epoch, keys)?),
            EpochKeys::Tls13(secret) => Self::Dtls13(Box::new(datagram13::WriteEpoch::new(secret)?)),
        })
    }

    /// The number of the record that is sealed next.
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

    /// How many bytes go before the content of the next record. `is_last`: it ends its datagram.
    pub(crate) fn head_len(&self, cid: &[u8], is_last: bool) -> usize {
        match self {
            Self::Dtls12(epoch) => epoch.head_len(cid),
            Self::Dtls13(epoch) => epoch.head_len(cid, !is_last),
        }
    }

    /// How many bytes follow so many bytes of content.
    pub(crate) fn tail_len(&self, cid: &[u8], content: usize) -> usize {
        match self {
            Self::Dtls12(epoch) => epoch.tail_len(cid),
            Self::Dtls13(epoch) => epoch.tail_len(content),
        }
    }

    /// The most that head and tail of a record come to that ends its datagram.
    pub(crate) fn max_expansion(&self, cid: &[u8]) -> usize {
        match self {
            Self::Dtls12(epoch) => epoch.head_len(cid) + epoch.tail_len(cid),
            Self::Dtls13(epoch) => epoch.max_expansion(cid),
        }
    }

    /// Makes a record of `record`: room for the head, `content` bytes of content, and room for the tail.
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

    /// The peer was heard of.
    pub(crate) const fn peer_is_there(&mut self) {
        if let Self::Dtls13(epoch) = self {
            epoch.peer_is_there();
        }
    }

    /// Whether the key should be replaced, which only DTLS 1.3 can.
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
    /// Of epoch 0 in either version, and of DTLS 1.2.
    Dtls12(datagram12::ReadEpoch),
    /// Protected, of DTLS 1.3.
    Dtls13(Box<datagram13::ReadEpoch>),
}

impl ReadEpoch {
    pub(crate) fn unprotected() -> Self {
        Self::Dtls12(datagram12::ReadEpoch::unprotected())
    }

    /// In DTLS 1.2 it has the number `next_epoch`.
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

    /// The highest number of a record that was authentic, or came before there were keys.
    pub(crate) const fn newest(&self) -> Option<u64> {
        match self {
            Self::Dtls12(epoch) => epoch.newest(),
            Self::Dtls13(epoch) => epoch.newest(),
        }
    }

    /// So many records were not authentic that the peer should be asked for another key, which only DTLS 1.3 has.
    pub(crate) const fn has_many_forgeries(&self) -> bool {
        match self {
            Self::Dtls12(_) => false,
            Self::Dtls13(epoch) => epoch.has_many_forgeries(),
        }
    }
}
