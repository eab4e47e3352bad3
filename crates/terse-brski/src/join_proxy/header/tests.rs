use alloc::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn key(byte: u8) -> HeaderKey {
    HeaderKey::new(&[byte; HeaderKey::LEN])
}

fn on_link() -> OnLink {
    let prefixes = ["192.0.2.0/24", "2001:db8::/64", "2001:db8:0:1::/64"].map(|prefix| prefix.parse().unwrap());
    OnLink::new(prefixes.to_vec()).unwrap()
}

/// Returns a pledge of each kind.
fn pledge() -> impl Strategy<Value = SocketAddr> {
    let v6 = |upper: u128, lower: u64| Ipv6Addr::from(upper << 64 | u128::from(lower));
    let link_local = move |(lower, port, scope): (u64, u16, u32)| {
        SocketAddrV6::new(v6(0xfe80 << 48, lower), port, 0, scope % ZONE_IPV4).into()
    };
    let prefix = move |(lower, port, one): (u64, u16, bool)| {
        SocketAddrV6::new(v6(0x2001_0db8_0000_0000 | u128::from(one), lower), port, 0, 0).into()
    };
    let v4 = |(lower, port, is_local): (u8, u16, bool)| {
        let octets = if is_local { [169, 254, 3, lower] } else { [192, 0, 2, lower] };
        SocketAddr::from((octets, port))
    };
    prop_oneof![
        (any::<u64>(), 1..=u16::MAX, any::<u32>()).prop_map(link_local),
        (any::<u64>(), 1..=u16::MAX, any::<bool>()).prop_map(prefix),
        (any::<u8>(), 1..=u16::MAX, any::<bool>()).prop_map(v4),
    ]
}

proptest! {
    #[test]
    fn a_header_is_read_as_its_pledge_and_is_always_the_same(pledge in pledge()) {
        let header = key(1).seal(pledge, &on_link()).unwrap();
        prop_assert_eq!(key(1).seal(pledge, &on_link()), Some(header));
        prop_assert_eq!(key(1).open(&header, &on_link()), Some(pledge));
        prop_assert_eq!(key(2).open(&header, &on_link()), None, "by no other key");
    }

    #[test]
    fn a_header_of_which_one_bit_was_changed_is_refused(pledge in pledge(), bit in 0..8 * HEADER_LEN) {
        let mut header = key(1).seal(pledge, &on_link()).unwrap();
        header[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(key(1).open(&header, &on_link()), None);
    }

    #[test]
    fn nothing_else_is_a_header(header in any::<[u8; HEADER_LEN]>()) {
        prop_assert_eq!(key(1).open(&header, &on_link()), None);
    }

    #[test]
    fn whatever_is_decoded_is_on_a_link(plain in any::<[u8; PLAIN_LEN]>(), zone in ZONE_IPV4 - 3..) {
        let mut plain = plain;
        plain[..4].copy_from_slice(&zone.to_be_bytes());
        if let Some(pledge) = decode(&plain, &on_link()) {
            prop_assert!(on_link().has(pledge));
            prop_assert_eq!(encode(pledge, &on_link()), Some(plain), "in one form");
        }
    }
}

#[test]
fn headers_of_different_pledges_have_nothing_in_common() {
    let mut headers = BTreeSet::new();
    for port in 1..=500 {
        let pledge = SocketAddr::from(([192, 0, 2, 1], port));
        let header = key(1).seal(pledge, &on_link()).unwrap();
        headers.insert(<[u8; 8]>::try_from(&header[..8]).unwrap());
        headers.insert(<[u8; 8]>::try_from(&header[22..]).unwrap());
    }
    assert_eq!(headers.len(), 1_000);
}

#[test]
fn a_header_is_for_the_links_that_there_are_when_it_is_read() {
    let pledge = SocketAddr::from(([192, 0, 2, 1], 7));
    let header = key(1).seal(pledge, &on_link()).unwrap();
    assert_eq!(key(1).open(&header, &OnLink::default()), None);
}

#[test]
fn an_interface_with_too_large_a_number_is_refused() {
    let pledge = |scope| SocketAddr::from(SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 0, scope));
    for scope in [1, 65_528, 0x1_0000, ZONE_IPV4 - 1] {
        let header = key(1).seal(pledge(scope), &on_link()).unwrap();
        assert_eq!(key(1).open(&header, &on_link()), Some(pledge(scope)), "{scope}");
    }
    for scope in [ZONE_IPV4, ZONE_PREFIX, u32::MAX] {
        assert_eq!(key(1).seal(pledge(scope), &on_link()), None);
    }
}

#[test]
fn a_key_does_not_print() {
    assert_eq!(std::format!("{:?}", key(7)), "HeaderKey(..)");
}
