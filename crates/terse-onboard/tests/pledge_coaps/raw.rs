//! The bytes of messages, for registrars that do not understand all of them.

/// Returns 4.02 in an acknowledgement, if a message names its resource by Uri-Path-Abbrev (RFC 7252, 3).
pub(crate) fn refusal_of_abbreviation(message: &[u8]) -> Option<Vec<u8>> {
    let token_len = usize::from(message[0] & 0x0f);
    let (head, mut rest) = message.split_at(4 + token_len);
    let mut number = 0;
    while let Some((first, after)) = rest.split_first().filter(|(first, _)| **first != 0xff) {
        rest = after;
        let mut field = |nibble: u8| match nibble {
            13 => {
                let (byte, after) = rest.split_first().unwrap();
                rest = after;
                usize::from(*byte) + 13
            }
            14 | 15 => panic!("an option of a pledge is shorter"),
            value => usize::from(value),
        };
        number += field(first >> 4);
        let len = field(first & 0x0f);
        rest = &rest[len..];
        if number == URI_PATH_ABBREV {
            let (acknowledgement, bad_option) = (0x60 | token_len as u8, 4 << 5 | 2);
            return Some([&[acknowledgement, bad_option], &head[2..]].concat());
        }
    }
    None
}

const URI_PATH_ABBREV: usize = 13;
