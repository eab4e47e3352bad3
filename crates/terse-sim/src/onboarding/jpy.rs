//! JPY, the framing between a stateless join proxy and a registrar (draft-ietf-anima-constrained-join-proxy-20, "JPY Message
//! Structure"): an array of the proxy's header and the pledge's datagram.

use minicbor::{Decoder, Encoder};

/// Returns the message with this header and content.
pub(super) fn encode(header: &[u8], content: &[u8]) -> Vec<u8> {
    let mut message = vec![0; header.len() + content.len() + MOST_FRAMING];
    let mut encoder = Encoder::new(message.as_mut_slice());
    let encoded = encoder.array(2).and_then(|encoder| encoder.bytes(header)).and_then(|encoder| encoder.bytes(content));
    let left = encoded.map_or(0, |encoder| encoder.writer().len()); // there is room
    message.truncate(message.len() - left);
    message
}

/// Returns the header of a message, and leaves its content; `None` if it is none.
pub(super) fn take(message: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut decoder = Decoder::new(message);
    let elements = decoder.array().ok()?;
    let header = decoder.bytes().ok()?.to_vec();
    let content = decoder.bytes().ok()?.to_vec();
    if elements != Some(2) || decoder.position() != message.len() {
        return None;
    }
    *message = content;
    Some(header)
}

/// The heads of an array and of two byte strings, at most.
const MOST_FRAMING: usize = 1 + 5 + 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for (len, framing) in [(1, 4), (23, 4), (24, 5), (255, 5), (256, 6), (986, 6)] {
            let content = vec![7; len];
            let mut message = encode(&[9; 30], &content);
            assert_eq!(message.len(), 30 + len + framing);
            assert_eq!(take(&mut message), Some(vec![9; 30]));
            assert_eq!(message, content);
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let whole = encode(&[9; 30], b"content");
        for len in 0..whole.len() {
            assert_eq!(take(&mut whole[..len].to_vec()), None);
        }
        assert_eq!(take(&mut [&whole[..], b"x"].concat()), None);
    }
}
