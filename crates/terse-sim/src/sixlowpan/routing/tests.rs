//! The routing headers against the figures and examples of RFC 8138.

use super::*;

fn encode(routing: Routing<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    routing.encode(&mut bytes);
    assert_eq!(bytes.len(), routing.len());
    bytes
}

/// RFC 8138, figure 10: I and K are set, and the SenderRank has one byte.
#[test]
fn the_most_compressed_rpi_has_three_bytes() {
    let up = |sender_rank, rank_error| encode(Routing::Up { sender_rank, rank_error });
    assert_eq!(up(0x200, false), [0b1111_0001, 0b1000_0011, 5, 2]);
    // A Rank that is no multiple of 256 takes two bytes; R is set by a router that has met an inconsistency.
    assert_eq!(up(0x2AB, true), [0b1111_0001, 0b1000_1010, 5, 0x02, 0xAB]);
}

/// RFC 8138, figures 6 and 7: a type 3 header has 2 + 8 * (Size + 1) bytes, and the hops in order.
#[test]
fn a_source_route_names_its_hops_in_order() {
    let [a, b] = [[0xA; 8], [0xB; 8]];
    let bytes = encode(Routing::Down { routers: &[a, b] });
    assert_eq!(bytes[..3], [0b1111_0001, 0b1000_0001, 3]);
    assert_eq!((&bytes[3..11], &bytes[11..]), (&a[..], &b[..]));
    assert_eq!(encode(Routing::Down { routers: &[] }), [0b1111_0001]);
    assert_eq!(encode(Routing::Down { routers: &[a; MAX_ROUTERS] })[1], 0b1001_1111);
}

/// RFC 8138, figures 11 to 13 and A.2 and A.3: headers of other forms are passed over by their lengths.
#[test]
fn headers_of_every_form_are_skipped() {
    let iphc = [0x7A, 0x33, 1, 2, 3];
    let with = |headers: &[u8]| [&[0xF1][..], headers, &iphc].concat();
    for headers in [
        &[][..],
        &[0b1000_0011, 5, 9],
        &[0b1000_0010, 5, 9, 9],
        &[0b1000_0001, 5, 9, 9],
        &[0b1000_0000, 5, 9, 9, 9],
        // Figure 21: type 1, Size 3: 10 bytes.
        &[0b1000_0011, 1, 9, 9, 9, 9, 9, 9, 9, 9],
        // Figure 22, as received by node A: types 3, 1 and 2.
        &[0x80, 3, 9, 9, 9, 9, 9, 9, 9, 9, 0x80, 1, 9, 9, 0x81, 2, 9, 9, 9, 9, 9, 9, 9, 9],
        &[0x80, 3, 9, 9, 9, 9, 9, 9, 9, 9, 0b1000_0011, 5, 9],
    ] {
        assert_eq!(skip(&with(headers)), Some(&iphc[..]), "{headers:?}");
    }
    for wrong in [&[][..], &iphc, &[0xF1, 0x80, 6, 0], &[0xF1, 0x9F, 4, 0]] {
        assert_eq!(skip(wrong), None, "{wrong:?}");
    }
}
