//! Tests of paths: their limits, when two are equal, and their bytes in cookies.

use alloc::collections::BTreeSet;
use alloc::string::ToString;
use alloc::vec;

use super::*;

fn v4(last: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], port))
}

#[test]
fn a_header_has_at_most_64_bytes() {
    for len in 0..200 {
        let header = vec![7; len];
        let path = Path::new(v4(1, 5684), &header);
        assert_eq!(path.is_some(), len <= 64, "{len}");
        if let Some(path) = path {
            assert_eq!((path.address(), path.header()), (v4(1, 5684), &header[..]));
        }
    }
}

#[test]
fn an_empty_header_is_none() {
    let plain = Path::from(v4(1, 5684));
    assert_eq!(Path::new(v4(1, 5684), &[]), Some(plain.clone()));
    assert_eq!((plain.header(), plain == v4(1, 5684)), (&[][..], true));
    assert_ne!(Path::new(v4(1, 5684), &[0]), Some(plain.clone()));
    assert_ne!(Path::new(v4(1, 5684), &[0]).unwrap(), v4(1, 5684));
    assert_eq!(plain.to_string(), "192.0.2.1:5684");
    assert_eq!(Path::new(v4(1, 5684), &[10, 0xff]).unwrap().to_string(), "192.0.2.1:5684/0aff");
}

/// Paths whose parts have the same bytes side by side, such as an IPv4 address with a long header and an IPv6 address.
#[test]
fn no_two_paths_have_the_same_bytes() {
    let addresses =
        [v4(0, 0), v4(0, 4), v4(4, 0), SocketAddr::from(([0; 16], 0)), SocketAddr::from(([0x0404; 8], 0x0404))];
    let mut all = BTreeSet::new();
    let mut paths = BTreeSet::new();
    for address in addresses {
        for byte in [0, 1, 4, 16] {
            for len in 0..=64 {
                let path = Path::new(address, &vec![byte; len]).unwrap();
                all.insert(path.bytes());
                paths.insert(path);
            }
        }
    }
    assert_eq!(paths.len(), addresses.len() * (4 * 64 + 1));
    assert_eq!(all.len(), paths.len());
}

#[test]
fn a_path_without_a_header_is_a_pointer_longer_than_an_address() {
    assert_eq!(size_of::<Path>(), (size_of::<SocketAddr>() + size_of::<usize>()).next_multiple_of(align_of::<usize>()));
}
