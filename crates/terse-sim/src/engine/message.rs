//! What devices and their server say to each other on a connection: requests and answers, as short as a scenario wants them.
//!
//! A request has a header of 16 bytes, its length, that of the answer, a number and the time when it was first sent; an answer
//! has one of 6, its length and the number. On a stream they follow each other; over datagrams each is a datagram of its own.
//!
//! What must always hold: a message that is no such thing is skipped, and nothing waits for the rest of one that says to be longer
//! than [`LONGEST`].

use crate::Time;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Its length with the header.
    pub(super) len: u16,
    /// The length of its answer.
    pub(super) reply: u16,
    /// Its number among those of the device.
    pub(super) number: u32,
    /// When it was first sent.
    pub(super) at: Time,
}

impl Request {
    /// The length of the header.
    pub(super) const HEADER: usize = 16;

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![b'?'; usize::from(self.len).clamp(Self::HEADER, LONGEST)];
        bytes[0..2].copy_from_slice(&self.len.to_be_bytes());
        bytes[2..4].copy_from_slice(&self.reply.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.number.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.at.as_nanos().to_be_bytes());
        bytes
    }

    /// Takes the first request of some bytes, if it is there as a whole.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let message = take(bytes, Self::HEADER)?;
        let field = |from: usize| message.get(from..from + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        let number = message.get(4..8)?.try_into().ok().map(u32::from_be_bytes)?;
        let at = message.get(8..16)?.try_into().ok().map(u64::from_be_bytes)?;
        Some(Self { len: field(0), reply: field(2), number, at: Time::from_nanos(at) })
    }
}

/// Returns the answer to a request.
pub(super) fn answer(request: &Request) -> Vec<u8> {
    let len = usize::from(request.reply).clamp(ANSWER_HEADER, LONGEST);
    let mut bytes = vec![b'!'; len];
    bytes[0..2].copy_from_slice(&(len as u16).to_be_bytes());
    bytes[2..6].copy_from_slice(&request.number.to_be_bytes());
    bytes
}

/// Takes the first answer of some bytes, and returns the number of its request.
pub(super) fn take_answer(bytes: &mut Vec<u8>) -> Option<u32> {
    let message = take(bytes, ANSWER_HEADER)?;
    message.get(2..6)?.try_into().ok().map(u32::from_be_bytes)
}

/// Takes the first message, whose header is so long. Bytes that cannot begin one are thrown away.
fn take(bytes: &mut Vec<u8>, header: usize) -> Option<Vec<u8>> {
    let len = usize::from(u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]));
    if !(header..=LONGEST).contains(&len) {
        bytes.clear();
        return None;
    }
    (bytes.len() >= len).then(|| bytes.drain(..len).collect())
}

/// The longest message.
const LONGEST: usize = 1_024;
const ANSWER_HEADER: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_one_after_the_other() {
        let request = |number, len| Request { len, reply: 20, number, at: Time::from_millis(7) };
        let mut bytes = [request(1, 16).encode(), request(2, 900).encode()].concat();
        let last = bytes.pop();
        assert_eq!(Request::take(&mut bytes), Some(request(1, 16)));
        assert_eq!(Request::take(&mut bytes), None, "a byte is missing");
        bytes.extend(last);
        assert_eq!(Request::take(&mut bytes), Some(request(2, 900)));
        assert!(bytes.is_empty());
        let mut answers = [answer(&request(1, 16)), answer(&request(2, 16))].concat();
        assert_eq!(answers.len(), 40);
        assert_eq!(
            (take_answer(&mut answers), take_answer(&mut answers), take_answer(&mut answers)),
            (Some(1), Some(2), None)
        );
    }

    #[test]
    fn bytes_that_are_no_message_are_thrown_away() {
        for mut bytes in [vec![0, 3, 9], vec![255, 255, 1], vec![0, 15, 0, 0]] {
            assert_eq!(Request::take(&mut bytes), None);
            assert!(bytes.is_empty());
        }
    }
}
