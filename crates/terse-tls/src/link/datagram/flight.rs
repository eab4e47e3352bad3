//! A flight: messages that are kept until they are answered or acknowledged, and fragmented into records each time that
//! they are sent (RFC 6347, 4.2.3; RFC 9147, 5.5).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use super::Sent;
use super::fragment::{FragmentHeader, HEADER_LEN};
use super::outstanding::{Outstanding, Part, Position};
use crate::record::datagram::RecordNumber;
use crate::time::Instant;
use crate::wire::{ContentType, Encode, EncodeError, HandshakeType, Writer};

/// Messages that are sent together, and kept until they are answered or acknowledged.
#[derive(Default)]
pub(super) struct Flight {
    /// The messages, each with the header that it has if it is not fragmented.
    pub(super) bytes: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    /// Whether the flight is complete: a message that is pushed now begins the next flight, or adds a post-handshake
    /// message.
    pub(super) is_complete: bool,
    /// The parts that are still to be sent, in this order.
    pub(super) todo: VecDeque<Part>,
    /// The parts that were sent, and in which records.
    pub(super) outstanding: Outstanding,
    /// Whether nothing was sent since the flight was completed.
    pub(super) is_fresh: bool,
    /// The length of the largest datagram of this flight.
    pub(super) largest: usize,
    /// Whether something came from the peer since the flight was last retransmitted.
    pub(super) is_heard: bool,
    /// Whether the flight was given up while the peer was silent: it is retransmitted when the peer is heard again.
    pub(super) is_asleep: bool,
    /// How often the flight was retransmitted because it, or its answer, seemed lost.
    pub(super) losses: u8,
    /// How often the flight was retransmitted because the peer asked for it.
    pub(super) repeats: u32,
    /// Whether retransmission was given up. The messages are kept, since later ones need them: messages are handled in
    /// order.
    pub(super) is_given_up: bool,
    /// DTLS 1.2: whether this is the last flight of the handshake, which nobody answers.
    pub(super) is_last: bool,
    pub(super) last_sent: Option<Instant>,
}

pub(super) struct Piece {
    pub(super) epoch: u64,
    pub(super) content_type: ContentType,
    /// Where the piece starts in [`Flight::bytes`].
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the peer has acknowledged the whole piece.
    pub(super) is_acknowledged: bool,
}

/// The content of records that [`Flight::fill`] made.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) parts: Vec<Part>,
    /// How many bytes belong to NewSessionTicket messages.
    pub(super) tickets: usize,
}

impl Piece {
    /// Returns the length of the body, or of a ChangeCipherSpec.
    const fn len(&self) -> usize {
        let len = self.end - self.start;
        match self.content_type {
            ContentType::HANDSHAKE => len - HEADER_LEN,
            _ => len,
        }
    }
}

impl Flight {
    /// Appends a message without fragmenting it. Returns where it begins in the flight's bytes.
    pub(super) fn encode(
        &mut self,
        kind: HandshakeType,
        message_seq: u16,
        body: &dyn Encode,
    ) -> Result<usize, EncodeError> {
        let mut count = Writer::new(&mut []);
        body.encode(&mut count);
        let len = count.len();
        let bytes = &mut self.bytes;
        let start = bytes.len();
        bytes.reserve_exact(HEADER_LEN + len);
        bytes.extend_from_slice(&FragmentHeader::whole(kind, message_seq, len).bytes());
        bytes.resize(start + HEADER_LEN + len, 0);
        let mut writer = Writer::new(&mut bytes[start + HEADER_LEN..]);
        body.encode(&mut writer);
        if let Err(error) = writer.finish() {
            bytes.truncate(start);
            return Err(error);
        }
        Ok(start)
    }

    /// Completes the flight: schedules all messages that were not sent yet.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
        self.is_fresh = true;
        if core::mem::take(&mut self.is_given_up) {
            return self.send_again();
        }
        let planned = self.todo.back().map(|part| part.piece());
        let first = planned.or_else(|| self.outstanding.last_piece()).map_or(0, |piece| piece + 1);
        self.todo
            .extend(self.pieces.iter().enumerate().skip(first).map(|(index, piece)| Part::whole(index, piece.len())));
    }

    /// Schedules everything that is not acknowledged for retransmission.
    pub(super) fn send_again(&mut self) {
        self.plan(|_| false);
    }

    /// Schedules everything before `arrived` that is not acknowledged for retransmission. Returns whether there is
    /// anything.
    pub(super) fn send_before(&mut self, arrived: Position) -> bool {
        self.plan(|position| !position.precedes(arrived));
        !self.todo.is_empty()
    }

    /// Schedules everything that is not acknowledged, and was last sent no later than `since`, for retransmission.
    pub(super) fn send_older(&mut self, since: Instant) {
        self.plan(|position| position.sent > since);
    }

    /// Keeps only the first epoch of the scheduled parts. The peer lacks some of that epoch, so it cannot decrypt later
    /// ones, nor acknowledge what it has received of them.
    pub(super) fn keep_first_epoch(&mut self) {
        let first = self.todo.front().and_then(|part| self.pieces.get(part.piece())).map(|piece| piece.epoch);
        let pieces = &self.pieces;
        self.todo.retain(|part| pieces.get(part.piece()).map(|piece| piece.epoch) == first);
    }

    fn plan(&mut self, is_on_its_way: impl Fn(Position) -> bool) {
        let Self { todo, pieces, outstanding, .. } = self;
        todo.clear();
        for (index, piece) in pieces.iter().enumerate().filter(|(_, piece)| !piece.is_acknowledged) {
            outstanding.missing(index, piece.len(), &is_on_its_way, |part| todo.push_back(part));
        }
    }

    /// Gives up retransmission, and keeps the messages that are not acknowledged.
    pub(super) fn give_up(&mut self) {
        let before = core::mem::take(self);
        (self.is_complete, self.is_given_up, self.is_asleep) = (true, true, !before.is_heard);
        for piece in before.pieces.into_iter().filter(|piece| !piece.is_acknowledged) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&before.bytes[piece.start..piece.end]);
            self.pieces.push(Piece { start, end: self.bytes.len(), ..piece });
        }
    }

    /// Notes that records were acknowledged. Returns the latest position that is known to have arrived.
    pub(super) fn acknowledge(
        &mut self,
        numbers: impl Iterator<Item = RecordNumber>,
        is_protected: bool,
    ) -> Option<Position> {
        let arrived = self.outstanding.acknowledge(numbers, is_protected)?;
        for (index, piece) in self.pieces.iter_mut().enumerate() {
            if is_protected && !piece.is_acknowledged && self.outstanding.is_acknowledged(index, piece.len()) {
                piece.is_acknowledged = true;
            }
        }
        Some(arrived)
    }

    /// Marks the whole flight as acknowledged, because the peer answers it (RFC 9147, 7.2).
    pub(super) fn acknowledge_all(&mut self) {
        self.pieces.iter_mut().for_each(|piece| piece.is_acknowledged = true);
    }

    /// Whether the peer lacks a part of a message, or of those before it, that comes before a part that it has.
    fn leaves_gap_in(&self, piece: usize, len: usize, lacks_before: &mut bool) -> bool {
        let (mut count, mut first) = (0, None);
        self.outstanding.missing(
            piece,
            len,
            |_| false,
            |part| {
                count += 1;
                first.get_or_insert(part);
            },
        );
        let Some(first) = first else { return *lacks_before };
        let Range { start, end } = first.range();
        let has_after = count > 1 || end < len;
        let has_any = has_after || start > 0;
        has_after || (core::mem::replace(lacks_before, true) && has_any)
    }

    /// Whether the peer lacks a part of the flight that comes before a part that it has.
    pub(super) fn leaves_gap(&self) -> bool {
        let mut lacks_before = false;
        let pieces = self.pieces.iter().enumerate();
        pieces.into_iter().any(|(index, piece)| match piece.is_acknowledged {
            true => lacks_before,
            false => self.leaves_gap_in(index, piece.len(), &mut lacks_before),
        })
    }

    /// Returns the KeyUpdate of this epoch and the messages before it.
    pub(super) fn up_to_key_update(&self, epoch: u64) -> &[Piece] {
        let is_key_update =
            |piece: &Piece| piece.epoch == epoch && self.bytes.get(piece.start) == Some(&HandshakeType::KEY_UPDATE.0);
        let place = self.pieces.iter().rposition(is_key_update);
        self.pieces.get(..place.map_or(0, |place| place + 1)).unwrap_or_default()
    }

    /// Whether the peer has acknowledged the whole flight.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.pieces.iter().all(|piece| piece.is_acknowledged)
    }

    /// Fills the content of one record with the next fragments of the flight. With `ends_with_part` a fragment of an
    /// incomplete message is the last one in its record, because some peers would discard what follows. Returns the
    /// length of the content; 0 if nothing fits. Bytes beyond those that were pushed are added to `sent`.
    pub(super) fn fill(
        &mut self,
        room: &mut [u8],
        is_first: bool,
        ends_with_part: bool,
        filled: &mut Filled,
        sent: &mut Sent,
    ) -> usize {
        let Self { bytes, pieces, todo, .. } = self;
        let mut len = 0;
        let first = todo.front().and_then(|part| pieces.get(part.piece()));
        let Some((epoch, content_type)) = first.map(|piece| (piece.epoch, piece.content_type)) else { return 0 };
        while let Some(part) = todo.front_mut()
            && let Some(piece) = pieces.get(part.piece())
            && (piece.epoch, piece.content_type) == (epoch, content_type)
        {
            let whole = &bytes[piece.start..piece.end];
            if content_type != ContentType::HANDSHAKE {
                // ChangeCipherSpec
                let Some(place) = room.get_mut(len..len + whole.len()) else { return len };
                place.copy_from_slice(whole);
                len += whole.len();
                todo.pop_front();
                continue;
            }
            let Some((header, body)) = whole.split_first_chunk::<HEADER_LEN>() else { return len };
            let start = part.range().start;
            let rest = body.get(part.range()).unwrap_or_default();
            let least = if is_first && len == 0 { 1 } else { LEAST_PART };
            let free = room.len().saturating_sub(len);
            if free < HEADER_LEN + rest.len().min(least) {
                return len;
            }
            let fragment = &rest[..rest.len().min(free - HEADER_LEN)];
            let whole = FragmentHeader::parse(header);
            let header = FragmentHeader { fragment_offset: start, fragment_length: fragment.len(), ..whole };
            room[len..len + HEADER_LEN].copy_from_slice(&header.bytes());
            room[len + HEADER_LEN..][..fragment.len()].copy_from_slice(fragment);
            let taken = HEADER_LEN + fragment.len();
            len += taken;
            if header.kind == HandshakeType::NEW_SESSION_TICKET {
                filled.tickets += taken;
            } else if part.is_again {
                sent.more.push((header.kind, taken));
            } else if start > 0 {
                sent.more.push((header.kind, HEADER_LEN));
            }
            let (sent_now, left) = part.split_at(start + fragment.len());
            filled.parts.push(sent_now);
            if !left.range().is_empty() {
                *part = left;
            } else {
                todo.pop_front();
            }
            if ends_with_part && fragment.len() < body.len() {
                return len;
            }
        }
        len
    }

    /// Returns the epoch of the next fragment, and how many bytes it takes at least.
    pub(super) fn least_next(&self) -> Option<(u64, usize)> {
        let part = self.todo.front()?;
        let piece = self.pieces.get(part.piece())?;
        let rest = part.range().len();
        Some(match piece.content_type {
            ContentType::HANDSHAKE => (piece.epoch, HEADER_LEN + rest.min(LEAST_PART)),
            _ => (piece.epoch, rest),
        })
    }
}

/// The shortest first part of a message that is put at the end of a datagram. A shorter one would not be worth its
/// header.
const LEAST_PART: usize = 16;
