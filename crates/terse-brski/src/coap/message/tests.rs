use super::*;

fn parse(datagram: &[u8]) -> Result<(), Malformed> {
    Message::parse(datagram).map(|_| ())
}

#[test]
fn malformed_messages_are_told_by_what_may_be_answered() {
    assert_eq!(parse(b"\x40\x01\x12\x34"), Ok(()));
    let confirmable = Err(Malformed::Confirmable(0x1234));
    let cases: [(&[u8], &str); 9] = [
        (b"\x40\x00\x12\x34\x00", "an empty message with more"),
        (b"\x41\x00\x12\x34\x00", "an empty message with a token"),
        (b"\x49\x01\x12\x34123456789", "a token of nine bytes"),
        (b"\x44\x01\x12\x34123", "a token that is cut off"),
        (b"\x40\x01\x12\x34\xff", "a marker without a payload"),
        (b"\x40\x01\x12\x34\xb3ab", "an option that is cut off"),
        (b"\x40\x01\x12\x34\xf1a", "a delta that is reserved"),
        (b"\x40\x01\x12\x34\x1fa", "a length that is reserved"),
        (b"\x40\x01\x12\x34\xd1", "a delta that is cut off"),
    ];
    for (datagram, what) in cases {
        assert_eq!(parse(datagram), confirmable, "{what}");
        let acknowledgement = [&[datagram[0] | 0x20], &datagram[1..]].concat();
        assert_eq!(parse(&acknowledgement), Err(Malformed::Ignored), "{what}");
    }
    assert_eq!(parse(b"\x40\x01\x12"), Err(Malformed::Ignored), "too short");
    assert_eq!(parse(b"\x80\x01\x12\x34"), Err(Malformed::Ignored), "another version");
}

#[test]
fn options_and_bytes_are_bounded() {
    let with = |options: usize| [&b"\x40\x01\x00\x00"[..], &alloc::vec![0x10; options]].concat();
    assert_eq!(parse(&with(MAX_OPTIONS)), Ok(()));
    assert_eq!(parse(&with(MAX_OPTIONS + 1)), Err(Malformed::Confirmable(0)));
    let long = |len: usize| [&b"\x40\x01\x00\x00\xff"[..], &alloc::vec![7; len - 5]].concat();
    assert_eq!(parse(&long(MAX_DATAGRAM)), Ok(()));
    assert_eq!(parse(&long(MAX_DATAGRAM + 1)), Err(Malformed::Confirmable(0)));
}

#[test]
fn long_options_are_read() {
    for len in [0, 12, 13, 268, 269, 1_000] {
        let mut message = Message::new(Kind::Confirmable, Code::GET, 1, b"");
        message.push(2_000, &alloc::vec![9; len]);
        message.push(65_535, b"x");
        let read = Message::parse(&message.encode()).unwrap();
        assert_eq!(read.values(2_000).next().map(<[u8]>::len), Some(len));
        assert_eq!(read.values(65_535).next(), Some(&b"x"[..]));
    }
}
