//! Packing: as many ACKs, messages and parts of messages in one datagram as have room (RFC 6347, 4.1.1; RFC 9147, 5.5).

use super::Sender;
use super::epochs::EpochPosition;
use crate::crypto::CryptoError;
use crate::link::datagram::flight::Filled;
use crate::record::datagram12::MAX_FRAGMENT;
use crate::time::Instant;
use crate::wire::ContentType;

impl Sender {
    /// Makes the next datagram, of at most `out.len()` bytes: an ACK if one is due, and the next parts of the flight.
    /// Returns its length.
    pub(super) fn send_flight(&mut self, now: Instant, out: &mut [u8]) -> Result<usize, CryptoError> {
        let mut len = self.send_ack(now, out)?;
        let (acks, mut filled, mut is_again) = (len, Filled::default(), false);
        while let Some((epoch, _)) = self.flight.least_next() {
            let place = self.epochs.position(epoch);
            let (short, tail) = self.epochs.frame(place, MAX_FRAGMENT);
            let start = len + short;
            let room = out.len().saturating_sub(start + tail).min(self.epochs.max_content(place));
            let content_type = self.flight.todo.front().map(|part| self.flight.pieces[part.piece()].content_type);
            filled.parts.clear();
            let room = out.get_mut(start..start + room).unwrap_or_default();
            let ends_with_part = !self.epochs.of(place).is_dtls13();
            let content = self.flight.fill(room, len == 0, ends_with_part, &mut filled, &mut self.sent);
            let (Some(content_type), true) = (content_type, content > 0) else { break };
            is_again |= filled.parts.iter().any(|part| part.is_again);
            let record = self.epochs.of(place).next();
            len = self.seal(place, content_type, content, len, out)?;
            for part in &filled.parts {
                self.flight.outstanding.note_piece(part.piece());
            }
            if self.epochs.of(place).is_dtls13() || (epoch == 0 && self.may_be_dtls13()) {
                self.flight.outstanding.sent(record, &filled.parts, now);
            }
        }
        if len > 0 {
            let flight = len - acks;
            self.sent.datagrams += 1;
            self.sent.retransmissions += u32::from(is_again);
            let is_after =
                self.is_finished && self.epochs.is_dtls13() && !self.owes_last_ack && !self.has_last_flight();
            let counted = if is_after { &mut self.sent.post_handshake_bytes } else { &mut self.sent.record_bytes };
            *counted += (flight - filled.tickets) as u64 + acks as u64;
            if acks > 0 && !self.acks.is_due() {
                self.owes_last_ack = false;
            }
        }
        Ok(len)
    }

    /// Makes a record with an ACK, if one is due and fits. Returns its length.
    fn send_ack(&mut self, now: Instant, out: &mut [u8]) -> Result<usize, CryptoError> {
        if !self.acks.is_due() {
            return Ok(0);
        }
        let place = self.epochs.for_control();
        let (short, tail) = self.epochs.frame(place, MAX_FRAGMENT);
        let room = out.len().saturating_sub(short + tail).min(self.epochs.max_content(place));
        let content = self.acks.fill(now, out.get_mut(short..short + room).unwrap_or_default());
        if content == 0 {
            return Ok(0);
        }
        self.seal(place, ContentType::ACK, content, 0, out)
    }

    /// Makes a record that begins at `start`. Its content is already in the place for the last record of a datagram; if
    /// another record can follow, the content is moved to make space for a length. Returns the end of the record.
    fn seal(
        &mut self,
        place: EpochPosition,
        content_type: ContentType,
        content: usize,
        start: usize,
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let (short, tail) = self.epochs.frame(place, content);
        let long = self.epochs.long_head_len(place);
        let follows = self.flight.least_next().is_some_and(|(epoch, least)| {
            let next = self.epochs.position(epoch);
            let (head, tail_of_next) = self.epochs.frame(next, least);
            start + long + content + tail + head + least + tail_of_next <= out.len()
        });
        let head = if follows { long } else { short };
        if head > short {
            out.copy_within(start + short..start + short + content, start + head);
        }
        let end = start + head + content + tail;
        let record = out.get_mut(start..end).ok_or(CryptoError::InvalidLength)?;
        self.epochs.seal(place, content_type, !follows, content, record)?;
        Ok(end)
    }

    /// Whether the flight may belong to DTLS 1.3, whose flights have at most one unprotected message.
    fn may_be_dtls13(&self) -> bool {
        self.flight.pieces.get(1).is_none_or(|piece| piece.epoch > 0)
    }
}
