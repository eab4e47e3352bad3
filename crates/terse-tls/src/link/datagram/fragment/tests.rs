//! Tests that messages are reassembled completely and in order, and that a peer cannot exceed the memory limits.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

const MAX: usize = 300;
const REPEATED: Inserted = Inserted::Repeated { message_seq: 0, whole_or_last: true };

/// Returns the body of a message whose bytes all differ from their neighbours, and from those of other messages.
fn body(message_seq: u16, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(7).wrapping_add(message_seq as u8)).collect()
}

/// Returns the header of a fragment. The kind depends on the message number, so that messages differ.
fn header(message_seq: u16, length: usize, range: Range<usize>) -> FragmentHeader {
    let kind = HandshakeType(message_seq as u8);
    FragmentHeader { kind, length, message_seq, fragment_offset: range.start, fragment_length: range.len() }
}

fn whole(message_seq: u16, length: usize) -> Vec<u8> {
    let header = FragmentHeader::whole(HandshakeType(message_seq as u8), message_seq, length);
    [&header.bytes()[..], &body(message_seq, length)].concat()
}

fn insert(reassembler: &mut Reassembler, message_seq: u16, length: usize, range: Range<usize>) -> Inserted {
    let fragment = &body(message_seq, length)[range.clone()];
    reassembler.insert(header(message_seq, length, range), fragment)
}

fn drain(reassembler: &mut Reassembler) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some(message) = reassembler.message().map(<[u8]>::to_vec) {
        messages.push(message);
        reassembler.consume();
    }
    messages
}

#[test]
fn a_header_is_laid_out_as_in_section_4_2_2() {
    let bytes = [11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
    let header = FragmentHeader {
        kind: HandshakeType::CERTIFICATE,
        length: 0x010203,
        message_seq: 0x0405,
        fragment_offset: 0x060708,
        fragment_length: 0x090a0b,
    };
    assert_eq!(FragmentHeader::parse(&bytes), header);
    assert_eq!(header.bytes(), bytes);
    let whole = FragmentHeader::whole(HandshakeType::FINISHED, 0x0607, 0x0c).bytes();
    assert_eq!(whole, [20, 0, 0, 12, 6, 7, 0, 0, 0, 0, 0, 12]);
}

#[test]
fn a_message_in_one_piece_takes_one_exact_allocation() {
    let mut reassembler = Reassembler::new(MAX, 0);
    assert_eq!((reassembler.is_empty(), reassembler.buffered()), (true, 0));
    assert_eq!(insert(&mut reassembler, 0, 100, 0..100), Inserted::Accepted);
    assert_eq!(reassembler.buffered(), size_of::<Partial>() + HEADER_LEN + 100);
    assert!(!reassembler.is_empty());
    assert_eq!(drain(&mut reassembler), [whole(0, 100)]);
    assert_eq!((reassembler.is_empty(), reassembler.buffered(), reassembler.next_seq()), (true, 0, 1));
}

#[test]
fn two_halves_take_no_more_than_the_message() {
    let mut reassembler = Reassembler::new(MAX, 0);
    assert_eq!(insert(&mut reassembler, 0, 200, 0..120), Inserted::Accepted);
    assert_eq!(reassembler.partial[0].bytes.capacity(), HEADER_LEN + 120, "not what it announces");
    assert_eq!(reassembler.message(), None);
    reassembler.consume();
    assert_eq!(reassembler.next_seq(), 0, "nothing to consume");
    assert_eq!(insert(&mut reassembler, 0, 200, 120..200), Inserted::Accepted);
    assert_eq!(reassembler.buffered(), size_of::<Partial>() + HEADER_LEN + 200);
    assert_eq!(drain(&mut reassembler), [whole(0, 200)]);
}

#[test]
fn many_small_fragments_move_what_came_before_rarely() {
    let (mut reassembler, mut moves, mut capacity) = (Reassembler::new(1 << 16, 0), 0, 0);
    for at in 0..1 << 14 {
        assert_eq!(reassembler.insert(header(0, 1 << 14, at..at + 1), &[1]), Inserted::Accepted);
        let now = reassembler.partial[0].bytes.capacity();
        assert!(now <= HEADER_LEN + 2 * (at + 1));
        moves += u32::from(now != capacity);
        capacity = now;
    }
    assert!(moves <= 15, "{moves}");
    assert!(reassembler.message().is_some());
}

#[test]
fn an_empty_message_is_whole_with_its_one_fragment() {
    let mut reassembler = Reassembler::new(0, 0);
    for message_seq in [1, 0, 1] {
        assert_eq!(insert(&mut reassembler, message_seq, 0, 0..0), Inserted::Accepted);
    }
    assert_eq!(drain(&mut reassembler), [whole(0, 0), whole(1, 0)]);
    assert_eq!(insert(&mut reassembler, 0, 0, 0..0), REPEATED);
}

#[test]
fn an_empty_fragment_of_another_message_changes_nothing() {
    let mut reassembler = Reassembler::new(MAX, 0);
    for offset in [0, 1, 99, 100] {
        assert_eq!(insert(&mut reassembler, 0, 100, offset..offset), Inserted::Accepted);
        assert_eq!(reassembler.buffered(), 0);
    }
    assert_eq!(insert(&mut reassembler, 0, 100, 0..10), Inserted::Accepted);
    let before = reassembler.buffered();
    assert_eq!(insert(&mut reassembler, 0, 100, 50..50), Inserted::Accepted);
    assert_eq!(reassembler.buffered(), before);
}

#[test]
fn where_fragments_disagree_the_first_counts() {
    let mut reassembler = Reassembler::new(MAX, 0);
    assert_eq!(reassembler.insert(header(0, 6, 2..4), b"ab"), Inserted::Accepted);
    assert_eq!(reassembler.insert(header(0, 6, 0..6), b"uvwxyz"), Inserted::Accepted);
    assert_eq!(&reassembler.message().unwrap()[HEADER_LEN..], b"uvabyz");
    assert_eq!(reassembler.insert(header(0, 6, 0..6), b"012345"), Inserted::Accepted);
    assert_eq!(&reassembler.message().unwrap()[HEADER_LEN..], b"uvabyz");
}

#[test]
fn what_contradicts_itself_is_dropped() {
    const INCONSISTENT: Inserted = Inserted::Dropped(DropCause::Inconsistent);
    let mut reassembler = Reassembler::new(MAX, 0);
    assert_eq!(reassembler.insert(header(0, 5, 2..6), &[0; 4]), INCONSISTENT, "past the end");
    assert_eq!(reassembler.insert(header(0, 5, 6..6), &[]), INCONSISTENT, "past the end, without a byte");
    assert_eq!(reassembler.insert(header(0, 5, 0..4), &[0; 3]), INCONSISTENT, "another body than it says");
    let far = FragmentHeader { fragment_offset: usize::MAX, ..header(0, 5, 0..4) };
    assert_eq!(reassembler.insert(far, &[0; 4]), INCONSISTENT);
    assert!(reassembler.is_empty());
    assert_eq!(reassembler.insert(header(0, 5, 0..4), &[0; 4]), Inserted::Accepted);
    assert_eq!(reassembler.insert(header(0, 6, 4..5), &[0]), INCONSISTENT, "another length");
    let other = FragmentHeader { kind: HandshakeType::FINISHED, ..header(0, 5, 4..5) };
    assert_eq!(reassembler.insert(other, &[0]), INCONSISTENT, "another type");
    assert_eq!(reassembler.message(), None);
    assert_eq!(reassembler.insert(header(0, 5, 4..5), &[0]), Inserted::Accepted);
    assert!(reassembler.message().is_some());
}

#[test]
fn what_is_too_large_or_too_far_ahead_is_dropped() {
    let mut reassembler = Reassembler::new(MAX, 3);
    assert_eq!(insert(&mut reassembler, 3, MAX + 1, 0..1), Inserted::Dropped(DropCause::TooLarge));
    assert_eq!(insert(&mut reassembler, 12, 1, 0..1), Inserted::Dropped(DropCause::TooFarAhead));
    assert!(reassembler.is_empty());
    assert_eq!(insert(&mut reassembler, 11, 1, 0..1), Inserted::Accepted);
    assert_eq!(insert(&mut reassembler, 3, MAX, 0..MAX), Inserted::Accepted);
    assert_eq!(drain(&mut reassembler), [whole(3, MAX)]);
    assert_eq!(insert(&mut reassembler, 12, 1, 0..1), Inserted::Accepted);
}

#[test]
fn a_message_that_was_handed_out_is_repeated() {
    let repeated = |message_seq, whole_or_last| Inserted::Repeated { message_seq, whole_or_last };
    let mut reassembler = Reassembler::new(MAX, 7);
    assert_eq!(insert(&mut reassembler, 7, 10, 0..10), Inserted::Accepted);
    assert_eq!(insert(&mut reassembler, 7, 10, 0..10), Inserted::Accepted, "not handled yet");
    reassembler.consume();
    assert_eq!(insert(&mut reassembler, 7, 10, 0..10), repeated(7, true));
    assert_eq!(insert(&mut reassembler, 7, 10, 0..9), repeated(7, false));
    assert_eq!(insert(&mut reassembler, 7, 10, 9..10), repeated(7, true));
    assert_eq!(insert(&mut reassembler, 7, 10, 10..10), repeated(7, false), "no byte at all");
    assert_eq!(insert(&mut reassembler, 2, 10, 0..10), repeated(2, true));
    assert!(reassembler.is_empty());
}

#[test]
fn later_messages_leave_room_for_the_one_that_is_due() {
    let mut reassembler = Reassembler::new(MAX, 0);
    assert_eq!(insert(&mut reassembler, 1, 200, 0..200), Inserted::Accepted);
    assert_eq!(insert(&mut reassembler, 2, 200, 0..101), Inserted::Dropped(DropCause::OverBudget));
    assert_eq!(insert(&mut reassembler, 2, 200, 0..100), Inserted::Accepted);
    assert_eq!(insert(&mut reassembler, 2, 200, 100..101), Inserted::Dropped(DropCause::OverBudget));
    assert_eq!(insert(&mut reassembler, 3, 1, 0..1), Inserted::Dropped(DropCause::OverBudget));
    assert_eq!(insert(&mut reassembler, 4, 0, 0..0), Inserted::Accepted, "needs none");
    assert_eq!(insert(&mut reassembler, 0, MAX, 0..MAX), Inserted::Accepted);
    assert_eq!(drain(&mut reassembler), [whole(0, MAX), whole(1, 200)]);
    assert_eq!(insert(&mut reassembler, 2, 200, 100..200), Inserted::Accepted);
    assert_eq!(insert(&mut reassembler, 3, 1, 0..1), Inserted::Accepted);
    assert_eq!(drain(&mut reassembler), [whole(2, 200), whole(3, 1), whole(4, 0)]);
}

#[test]
fn the_message_that_is_due_takes_no_room_from_later_ones() {
    let mut reassembler = Reassembler::new(MAX, 0);
    assert_eq!(insert(&mut reassembler, 0, MAX, 1..MAX), Inserted::Accepted);
    assert_eq!(insert(&mut reassembler, 1, MAX, 0..MAX), Inserted::Accepted);
    assert_eq!(insert(&mut reassembler, 2, 1, 0..1), Inserted::Dropped(DropCause::OverBudget));
    assert_eq!(insert(&mut reassembler, 0, MAX, 0..1), Inserted::Accepted);
    assert_eq!(drain(&mut reassembler), [whole(0, MAX), whole(1, MAX)]);
}

#[test]
fn a_message_is_in_64_pieces_at_most() {
    let mut reassembler = Reassembler::new(MAX, 0);
    for piece in 0..64 {
        assert_eq!(insert(&mut reassembler, 0, MAX, 2 * piece..2 * piece + 1), Inserted::Accepted);
    }
    assert_eq!(insert(&mut reassembler, 0, MAX, 200..201), Inserted::Dropped(DropCause::OverBudget));
    assert_eq!(insert(&mut reassembler, 0, MAX, 127..128), Inserted::Accepted, "touches another");
    assert_eq!(insert(&mut reassembler, 0, MAX, 3..4), Inserted::Accepted, "joins two");
    assert_eq!(insert(&mut reassembler, 0, MAX, 200..201), Inserted::Accepted);
    assert_eq!(insert(&mut reassembler, 0, MAX, 0..MAX), Inserted::Accepted);
    assert_eq!(reassembler.buffered(), size_of::<Partial>() + HEADER_LEN + MAX);
    assert_eq!(drain(&mut reassembler), [whole(0, MAX)]);
}

#[test]
fn numbers_do_not_start_again() {
    let mut reassembler = Reassembler::new(MAX, u16::MAX - 1);
    for message_seq in [u16::MAX, u16::MAX - 1] {
        assert_eq!(insert(&mut reassembler, message_seq, 1, 0..1), Inserted::Accepted);
    }
    assert_eq!(insert(&mut reassembler, 0, 1, 0..1), REPEATED);
    assert_eq!(drain(&mut reassembler), [whole(u16::MAX - 1, 1), whole(u16::MAX, 1)]);
    for message_seq in [0, 1, u16::MAX - 1, u16::MAX] {
        let repeated = Inserted::Repeated { message_seq, whole_or_last: true };
        assert_eq!(insert(&mut reassembler, message_seq, 1, 0..1), repeated);
    }
    reassembler.consume();
    assert_eq!((reassembler.message(), reassembler.next_seq()), (None, u16::MAX));
}

#[test]
fn another_message_can_be_made_the_next() {
    let mut reassembler = Reassembler::new(MAX, 0);
    for message_seq in 0..3 {
        assert_eq!(insert(&mut reassembler, message_seq, 10, 0..10), Inserted::Accepted);
    }
    reassembler.set_next_seq(1);
    assert_eq!(reassembler.next_seq(), 1);
    assert_eq!(insert(&mut reassembler, 0, 10, 0..10), REPEATED);
    reassembler.set_next_seq(1);
    assert_eq!(drain(&mut reassembler), [whole(1, 10), whole(2, 10)], "what comes after it stays");
    assert_eq!(insert(&mut reassembler, 4, 10, 0..10), Inserted::Accepted);
    reassembler.set_next_seq(0);
    assert!(reassembler.is_empty());
    assert_eq!(insert(&mut reassembler, 0, 10, 0..10), Inserted::Accepted);
}

/// Generates the lengths of messages and their fragments in any order: adjacent fragments that make each message
/// complete, and arbitrary ones.
fn transmission() -> impl Strategy<Value = (Vec<usize>, Vec<(u16, Range<usize>)>)> {
    let length = prop_oneof![Just(0), 1..40_usize, 1..=MAX];
    let messages = vec((length, vec(any::<Index>(), 0..12)), 1..=9);
    let besides = vec((any::<Index>(), any::<Index>(), any::<Index>()), 0..20);
    (messages, besides).prop_flat_map(|(messages, besides)| {
        let lengths: Vec<_> = messages.iter().map(|(length, _)| *length).collect();
        let mut fragments = Vec::new();
        for (message_seq, (length, cuts)) in (0..).zip(messages) {
            let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(length + 1)).chain([0, length]).collect();
            places.sort_unstable();
            fragments.extend(places.windows(2).map(|place| (message_seq, place[0]..place[1])));
        }
        for (message, from, to) in besides {
            let message = message.index(lengths.len());
            let (from, to) = (from.index(lengths[message] + 1), to.index(lengths[message] + 1));
            fragments.push((message as u16, from.min(to)..from.max(to)));
        }
        (Just(lengths), Just(fragments).prop_shuffle())
    })
}

/// Generates fragments with any number, type and length, most of them acceptable.
fn hostile() -> impl Strategy<Value = (FragmentHeader, u8)> {
    let number = prop_oneof![9 => 0..12_u16, 1 => any::<u16>()];
    let place = || prop_oneof![4 => 0..=MAX / 2, 4 => 0..8_usize, 1 => 0..2 * MAX, 1 => 0..1_usize << 16];
    let length = prop_oneof![2 => Just(MAX), 4 => Just(100), 1 => Just(1), 1 => Just(0), 1 => place()];
    (1..3_u8, number, length, place(), place(), any::<u8>()).prop_map(|(kind, message_seq, length, from, len, byte)| {
        let kind = HandshakeType(kind);
        (FragmentHeader { kind, length, message_seq, fragment_offset: from, fragment_length: len }, byte)
    })
}

/// Asserts that the memory is within its limits.
fn within_bounds(reassembler: &Reassembler, max: usize) {
    let later = reassembler.partial.iter().filter(|partial| !reassembler.is_due(partial));
    let rooms: Vec<_> = later.map(Partial::room).collect();
    assert!(rooms.len() <= 8 && rooms.iter().sum::<usize>() <= max, "{rooms:?}");
    let each = size_of::<Partial>() + HEADER_LEN + 64 * size_of::<Range<usize>>();
    assert!(reassembler.buffered() <= 2 * max + 9 * each, "{}", reassembler.buffered());
    assert_eq!(reassembler.is_empty(), reassembler.buffered() == 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_header_survives(bytes in any::<[u8; HEADER_LEN]>()) {
        prop_assert_eq!(FragmentHeader::parse(&bytes).bytes(), bytes);
    }

    /// Messages are reassembled whatever the fragments, their order and repetitions. With memory for all messages they
    /// are complete at once; with memory for only the longest, each retransmission completes at least one.
    #[test]
    fn messages_come_back((lengths, fragments) in transmission(), roomy in any::<bool>()) {
        let max = if roomy { lengths.iter().sum() } else { lengths.iter().copied().max().unwrap_or(0) };
        let rounds = if roomy { 1 } else { lengths.len() };
        let mut reassembler = Reassembler::new(max, 0);
        let mut messages = Vec::new();
        for _ in 0..rounds {
            for (message_seq, range) in &fragments {
                let inserted = insert(&mut reassembler, *message_seq, lengths[usize::from(*message_seq)], range.clone());
                prop_assert!(!roomy || !matches!(inserted, Inserted::Dropped(_)));
                within_bounds(&reassembler, max);
                messages.extend(drain(&mut reassembler));
            }
        }
        let expected: Vec<_> = (0..).zip(&lengths).map(|(message_seq, length)| whole(message_seq, *length)).collect();
        prop_assert_eq!(messages, expected);
        prop_assert!(reassembler.is_empty());
    }

    /// Gaps before a fragment, and before any received byte, are found as by a model that marks each byte.
    #[test]
    fn gaps_are_what_is_missing((lengths, fragments) in transmission(), drains in any::<bool>()) {
        let mut reassembler = Reassembler::new(lengths.iter().sum(), 0);
        // An empty message has a mark, too.
        let starts: Vec<_> = lengths.iter().scan(0, |end, len| Some(core::mem::replace(end, *end + len.max(&1)))).collect();
        let mut model = vec![false; lengths.iter().map(|len| len.max(&1)).sum()];
        for (message_seq, range) in fragments {
            let message = usize::from(message_seq);
            let (start, length) = (starts[message], lengths[message]);
            let is_ahead = model[..start + range.start].contains(&false);
            prop_assert_eq!(reassembler.is_ahead(&header(message_seq, length, range.clone())), is_ahead);
            insert(&mut reassembler, message_seq, length, range.clone());
            let marks = if length == 0 { start..start + 1 } else { start + range.start..start + range.end };
            model[marks].fill(true);
            if drains {
                drain(&mut reassembler);
            }
            let last = model.iter().rposition(|mark| *mark);
            prop_assert_eq!(reassembler.has_gap(), last.is_some_and(|last| model[..last].contains(&false)));
            let partly = (starts.iter().zip(&lengths)).map(|(start, len)| &model[*start..start + len.max(&1)]);
            let is_whole = partly.filter(|marks| marks.contains(&true)).all(|marks| !marks.contains(&false));
            prop_assert_eq!(reassembler.is_whole(), is_whole && !reassembler.has_gap());
        }
    }

    /// Messages consist of the first accepted byte for each offset; and the memory stays within its limits.
    #[test]
    fn hostile_fragments_do_no_harm(fragments in vec(hostile(), 0..150)) {
        let mut reassembler = Reassembler::new(MAX, 0);
        let mut accepted = BTreeMap::new();
        for (header, byte) in fragments {
            let body = vec![byte; header.fragment_length];
            match reassembler.insert(header, &body) {
                Inserted::Accepted => {
                    let unknown = || (header.kind, vec![None; header.length]);
                    if !body.is_empty() || header.length == 0 {
                        let (kind, model) = accepted.entry(header.message_seq).or_insert_with(unknown);
                        prop_assert_eq!((*kind, model.len()), (header.kind, header.length));
                        model[header.range()].iter_mut().for_each(|known| *known = known.or(Some(byte)));
                    }
                }
                Inserted::Repeated { message_seq, .. } => prop_assert!(message_seq < reassembler.next_seq()),
                Inserted::Dropped(_) => {}
            }
            within_bounds(&reassembler, MAX);
            for (message_seq, message) in (reassembler.next_seq()..).zip(drain(&mut reassembler)) {
                let (kind, model) = &accepted[&message_seq];
                let body: Option<Vec<u8>> = model.iter().copied().collect();
                let header = FragmentHeader::whole(*kind, message_seq, model.len()).bytes();
                prop_assert_eq!(message, [&header[..], &body.unwrap()].concat());
            }
        }
    }
}
