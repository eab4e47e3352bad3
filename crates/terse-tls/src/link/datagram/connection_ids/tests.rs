//! Tests which connection IDs the peer may use, and which are forgotten.

use super::*;

fn id(number: u8) -> Box<[u8]> {
    Box::new([number; 4])
}

#[test]
fn those_that_were_replaced_are_forgotten_but_for_the_last() {
    let mut own = OwnIds::new(Some(id(0)));
    assert_eq!((own.id_len(), own.room()), (4, MAX_OWN_IDS - 1));
    assert!(own.add([id(1), id(2), id(3)]).is_empty());
    assert_eq!((own.index_of(&[2; 4]), own.index_of(&[9; 4])), (Some(2), None));
    own.used(3);
    assert_eq!(own.room(), MAX_OWN_IDS - 2);
    assert!(own.add([4, 5, 6, 7].map(id)).is_empty(), "there is room");
    assert_eq!(own.add([id(8)]), [id(0)]);
    own.used(own.index_of(&[2; 4]).unwrap());
    assert_eq!(own.room(), 1, "a late record does not change which one is in use");
    assert_eq!(own.add([id(9)]), [id(1)]);
    assert_eq!((own.room(), own.iter().count()), (0, MAX_OWN_IDS));
    own.used(own.index_of(&[4; 4]).unwrap());
    assert_eq!(own.room(), 1);
    assert_eq!(own.add([id(10)]), [id(2)]);
}

#[test]
fn there_are_few_and_all_that_the_peer_may_use() {
    let mut own = OwnIds::new(Some(id(0)));
    let mut next = 1;
    for round in 0..100 {
        let room = own.room();
        own.add((0..room as u8).map(|more| id(next + more)));
        next = next.wrapping_add(room as u8).max(1) % 200 + 1;
        assert!(own.iter().count() <= MAX_OWN_IDS);
        assert_eq!(own.room(), 0);
        let unused = own.iter().count() - 1 - own.in_use;
        own.used(own.in_use + usize::from(round % 3 == 0) * unused.min(2));
    }
}

#[test]
fn who_uses_what_it_asked_for_may_ask_again() {
    let mut own = OwnIds::new(Some(id(0)));
    for round in 1..20 {
        for _ in 0..MAX_REQUESTS {
            assert!(own.requested());
        }
        own.add([id(round)]);
        own.used(own.index_of(&[round; 4]).unwrap());
        assert_eq!(own.changes(), round.into());
    }
    for _ in 0..MAX_REQUESTS {
        assert!(own.requested());
    }
    for _ in 0..300 {
        assert!(!own.requested());
    }
    own.used(0);
    assert!(!own.requested(), "an old one is no other");
}

#[test]
fn without_any_there_is_an_empty_one() {
    let own = OwnIds::new(None);
    assert_eq!((own.id_len(), own.index_of(&[]), own.iter().count()), (0, Some(0), 1));
}
