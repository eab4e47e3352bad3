//! The sizes of packets.

use super::*;

#[test]
fn a_packet_has_its_headers() {
    let sizes = |mtu| ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"].map(|ip| max_datagram(mtu, ip.parse().unwrap()));
    assert_eq!(sizes(1280), [1252, 1232, 1252]);
    assert_eq!(sizes(1500), [1472, 1452, 1472]);
    assert_eq!(sizes(20), [0, 0, 0]);
}
