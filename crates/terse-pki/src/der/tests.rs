use super::*;

#[test]
fn lengths_are_the_shortest() {
    let element = |len: usize| tlv(OCTET_STRING, &[&vec![7; len]]);
    for (len, header) in [(0, &[4, 0][..]), (127, &[4, 127]), (128, &[4, 0x81, 128]), (300, &[4, 0x82, 1, 44])] {
        assert_eq!(element(len), [header, &vec![7; len]].concat());
    }
}
