//! Datagrams say which they are.

use super::Header;

#[test]
fn a_header_is_that_of_a_record() {
    let header = Header { flight: 4, index: 1, attempt: 0x0102_0304 };
    let datagram = header.datagram(20);
    // Application data, DTLS 1.2, epoch 0; the sequence number; 7 bytes follow.
    assert_eq!(datagram, [23, 0xFE, 0xFD, 0, 0, 4, 1, 1, 2, 3, 4, 0, 7, 4, 4, 4, 4, 4, 4, 4]);
    assert_eq!(Header::parse(&datagram), Some(header));
}

#[test]
fn other_datagrams_are_not_taken() {
    let datagram = Header { flight: 4, index: 1, attempt: 0 }.datagram(20);
    for len in 0..20 {
        assert_eq!(Header::parse(&datagram[..len]), None, "{len} bytes");
    }
    assert_eq!(Header::parse(&[&datagram[..], &[0]].concat()), None);
    for at in 0..5 {
        let mut other = datagram.clone();
        other[at] ^= 1;
        assert_eq!(Header::parse(&other), None, "byte {at}");
    }
}
