//! A flight: messages, kept until they are answered, and cut to records each time that they are sent (RFC 6347, 4.2.3).

use alloc::vec::Vec;

use super::fragment::{FragmentHeader, HEADER_LEN};
use crate::link::Sent;
use crate::time::Instant;
use crate::wire::{ContentType, Encode, EncodeError, HandshakeType, Writer};

/// What is sent at once, and kept until it is answered.
#[derive(Default)]
pub(super) struct Flight {
    /// The messages, each with its header as if it were not fragmented.
    pub(super) bytes: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    /// No more is pushed: what is pushed now begins the next flight.
    pub(super) is_complete: bool,
    /// What of it is to be sent next; `None`: all was.
    pub(super) next: Option<Place>,
    /// How often it was sent again.
    pub(super) losses: u8,
    /// How often because the peer asked for it.
    pub(super) repeats: u32,
    /// The handshake is over when this has arrived: nobody answers.
    pub(super) is_last: bool,
    pub(super) last_sent: Option<Instant>,
}

pub(super) struct Piece {
    pub(super) epoch: usize,
    pub(super) content_type: ContentType,
    /// In [`Flight::bytes`].
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) piece: usize,
    /// In the body of a message.
    pub(super) offset: usize,
}

impl Flight {
    /// It was sent before.
    pub(super) const fn is_repeated(&self) -> bool {
        self.losses > 0
    }

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

    /// Fills the content of one record with what is next in the flight: whole messages, and at most one part of a message,
    /// at its end. Returns its length; 0 if nothing fits. Bytes of tickets are added to `tickets`, those beyond what was pushed
    /// to `sent`.
    pub(super) fn fill(&mut self, room: &mut [u8], is_first: bool, sent: &mut Sent, tickets: &mut usize) -> usize {
        let is_repeated = self.is_repeated();
        let Self { bytes, pieces, next, .. } = self;
        let mut filled = 0;
        let first = next.and_then(|place| pieces.get(place.piece));
        let Some((epoch, content_type)) = first.map(|piece| (piece.epoch, piece.content_type)) else { return 0 };
        while let Some(place) = *next
            && let Some(piece) = pieces.get(place.piece)
            && (piece.epoch, piece.content_type) == (epoch, content_type)
        {
            let whole = &bytes[piece.start..piece.end];
            let Some((header, body)) = whole.split_first_chunk::<HEADER_LEN>() else {
                // ChangeCipherSpec
                if room.len() < filled + whole.len() {
                    return filled;
                }
                room[filled..filled + whole.len()].copy_from_slice(whole);
                filled += whole.len();
                *next = Some(Place { piece: place.piece + 1, offset: 0 });
                continue;
            };
            let rest = &body[place.offset.min(body.len())..];
            let least = if is_first && filled == 0 { 1 } else { LEAST_PART };
            let free = room.len().saturating_sub(filled);
            if free < HEADER_LEN + rest.len().min(least) {
                return filled;
            }
            let part = &rest[..rest.len().min(free - HEADER_LEN)];
            let whole = FragmentHeader::parse(header);
            let header = FragmentHeader { fragment_offset: place.offset, fragment_length: part.len(), ..whole };
            room[filled..filled + HEADER_LEN].copy_from_slice(&header.bytes());
            room[filled + HEADER_LEN..filled + HEADER_LEN + part.len()].copy_from_slice(part);
            let len = HEADER_LEN + part.len();
            filled += len;
            if header.kind == HandshakeType::NEW_SESSION_TICKET {
                *tickets += len;
            } else if is_repeated {
                sent.more.push((header.kind, len));
            } else if place.offset > 0 {
                sent.more.push((header.kind, HEADER_LEN));
            }
            let offset = place.offset + part.len();
            let is_part = part.len() < body.len();
            *next = Some(if offset < body.len() {
                Place { offset, ..place }
            } else {
                Place { piece: place.piece + 1, offset: 0 }
            });
            if is_part {
                return filled; // Mbed TLS and Scandium throw away what follows it in its record
            }
        }
        filled
    }
}

/// A message is not split for the sake of fewer bytes than these at the end of a datagram.
const LEAST_PART: usize = 16;
