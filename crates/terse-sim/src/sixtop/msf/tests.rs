use proptest::prelude::*;

use super::*;

const TIMING: MacTiming =
    MacTiming { slot: core::time::Duration::from_millis(10), slotframe_length: 101, max_be: 5, max_retries: 15 };

/// OpenWSN's first node. RFC 9033, appendix A has the steps, and no example. By hand, for 100 places, one line for each byte:
/// the sum of the hash, its half and the byte; the exclusive or with the hash; the remainder.
///
/// ```text
/// 0x14:   0 +  0 +  20 =  20,  20 ^  0 =  20 ->  20      0x00: 91 + 45 + 0 = 136, 136 ^ 91 = 211 -> 11
/// 0x15:  20 + 10 +  21 =  51,  51 ^ 20 =  39 ->  39      0x00: 11 +  5 + 0 =  16,  16 ^ 11 =  27 -> 27
/// 0x92:  39 + 19 + 146 = 204, 204 ^ 39 = 235 ->  35      0x00: 27 + 13 + 0 =  40,  40 ^ 27 =  51 -> 51
/// 0xcc:  35 + 17 + 204 = 256, 256 ^ 35 = 291 ->  91      0x01: 51 + 25 + 1 =  77,  77 ^ 51 = 126 -> 26
/// ```
///
/// For 16 places: 4, 15, 7, 1, 0, 0, 0, 1.
#[test]
fn autonomous_cells_are_computed_by_hand() {
    let eui64 = [0x14, 0x15, 0x92, 0xCC, 0, 0, 0, 1];
    assert_eq!(autonomous_cell(AutonomousHash::Sax, eui64, 101, 16), SixpCell::new(27, 1));
    assert_eq!(autonomous_cell(AutonomousHash::OpenWsn, [0, 0, 0, 0, 0, 0, 2, 5], 101, 16), SixpCell::new(18, 5));
}

proptest! {
    #[test]
    fn autonomous_cells_avoid_the_first_slot(eui64: [u8; 8], length in 2_u16..500, channel_offsets in 1_u16..17) {
        let cell = autonomous_cell(AutonomousHash::Sax, eui64, length, channel_offsets);
        prop_assert!((1..length).contains(&cell.slot_offset) && cell.channel_offset < channel_offsets);
    }

    #[test]
    fn the_slot_in_which_enough_cells_have_elapsed_is_found_by_stepping(
        length in 1_u16..60,
        slots in proptest::collection::btree_set(0_u16..60, 0..12),
        start in 0_u64..500,
        pause in 0_u64..200,
        count in 0_u64..120,
    ) {
        let slots: Vec<u16> = slots.into_iter().filter(|slot| *slot < length).collect();
        let mut usage = Usage::from(Asn(start));
        usage.settle(&slots, length, Asn(start + pause));
        let mut elapsed = 0;
        let mut stepped = None;
        for asn in start + 1..start + 20_000 {
            elapsed += u64::from(slots.contains(&((asn % u64::from(length)) as u16)));
            if elapsed == count && asn >= start + pause {
                stepped = Some(Asn(asn));
                break;
            }
        }
        let found = usage.reaches(count, &slots, length);
        match () {
            () if usage.elapsed >= count => prop_assert_eq!(found, Some(Asn(start + pause))),
            () => prop_assert_eq!(found, stepped),
        }
    }
}

/// RFC 9033, 9: ((2^5) - 1) * 15 * 101 slots.
#[test]
fn the_timeout_is_that_of_the_worst_case() {
    assert_eq!(Msf::new(&MsfOptions::RFC_9033, &TIMING, 5).timeout(), 46_965);
    assert_eq!(Msf::new(&MsfOptions::OPENWSN, &TIMING, 5).timeout(), 6_554, "65,535 ms in slots of 10 ms");
}
