//! The options of datagrams set the sizes and timers of a network.

use super::*;

#[derive(clap::Parser)]
struct Program {
    #[command(flatten)]
    datagrams: DatagramOptions,
}

fn options(options: &str) -> DatagramOptions {
    let words = core::iter::once("terse").chain(options.split_whitespace());
    <Program as clap::Parser>::try_parse_from(words).unwrap().datagrams
}

fn datagrams(text: &str, seconds: u64) -> Datagrams {
    options(text).datagrams([192, 0, 2, 1].into(), Duration::from_secs(seconds)).unwrap()
}

#[test]
fn a_stream_unless_asked() {
    assert!(options("").datagrams([192, 0, 2, 1].into(), Duration::from_secs(30)).is_none());
    assert!(options("").refuse(&[(true, "--compat", "is refused")]).is_ok());
    let refused = options("--dtls").refuse(&[(false, "--a", "is one"), (true, "--b", "is two")]);
    assert_eq!(refused.unwrap_err().to_string(), "--b with --dtls: it is two");
}

#[test]
fn the_packet_is_the_measure() {
    assert_eq!(datagrams("--dtls", 30).max_datagram, 1232);
    assert_eq!(datagrams("--dtls --mtu 576", 30).max_datagram, 548);
    let over_ipv6 = options("--dtls --mtu 576").datagrams("2001:db8::1".parse().unwrap(), Duration::from_secs(30));
    assert_eq!(over_ipv6.unwrap().max_datagram, 528);
}

#[test]
fn as_often_as_the_time_allows() {
    assert_eq!(datagrams("--dtls", 1).max_retransmissions, 0);
    assert_eq!(datagrams("--dtls", 3).max_retransmissions, 1);
    assert_eq!(datagrams("--dtls", 30).max_retransmissions, 4); // 1 + 2 + 4 + 8 + 16
    assert_eq!(datagrams("--dtls --constrained", 120).max_retransmissions, 3); // 9 + 18 + 36 + 60
    assert_eq!(datagrams("--dtls", u64::MAX / 2).max_retransmissions, u8::MAX);
}

#[test]
fn timeouts_stay_in_order() {
    for milliseconds in [10, 999, 1_000, 61_000, 600_000] {
        let Datagrams { initial_timeout, min_timeout, max_timeout, .. } =
            datagrams(&format!("--dtls --initial-timeout {milliseconds}"), 30);
        assert_eq!(initial_timeout, milliseconds);
        assert!((1..=initial_timeout).contains(&min_timeout) && max_timeout >= initial_timeout);
    }
}
