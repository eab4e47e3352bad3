use alloc::vec::Vec;

use super::*;

const START: Duration = Duration::from_secs(1_000);
const LIMITS: StatelessLimits = StatelessLimits { max_content: 1_194, datagrams_per_second: 1_000 };

fn pledge(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

const SEED: [u64; 2] = [0x1234_5678_9abc_def0, 0x9e37_79b9_7f4a_7c15];

fn key(byte: u8) -> HeaderKey {
    HeaderKey::new(&[byte; HeaderKey::LEN])
}

fn proxy() -> Stateless {
    Stateless::new(LIMITS, OnLink::default(), key(1), SEED, START)
}

#[test]
fn an_answer_goes_to_the_pledge_and_nowhere_else() {
    let mut proxy = proxy();
    let pledges: Vec<_> = ["[fe80::1%2]:1", "[fe80::1%3]:1", "[fe80::1%2]:2", "169.254.0.1:1"].map(pledge).into();
    let headers: Vec<_> = pledges.iter().map(|pledge| proxy.header(*pledge, 100, START).unwrap()).collect();
    for (pledge, header) in pledges.iter().zip(&headers) {
        assert_eq!(proxy.pledge(header, 100, START), Ok(*pledge));
        assert_eq!(proxy.header(*pledge, 900, START), Ok(*header), "the same for all its datagrams");
    }
    for len in 0..HEADER_LEN {
        assert_eq!(proxy.pledge(&headers[0][..len], 100, START), Err(Refusal::NotAuthentic));
    }
    let longer = [&headers[0][..], &[0]].concat();
    assert_eq!(proxy.pledge(&longer, 100, START), Err(Refusal::NotAuthentic));
}

#[test]
fn what_does_not_fit_or_is_not_on_a_link_is_dropped() {
    let mut proxy = proxy();
    let on_link = pledge("[fe80::1%2]:1");
    let header = proxy.header(on_link, LIMITS.max_content, START).unwrap();
    for len in [0, LIMITS.max_content + 1, usize::MAX] {
        assert_eq!(proxy.header(on_link, len, START), Err(Refusal::Length));
        assert_eq!(proxy.pledge(&header, len, START), Err(Refusal::Length));
        assert_eq!(proxy.pledge(&[0; HEADER_LEN], len, START), Err(Refusal::NotAuthentic), "the header is first");
    }
    for elsewhere in ["[2001:db8::1]:1", "192.0.2.1:1", "[fe80::1%2]:0", "[fe80::1%4294967288]:1"] {
        assert_eq!(proxy.header(pledge(elsewhere), 1, START), Err(Refusal::OffLink), "{elsewhere}");
    }
}

#[test]
fn the_key_before_is_good_for_a_day_more() {
    let mut proxy = proxy();
    let pledge = pledge("[fe80::1%2]:1");
    let first = proxy.header(pledge, 1, START).unwrap();
    let due = proxy.key_due();
    assert_eq!(due, START + KEY_LIFETIME);
    proxy.renew_key(key(2), due);
    let second = proxy.header(pledge, 1, due).unwrap();
    assert_ne!(first, second);
    let before = due + KEY_LIFETIME - Duration::from_millis(1);
    for header in [first, second] {
        assert_eq!(proxy.pledge(&header, 1, before), Ok(pledge));
    }
    assert_eq!(proxy.pledge(&first, 1, due + KEY_LIFETIME), Err(Refusal::NotAuthentic));
    assert_eq!(proxy.pledge(&second, 1, due + KEY_LIFETIME), Ok(pledge));
    proxy.renew_key(key(3), due + KEY_LIFETIME);
    assert_eq!(proxy.pledge(&first, 1, due + KEY_LIFETIME), Err(Refusal::NotAuthentic));
    assert_eq!(proxy.pledge(&second, 1, due + KEY_LIFETIME), Ok(pledge));
}

#[test]
fn a_flood_from_one_address_leaves_room_for_others() {
    let mut proxy = proxy();
    let passed =
        (1..=10_000).filter(|port| proxy.header(SocketAddr::from(([169, 254, 0, 1], *port)), 1, START).is_ok());
    assert_eq!(passed.count(), 62, "two seconds of 31");
    assert!(proxy.header(pledge("169.254.0.2:1"), 1, START).is_ok());
}
