use super::*;

#[test]
fn sizes_are_powers_of_two_from_16_to_1024() {
    for (len, bytes) in [(0, 16), (16, 16), (31, 16), (32, 32), (511, 256), (512, 512), (1_024, 1_024), (9_999, 1_024)]
    {
        assert_eq!(BlockSize::at_most(len).bytes(), bytes, "{len}");
    }
    assert_eq!(BlockSize::MAX.szx(), 6);
}

#[test]
fn a_block_leaves_room_for_the_rest_of_its_datagram() {
    for (limit, bytes) in
        [(0, 16), (79, 16), (95, 16), (96, 32), (512, 256), (575, 256), (576, 512), (1_088, 1_024), (16_384, 1_024)]
    {
        assert_eq!(BlockSize::for_datagram(limit).bytes(), bytes, "{limit}");
    }
}

#[test]
fn values_are_read_as_they_were_written() {
    for number in [0, 1, 15, 16, 4_095, 4_096, (1 << 20) - 1] {
        for (more, szx) in [(false, 0), (true, 0), (false, 6), (true, 6)] {
            let block = Block { number, more, size: BlockSize(szx) };
            assert_eq!(Block::parse(&option::uint(block.value())), Some(block));
        }
    }
    assert_eq!(Block::parse(b""), Some(Block { number: 0, more: false, size: BlockSize(0) }));
    assert_eq!(Block::parse(&[0x07]), None, "the reserved size");
    assert_eq!(Block::parse(&[1, 0, 0, 0]), None, "four bytes");
}

#[test]
fn only_a_last_block_may_be_short() {
    let block = Block { number: 3, more: true, size: BlockSize(1) };
    assert_eq!(block.offset(), 96);
    assert!(block.fits(&[0; 32]) && !block.fits(&[0; 31]) && !block.fits(&[0; 33]));
    let last = Block { more: false, ..block };
    assert!(last.fits(&[0; 32]) && last.fits(&[0; 1]) && !last.fits(&[0; 33]));
}
