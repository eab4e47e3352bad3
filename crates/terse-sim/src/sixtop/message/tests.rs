use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn cells(pairs: &[(u16, u16)]) -> CellList {
    pairs.iter().map(|(slot, channel)| SixpCell::new(*slot, *channel)).collect()
}

fn change(cell_options: CellOptions, num_cells: u8, pairs: &[(u16, u16)]) -> Change {
    Change { metadata: 0, cell_options, num_cells, cell_list: cells(pairs) }
}

/// The ADD request of figure 4 of RFC 8480, field by field.
#[test]
fn an_add_request_has_the_bytes_of_the_rfc() {
    let request = Request::Add(change(CellOptions::TX, 2, &[(1, 2), (2, 2), (3, 5)]));
    let message = Message { sfid: 0, seq_num: 123, body: Body::Request(request) };
    let expected = [
        0x00, 0x3F, // header termination 1
        0x15, 0xA8, // payload IE, group 5, 21 bytes
        0x01, // SUBID_6TOP
        0x00, 0x01, 0x00, 123, // version 0 and REQUEST, ADD, SFID, SeqNum
        0x00, 0x00, 0x01, 2, // Metadata, CellOptions, NumCells
        1, 0, 2, 0, 2, 0, 2, 0, 3, 0, 5, 0, // the CellList, little-endian
    ];
    assert_eq!(message.encode(Subtype::Registered), expected);
    assert_eq!(message.len(), expected.len());
    assert_eq!(Message::parse(&expected, Command::Clear), Ok(message));
}

#[test]
fn types_and_codes_are_those_of_the_registries() {
    let of = |body| {
        let bytes = Message { sfid: 9, seq_num: 1, body }.encode(Subtype::Registered);
        [bytes[5], bytes[6], bytes[7]]
    };
    assert_eq!(of(Body::Request(Request::Clear { metadata: 0 })), [0x00, 7, 9]);
    assert_eq!(of(Body::Response(ReturnCode::RC_ERR_SEQNUM, Answer::Nothing)), [0x10, 6, 9]);
    assert_eq!(of(Body::Confirmation(ReturnCode::RC_RESET, CellList::EMPTY)), [0x20, 3, 9]);
    let errors: Vec<u8> = (0..=255).filter(|code| ReturnCode(*code).is_error()).collect();
    assert_eq!(errors, (2..=255).collect::<Vec<u8>>());
}

#[test]
fn a_message_that_is_not_understood_says_why() {
    let message = Message { sfid: 3, seq_num: 7, body: Body::Request(Request::Clear { metadata: 0 }) };
    let bytes = message.encode(Subtype::Registered);
    let with = |index: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[index] = byte;
        Message::parse(&bytes, Command::Add)
    };
    assert_eq!(with(5, 0x01), Err(Malformed::Version { sfid: 3, seq_num: 7 }));
    assert_eq!(with(5, 0x30), Err(Malformed::Fields), "there is no fourth type");
    assert_eq!(with(5, 0xC0), Ok(message), "reserved bits are ignored (3.2.2)");
    assert_eq!(with(6, 8), Err(Malformed::Fields), "there is no eighth command");
    assert_eq!(with(4, 2), Err(Malformed::NotSixp));
    assert_eq!(with(3, 0x28), Err(Malformed::NotSixp), "a header IE");
    assert_eq!(with(2, 8), Err(Malformed::Fields), "longer than the frame");
    for end in 0..bytes.len() {
        assert!(Message::parse(&bytes[..end], Command::Add).is_err(), "{end} bytes");
    }
}

/// Figures 7 and 8 of RFC 8480.
#[test]
fn cell_options_are_seen_from_the_other_end() {
    let (tx, rx, shared) = (CellOptions::TX, CellOptions::RX, CellOptions::SHARED);
    assert_eq!(tx.mirrored(), rx);
    assert_eq!(rx.with(shared).mirrored(), tx.with(shared));
    assert_eq!(tx.with(rx).mirrored(), tx.with(rx));
    assert!(!CellOptions(0).is_valid() && !shared.is_valid() && rx.is_valid());

    let own = [tx, rx, tx.with(rx), rx.with(shared), tx.with(shared)];
    let selected = |options: CellOptions| own.map(|own| options.selects(own));
    assert_eq!(selected(CellOptions(0)), [true; 5]);
    assert_eq!(selected(tx), [false, true, false, false, false], "cells marked as RX only");
    assert_eq!(selected(rx), [true, false, false, false, false]);
    assert_eq!(selected(shared), [false, false, false, true, true], "regardless of TX and RX");
    assert_eq!(selected(tx.with(shared)), [false, false, false, true, false]);
}

#[test]
fn the_longest_messages_fit_into_a_frame() {
    let list: CellList = (0..100).map(|slot| SixpCell::new(slot, 0)).collect();
    assert_eq!(list.len(), 22);
    let request = Request::Add(Change { metadata: 0, cell_options: CellOptions::TX, num_cells: 1, cell_list: list });
    let message = Message { sfid: 0, seq_num: 0, body: Body::Request(request) };
    // Header, FCS, information elements.
    assert_eq!(21 + 2 + message.len(), 124);
    let payload = Payload::new(&[1; Payload::MAX]).unwrap();
    let signal = Message { body: Body::Request(Request::Signal { metadata: 0, payload }), ..message };
    assert_eq!(21 + 2 + signal.len(), 127);
    assert_eq!(Payload::new(&[1; Payload::MAX + 1]), None);
}

fn any_list(max: usize) -> impl Strategy<Value = CellList> {
    vec(any::<(u16, u16)>(), 0..=max).prop_map(|pairs| cells(&pairs))
}

fn any_change() -> impl Strategy<Value = Change> {
    (any::<u16>(), any::<u8>(), any::<u8>(), any_list(CellList::MAX)).prop_map(
        |(metadata, options, num_cells, cell_list)| Change {
            metadata,
            cell_options: CellOptions(options),
            num_cells,
            cell_list,
        },
    )
}

fn any_payload() -> impl Strategy<Value = Payload> {
    vec(any::<u8>(), 0..=Payload::MAX).prop_map(|bytes| Payload::new(&bytes).unwrap())
}

fn any_request() -> impl Strategy<Value = Request> {
    let relocate = (any::<u16>(), any::<u8>(), any_list(11), any_list(11)).prop_map(|(metadata, options, from, to)| {
        let (cell_options, num_cells) = (CellOptions(options), from.len() as u8);
        Request::Relocate(Change { metadata, cell_options, num_cells, cell_list: from }, to)
    });
    prop_oneof![
        any_change().prop_map(Request::Add),
        any_change().prop_map(Request::Delete),
        relocate,
        any::<(u16, u8)>()
            .prop_map(|(metadata, options)| { Request::Count { metadata, cell_options: CellOptions(options) } }),
        any::<(u16, u8, u16, u16)>().prop_map(|(metadata, options, offset, max_num_cells)| {
            Request::List { metadata, cell_options: CellOptions(options), offset, max_num_cells }
        }),
        (any::<u16>(), any_payload()).prop_map(|(metadata, payload)| Request::Signal { metadata, payload }),
        any::<u16>().prop_map(|metadata| Request::Clear { metadata }),
    ]
}

fn any_body() -> impl Strategy<Value = (Command, Body)> {
    let response = |command, answer| (command, Body::Response(ReturnCode::RC_SUCCESS, answer));
    prop_oneof![
        any_request().prop_map(|request| (Command::Add, Body::Request(request))),
        any_list(CellList::MAX).prop_map(move |list| response(Command::List, Answer::Cells(list))),
        any::<u16>().prop_map(move |count| response(Command::Count, Answer::NumCells(count))),
        any_payload().prop_map(move |payload| response(Command::Signal, Answer::Payload(payload))),
        Just(response(Command::Clear, Answer::Nothing)),
        (2_u8..).prop_map(|code| (Command::Add, Body::Response(ReturnCode(code), Answer::Nothing))),
        (any::<u8>(), any_list(CellList::MAX))
            .prop_map(|(code, list)| (Command::Add, Body::Confirmation(ReturnCode(code), list))),
    ]
}

proptest! {
    #[test]
    fn every_message_is_read_as_it_was_written(sfid: u8, seq_num: u8, (command, body) in any_body()) {
        let message = Message { sfid, seq_num, body };
        let bytes = message.encode(Subtype::Registered);
        prop_assert_eq!(bytes.len(), message.len());
        prop_assert_eq!(Message::parse(&bytes, command), Ok(message));
        prop_assert_eq!(Message::parse(&message.encode(Subtype::Experimental), command), Ok(message));
    }

    #[test]
    fn no_bytes_make_parsing_panic(mut bytes in vec(any::<u8>(), 0..130), as_sixp: bool, command in 0..7_usize) {
        if as_sixp && bytes.len() > 9 {
            let len = (bytes.len() - 4) as u8;
            let kind = bytes[5] & 0x30;
            bytes[..6].copy_from_slice(&[0x00, 0x3F, len, 0xA8, 1, kind]);
            bytes[6] %= 8;
        }
        let command = Command::ALL[command];
        if let Ok(message) = Message::parse(&bytes, command) {
            prop_assert_eq!(Message::parse(&message.encode(Subtype::Registered), command), Ok(message));
        }
    }
}
