//! The epochs that records are sent in: the one in force, those before it for as long as something of theirs may be
//! retransmitted, and the one that a KeyUpdate brings (RFC 6347, 4.1; RFC 9147, 6.1 and 8).
//!
//! What must always hold: one epoch is in force; the peer's connection ID is in every protected record, and in no other.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::crypto::CryptoError;
use crate::link::RecordLimits;
use crate::record::datagram::WriteEpoch;
use crate::schedule::tls13::epoch::EARLY_DATA;
use crate::wire::ContentType;

pub(super) struct Epochs {
    /// The epochs that may still be sent in; the last one is in force.
    all: Vec<WriteEpoch>,
    /// The epoch that comes into force when the KeyUpdate is acknowledged (RFC 9147, 8).
    next: Option<WriteEpoch>,
    peer_cid: Box<[u8]>,
    limits: RecordLimits,
}

/// The epochs of a connection without early data: unprotected, of the handshake, of application data.
const USUAL: usize = 3;

/// Where an epoch is, until epochs are added or forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EpochPosition(usize);

impl Epochs {
    /// Begins with epoch 0, whose first record has this number.
    pub(super) fn new(number: u64) -> Self {
        let mut all = Vec::with_capacity(USUAL);
        all.push(WriteEpoch::unprotected(number));
        Self { all, next: None, peer_cid: Box::default(), limits: RecordLimits::DEFAULT }
    }

    /// Returns the position of the epoch in force.
    pub(super) const fn in_force(&self) -> EpochPosition {
        EpochPosition(self.all.len() - 1) // there is always one
    }

    /// Returns the position of the epoch with this number; that of the epoch in force, if the epoch is forgotten.
    pub(super) fn position(&self, epoch: u64) -> EpochPosition {
        let position = self.all.iter().rposition(|other| other.next().epoch == epoch);
        position.map_or(self.in_force(), EpochPosition)
    }

    /// Returns the epoch for ACKs and alerts. It is not that of early data, whose keys the server may not have.
    pub(super) fn for_control(&self) -> EpochPosition {
        if self.is_dtls13() && self.epoch() == EARLY_DATA { self.position(0) } else { self.in_force() }
    }

    /// Returns the epoch for application data: that of early data while there is one, otherwise the one in force.
    pub(super) fn for_data(&self) -> EpochPosition {
        self.all.iter().position(is_early_data).map_or(self.in_force(), EpochPosition)
    }

    pub(super) fn of(&self, EpochPosition(position): EpochPosition) -> &WriteEpoch {
        &self.all[position]
    }

    fn of_mut(&mut self, EpochPosition(position): EpochPosition) -> &mut WriteEpoch {
        &mut self.all[position]
    }

    /// Whether the epoch in force is one of DTLS 1.3.
    pub(super) fn is_dtls13(&self) -> bool {
        self.of(self.in_force()).is_dtls13()
    }

    /// Returns the number of the epoch in force.
    pub(super) fn epoch(&self) -> u64 {
        self.of(self.in_force()).next().epoch
    }

    /// Adds the epoch that is in force from here on.
    pub(super) fn push(&mut self, epoch: WriteEpoch) {
        self.all.reserve_exact(1); // twice the room would be taken when a handshake needs most memory
        self.all.push(epoch);
    }

    /// Keeps an epoch that is not in force before [`Self::use_next`].
    pub(super) fn put_off(&mut self, next: WriteEpoch) {
        self.next = Some(next);
    }

    /// Whether an epoch waits for [`Self::use_next`].
    pub(super) const fn has_next(&self) -> bool {
        self.next.is_some()
    }

    /// Puts the epoch of the KeyUpdate in force, if there is one.
    pub(super) fn use_next(&mut self) {
        self.all.extend(self.next.take());
    }

    /// Forgets the epochs before the one in force that are not `used`.
    pub(super) fn forget_unused(&mut self, is_used: impl Fn(u64) -> bool) {
        let EpochPosition(last) = self.in_force();
        let mut position = 0;
        self.all.retain(|epoch| {
            position += 1;
            position > last || is_used(epoch.next().epoch)
        });
    }

    /// Forgets the epoch of early data. The epoch before it stays.
    pub(super) fn abandon_early_data(&mut self) {
        self.all.retain(|epoch| !is_early_data(epoch));
    }

    /// Notes that the peer has answered in the epoch in force.
    pub(super) fn peer_is_there(&mut self) {
        self.of_mut(self.in_force()).peer_is_there();
    }

    pub(super) fn peer_cid(&self) -> &[u8] {
        &self.peer_cid
    }

    pub(super) fn set_peer_cid(&mut self, cid: &[u8]) {
        self.peer_cid = cid.into();
    }

    pub(super) const fn limits_mut(&mut self) -> &mut RecordLimits {
        &mut self.limits
    }

    /// Returns the connection ID for the records of an epoch.
    fn cid(&self, position: EpochPosition) -> &[u8] {
        if self.of(position).is_protected() { &self.peer_cid } else { &[] }
    }

    /// Returns the most bytes of content that a record of an epoch may have.
    pub(super) fn max_content(&self, position: EpochPosition) -> usize {
        self.limits.of(self.of(position).is_protected())
    }

    /// Returns how many bytes a record of an epoch has at most beside its content.
    pub(super) fn max_expansion(&self, position: EpochPosition) -> usize {
        self.of(position).max_expansion(self.cid(position))
    }

    /// Returns how many bytes precede and follow `content` bytes of content, in the last record of a datagram.
    pub(super) fn frame(&self, position: EpochPosition, content: usize) -> (usize, usize) {
        let (epoch, cid) = (self.of(position), self.cid(position));
        (epoch.head_len(cid, true), epoch.tail_len(cid, content))
    }

    /// Returns how many bytes precede the content in a record that another one may follow.
    pub(super) fn long_head_len(&self, position: EpochPosition) -> usize {
        self.of(position).head_len(self.cid(position), false)
    }

    /// Protects a record of an epoch in place, with `content` bytes of content. `is_last`: no record follows it in its
    /// datagram.
    pub(super) fn seal(
        &mut self,
        EpochPosition(position): EpochPosition,
        content_type: ContentType,
        is_last: bool,
        content: usize,
        record: &mut [u8],
    ) -> Result<(), CryptoError> {
        let Self { all, peer_cid, .. } = self;
        let epoch = &mut all[position];
        let cid = if epoch.is_protected() { &**peer_cid } else { &[] };
        epoch.seal(content_type, cid, is_last, content, record)
    }
}

fn is_early_data(epoch: &WriteEpoch) -> bool {
    epoch.is_dtls13() && epoch.next().epoch == EARLY_DATA
}
