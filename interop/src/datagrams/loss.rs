//! Rules say which datagrams of a handshake are lost, or late.
//!
//! What must always hold: the fate of a datagram depends on what its sender has sent before, and on nothing else: not on
//! time, and not on what the other side sends meanwhile. A message in the clear that is sent again is never lost.

use core::ops::Range;

use terse_tls::ContentType;

use super::UNIFIED_HEADER;
use super::passage::Fate;
use super::records::{Fragment, Record, records};
use crate::pki::Side;

/// The datagrams of a handshake that are lost or late. Data are neither: they would not be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// No datagram is lost.
    #[default]
    None,
    /// The one with this number of this side is lost. Those that bring something new are counted, from 0.
    Only(Side, usize),
    /// Pieces of both sides are lost.
    Pieces(Pieces),
    /// No datagram is lost, but the one with this number of this side comes after the next one of its sender.
    Late(Side, usize),
}

/// Chooses pieces of handshakes, one of each side: the datagram that brings a chosen piece first is lost, with all else that
/// is in it.
///
/// A piece is the byte of a message in the clear with which a stretch of it begins, or the Finished of DTLS 1.2, or a datagram
/// of DTLS 1.3 that is protected from its first byte on. The number of a piece is that of its message plus that of its
/// stretch; those that are not in the clear follow the messages that are. A piece is in one datagram, however long the
/// signatures before it are, and however messages share datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The numbers of the pieces that are lost: the client's and the server's.
    pub numbers: (usize, usize),
    /// The length of a stretch: about the longest fragment.
    pub stretch: usize,
}

impl Pieces {
    /// Three choices of numbers. Between them, they lose messages of every flight, and each of them loses something even of
    /// a handshake in four datagrams.
    pub const NUMBERS: [(usize, usize); 3] = [(0, 1), (1, 5), (4, 0)];
}

/// The place of a byte in a side's handshake: the epoch, the message, and the offset in it.
type Place = (u16, u16, usize);

/// The place of a ChangeCipherSpec.
const CHANGE: Range<Place> = (1, 0, 0)..(1, 0, 1);

/// The place of the Finished of DTLS 1.2.
const FINISHED: Range<Place> = (1, 0, 1)..(1, 0, 2);

/// All that a side has sent of its handshake so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// The end of all that can be told apart.
    end: Place,
    /// The number of messages in the clear.
    messages: usize,
    /// The number of datagrams that brought something new.
    datagrams: usize,
    /// The number of datagrams that begin with a unified header. Nobody can see what they bring.
    protected: usize,
}

impl Sent {
    /// Adds a datagram of the handshake. Returns its fate, and whether it brings something new, as far as that can be seen.
    pub(super) fn add(&mut self, side: Side, datagram: &[u8], loss: Loss) -> (Fate, bool) {
        let records = records(datagram, 0).unwrap_or_default();
        let fragments: Vec<Fragment> = records.iter().flat_map(Record::fragments).collect();
        let places: Vec<Range<Place>> = records.iter().flat_map(places).collect();
        let before = *self;
        self.messages = fragments.iter().map(|part| usize::from(part.message_seq) + 1).fold(self.messages, usize::max);
        self.end = places.iter().map(|place| place.end).fold(self.end, Place::max);
        let is_protected = places.is_empty() && records.first().is_some_and(|record| record.kind == UNIFIED_HEADER);
        let is_new = places.is_empty() || self.end > before.end;
        self.protected += usize::from(is_protected);
        self.datagrams += usize::from(is_new);
        let is_chosen = |of: Side, number| is_new && of == side && number == before.datagrams;
        let fate = match loss {
            Loss::Only(of, number) if is_chosen(of, number) => Fate::Lost,
            Loss::Late(of, number) if is_chosen(of, number) => Fate::Late,
            Loss::Pieces(pieces) => {
                let number = if side == Side::Client { pieces.numbers.0 } else { pieces.numbers.1 };
                let brings = |place: Place| place >= before.end && places.iter().any(|range| range.contains(&place));
                let mut starts = fragments.iter().filter_map(|part| {
                    let stretch = number.checked_sub(part.message_seq.into())?;
                    Some((0, part.message_seq, stretch * pieces.stretch))
                });
                let is_lost = starts.any(brings)
                    || self.messages == number && brings(FINISHED.start)
                    || is_protected && self.messages + before.protected == number;
                if is_lost { Fate::Lost } else { Fate::Passed }
            }
            _ => Fate::Passed,
        };
        (fate, is_new)
    }
}

/// Returns the places of what can be told apart in a record. A message without a body takes a byte.
fn places(record: &Record<'_>) -> Vec<Range<Place>> {
    match record.kind {
        ContentType::CHANGE_CIPHER_SPEC => vec![CHANGE],
        ContentType::HANDSHAKE if record.is_protected() => vec![FINISHED],
        _ => {
            let place = |part: &Fragment| {
                let at = |offset| (0, part.message_seq, offset);
                at(part.offset)..at(part.offset + part.len.max(1))
            };
            record.fragments().iter().map(place).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use terse_tls::HandshakeType;

    use super::super::passage::Passage;
    use super::*;

    const FATES: [Fate; 3] = [Fate::Passed, Fate::Late, Fate::Lost];

    /// The longest payload with the MTU 256, and with 1500.
    const ROOMS: [usize; 2] = [228, 1472];

    fn record(kind: ContentType, epoch: u8, content: &[u8]) -> Vec<u8> {
        [&[kind.0, 254, 253, 0, epoch, 0, 0, 0, 0, 0, 0, 0, content.len() as u8][..], content].concat()
    }

    fn fragment(kind: HandshakeType, message_seq: u8, len: usize, offset: usize, part: usize) -> Vec<u8> {
        let [len, offset, part_len] = [len, offset, part].map(|number| [0, (number >> 8) as u8, number as u8]);
        let header = [&[kind.0][..], &len, &[0, message_seq], &offset, &part_len].concat();
        let content = [header, vec![7; part]].concat();
        let mut record = record(ContentType::HANDSHAKE, 0, &content);
        record[11] = (content.len() >> 8) as u8;
        record
    }

    /// Cuts messages so that datagrams of `room` bytes are filled.
    fn flight(first: u8, messages: &[(HandshakeType, usize)], room: usize) -> Vec<Vec<u8>> {
        let mut datagrams: Vec<Vec<u8>> = vec![Vec::new()];
        for ((kind, len), message_seq) in messages.iter().zip(first..) {
            let mut offset = 0;
            loop {
                let left = room - datagrams.last().unwrap().len();
                if left < 26 {
                    datagrams.push(Vec::new());
                    continue;
                }
                let part = (len - offset).min(left - 25);
                datagrams.last_mut().unwrap().extend(fragment(*kind, message_seq, *len, offset, part));
                offset += part;
                if offset == *len {
                    break;
                }
            }
        }
        datagrams
    }

    fn finished() -> Vec<u8> {
        [record(ContentType::CHANGE_CIPHER_SPEC, 0, &[1]), record(ContentType::HANDSHAKE, 1, &[9; 40])].concat()
    }

    /// The flights of a side in a handshake of DTLS 1.2, with a signature that is `more` bytes longer than the shortest.
    fn flights(side: Side, room: usize, more: usize) -> Vec<Vec<Vec<u8>>> {
        const VERIFY: HandshakeType = HandshakeType::CERTIFICATE_VERIFY;
        let hello = |message_seq| flight(message_seq, &[(HandshakeType::CLIENT_HELLO, 180)], room);
        let certificate = (HandshakeType::CERTIFICATE, 790);
        let key_exchange = |len| (HandshakeType(16), len);
        match side {
            Side::Client => {
                let mut last = flight(2, &[certificate, key_exchange(66), (VERIFY, 72 + more)], room);
                last.push(finished());
                vec![hello(0), hello(1), last]
            }
            Side::Server => {
                let hello = (HandshakeType::SERVER_HELLO, 90);
                let others = [(HandshakeType::CERTIFICATE_REQUEST, 40), (HandshakeType(14), 0)];
                let messages = [&[hello, certificate, key_exchange(140 + more)][..], &others].concat();
                vec![flight(0, &[(HandshakeType(3), 19)], room), flight(1, &messages, room), vec![finished()]]
            }
        }
    }

    fn losses(room: usize) -> Vec<Loss> {
        let pieces = Pieces::NUMBERS.map(|numbers| Loss::Pieces(Pieces { numbers, stretch: room - 25 }));
        let single = (0..12).flat_map(|number| {
            [Side::Client, Side::Server]
                .into_iter()
                .flat_map(move |side| [Loss::Only(side, number), Loss::Late(side, number)])
        });
        pieces.into_iter().chain(single).collect()
    }

    fn fates(side: Side, datagrams: &[Vec<u8>], loss: Loss) -> Vec<Fate> {
        let mut sent = Sent::default();
        datagrams.iter().map(|datagram| sent.add(side, datagram, loss).0).collect()
    }

    /// The messages that are in lost datagrams.
    fn lost(side: Side, datagrams: &[Vec<u8>], loss: Loss) -> Vec<Fragment> {
        let fates = fates(side, datagrams, loss);
        let lost = datagrams.iter().zip(fates).filter(|(_, fate)| *fate == Fate::Lost);
        lost.flat_map(|(datagram, _)| {
            records(datagram, 0).unwrap().iter().flat_map(Record::fragments).collect::<Vec<_>>()
        })
        .collect()
    }

    #[test]
    fn fates_do_not_depend_on_what_the_other_side_sends_meanwhile() {
        for room in ROOMS {
            let [client, server] = [Side::Client, Side::Server].map(|side| flights(side, room, 0).concat());
            for loss in losses(room) {
                let expected = [fates(Side::Client, &client, loss), fates(Side::Server, &server, loss)];
                // In each round, one more datagram of the server comes before each of the client.
                for lead in 0..=server.len() {
                    let mut passage = Passage::default();
                    let mut of_server = server.iter();
                    for datagram in &client {
                        for earlier in of_server.by_ref().take(lead) {
                            let _ = passage.take(Side::Server, earlier, loss);
                        }
                        let _ = passage.take(Side::Client, datagram, loss);
                    }
                    of_server.for_each(|datagram| drop(passage.take(Side::Server, datagram, loss)));
                    let seen = [Side::Client, Side::Server].map(|side| {
                        let of_side = passage.datagrams.iter().filter(|datagram| datagram.side == side);
                        of_side.map(|datagram| datagram.fate).collect::<Vec<_>>()
                    });
                    assert_eq!(seen, expected, "{loss:?}, {lead}");
                }
            }
        }
    }

    #[test]
    fn what_is_sent_again_is_passed_on() {
        for (side, room) in [Side::Client, Side::Server].into_iter().flat_map(|side| ROOMS.map(|room| (side, room))) {
            let flights = flights(side, room, 0);
            let once = flights.concat();
            let twice: Vec<_> = flights.iter().flat_map(|flight| [flight.clone(), flight.clone()].concat()).collect();
            for loss in losses(room) {
                let count = |datagrams: &[_]| {
                    let fates = fates(side, datagrams, loss);
                    FATES.map(|fate| fates.iter().filter(|is| **is == fate).count())
                };
                let [once, twice] = [count(&once), count(&twice)];
                assert_eq!(once[1..], twice[1..], "{side:?}, {loss:?}");
            }
            let mut sent = Sent::default();
            let news = twice.iter().filter(|datagram| sent.add(side, datagram, Loss::None).1);
            assert!(news.eq(&once), "{side:?}, {room}");
        }
    }

    #[test]
    fn each_datagram_is_chosen_by_its_number() {
        for side in [Side::Client, Side::Server] {
            let datagrams = flights(side, ROOMS[0], 0).concat();
            for number in 0..=datagrams.len() {
                for (loss, fate) in [(Loss::Only(side, number), Fate::Lost), (Loss::Late(side, number), Fate::Late)] {
                    let fates = fates(side, &datagrams, loss);
                    let expected: Vec<usize> = (number < datagrams.len()).then_some(number).into_iter().collect();
                    let chosen = (0..fates.len()).filter(|index| fates[*index] == fate);
                    assert_eq!(chosen.collect::<Vec<_>>(), expected);
                    assert_eq!(self::fates(side.other(), &datagrams, loss), vec![Fate::Passed; datagrams.len()]);
                }
            }
        }
    }

    #[test]
    fn the_length_of_a_signature_does_not_choose_the_message() {
        for (room, more) in ROOMS.into_iter().flat_map(|room| (0..300).map(move |more| (room, more))) {
            for (numbers, of_client, of_server) in [
                (Pieces::NUMBERS[0], vec![0], vec![1]),
                (Pieces::NUMBERS[1], vec![1], vec![5]),
                (Pieces::NUMBERS[2], vec![4], vec![0]),
            ] {
                let loss = Loss::Pieces(Pieces { numbers, stretch: room - 25 });
                for (side, expected) in [(Side::Client, of_client), (Side::Server, of_server)] {
                    let lost = lost(side, &flights(side, room, more).concat(), loss);
                    let begins =
                        |message_seq| lost.iter().any(|part| (part.message_seq, part.offset) == (message_seq, 0));
                    assert!(expected.iter().all(|message| begins(*message)), "{side:?}, {loss:?}, {more}: {lost:?}");
                }
            }
        }
    }

    #[test]
    fn the_finished_of_dtls_1_2_follows_the_last_message() {
        for (side, number) in [(Side::Client, 5), (Side::Server, 6)] {
            let loss = Loss::Pieces(Pieces { numbers: (number, number), stretch: ROOMS[1] });
            let fates = fates(side, &flights(side, ROOMS[1], 0).concat(), loss);
            let (last, others) = fates.split_last().unwrap();
            assert!(*last == Fate::Lost && !others.contains(&Fate::Lost), "{side:?}: {fates:?}");
        }
        // A ChangeCipherSpec may come in a datagram of its own.
        let loss = Loss::Pieces(Pieces { numbers: (0, 0), stretch: 1 });
        let apart = [record(ContentType::CHANGE_CIPHER_SPEC, 0, &[1]), record(ContentType::HANDSHAKE, 1, &[9; 40])];
        assert_eq!(fates(Side::Client, &apart, loss), [Fate::Passed, Fate::Lost]);
    }

    #[test]
    fn protected_datagrams_follow_the_hellos() {
        let protected = [&[0b0010_0110, 7, 0, 53][..], &[0; 53]].concat();
        let hello = fragment(HandshakeType::SERVER_HELLO, 0, 90, 0, 90);
        let acknowledgement = record(ContentType(26), 0, &[0; 18]);
        let flight = [&acknowledgement, &[&hello[..], &protected].concat(), &protected, &acknowledgement, &protected];
        let datagrams = flight.map(Clone::clone);
        for (number, expected) in [(0, Some(1)), (1, Some(2)), (2, Some(4)), (3, None)] {
            let loss = Loss::Pieces(Pieces { numbers: (9, number), stretch: ROOMS[1] });
            let fates = fates(Side::Server, &datagrams, loss);
            assert_eq!(fates.iter().position(|fate| *fate == Fate::Lost), expected);
            assert_eq!(fates.iter().filter(|fate| **fate == Fate::Lost).count(), expected.iter().count());
        }
    }
}
