//! 6P messages as bytes (RFC 8480, 3.2 and 3.3), in the IETF information element (RFC 8137, 4).
//!
//! ```text
//! header termination 1 │ payload IE: length, group 5 │ subtype   │ version, type │ code │ SFID │ SeqNum │ other fields
//! 2 bytes              │ 2                           │ 1         │ 1             │ 1    │ 1    │ 1      │
//! ```

use super::{Answer, Body, CellList, CellOptions, Change, Command, Message, Payload, Request, ReturnCode, SixpCell};

/// The subtype of the IETF information element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subtype {
    /// SUBID_6TOP (RFC 8480, 6.1).
    Registered = 1,
    /// The first number for experiments: the only one that OpenWSN sends, and that Wireshark 4.0 reads as 6P.
    Experimental = 201,
}

/// Why bytes are no 6P message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// There is no IETF information element with a 6P message.
    NotSixp,
    /// The message has a version that is not known. A request gets RC_ERR_VERSION for an answer (RFC 8480, 3.4.1).
    Version { sfid: u8, seq_num: u8 },
    /// The message ends too early, is too long, or its type, its command or a length is not possible.
    Fields,
}

impl Message {
    /// Returns the length of the information elements: what a frame has instead of a payload, in bytes.
    pub(crate) fn len(&self) -> usize {
        OVERHEAD + HEADER + self.fields_len()
    }

    /// Returns the information elements as bytes.
    pub(crate) fn encode(&self, subtype: Subtype) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.len());
        out.extend(HEADER_TERMINATION_1);
        // A length cannot reach the bits of the group: the longest message has 99 bytes.
        let content = (self.len() - OVERHEAD + 1) as u16;
        out.extend((PAYLOAD_IE_IETF | content).to_le_bytes());
        out.push(subtype as u8);
        let (kind, code) = match &self.body {
            Body::Request(request) => (0, request.command() as u8),
            Body::Response(code, _) => (1, code.0),
            Body::Confirmation(code, _) => (2, code.0),
        };
        out.extend([kind << 4 | VERSION, code, self.sfid, self.seq_num]);
        self.encode_fields(&mut out);
        out
    }

    /// Reads the information elements of a frame.
    ///
    /// A response does not say which command it answers, and neither does a confirmation: `command` is that of the request.
    pub(crate) fn parse(bytes: &[u8], command: Command) -> Result<Self, Malformed> {
        let rest = bytes.strip_prefix(&HEADER_TERMINATION_1).ok_or(Malformed::NotSixp)?;
        let ([low, high, subtype], rest) = rest.split_first_chunk().ok_or(Malformed::NotSixp)?;
        if ![Subtype::Registered as u8, Subtype::Experimental as u8].contains(subtype) {
            return Err(Malformed::NotSixp);
        }
        let descriptor = u16::from_le_bytes([*low, *high]);
        if descriptor & !MAX_CONTENT != PAYLOAD_IE_IETF {
            return Err(Malformed::NotSixp);
        }
        let len = usize::from(descriptor & MAX_CONTENT).checked_sub(1).ok_or(Malformed::NotSixp)?;
        let content = rest.get(..len).filter(|_| len <= LONGEST).ok_or(Malformed::Fields)?;
        let ([first, code, sfid, seq_num], fields) = content.split_first_chunk().ok_or(Malformed::Fields)?;
        let (sfid, seq_num) = (*sfid, *seq_num);
        if first & 0x0F != VERSION {
            return Err(Malformed::Version { sfid, seq_num });
        }
        let mut fields = Fields(fields);
        let body = match first >> 4 & 3 {
            0 => Body::Request(fields.request(*code)?),
            1 => Body::Response(ReturnCode(*code), fields.answer(ReturnCode(*code), command)?),
            2 => Body::Confirmation(ReturnCode(*code), fields.cells()?),
            _ => return Err(Malformed::Fields),
        };
        Ok(Self { sfid, seq_num, body })
    }

    fn fields_len(&self) -> usize {
        let cells = |list: &CellList| 4 * list.len();
        match &self.body {
            Body::Request(Request::Add(change) | Request::Delete(change)) => CHANGE + cells(&change.cell_list),
            Body::Request(Request::Relocate(change, candidates)) => {
                CHANGE + cells(&change.cell_list) + cells(candidates)
            }
            Body::Request(Request::Count { .. }) => 3,
            Body::Request(Request::List { .. }) => 8,
            Body::Request(Request::Signal { payload, .. }) => 2 + payload.as_slice().len(),
            Body::Request(Request::Clear { .. }) => 2,
            Body::Response(_, Answer::Nothing) => 0,
            Body::Response(_, Answer::NumCells(_)) => 2,
            Body::Response(_, Answer::Payload(payload)) => payload.as_slice().len(),
            Body::Response(_, Answer::Cells(list)) | Body::Confirmation(_, list) => cells(list),
        }
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        if let Body::Request(request) = &self.body {
            out.extend(request.metadata().to_le_bytes());
        }
        match &self.body {
            Body::Request(Request::Add(change) | Request::Delete(change)) => encode_change(change, out),
            Body::Request(Request::Relocate(change, candidates)) => {
                encode_change(change, out);
                encode_cells(candidates, out);
            }
            Body::Request(Request::Count { cell_options, .. }) => out.push(cell_options.0),
            Body::Request(Request::List { cell_options, offset, max_num_cells, .. }) => {
                out.extend([cell_options.0, 0]);
                out.extend(offset.to_le_bytes());
                out.extend(max_num_cells.to_le_bytes());
            }
            Body::Request(Request::Signal { payload, .. }) | Body::Response(_, Answer::Payload(payload)) => {
                out.extend(payload.as_slice());
            }
            Body::Request(Request::Clear { .. }) | Body::Response(_, Answer::Nothing) => {}
            Body::Response(_, Answer::NumCells(num_cells)) => out.extend(num_cells.to_le_bytes()),
            Body::Response(_, Answer::Cells(list)) | Body::Confirmation(_, list) => encode_cells(list, out),
        }
    }
}

fn encode_change(change: &Change, out: &mut Vec<u8>) {
    out.extend([change.cell_options.0, change.num_cells]);
    encode_cells(&change.cell_list, out);
}

fn encode_cells(list: &CellList, out: &mut Vec<u8>) {
    for cell in list.iter() {
        out.extend(cell.slot_offset.to_le_bytes());
        out.extend(cell.channel_offset.to_le_bytes());
    }
}

/// The fields after the header that were not read yet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Fields)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.take().map(u16::from_le_bytes)
    }

    fn request(&mut self, code: u8) -> Result<Request, Malformed> {
        let command = Command::ALL.into_iter().find(|command| *command as u8 == code).ok_or(Malformed::Fields)?;
        let metadata = self.u16()?;
        let request = match command {
            Command::Add => Request::Add(self.change(metadata)?),
            Command::Delete => Request::Delete(self.change(metadata)?),
            Command::Relocate => {
                let [cell_options, num_cells] = self.take()?;
                let cell_list = self.some_cells(num_cells.into())?;
                let change = Change { metadata, cell_options: CellOptions(cell_options), num_cells, cell_list };
                Request::Relocate(change, self.cells()?)
            }
            Command::Count => Request::Count { metadata, cell_options: CellOptions(self.take::<1>()?[0]) },
            Command::List => {
                let [cell_options, _reserved] = self.take()?;
                let (offset, max_num_cells) = (self.u16()?, self.u16()?);
                Request::List { metadata, cell_options: CellOptions(cell_options), offset, max_num_cells }
            }
            Command::Signal => Request::Signal { metadata, payload: self.payload()? },
            Command::Clear => Request::Clear { metadata },
        };
        if self.0.is_empty() { Ok(request) } else { Err(Malformed::Fields) }
    }

    fn change(&mut self, metadata: u16) -> Result<Change, Malformed> {
        let [cell_options, num_cells] = self.take()?;
        let cell_options = CellOptions(cell_options);
        Ok(Change { metadata, cell_options, num_cells, cell_list: self.cells()? })
    }

    /// Reads what follows the header of a response. An error is not followed by anything that counts.
    fn answer(&mut self, code: ReturnCode, command: Command) -> Result<Answer, Malformed> {
        let answer = match command {
            _ if code.is_error() => return Ok(Answer::Nothing),
            Command::Add | Command::Delete | Command::Relocate | Command::List => Answer::Cells(self.cells()?),
            Command::Count => Answer::NumCells(self.u16()?),
            Command::Signal => Answer::Payload(self.payload()?),
            Command::Clear => Answer::Nothing,
        };
        if self.0.is_empty() { Ok(answer) } else { Err(Malformed::Fields) }
    }

    /// Reads cells up to the end.
    fn cells(&mut self) -> Result<CellList, Malformed> {
        if self.0.len().is_multiple_of(4) { self.some_cells(self.0.len() / 4) } else { Err(Malformed::Fields) }
    }

    fn some_cells(&mut self, count: usize) -> Result<CellList, Malformed> {
        let mut list = CellList::EMPTY;
        for _ in 0..count {
            let (slot_offset, channel_offset) = (self.u16()?, self.u16()?);
            if !list.push(SixpCell { slot_offset, channel_offset }) {
                return Err(Malformed::Fields);
            }
        }
        Ok(list)
    }

    fn payload(&mut self) -> Result<Payload, Malformed> {
        let payload = Payload::new(self.0).ok_or(Malformed::Fields)?;
        self.0 = &[];
        Ok(payload)
    }
}

/// What the information elements add to the message: the end of the header IEs 2, the header of the payload IE 2, the
/// subtype 1. No payload follows, so that there is no payload termination.
const OVERHEAD: usize = 5;

/// The longest message: a frame of 127 bytes, without the MAC's header of 21, the FCS of 2 and the information elements.
pub(super) const LONGEST: usize = 127 - 21 - 2 - OVERHEAD;

/// The longest header before a list of cells: that of all messages, metadata 2, CellOptions 1, NumCells 1.
pub(super) const LONGEST_HEADER: usize = HEADER + CHANGE;

const HEADER: usize = 4;
const CHANGE: usize = 4;
const VERSION: u8 = 0;
/// Header termination 1: element 0x7e, length 0 (IEEE 802.15.4-2020, 7.4.2.18). Payload IEs follow.
const HEADER_TERMINATION_1: [u8; 2] = [0x00, 0x3F];
/// A payload IE (bit 15) of group 5, which is the IETF's (RFC 8137, 5).
const PAYLOAD_IE_IETF: u16 = 0x8000 | 5 << 11;
/// The bits of a payload IE's length.
const MAX_CONTENT: u16 = 0x07FF;
