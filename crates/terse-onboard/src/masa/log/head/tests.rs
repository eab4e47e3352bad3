use super::*;

#[test]
fn a_head_is_read_as_it_is_written_and_nothing_else_is_one() {
    let head = LogHead { length: i64::MAX, hash: core::array::from_fn(|index| index as u8 * 7) };
    let text = head.to_string();
    assert_eq!(text.parse(), Ok(head));
    assert_eq!(LogHead::EMPTY.to_string().parse(), Ok(LogHead::EMPTY));
    let (hash, length) = text.split_once('@').unwrap();
    for wrong in [
        "",
        "@",
        hash,
        length,
        &format!("{hash}@"),
        &format!("{hash}@-1"),
        &format!("{hash}@9223372036854775808"),
        &format!("{hash}@ 1"),
        &format!("{length}@{hash}"),
        &format!("{}@1", &hash[1..]),
        &format!("{}@1", &hash[2..]),
        &format!("{hash}00@1"),
        &format!("{}g@1", &hash[1..]),
        &format!("{}\u{e9}@1", &hash[2..]),
    ] {
        assert_eq!(wrong.parse::<LogHead>(), Err(InvalidHead), "{wrong}");
    }
}
