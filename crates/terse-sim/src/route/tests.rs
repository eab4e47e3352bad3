//! Prefixes and routes.

use super::*;

fn prefix(text: &str) -> Prefix {
    text.parse().expect("a prefix")
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn a_prefix_contains_its_addresses() {
    let mesh = prefix("bbbb::/64");
    assert!(mesh.contains(address("bbbb::1")) && mesh.contains(address("bbbb::ffff:0:0:1")));
    assert!(!mesh.contains(address("bbbb:0:0:1::1")) && !mesh.contains(address("10.0.0.1")));
    assert!(prefix("0.0.0.0/0").contains(address("255.1.2.3")));
    assert!(prefix("::/0").contains(address("ffff::1")) && !prefix("::/0").contains(address("1.2.3.4")));
    assert!(prefix("10.0.0.7").contains(address("10.0.0.7")) && !prefix("10.0.0.7").contains(address("10.0.0.6")));
    assert_eq!(prefix("bbbb::5/64"), mesh);
    assert_eq!(prefix("bbbb::5/64").to_string(), "bbbb::/64");
    assert_eq!(Prefix::new(address("10.1.2.3"), 200), Prefix::host(address("10.1.2.3")));
    for text in ["", "bbbb::/129", "10.0.0.0/33", "10.0.0.0/", "/8", "10.0.0/8", "bbbb::/-1"] {
        assert_eq!(text.parse::<Prefix>(), Err(MalformedPrefix), "{text}");
    }
}

#[test]
fn the_longest_prefix_decides() {
    let mut routes = Routes::default();
    assert_eq!(routes.interface_of(address("bbbb::1")), None);
    routes.add(prefix("bbbb::/64"), 0);
    routes.add(prefix("bbbb::1"), 1);
    routes.add(prefix("::/0"), 2);
    assert_eq!(routes.interface_of(address("bbbb::1")), Some(1));
    assert_eq!(routes.interface_of(address("bbbb::2")), Some(0));
    assert_eq!(routes.interface_of(address("bbbb:0:0:1::1")), Some(2));
    assert_eq!(routes.interface_of(address("10.0.0.1")), None);
    routes.add(prefix("bbbb::1"), 3);
    assert_eq!(routes.interface_of(address("bbbb::1")), Some(3));
}
