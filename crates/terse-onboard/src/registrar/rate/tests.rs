use core::net::{Ipv4Addr, Ipv6Addr};

use super::*;

fn v4(number: u32) -> IpAddr {
    Ipv4Addr::from(number).into()
}

#[test]
fn an_address_has_so_many_at_once_and_so_many_a_second() {
    let rate = Rate::new(2, 3);
    let taken = |now| (0..10).filter(|_| rate.take(v4(1), now)).count();
    assert_eq!(taken(0), 3);
    assert_eq!(taken(499), 0);
    assert_eq!(taken(1_000), 2);
    assert_eq!(taken(3_600_000), 3);
    assert!(rate.take(v4(2), 0), "another address has its own");
}

#[test]
fn a_host_is_not_many_addresses() {
    let rate = Rate::new(1, 1);
    let v6 = |last| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last));
    assert!(rate.take(v6(1), 0));
    assert!(!rate.take(v6(2), 0));
    // Hosts of a link have the same 64 bits.
    assert!(rate.take("fe80::1".parse().unwrap(), 0));
    assert!(rate.take("fe80::2".parse().unwrap(), 0));
    assert!(!rate.take("fe80::2".parse().unwrap(), 0));
}

#[test]
fn a_flood_of_addresses_shares_one_bucket_and_no_memory() {
    let rate = Rate::new(1, 1);
    let passed = (0..20_000).filter(|number| rate.take(v4(*number), 0)).count();
    assert_eq!(passed, MAX_ADDRESSES + 1);
    assert_eq!(rate.table.lock().unwrap().buckets.len(), MAX_ADDRESSES);
    // Full buckets make room.
    assert!(rate.take(v4(30_000), 1_000));
    assert_eq!(rate.table.lock().unwrap().buckets.len(), 1);
}
