//! Datagrams as a peer could make them that has the keys of [`crate::provider::transparent`]: an [`Operation`] becomes
//! one or two of them.
//!
//! The lower half of a shape is a [`Shape`] and [`WITH_CID`], the upper half says how the datagrams differ from those of
//! an honest peer: [`HELD`], [`IN_FRAGMENTS`], [`REPEATED`], [`TWICE`].
//!
//! What must always hold: numbers of records and messages are made here, so that a change of a body changes just that.

use terse_tls::crypto::{CryptoProvider, Tls12Nonce};
use terse_tls::{CipherSuite, ContentType, HandshakeType};

use crate::input::{Operation, Shape};
use crate::provider::TAG;

/// A protected record has the receiver's connection ID.
pub const WITH_CID: u8 = 0x08;

/// It goes into the datagram of the next operation.
pub const HELD: u8 = 0x10;

/// A message comes in two fragments, the second one first.
pub const IN_FRAGMENTS: u8 = 0x20;

/// A message has the number of the one before; any other record has that of the record before.
pub const REPEATED: u8 = 0x40;

/// The datagram comes twice.
pub const TWICE: u8 = 0x80;

/// Length of a record's header without a connection ID.
pub const HEADER_LEN: usize = 13;

/// Length of a fragment's header.
pub const FRAGMENT_HEADER_LEN: usize = 12;

/// How the records of a connection are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protection {
    tag_len: usize,
    explicit_len: usize,
    /// The connection ID of whoever receives them.
    pub cid: Vec<u8>,
}

impl Protection {
    /// That of `suite`; of none, something.
    pub fn of(provider: &CryptoProvider, suite: Option<CipherSuite>, cid: Vec<u8>) -> Self {
        let suite = suite.and_then(|suite| provider.tls12_suite(suite));
        let is_explicit = suite.is_none_or(|suite| suite.nonce == Tls12Nonce::Explicit);
        Self {
            tag_len: suite.map_or(16, |suite| suite.aead.tag_len()),
            explicit_len: if is_explicit { 8 } else { 0 },
            cid,
        }
    }

    /// Type and content of a protected record, and whether it has a connection ID, of `cid_len` bytes then.
    pub fn open(&self, record: &[u8], cid_len: usize) -> Option<(ContentType, Vec<u8>, bool)> {
        let has_cid = record.first() == Some(&TLS12_CID.0);
        let header_len = HEADER_LEN + if has_cid { cid_len } else { 0 };
        let end = record.len().checked_sub(self.tag_len)?;
        let content = record.get(header_len + self.explicit_len..end)?;
        if !has_cid {
            return Some((ContentType(record[0]), content.to_vec(), false));
        }
        content.split_last().map(|(kind, content)| (ContentType(*kind), content.to_vec(), true))
    }
}

const TLS12_CID: ContentType = ContentType(25);

/// Makes the datagrams of one peer.
#[derive(Debug, Default)]
pub struct Forge {
    /// The next number in each epoch.
    numbers: [u64; 2],
    next_seq: u16,
    held: Vec<u8>,
}

impl Forge {
    /// What `operation` sends; nothing if it is a call.
    pub fn datagrams(&mut self, operation: &Operation, protection: &Protection) -> Vec<Vec<u8>> {
        let Operation { shape, kind, body } = operation;
        let content_type = ContentType(*kind);
        let has_cid = shape & WITH_CID != 0;
        let seal = |forge: &mut Self, content_type, content: &[u8], tag, is_again: bool| {
            let number = forge.number(1, is_again);
            sealed(number, content_type, content, tag, protection, has_cid)
        };
        let is_again = shape & REPEATED != 0;
        let records = match shape_of(*shape) {
            Shape::Raw => vec![body.clone()],
            Shape::Record => vec![plain(content_type, self.number(0, is_again), body)],
            Shape::Sealed => vec![seal(self, content_type, body, TAG, is_again)],
            Shape::Forged => vec![seal(self, content_type, body, !TAG, is_again)],
            Shape::Message => {
                let parts = self.fragments(*shape, *kind, body);
                parts.iter().map(|part| plain(ContentType::HANDSHAKE, self.number(0, false), part)).collect()
            }
            Shape::SealedMessage => {
                let parts = self.fragments(*shape, *kind, body);
                parts.iter().map(|part| seal(self, ContentType::HANDSHAKE, part, TAG, false)).collect()
            }
            Shape::Call => return Vec::new(),
        };
        if shape & HELD != 0 {
            self.held.extend(records.concat());
            return Vec::new();
        }
        let mut datagrams = records;
        datagrams[0].splice(..0, core::mem::take(&mut self.held));
        if shape & TWICE != 0 {
            datagrams.extend(datagrams.clone());
        }
        datagrams
    }

    fn number(&mut self, epoch: usize, is_again: bool) -> u64 {
        let number = self.numbers[epoch];
        if is_again {
            return (epoch as u64) << 48 | number.saturating_sub(1);
        }
        self.numbers[epoch] += 1;
        (epoch as u64) << 48 | number
    }

    fn fragments(&mut self, shape: u8, kind: u8, body: &[u8]) -> Vec<Vec<u8>> {
        let seq = if shape & REPEATED == 0 { self.next_seq } else { self.next_seq.wrapping_sub(1) };
        self.next_seq = seq.wrapping_add(1);
        let whole = 0..body.len();
        if shape & IN_FRAGMENTS == 0 {
            return vec![fragment(kind, seq, body, whole)];
        }
        let middle = body.len() / 2;
        vec![fragment(kind, seq, body, middle..body.len()), fragment(kind, seq, body, 0..middle)]
    }
}

/// What the lower bits of a shape say.
pub const fn shape_of(shape: u8) -> Shape {
    Shape::of(shape & 7)
}

/// A part of a handshake message, with its header.
fn fragment(kind: u8, seq: u16, body: &[u8], range: core::ops::Range<usize>) -> Vec<u8> {
    let u24 = |value: usize| (value as u32).to_be_bytes()[1..].to_vec();
    let (offset, len) = (range.start, range.len());
    [&[kind], &u24(body.len())[..], &seq.to_be_bytes(), &u24(offset), &u24(len), &body[range]].concat()
}

/// A record; `number` has the epoch in its upper bits.
fn plain(content_type: ContentType, number: u64, content: &[u8]) -> Vec<u8> {
    let len = (content.len() as u16).to_be_bytes();
    [&[content_type.0, 254, 253], &number.to_be_bytes()[..], &len, content].concat()
}

fn sealed(
    number: u64,
    content_type: ContentType,
    content: &[u8],
    tag: u8,
    protection: &Protection,
    has_cid: bool,
) -> Vec<u8> {
    let (explicit, tag) = (vec![0; protection.explicit_len], vec![tag; protection.tag_len]);
    if !has_cid {
        return plain(content_type, number, &[&explicit, content, &tag].concat());
    }
    let mut record = plain(TLS12_CID, number, &[&explicit, content, &[content_type.0], &tag].concat());
    record.splice(11..11, protection.cid.iter().copied());
    record
}

/// The records of a datagram; those with a connection ID have one of `cid_len` bytes.
pub fn records(mut datagram: &[u8], cid_len: usize) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while !datagram.is_empty() {
        let header_len = HEADER_LEN + if datagram[0] == TLS12_CID.0 { cid_len } else { 0 };
        let len = match datagram.get(header_len - 2..header_len) {
            Some(len) => header_len + usize::from(u16::from_be_bytes([len[0], len[1]])),
            None => datagram.len(),
        };
        let (record, rest) = datagram.split_at(len.min(datagram.len()));
        records.push(record.to_vec());
        datagram = rest;
    }
    records
}

/// Suite and connection ID in a ServerHello, if `datagram` begins with one.
pub fn server_hello(datagram: &[u8]) -> Option<(CipherSuite, Vec<u8>)> {
    let message = datagram.get(HEADER_LEN..).filter(|_| datagram[3..5] == [0, 0] && datagram[0] == 22)?;
    let body = message.get(FRAGMENT_HEADER_LEN..).filter(|_| message[0] == HandshakeType::SERVER_HELLO.0)?;
    let session_id_len = usize::from(*body.get(34)?);
    let [a, b, _, high, low, extensions @ ..] = body.get(35 + session_id_len..)? else { return None };
    let mut rest = extensions.get(..u16::from_be_bytes([*high, *low]).into())?;
    while let Some(([t0, t1, l0, l1], next)) = rest.split_first_chunk() {
        let (extension, next) = next.split_at_checked(u16::from_be_bytes([*l0, *l1]).into())?;
        if [*t0, *t1] == CONNECTION_ID {
            return Some((CipherSuite(u16::from_be_bytes([*a, *b])), extension.get(1..)?.to_vec()));
        }
        rest = next;
    }
    Some((CipherSuite(u16::from_be_bytes([*a, *b])), Vec::new()))
}

/// The extension `connection_id` (RFC 9146, 3).
const CONNECTION_ID: [u8; 2] = [0, 54];

/// What a record of epoch 0 is in operations: one for each message in it that is not fragmented.
pub fn operations(record: &[u8]) -> Vec<Operation> {
    in_messages(Shape::Record as u8, Shape::Message as u8, ContentType(record[0]), &record[HEADER_LEN..])
}

/// The same for the content of a protected record.
pub fn sealed_operations(content_type: ContentType, content: &[u8], has_cid: bool) -> Vec<Operation> {
    let with_cid = if has_cid { WITH_CID } else { 0 };
    in_messages(Shape::Sealed as u8 | with_cid, Shape::SealedMessage as u8 | with_cid, content_type, content)
}

fn in_messages(record: u8, message: u8, content_type: ContentType, content: &[u8]) -> Vec<Operation> {
    let whole = || vec![Operation { shape: record, kind: content_type.0, body: content.to_vec() }];
    if content_type != ContentType::HANDSHAKE {
        return whole();
    }
    let (mut operations, mut rest) = (Vec::new(), content);
    while let Some((header, body)) = rest.split_first_chunk::<FRAGMENT_HEADER_LEN>() {
        let len = usize::from(u16::from_be_bytes([header[10], header[11]]));
        let is_whole = header[1..4] == header[9..12];
        let Some((body, next)) = body.split_at_checked(len).filter(|_| is_whole) else { return whole() };
        operations.push(Operation { shape: message, kind: header[0], body: body.to_vec() });
        rest = next;
    }
    if rest.is_empty() { operations } else { whole() }
}
