//! A passage holds the datagrams between a client and a server, and the fate of each.
//!
//! What must always hold: data are never lost and never overtake a handshake, because neither side would send them
//! again.

use core::fmt;

use terse_tls::ContentType;

use super::loss::{Loss, Sent};
use super::records::records;
use super::{ACK, PING, UNIFIED_HEADER};
use crate::pki::Side;

/// All datagrams of a connection so far.
#[derive(Debug, Default)]
pub(super) struct Passage {
    pub(super) datagrams: Vec<Datagram>,
    /// Data of the client that its server cannot read yet, or perhaps not yet.
    held: Vec<Vec<u8>>,
    client: Sent,
    server: Sent,
}

impl Passage {
    /// Keeps a datagram. Returns the datagrams to pass on now, with their senders.
    pub(super) fn take(&mut self, side: Side, bytes: &[u8], loss: Loss) -> Vec<(Side, Vec<u8>)> {
        let sent = if side == Side::Client { &mut self.client } else { &mut self.server };
        let (fate, is_new) = match belongs_to_handshake(bytes) {
            true => sent.add(side, bytes, loss),
            false if side == Side::Client && loss != Loss::None && self.is_early(bytes) => (Fate::Held, true),
            false => (Fate::Passed, true),
        };
        let mut passed_on = Vec::new();
        match fate {
            Fate::Passed => passed_on.push((side, bytes.into())),
            Fate::Held => self.held.push(bytes.into()),
            Fate::Late | Fate::Lost => {}
        }
        let mut before = self.datagrams.iter().filter(|before| before.side == side && before.fate != Fate::Held);
        if let Some(late) = before.next_back().filter(|before| before.fate == Fate::Late) {
            passed_on.push((side, late.bytes.clone()));
        }
        // A server may acknowledge a part of its client's last flight with the keys of application data, and drop what comes
        // before the rest. After a loss, data pass again until the server has sent data itself: it ignores a record that it
        // has received (RFC 9147, 4.5.1).
        let may_be_dropped = self.client_has_lost() && !self.server_has_sent_data();
        if side == Side::Client && fate == Fate::Passed && may_be_dropped && is_data(bytes) {
            self.held.push(bytes.into());
        }
        if side == Side::Server && is_of_application(bytes) {
            passed_on.extend(self.held.iter().map(|bytes| (Side::Client, bytes.clone())));
            if !may_be_dropped || is_data(bytes) {
                self.held.clear();
            }
        }
        self.datagrams.push(Datagram { side, bytes: bytes.into(), fate, is_new });
        passed_on
    }

    fn client_has_lost(&self) -> bool {
        self.datagrams.iter().any(|datagram| datagram.side == Side::Client && datagram.fate == Fate::Lost)
    }

    fn server_has_sent_data(&self) -> bool {
        self.datagrams.iter().any(|datagram| datagram.side == Side::Server && is_data(&datagram.bytes))
    }

    /// Whether these are data of DTLS 1.3 that a client sends before its server's handshake is complete.
    fn is_early(&self, bytes: &[u8]) -> bool {
        let mut of_server = self.datagrams.iter().filter(|datagram| datagram.side == Side::Server);
        is_of_application(bytes) && !of_server.any(|datagram| is_of_application(&datagram.bytes))
    }
}

/// Whether a record has the keys of application data, which a server has once it knows its client (RFC 9147, 6.1).
fn is_of_application(datagram: &[u8]) -> bool {
    let records = records(datagram, 0).unwrap_or_default();
    records.iter().any(|record| record.kind == UNIFIED_HEADER && record.epoch == 3)
}

/// Whether a datagram of DTLS 1.3 has data, and nothing of the handshake.
fn is_data(datagram: &[u8]) -> bool {
    is_of_application(datagram) && !belongs_to_handshake(datagram)
}

/// The fate of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is passed on at once.
    Passed,
    /// It is passed on after the next one of its sender.
    Late,
    /// It is passed on once the server's handshake is complete.
    Held,
    /// The other side never gets it.
    Lost,
}

/// Whether a datagram begins with a record of ChangeCipherSpec or handshake messages, or has protected records of DTLS
/// 1.3 that are longer than data: data are short here, handshake messages and acknowledgements are longer (RFC 9147,
/// 5.2, 7).
fn belongs_to_handshake(datagram: &[u8]) -> bool {
    let Some(first) = datagram.first() else { return false };
    if first & 0b1110_0000 != UNIFIED_HEADER.0 {
        return [ContentType::CHANGE_CIPHER_SPEC, ContentType::HANDSHAKE, ACK].contains(&ContentType(*first));
    }
    records(datagram, 0).is_ok_and(|records| records.iter().all(|record| record.fragment.len() > LONGEST_DATA))
}

/// The longest data: a side's word, a byte for the type, and a tag.
const LONGEST_DATA: usize = PING.len() + 1 + 16;

/// A datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The sender.
    pub side: Side,
    /// The UDP payload.
    pub bytes: Vec<u8>,
    /// The fate of the datagram.
    pub fate: Fate,
    /// Whether it brings something that its sender has not sent before, as far as this is in the clear.
    pub is_new: bool,
}

/// Displays the sender, and the types of the records, as far as they are in the clear.
impl fmt::Display for Datagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {} bytes, {:?}:", self.side, self.bytes.len(), self.fate)?;
        for record in records(&self.bytes, 0).unwrap_or_default() {
            match record.number {
                Some(number) => write!(f, " [{} {}.{number}", record.kind, record.epoch)?,
                None => write!(f, " [{} bytes, epoch {:02b}", record.fragment.len(), record.epoch)?,
            }
            for part in record.fragments() {
                write!(f, " {} {} {}+{}/{}", part.message_seq, part.kind, part.offset, part.len, part.message_len)?;
            }
            write!(f, "]")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_data_belongs_to_the_handshake() {
        let data = [&[0b0010_0011, 7][..], &[0; LONGEST_DATA]].concat();
        let acknowledgement = [&[0b0010_0011, 7][..], &[0; LONGEST_DATA + 1]].concat();
        let finished = [&[0b0010_0110, 7, 0, 53][..], &[0; 53]].concat();
        assert!(belongs_to_handshake(&acknowledgement) && belongs_to_handshake(&finished));
        assert!(!belongs_to_handshake(&data) && !belongs_to_handshake(&[&finished[..], &data].concat()));
        assert!(!belongs_to_handshake(&finished[..9]) && !belongs_to_handshake(b"\x17") && !belongs_to_handshake(b""));
    }

    #[test]
    fn data_wait_for_the_handshake() {
        let record = |first: u8, len: usize| [&[first, 7, 0, len as u8][..], &vec![0; len]].concat();
        let [finished, data, acknowledgement] =
            [record(0b0010_0110, 53), record(0b0010_0111, LONGEST_DATA), record(0b0010_0111, 35)];
        let mut passage = Passage::default();
        let mut take = |side, bytes: &[u8]| passage.take(side, bytes, Loss::Only(Side::Client, 1));
        assert_eq!(take(Side::Client, &finished), [(Side::Client, finished.clone())]);
        assert_eq!(take(Side::Client, &finished), []);
        assert_eq!(take(Side::Client, &data), []);
        assert_eq!(take(Side::Client, &finished), [(Side::Client, finished.clone())]);
        let expected = [(Side::Server, acknowledgement.clone()), (Side::Client, data.clone())];
        assert_eq!(take(Side::Server, &acknowledgement), expected);
        assert_eq!(take(Side::Client, &data), [(Side::Client, data.clone())]);
        // After the loss they pass again until the server has sent data itself.
        let again = (Side::Client, data.clone());
        assert_eq!(take(Side::Server, &acknowledgement), [expected[0].clone(), again.clone(), again.clone()]);
        assert_eq!(take(Side::Server, &data), [(Side::Server, data.clone()), again.clone(), again.clone()]);
        assert_eq!(take(Side::Server, &acknowledgement), [expected[0].clone()]);
        assert_eq!(take(Side::Client, &data), [again]);
        assert_eq!(take(Side::Server, &acknowledgement), [expected[0].clone()]);
        let fates: Vec<_> = passage.datagrams.iter().map(|datagram| datagram.fate).collect();
        assert_eq!(fates[..4], [Fate::Passed, Fate::Lost, Fate::Held, Fate::Passed]);
        assert!(fates[4..].iter().all(|fate| *fate == Fate::Passed));
        assert_eq!(Passage::default().take(Side::Client, &data, Loss::None), [(Side::Client, data.clone())]);
    }
}
