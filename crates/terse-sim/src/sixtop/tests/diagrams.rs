//! The sequence diagrams of RFC 8480, by the numbers of their figures. Node 0 is A, node 1 is B.

use super::super::Asn;
use super::super::message::{Answer, Body, CellOptions, Message, Request, ReturnCode, SixpCell};
use super::world::{Fate, RETRIES, World, change, kind, list};

const A: u16 = 0;
const B: u16 = 1;

/// Brings both nodes to this SeqNum, by counting cells.
fn advance(world: &mut World, seq_num: u8) {
    while world.nodes[0].seq_num(B) != seq_num {
        assert!(world.request(A, B, Request::Count { metadata: 0, cell_options: CellOptions::TX }));
        world.settle();
    }
    assert_eq!(world.nodes[1].seq_num(A), seq_num);
    world.sent.clear();
}

fn tx(cells: &[(u16, u16)]) -> Vec<(CellOptions, SixpCell)> {
    list(cells).iter().map(|cell| (CellOptions::TX, cell)).collect()
}

/// A message: by whom, the type, the SeqNum, the command or return code, the cells.
type Sent = (u16, usize, u8, u8, Vec<(u16, u16)>);

/// Returns what was sent.
fn log(world: &World) -> Vec<Sent> {
    let pairs = |cells: super::super::message::CellList| {
        cells.iter().map(|cell| (cell.slot_offset, cell.channel_offset)).collect()
    };
    let entry = |(from, message): &(u16, Message)| {
        let (code, cells) = match message.body {
            Body::Request(Request::Add(change)) => (1, pairs(change.cell_list)),
            Body::Request(request) => (request.command() as u8, vec![]),
            Body::Response(code, answer) => (code.0, pairs(answer.cells())),
            Body::Confirmation(code, cells) => (code.0, pairs(cells)),
        };
        (*from, kind(message), message.seq_num, code, cells)
    };
    world.sent.iter().map(entry).collect()
}

/// Occupies slots of a node, so that it cannot choose them: a third node has cells there.
fn occupy(world: &mut World, node: u16, slots: &[(u16, u16)]) {
    assert!(world.request(2, node, Request::Add(change(slots.len() as u8, slots))));
    world.settle();
    world.sent.clear();
}

#[test]
fn figure_4_two_steps() {
    let mut world = World::new(3);
    advance(&mut world, 123);
    occupy(&mut world, B, &[(1, 0)]);
    world.request(A, B, Request::Add(change(2, &[(1, 2), (2, 2), (3, 5)])));
    assert!(!world.nodes[0].cells().is_free(2), "the candidates are locked");
    world.settle();
    let expected = [(A, 0, 123, 1, vec![(1, 2), (2, 2), (3, 5)]), (B, 1, 123, 0, vec![(2, 2), (3, 5)])];
    assert_eq!(log(&world), expected);
    assert_eq!(world.cells(A, B), tx(&[(2, 2), (3, 5)]));
    assert!(world.agree(A, B) && world.nodes[0].cells().is_free(1));
    assert_eq!((world.nodes[0].seq_num(B), world.nodes[1].seq_num(A)), (124, 124));
}

#[test]
fn figure_4_cells_are_added_at_the_last_acknowledgement() {
    let mut world = World::new(2);
    // The response is sent twice, as its first acknowledgement gets lost.
    world.fate = Box::new(|attempt| match (kind(attempt.message), attempt.tries) {
        (1, 0) => Fate::Unacknowledged,
        _ => Fate::Arrives,
    });
    world.request(A, B, Request::Add(change(1, &[(1, 2)])));
    world.step();
    assert_eq!((world.cells(A, B).len(), world.cells(B, A).len()), (1, 0), "A has the response, B no acknowledgement");
    assert!(!world.nodes[1].cells().is_free(1), "B keeps the cell locked");
    world.settle();
    assert!(world.agree(A, B) && world.cells(B, A).len() == 1);
}

#[test]
fn figure_5_three_steps() {
    let mut world = World::new(2);
    advance(&mut world, 178);
    world.request(A, B, Request::Add(change(2, &[])));
    world.settle();
    let log = log(&world);
    let [request, response, confirmation] = &log[..] else { panic!("{log:?}") };
    assert_eq!(*request, (A, 0, 178, 1, vec![]));
    assert_eq!((response.0, response.1, response.2, response.3), (B, 1, 178, 0));
    assert!(response.4.len() >= 5);
    assert_eq!((confirmation.0, confirmation.1, confirmation.2, confirmation.3), (A, 2, 178, 0));
    assert_eq!(confirmation.4, response.4[..2]);
    assert!(world.agree(A, B) && world.cells(A, B).len() == 2);
    assert_eq!((world.nodes[0].seq_num(B), world.nodes[1].seq_num(A)), (179, 179));
}

/// Adds the cells that the figures of RELOCATE begin with.
fn with_two_cells(world: &mut World, seq_num: u8) {
    world.request(A, B, Request::Add(change(2, &[(1, 2), (2, 2)])));
    world.settle();
    advance(world, seq_num);
}

#[test]
fn figures_16_to_18_relocation_in_two_steps() {
    let candidates = [(3, 3), (4, 3), (5, 3)];
    for (occupied, expected) in [
        (vec![], vec![(3, 3), (4, 3)]),
        (vec![(3, 0), (5, 0)], vec![(2, 2), (4, 3)]),
        (vec![(3, 0), (4, 0), (5, 0)], vec![(1, 2), (2, 2)]),
    ] {
        let mut world = World::new(3);
        with_two_cells(&mut world, 11);
        if !occupied.is_empty() {
            occupy(&mut world, B, &occupied);
        }
        world.request(A, B, Request::Relocate(change(2, &[(1, 2), (2, 2)]), list(&candidates)));
        world.settle();
        assert_eq!(world.sent.len(), 2);
        assert_eq!(world.cells(A, B), tx(&expected));
        assert!(world.agree(A, B));
        assert_eq!(world.nodes[0].seq_num(B), 12);
    }
}

#[test]
fn figure_19_relocation_in_three_steps() {
    let mut world = World::new(2);
    with_two_cells(&mut world, 11);
    world.request(A, B, Request::Relocate(change(2, &[(1, 2), (2, 2)]), list(&[])));
    world.settle();
    assert_eq!(world.sent.len(), 3);
    assert!(world.agree(A, B) && world.cells(A, B).len() == 2);
    assert!(world.nodes[0].cells().is_free(1) && world.nodes[1].cells().is_free(2));
}

#[test]
fn cells_are_counted_listed_and_deleted() {
    let mut world = World::new(2);
    world.request(A, B, Request::Add(change(3, &[(1, 1), (4, 4), (9, 9)])));
    world.settle();
    world.sent.clear();
    let cell_options = CellOptions::TX;
    let answer = |world: &World| match world.sent.last() {
        Some((B, Message { body: Body::Response(code, answer), .. })) => (*code, *answer),
        other => panic!("{other:?}"),
    };
    world.request(A, B, Request::Count { metadata: 0, cell_options });
    world.settle();
    assert_eq!(answer(&world), (ReturnCode::RC_SUCCESS, Answer::NumCells(3)));
    for (offset, max_num_cells, code, cells) in [
        (0, 2, ReturnCode::RC_SUCCESS, list(&[(1, 1), (4, 4)])),
        (1, 9, ReturnCode::RC_EOL, list(&[(4, 4), (9, 9)])),
        (3, 9, ReturnCode::RC_EOL, list(&[])),
    ] {
        world.request(A, B, Request::List { metadata: 0, cell_options, offset, max_num_cells });
        world.settle();
        assert_eq!(answer(&world), (code, Answer::Cells(cells)));
    }
    world.request(A, B, Request::Delete(change(1, &[(4, 4)])));
    world.settle();
    assert_eq!(world.cells(A, B), tx(&[(1, 1), (9, 9)]));
    assert!(world.agree(A, B));
    // B chooses, as the list is empty (3.3.2).
    world.request(A, B, Request::Delete(change(1, &[])));
    world.settle();
    assert_eq!(world.cells(A, B), tx(&[(9, 9)]));
    assert!(world.agree(A, B));
    // A cell that is not scheduled, and one that is for receiving.
    world.request(A, B, Request::Delete(change(1, &[(1, 1)])));
    world.settle();
    assert_eq!(answer(&world), (ReturnCode::RC_ERR_CELLLIST, Answer::Nothing));
    let mut other = change(1, &[(9, 9)]);
    other.cell_options = CellOptions::RX;
    world.request(A, B, Request::Delete(other));
    world.settle();
    assert_eq!(answer(&world), (ReturnCode::RC_ERR_CELLLIST, Answer::Nothing));
}

#[test]
fn impossible_requests_are_refused() {
    let mut world = World::new(2);
    let mut no_options = change(1, &[(1, 1)]);
    no_options.cell_options = CellOptions::SHARED;
    for (request, code) in [
        (Request::Add(no_options), ReturnCode::RC_ERR),
        (Request::Add(change(2, &[(1, 1)])), ReturnCode::RC_ERR_CELLLIST),
        (Request::Add(change(2, &[(1, 1), (1, 1)])), ReturnCode::RC_ERR_CELLLIST),
        (Request::Delete(change(2, &[(1, 1)])), ReturnCode::RC_ERR_CELLLIST),
        (Request::Relocate(change(1, &[(1, 1)]), list(&[(2, 2)])), ReturnCode::RC_ERR_CELLLIST),
        (Request::Relocate(change(0, &[]), list(&[(2, 2)])), ReturnCode::RC_ERR_CELLLIST),
    ] {
        world.request(A, B, request);
        world.settle();
        let (_, message) = world.sent.last().expect("a response");
        assert_eq!(message.body, Body::Response(code, Answer::Nothing), "{request:?}");
        assert!(world.cells(A, B).is_empty() && world.agree(A, B));
        assert_eq!(world.nodes[0].seq_num(B), world.nodes[1].seq_num(A));
    }
}

#[test]
fn figure_29_a_duplicate_response() {
    let mut world = World::new(2);
    world.fate = Box::new(|attempt| match (kind(attempt.message), attempt.tries) {
        (1, 0) => Fate::Unacknowledged,
        _ => Fate::Arrives,
    });
    world.request(A, B, Request::Add(change(1, &[(1, 2)])));
    world.settle();
    assert_eq!(world.sent.len(), 3);
    assert!(world.agree(A, B) && world.cells(A, B).len() == 1);
    assert_eq!((world.nodes[0].seq_num(B), world.nodes[1].seq_num(A)), (1, 1));
}

#[test]
fn figure_30_a_confirmation_overtakes_the_duplicate_response() {
    let mut world = World::new(2);
    world.fate = Box::new(|attempt| match (kind(attempt.message), attempt.number) {
        (1, 1) => Fate::Unacknowledged,
        (1, 2) => Fate::Waits(5),
        _ => Fate::Arrives,
    });
    world.request(A, B, Request::Add(change(1, &[])));
    world.settle();
    let kinds: Vec<usize> = world.sent.iter().map(|(_, message)| kind(message)).collect();
    assert_eq!(kinds, [0, 1, 2, 1]);
    assert!(world.agree(A, B) && world.cells(A, B).len() == 1);
    assert_eq!((world.nodes[0].seq_num(B), world.nodes[1].seq_num(A)), (1, 1));
}

#[test]
fn figure_31_b_resets_and_detects_it() {
    let mut world = World::new(2);
    with_two_cells(&mut world, 88);
    world.power_cycle(B);
    world.request(A, B, Request::Add(change(1, &[(7, 7)])));
    world.settle();
    assert_eq!(log(&world)[1], (B, 1, 0, 6, vec![]), "RC_ERR_SEQNUM with the SeqNum of B");
    assert!(!world.agree(A, B));
    world.request(A, B, Request::Clear { metadata: 0 });
    world.settle();
    assert!(world.agree(A, B) && world.cells(A, B).is_empty());
    assert_eq!((world.nodes[0].seq_num(B), world.nodes[1].seq_num(A)), (0, 0));
}

#[test]
fn figure_32_b_resets_and_a_detects_it() {
    let mut world = World::new(2);
    with_two_cells(&mut world, 98);
    world.power_cycle(B);
    world.request(B, A, Request::Add(change(1, &[(7, 7)])));
    world.settle();
    assert_eq!(log(&world), [(B, 0, 0, 1, vec![(7, 7)]), (A, 1, 0, 6, vec![])]);
    assert_eq!(world.cells(A, B).len(), 2, "nothing was added");
}

#[test]
fn figure_33_all_acknowledgements_of_the_response_get_lost() {
    let mut world = World::new(2);
    advance(&mut world, 87);
    world.fate = Box::new(|attempt| if kind(attempt.message) == 1 { Fate::Unacknowledged } else { Fate::Arrives });
    world.request(A, B, Request::Add(change(1, &[(1, 2)])));
    world.settle();
    assert_eq!(world.sent.len(), 2 + usize::from(RETRIES));
    assert_eq!((world.nodes[0].seq_num(B), world.nodes[1].seq_num(A)), (88, 87));
    assert!(!world.agree(A, B));
    world.fate = Box::new(|_| Fate::Arrives);
    world.request(A, B, Request::Add(change(1, &[(3, 2)])));
    world.settle();
    assert_eq!(log(&world).last(), Some(&(B, 1, 87, 6, vec![])));
}

#[test]
fn the_seq_num_goes_from_255_to_1() {
    let mut world = World::new(2);
    advance(&mut world, 255);
    world.request(A, B, Request::Count { metadata: 0, cell_options: CellOptions::TX });
    world.settle();
    assert_eq!((world.nodes[0].seq_num(B), world.nodes[1].seq_num(A)), (1, 1));
}

#[test]
fn a_second_request_before_the_response_gets_rc_reset() {
    let mut world = World::new(2);
    // The response waits until A has given up and asks again.
    world.fate = Box::new(|attempt| match (kind(attempt.message), attempt.number) {
        (1, 1) => Fate::Waits(800),
        _ => Fate::Arrives,
    });
    world.request(A, B, Request::Add(change(1, &[(1, 2)])));
    while world.nodes[0].poll_timeout().is_none() {
        world.step();
    }
    while world.nodes[0].poll_timeout().is_some() {
        world.step();
    }
    world.request(A, B, Request::Add(change(1, &[(2, 2)])));
    world.settle();
    let codes: Vec<u8> = log(&world).iter().filter(|entry| entry.0 == B).map(|entry| entry.3).collect();
    assert_eq!(codes, [0, 3]);
}

#[test]
fn transactions_in_both_directions_are_refused_by_both() {
    let mut world = World::new(2);
    world.request(A, B, Request::Add(change(1, &[(1, 2)])));
    world.request(B, A, Request::Add(change(1, &[(2, 2)])));
    world.settle();
    let busy = ReturnCode::RC_ERR_BUSY.0;
    let codes: Vec<_> = log(&world).iter().filter(|entry| entry.1 == 1).map(|entry| entry.3).collect();
    assert_eq!(codes, [busy, busy]);
    assert_eq!((world.nodes[0].seq_num(B), world.nodes[1].seq_num(A)), (2, 2));
    world.request(A, B, Request::Add(change(1, &[(1, 2)])));
    world.settle();
    assert!(world.agree(A, B) && world.cells(A, B).len() == 1);
}

#[test]
fn a_node_without_room_for_another_transaction_is_busy() {
    // Nodes 0 to 3 ask node 4, which takes part in three transactions.
    let mut world = World::new(5);
    world.fate =
        Box::new(|attempt| if attempt.from == 4 && attempt.number < 9 { Fate::Waits(1) } else { Fate::Arrives });
    for node in 0..4 {
        world.request(node, 4, Request::Add(change(1, &[(1 + node, 2)])));
    }
    world.step();
    world.fate = Box::new(|_| Fate::Arrives);
    world.settle();
    let codes: Vec<_> = log(&world).iter().filter(|entry| entry.0 == 4).map(|entry| entry.3).collect();
    assert_eq!(codes, [0, 0, 0, ReturnCode::RC_ERR_BUSY.0]);
    assert!((0..4).all(|node| world.agree(node, 4)));
    assert_eq!(world.nodes[3].seq_num(4), world.nodes[4].seq_num(3));
}

#[test]
fn cells_of_another_transaction_are_locked() {
    // Node 1 has answered node 0, but has no acknowledgement yet, when node 2 asks for the same slot.
    let mut world = World::new(3);
    world.fate = Box::new(|attempt| match (attempt.from, attempt.number) {
        (1, 0..=3) if attempt.tries == 0 => Fate::Unacknowledged,
        _ => Fate::Arrives,
    });
    world.request(0, 1, Request::Add(change(1, &[(1, 2)])));
    world.request(2, 1, Request::Add(change(1, &[(1, 7)])));
    world.settle();
    let codes: Vec<_> = log(&world).iter().filter(|entry| entry.0 == 1).map(|entry| entry.3).collect();
    assert!(codes.contains(&ReturnCode::RC_ERR_LOCKED.0), "{codes:?}");
    assert!(world.agree(0, 1) && world.agree(2, 1) && world.cells(1, 2).is_empty());
}

#[test]
fn other_versions_and_scheduling_functions_are_refused() {
    let mut world = World::new(2);
    let body = Body::Request(Request::Clear { metadata: 0 });
    world.nodes[1].receive(Asn(0), A, &Message { sfid: 9, seq_num: 4, body });
    let answer = world.nodes[1].poll_transmit().expect("an answer").message;
    let error = Body::Response(ReturnCode::RC_ERR_SFID, Answer::Nothing);
    assert_eq!(answer, Message { sfid: 9, seq_num: 4, body: error });
    world.nodes[1].refuse_version(A, 9, 4);
    let answer = world.nodes[1].poll_transmit().expect("an answer").message;
    assert_eq!(answer.body, Body::Response(ReturnCode::RC_ERR_VERSION, Answer::Nothing));
}
