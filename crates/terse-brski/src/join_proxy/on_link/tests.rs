use alloc::vec;

use super::*;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn link_local_addresses_are_on_link_and_others_only_in_prefixes() {
    let none = OnLink::default();
    for pledge in ["[fe80::1%2]:1", "169.254.7.1:65535"] {
        assert!(none.has(address(pledge)), "{pledge}");
    }
    let others = [
        "[fe80::1%2]:0",
        "[fe80:0:0:1::1%2]:1",
        "[febf::1%2]:1",
        "[fec0::1]:1",
        "[::1]:1",
        "[::]:1",
        "[ff02::1%2]:1",
        "[2001:db8::1]:1",
        "127.0.0.1:1",
        "192.0.2.1:1",
        "255.255.255.255:1",
        "0.0.0.0:1",
    ];
    for pledge in others {
        assert!(!none.has(address(pledge)), "{pledge}");
    }
    let prefixes = ["192.0.2.0/25", "2001:db8::/64", "2001:db8:0:1::80/121"].map(|prefix| prefix.parse().unwrap());
    let some = OnLink::new(prefixes.to_vec()).unwrap();
    for (pledge, expected) in [
        ("192.0.2.127:1", true),
        ("192.0.2.128:1", false),
        ("[2001:db8::ffff:1]:1", true),
        ("[2001:db8:0:1::ff]:1", true),
        ("[2001:db8:0:1::7f]:1", false),
        ("[2001:db8:0:2::1]:1", false),
        ("[::c000:201]:1", false),
    ] {
        assert_eq!(some.has(address(pledge)), expected, "{pledge}");
    }
}

#[test]
fn prefixes_of_every_length_are_compared() {
    for (prefix, inside, outside) in [
        ("0.0.0.0/0", "203.0.113.9", "::1"),
        ("192.0.2.1/32", "192.0.2.1", "192.0.2.0"),
        ("::1/128", "::1", "::2"),
        ("::/64", "::ffff:0:0:1", "0:0:0:1::1"),
    ] {
        let prefix: Prefix = prefix.parse().unwrap();
        assert!(prefix.has(inside.parse().unwrap()), "{prefix}");
        assert!(!prefix.has(outside.parse().unwrap()), "{prefix}");
    }
}

#[test]
fn what_is_no_prefix_is_refused_with_an_example() {
    for text in ["", "192.0.2.0", "192.0.2.0/33", "2001:db8::/129", "192.0.2.0/-1", "x/64", "2001:db8::/64/64"] {
        assert!(text.parse::<Prefix>().unwrap_err().contains("2001:db8::/64"), "{text}");
    }
    assert!("2001:db8::/63".parse::<Prefix>().unwrap_err().contains("64 bits or more"));
    assert_eq!("2001:db8::/64".parse::<Prefix>().unwrap().to_string(), "2001:db8::/64");
    assert!(OnLink::new(vec!["::1/128".parse().unwrap(); MAX_PREFIXES + 1]).is_none());
}

#[test]
fn one_pledge_has_one_form() {
    assert_eq!(canonical(address("[::ffff:192.0.2.1]:7")), address("192.0.2.1:7"));
    assert_eq!(canonical(address("[2001:db8::1%4]:7")), address("[2001:db8::1]:7"));
    assert_eq!(canonical(address("[fe80::1%4]:7")), address("[fe80::1%4]:7"));
    let labelled = SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 99, 4);
    assert_eq!(canonical(labelled.into()), address("[fe80::1%4]:7"), "a flow label is nothing of a pledge");
}

#[test]
fn each_link_has_a_zone() {
    let prefixes = ["192.0.2.0/24", "2001:db8::/64", "198.51.100.0/24", "169.254.0.0/16"];
    let on_link = OnLink::new(prefixes.map(|prefix| prefix.parse().unwrap()).to_vec()).unwrap();
    for (pledge, zone) in [
        ("[fe80::1%4]:7", 4),
        ("[fe80::1%65530]:7", 65_530),
        ("169.254.0.1:7", ZONE_IPV4),
        ("192.0.2.1:7", ZONE_PREFIX),
        ("[2001:db8::1]:7", ZONE_PREFIX + 1),
        ("198.51.100.1:7", ZONE_PREFIX + 2),
    ] {
        assert_eq!(on_link.zone(address(pledge)), zone, "{pledge}");
    }
}
