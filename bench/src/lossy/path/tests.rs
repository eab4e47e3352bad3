//! Tests of the lengths of packets, their times, and their losses.

use super::*;

const PATH: Path = Path { mtu: 127, loss: 0, delay: 50, rate: 50 };

#[test]
fn what_fits_one_packet_is_not_cut_and_fragments_carry_all_of_the_rest() {
    assert_eq!(PATH.datagram(), 79);
    assert_eq!(PATH.packets(1), [49]);
    assert_eq!(PATH.packets(79), [127]);
    // The 8 + 80 bytes are split into parts of at most 72.
    assert_eq!(PATH.packets(80), [120, 64]);
    for len in 80..2_000 {
        let packets = PATH.packets(len);
        let carried: usize = packets.iter().map(|packet| packet - IP - FRAGMENT_HEADER).sum();
        assert_eq!(carried, len + UDP);
        assert!(packets.iter().all(|packet| (49..=127).contains(packet)), "{packets:?}");
    }
}

#[test]
fn packets_leave_one_after_the_other() {
    let mut direction = Direction::new(PATH, Rng::with_seed(1));
    let packet = 127 * 8_000 / 50;
    assert_eq!(direction.carry(0, 79), Fate { arrives: Some(packet + 50_000), packets: 1 });
    assert_eq!(direction.carry(5, 79), Fate { arrives: Some(2 * packet + 50_000), packets: 1 });
    assert_eq!(direction.carry(1_000_000, 79), Fate { arrives: Some(1_050_000 + packet), packets: 1 });
}

#[test]
fn so_many_are_lost_and_the_same_with_one_seed() {
    let lost = |len| {
        let mut direction = Direction::new(Path { loss: 10, ..PATH }, Rng::with_seed(7));
        (0..10_000).map(|_| direction.carry(0, len).arrives.is_none()).collect::<Vec<_>>()
    };
    let many = |lost: &[bool]| lost.iter().filter(|lost| **lost).count();
    assert_eq!(lost(79), lost(79));
    assert!((900..1_100).contains(&many(&lost(79))));
    // At least one of four packets is lost with probability 1 - 0.9^4.
    assert!((3_300..3_600).contains(&many(&lost(228))), "{}", many(&lost(228)));
}
