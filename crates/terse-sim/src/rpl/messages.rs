//! RPL's control messages as ICMPv6 (RFC 6550, 6): DIS, DIO, DAO and DAO-ACK, without the secure variants.
//!
//! What must always hold: [`Message::parse`] does not panic, whatever it is given; what it returns encodes to a message that
//! it reads the same way again. Options that RPL's non-storing mode does not need are passed over (6.7).

use std::net::Ipv6Addr;

use smoltcp::wire::Icmpv6Packet;

use super::options::{
    Advertisement, DodagConfiguration, Options, PrefixInformation, SolicitedInformation, encode_advertisements,
};
use super::sequence::Sequence;

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// DODAG Information Solicitation.
    Dis(Dis),
    /// DODAG Information Object.
    Dio(Dio),
    /// Destination Advertisement Object.
    Dao(Dao),
    /// DAO-ACK.
    DaoAck(DaoAck),
}

/// A DODAG Information Solicitation (6.2): it asks neighbours for DIOs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dis {
    /// Which DODAGs are asked for, if not all.
    pub(crate) solicited: Option<SolicitedInformation>,
}

/// A DODAG Information Object (6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dio {
    /// RPLInstanceID.
    pub(crate) instance: u8,
    /// DODAGVersionNumber.
    pub(crate) version: Sequence,
    /// The Rank of the sender.
    pub(crate) rank: u16,
    /// G: whether the DODAG reaches what the application wants.
    pub(crate) is_grounded: bool,
    /// MOP, 0 to 7.
    pub(crate) mode_of_operation: u8,
    /// Prf: how preferable the root is, 0 to 7.
    pub(crate) preference: u8,
    /// DTSN: it grows when DAOs are to be sent again.
    pub(crate) dtsn: Sequence,
    /// DODAGID: an address of the root.
    pub(crate) dodag_id: Ipv6Addr,
    pub(crate) configuration: Option<DodagConfiguration>,
    pub(crate) prefix: Option<PrefixInformation>,
}

/// A Destination Advertisement Object (6.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dao {
    /// RPLInstanceID.
    pub(crate) instance: u8,
    /// K: whether a DAO-ACK is expected.
    pub(crate) expects_ack: bool,
    /// DODAGID, which need not be sent in a global instance.
    pub(crate) dodag_id: Option<Ipv6Addr>,
    /// DAOSequence.
    pub(crate) sequence: Sequence,
    /// The targets, and who leads to them.
    pub(crate) advertisements: Vec<Advertisement>,
}

/// A DAO-ACK (6.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DaoAck {
    /// RPLInstanceID.
    pub(crate) instance: u8,
    /// DODAGID, which need not be sent in a global instance.
    pub(crate) dodag_id: Option<Ipv6Addr>,
    /// DAOSequence of the DAO.
    pub(crate) sequence: Sequence,
    /// 0: accepted; 128 and above: rejected.
    pub(crate) status: u8,
}

/// Why bytes are no control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageError {
    /// It is another message of ICMPv6.
    NotRpl,
    /// The checksum is wrong.
    Checksum,
    /// The code is unknown, or of a secure variant: the message is to be discarded without an answer (6).
    Code(u8),
    /// Something is missing, or longer than what it stands in.
    Truncated,
    /// An option has a length or value that it cannot have.
    Option(u8),
}

impl Message {
    /// Reads a message, the ICMPv6 header included.
    pub(crate) fn parse(source: Ipv6Addr, destination: Ipv6Addr, bytes: &[u8]) -> Result<Self, MessageError> {
        let (header, body) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(MessageError::Truncated)?;
        if header[0] != TYPE {
            return Err(MessageError::NotRpl);
        }
        let packet = Icmpv6Packet::new_unchecked(bytes);
        if !packet.verify_checksum(&source, &destination) {
            return Err(MessageError::Checksum);
        }
        let mut body = Body(body);
        match header[1] {
            code::DIS => Dis::parse(&mut body).map(Self::Dis),
            code::DIO => Dio::parse(&mut body).map(Self::Dio),
            code::DAO => Dao::parse(&mut body).map(Self::Dao),
            code::DAO_ACK => DaoAck::parse(&mut body).map(Self::DaoAck),
            code => Err(MessageError::Code(code)),
        }
    }

    /// Returns the bytes of the message, the ICMPv6 header included.
    pub(crate) fn encode(&self, source: Ipv6Addr, destination: Ipv6Addr) -> Vec<u8> {
        let mut bytes = vec![TYPE, self.code(), 0, 0];
        match self {
            Self::Dis(dis) => dis.encode(&mut bytes),
            Self::Dio(dio) => dio.encode(&mut bytes),
            Self::Dao(dao) => dao.encode(&mut bytes),
            Self::DaoAck(ack) => ack.encode(&mut bytes),
        }
        Icmpv6Packet::new_unchecked(&mut bytes[..]).fill_checksum(&source, &destination);
        bytes
    }

    const fn code(&self) -> u8 {
        match self {
            Self::Dis(_) => code::DIS,
            Self::Dio(_) => code::DIO,
            Self::Dao(_) => code::DAO,
            Self::DaoAck(_) => code::DAO_ACK,
        }
    }
}

impl Dis {
    fn parse(body: &mut Body<'_>) -> Result<Self, MessageError> {
        body.array::<2>()?;
        Ok(Self { solicited: Options::parse(body)?.solicited })
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend([0, 0]);
        if let Some(solicited) = &self.solicited {
            solicited.encode(bytes);
        }
    }
}

impl Dio {
    fn parse(body: &mut Body<'_>) -> Result<Self, MessageError> {
        let [instance, version, high, low, flags, dtsn, _, _] = body.array()?;
        let dodag_id = body.address()?;
        let options = Options::parse(body)?;
        Ok(Self {
            instance,
            version: Sequence(version),
            rank: u16::from_be_bytes([high, low]),
            is_grounded: flags & 0x80 != 0,
            mode_of_operation: flags >> 3 & 7,
            preference: flags & 7,
            dtsn: Sequence(dtsn),
            dodag_id,
            configuration: options.configuration,
            prefix: options.prefix,
        })
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let [high, low] = self.rank.to_be_bytes();
        let flags = u8::from(self.is_grounded) << 7 | (self.mode_of_operation & 7) << 3 | self.preference & 7;
        bytes.extend([self.instance, self.version.0, high, low, flags, self.dtsn.0, 0, 0]);
        bytes.extend(self.dodag_id.octets());
        if let Some(configuration) = &self.configuration {
            configuration.encode(bytes);
        }
        if let Some(prefix) = &self.prefix {
            prefix.encode(bytes);
        }
    }
}

impl Dao {
    fn parse(body: &mut Body<'_>) -> Result<Self, MessageError> {
        let [instance, flags, _, sequence] = body.array()?;
        let dodag_id = if flags & 0x40 != 0 { Some(body.address()?) } else { None };
        let advertisements = Options::parse(body)?.advertisements;
        let sequence = Sequence(sequence);
        Ok(Self { instance, expects_ack: flags & 0x80 != 0, dodag_id, sequence, advertisements })
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let flags = u8::from(self.expects_ack) << 7 | u8::from(self.dodag_id.is_some()) << 6;
        bytes.extend([self.instance, flags, 0, self.sequence.0]);
        bytes.extend(self.dodag_id.iter().flat_map(Ipv6Addr::octets));
        encode_advertisements(&self.advertisements, bytes);
    }
}

impl DaoAck {
    fn parse(body: &mut Body<'_>) -> Result<Self, MessageError> {
        let [instance, flags, sequence, status] = body.array()?;
        let dodag_id = if flags & 0x80 != 0 { Some(body.address()?) } else { None };
        Options::parse(body)?;
        Ok(Self { instance, dodag_id, sequence: Sequence(sequence), status })
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend([self.instance, u8::from(self.dodag_id.is_some()) << 7, self.sequence.0, self.status]);
        bytes.extend(self.dodag_id.iter().flat_map(Ipv6Addr::octets));
    }
}

/// What remains to be read of a message or an option.
#[derive(Debug)]
pub(super) struct Body<'a>(pub(super) &'a [u8]);

impl<'a> Body<'a> {
    /// Takes a field of `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (field, rest) = self.0.split_first_chunk().ok_or(MessageError::Truncated)?;
        self.0 = rest;
        Ok(*field)
    }

    /// Takes an IPv6 address.
    pub(super) fn address(&mut self) -> Result<Ipv6Addr, MessageError> {
        self.array::<16>().map(Ipv6Addr::from)
    }

    /// Takes `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], MessageError> {
        let (field, rest) = self.0.split_at_checked(len).ok_or(MessageError::Truncated)?;
        self.0 = rest;
        Ok(field)
    }
}

/// The link-local address of all RPL nodes (6).
pub(crate) const ALL_RPL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1A);
/// The Rank of a node without a route to the root (17).
pub(crate) const INFINITE_RANK: u16 = 0xFFFF;
/// MOP of the non-storing mode (6.3.1).
pub(crate) const NON_STORING: u8 = 1;

/// The type of RPL's messages in ICMPv6.
const TYPE: u8 = 155;
/// Type, code, checksum.
const HEADER_LEN: usize = 4;

/// The codes of the messages (6).
mod code {
    pub(super) const DIS: u8 = 0x00;
    pub(super) const DIO: u8 = 0x01;
    pub(super) const DAO: u8 = 0x02;
    pub(super) const DAO_ACK: u8 = 0x03;
}

#[cfg(test)]
mod tests;
