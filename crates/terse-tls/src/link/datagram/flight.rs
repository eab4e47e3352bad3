//! A flight: messages, kept until they are answered or acknowledged, and cut to records each time that they are sent
//! (RFC 6347, 4.2.3; RFC 9147, 5.5).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use super::Sent;
use super::fragment::{FragmentHeader, HEADER_LEN};
use super::outstanding::{Outstanding, Part, Position};
use crate::record::datagram::RecordNumber;
use crate::time::Instant;
use crate::wire::{ContentType, Encode, EncodeError, HandshakeType, Writer};

/// What is sent at once, and kept until it is answered or acknowledged.
#[derive(Default)]
pub(super) struct Flight {
    /// The messages, each with its header as if it were not fragmented.
    pub(super) bytes: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    /// No more is pushed: what is pushed now begins the next flight, or goes on with messages after the handshake.
    pub(super) is_complete: bool,
    /// What of it is to be sent, in this order.
    pub(super) todo: VecDeque<Part>,
    /// In which records it was sent.
    pub(super) outstanding: Outstanding,
    /// Nothing of it was sent yet.
    pub(super) is_fresh: bool,
    /// The largest datagram that some of it was sent in.
    pub(super) largest: usize,
    /// The peer was heard of since it was sent again.
    pub(super) is_heard: bool,
    /// The peer was not: it gets this when it wakes up.
    pub(super) is_asleep: bool,
    /// How often it was sent again because nothing was heard.
    pub(super) losses: u8,
    /// How often because the peer asked for it.
    pub(super) repeats: u32,
    /// It was sent often enough. But what comes after it needs it: messages are handled in order.
    pub(super) is_given_up: bool,
    /// DTLS 1.2: the handshake is over when this has arrived, and nobody answers.
    pub(super) is_last: bool,
    pub(super) last_sent: Option<Instant>,
}

pub(super) struct Piece {
    pub(super) epoch: u64,
    pub(super) content_type: ContentType,
    /// In [`Flight::bytes`].
    pub(super) start: usize,
    pub(super) end: usize,
    /// The peer has it.
    pub(super) is_acknowledged: bool,
}

/// What went into a record.
#[derive(Default)]
pub(super) struct Filled {
    pub(super) parts: Vec<Part>,
    /// Bytes of messages that are tickets.
    pub(super) tickets: usize,
}

impl Piece {
    /// The length of the body, or of a ChangeCipherSpec.
    const fn len(&self) -> usize {
        let len = self.end - self.start;
        match self.content_type {
            ContentType::HANDSHAKE => len - HEADER_LEN,
            _ => len,
        }
    }
}

impl Flight {
    /// Appends a message, in one piece. Returns where it begins.
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

    /// No more is pushed for now. Whatever was not sent yet is to be.
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

    /// What is not acknowledged is to be sent again.
    pub(super) fn send_again(&mut self) {
        self.plan(|_| false);
    }

    /// What is not acknowledged, but precedes what `arrived`, is to be sent again. Returns whether there is anything.
    pub(super) fn send_before(&mut self, arrived: Position) -> bool {
        self.plan(|position| !position.precedes(arrived));
        !self.todo.is_empty()
    }

    /// What is not acknowledged, and was not sent since, is to be sent again.
    pub(super) fn send_older(&mut self, since: Instant) {
        self.plan(|position| position.sent > since);
    }

    /// Of what is to be sent only the first epoch is: some of it is missing, so the peer cannot read what follows, nor
    /// say what of that it has.
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

    /// Stops, and keeps what is not acknowledged.
    pub(super) fn give_up(&mut self) {
        let before = core::mem::take(self);
        (self.is_complete, self.is_given_up, self.is_asleep) = (true, true, !before.is_heard);
        for piece in before.pieces.into_iter().filter(|piece| !piece.is_acknowledged) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&before.bytes[piece.start..piece.end]);
            self.pieces.push(Piece { start, end: self.bytes.len(), ..piece });
        }
    }

    /// The records of these numbers arrived. Returns up to where the flight is known to have.
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

    /// The peer answers, so it has all of it (RFC 9147, 7.2).
    pub(super) fn acknowledge_all(&mut self) {
        self.pieces.iter_mut().for_each(|piece| piece.is_acknowledged = true);
    }

    /// Whether the peer lacks something that comes before what it has.
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

    /// The same, of the whole flight.
    pub(super) fn leaves_gap(&self) -> bool {
        let mut lacks_before = false;
        let pieces = self.pieces.iter().enumerate();
        pieces.into_iter().any(|(index, piece)| match piece.is_acknowledged {
            true => lacks_before,
            false => self.leaves_gap_in(index, piece.len(), &mut lacks_before),
        })
    }

    /// The KeyUpdate of this epoch, and the messages before it.
    pub(super) fn up_to_key_update(&self, epoch: u64) -> &[Piece] {
        let is_key_update =
            |piece: &Piece| piece.epoch == epoch && self.bytes.get(piece.start) == Some(&HandshakeType::KEY_UPDATE.0);
        let place = self.pieces.iter().rposition(is_key_update);
        self.pieces.get(..place.map_or(0, |place| place + 1)).unwrap_or_default()
    }

    /// Whether the peer has all of it.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.pieces.iter().all(|piece| piece.is_acknowledged)
    }

    /// Fills the content of one record with what is next in the flight: whole messages and parts of them.
    /// `ends_with_part`: after a part of a message no other follows in the record, for the peers that would throw it
    /// away. Returns its length; 0 if nothing fits. Bytes beyond those that were pushed are added to `sent`.
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

    /// How many bytes the first fragment of what is next takes at least, and its epoch.
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

/// A message is not split for the sake of fewer bytes than these at the end of a datagram.
const LEAST_PART: usize = 16;
