//! What only datagrams need, each beside a model that is too simple to be wrong: fragments that are put together, and
//! which records came before.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use super::Keys;
use crate::link::datagram::fragment::{DropCause, FragmentHeader, HEADER_LEN, Inserted, Reassembler};
use crate::record::datagram12::{Header, ReadEpoch, Refused, WriteEpoch};
use crate::record::replay::Window;
use crate::schedule::EpochKeys;
use crate::wire::{ContentType, HandshakeType};

/// Puts together the fragments that `script` says, of messages with at most `max_message` bytes. Panics if a message
/// comes out of order, or of other bytes than came first; if a fragment is refused without a reason; if more is kept
/// than promised.
///
/// A step has six bytes: what happens, the message's number from the one that is due on, its type, its length, and
/// where in it the fragment begins and how long it is.
pub fn reassemble(max_message: usize, first_seq: u16, script: &[u8]) {
    let mut reassembler = Reassembler::new(max_message, first_seq);
    let mut model = Model { max_message, next_seq: first_seq.into(), messages: BTreeMap::new() };
    for (count, step) in script.chunks_exact(6).enumerate() {
        let [what, seq, kind, lengths @ ..] = [0, 1, 2, 3, 4, 5].map(|at| step[at]);
        // The range of each goes past what is accepted; some of it far past.
        let scale = if what & 0x80 == 0 { max_message / 0xc0 + 1 } else { 0x1_0000 };
        let [length, offset, fragment_length] = lengths.map(|value| usize::from(value) * scale);
        match what & 7 {
            0 => {
                reassembler.consume();
                model.consume();
            }
            1 if what == 1 => {
                let next_seq = model.next_seq.min(0xffff) as u16;
                reassembler.set_next_seq(next_seq.wrapping_add(seq.into()));
                model.set_next_seq(next_seq.wrapping_add(seq.into()));
            }
            _ => {
                let message_seq = (model.next_seq as u16).wrapping_add(u16::from(seq % 16)).wrapping_sub(3);
                let header = FragmentHeader {
                    kind: HandshakeType(kind % 4),
                    length,
                    message_seq,
                    fragment_offset: offset,
                    fragment_length,
                };
                assert_eq!(FragmentHeader::parse(&header.bytes()), header);
                let len = if what & 0x40 == 0 { fragment_length } else { fragment_length / 2 };
                let body = vec![count as u8; len.min(2 * max_message)];
                model.insert(header, &body, reassembler.insert(header, &body));
            }
        }
        assert_eq!(reassembler.message().map(<[u8]>::to_vec), model.message());
        assert_eq!(u32::from(reassembler.next_seq()), model.next_seq.min(0xffff));
        let parts = MAX_PARTS * (HEADER_LEN + PART);
        assert!(reassembler.buffered() <= 2 * max_message + parts, "{} bytes are kept", reassembler.buffered());
        assert!(!reassembler.is_empty() || reassembler.buffered() == 0);
    }
}

/// The message that is due, and eight after it.
const MAX_PARTS: usize = 9;

/// What is known of a message besides its bytes, at most: 64 ranges, with room to grow.
const PART: usize = 256 + 128 * 16;

/// A reassembler that keeps every byte by itself, and as many as it likes.
struct Model {
    max_message: usize,
    next_seq: u32,
    messages: BTreeMap<u32, Incomplete>,
}

struct Incomplete {
    kind: HandshakeType,
    bytes: Vec<Option<u8>>,
}

impl Incomplete {
    /// Up to the last byte that came.
    fn end(&self) -> usize {
        self.bytes.iter().rposition(Option::is_some).map_or(0, |at| at + 1)
    }

    /// In how many pieces it is.
    fn pieces(&self) -> usize {
        let starts = |at: &usize| self.bytes[*at].is_some() && (*at == 0 || self.bytes[at - 1].is_none());
        (0..self.bytes.len()).filter(starts).count()
    }
}

impl Model {
    /// What should become of a fragment, and whether that is what became of it.
    fn insert(&mut self, header: FragmentHeader, body: &[u8], result: Inserted) {
        let FragmentHeader { kind, length, message_seq, fragment_offset: start, .. } = header;
        let (seq, end) = (u32::from(message_seq), start + header.fragment_length);
        let dropped = |cause| assert_eq!(result, Inserted::Dropped(cause), "{header:?}");
        if end > length || body.len() != header.fragment_length {
            return dropped(DropCause::Inconsistent);
        }
        if length > self.max_message {
            return dropped(DropCause::TooLarge);
        }
        if seq < self.next_seq {
            let whole_or_last = end == length && (start < end || length == 0);
            return assert_eq!(result, Inserted::Repeated { message_seq, whole_or_last });
        }
        if seq > self.next_seq + 8 {
            return dropped(DropCause::TooFarAhead);
        }
        let known = self.messages.get(&seq);
        if known.is_some_and(|known| (known.kind, known.bytes.len()) != (kind, length)) {
            return dropped(DropCause::Inconsistent);
        }
        if result == Inserted::Dropped(DropCause::OverBudget) {
            let is_in_pieces = known.is_some_and(|known| known.pieces() >= 64);
            // Room is made for up to twice what came.
            let is_other = |other: &(&u32, &Incomplete)| *other.0 != seq && *other.0 != self.next_seq;
            let others: usize = self.messages.iter().filter(is_other).map(|(_, other)| 2 * other.end()).sum();
            assert!(is_in_pieces || (seq != self.next_seq && others + end > self.max_message), "{header:?}");
            return;
        }
        assert_eq!(result, Inserted::Accepted, "{header:?}");
        if start < end || length == 0 {
            let new = || Incomplete { kind, bytes: vec![None; length] };
            let message = self.messages.entry(seq).or_insert_with(new);
            for (byte, came) in message.bytes[start..end].iter_mut().zip(body) {
                byte.get_or_insert(*came);
            }
        }
    }

    fn message(&self) -> Option<Vec<u8>> {
        let Incomplete { kind, bytes } = self.messages.get(&self.next_seq)?;
        let body: Vec<u8> = bytes.iter().copied().collect::<Option<_>>()?;
        let header = FragmentHeader::whole(*kind, self.next_seq as u16, body.len());
        Some([&header.bytes()[..], &body].concat())
    }

    fn consume(&mut self) {
        if self.message().is_some() {
            self.messages.remove(&self.next_seq);
            self.next_seq += 1;
        }
    }

    fn set_next_seq(&mut self, next_seq: u16) {
        if u32::from(next_seq) < self.next_seq {
            self.messages.clear();
        }
        self.next_seq = next_seq.into();
        self.messages.retain(|seq, _| *seq >= u32::from(next_seq));
    }
}

/// Asks about and notes the numbers that `script` says: two bytes each, from the newest one on, or after 0x7f seven
/// bytes of a number. Panics if one is taken twice, or if one is refused that is new and not too old.
pub fn window(script: &[u8]) {
    let (mut window, mut noted) = (Window::default(), BTreeSet::new());
    let mut rest = script;
    while let Some(([high, low], next)) = rest.split_first_chunk() {
        let newest = window.newest().unwrap_or(0);
        let number = match next.split_first_chunk() {
            Some(([a, b, c, d, e, f], next)) if *high == 0x7f => {
                rest = next;
                u64::from_be_bytes([0, *low, *a, *b, *c, *d, *e, *f]) & MAX_NUMBER
            }
            _ => {
                rest = next;
                newest.saturating_add_signed(i16::from_be_bytes([*high, *low]).into()).min(MAX_NUMBER)
            }
        };
        let is_too_old = noted.last().is_some_and(|newest: &u64| number + 64 <= *newest);
        assert_eq!(window.accepts(number), !is_too_old && !noted.contains(&number), "{number}");
        if window.accepts(number) {
            window.note(number);
            noted.insert(number);
            assert!(!window.accepts(number));
        }
        assert_eq!(window.newest(), noted.last().copied());
    }
}

const MAX_NUMBER: u64 = (1 << 48) - 1;

/// Sends records with a connection ID of `cid` under `keys`, and receives them as `script` says: three bytes for each,
/// which record, what is changed in it, and where. Panics unless exactly those arrive that were not changed, did not
/// arrive before, and are not too old.
pub fn repeated(keys: &Keys, cid: &[u8], script: &[u8]) {
    let EpochKeys::Tls12(keys) = &keys.0 else { return };
    let (Ok(mut sender), Ok(mut receiver)) = (WriteEpoch::new(1, keys), ReadEpoch::new(1, keys)) else { return };
    let (head, tail) = (sender.head_len(cid), sender.tail_len(cid));
    let mut records = Vec::new();
    for number in 0..script.len().div_ceil(3).min(RECORDS) {
        let content = vec![number as u8; number];
        let mut record = vec![0; head + content.len() + tail];
        record[head..head + content.len()].copy_from_slice(&content);
        sender.seal(ContentType::APPLICATION_DATA, cid, &mut record).expect("few records");
        records.push((record, content));
    }
    let (mut came, mut newest) = (BTreeSet::new(), None);
    for step in script.chunks_exact(3) {
        let number = usize::from(step[0]) % records.len();
        let (original, content) = &records[number];
        let mut record = original.clone();
        let at = usize::from(step[2]) % record.len();
        record[at] ^= step[1];
        let Some(header) = Header::parse(&record, cid.len()) else {
            assert_ne!(&record, original, "a record is none");
            continue;
        };
        // The connection knows to which epoch and to whom a record belongs before it opens it.
        let is_other = header.epoch != receiver.epoch() || header.cid(&record) != cid;
        if is_other || (header.content_type == ContentType::TLS12_CID) == cid.is_empty() {
            assert_ne!(&record, original, "a record is somebody else's");
            continue;
        }
        let result = receiver.open(&header, &mut record, MAX_CONTENT).map(|(kind, content)| (kind, content.to_vec()));
        let is_too_old = newest.is_some_and(|newest| header.number + 64 <= newest);
        if is_too_old || came.contains(&header.number) {
            assert_eq!(result, Err(Refused::Replayed));
        } else if step[1] == 0 {
            assert_eq!(result, Ok((ContentType::APPLICATION_DATA, content.clone())));
            came.insert(header.number);
            newest = newest.max(Some(header.number));
        } else {
            assert!(matches!(result, Err(Refused::NotAuthentic | Refused::Malformed)), "a changed record: {result:?}");
        }
        assert_eq!(receiver.newest(), newest);
    }
}

/// How many records there are.
const RECORDS: usize = 100;

/// More than any of them has.
const MAX_CONTENT: usize = 1_000;
