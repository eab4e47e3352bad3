//! The options of RPL's control messages (RFC 6550, 6.7).
//!
//! What must always hold: an option is read within its length; the number of options is bounded by the length of the message.

use std::net::Ipv6Addr;

use super::messages::{Body, MessageError};
use super::trickle::Parameters;

/// The options of a message, by kind. Of an option that may stand there once, the last one counts.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) configuration: Option<DodagConfiguration>,
    pub(super) prefix: Option<PrefixInformation>,
    pub(super) solicited: Option<SolicitedInformation>,
    pub(super) advertisements: Vec<Advertisement>,
}

/// DODAG Configuration (6.7.6): what the root decides for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DodagConfiguration {
    /// A: whether nodes authenticate with a key authority.
    pub is_authenticated: bool,
    /// PCS, 0 to 7.
    pub path_control_size: u8,
    /// DIOIntervalMin, DIOIntervalDoublings and DIORedundancyConstant.
    pub trickle: Parameters,
    /// MaxRankIncrease: how much a node's Rank may grow within a version; 0 for without a limit.
    pub max_rank_increase: u16,
    /// MinHopRankIncrease.
    pub min_hop_rank_increase: u16,
    /// OCP: the Objective Function, 0 for OF0.
    pub objective_code_point: u16,
    /// The lifetime of routes, in units; 255 is infinite.
    pub default_lifetime: u8,
    /// The unit of lifetimes in seconds.
    pub lifetime_unit: u16,
}

/// Prefix Information (6.7.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrefixInformation {
    /// How many bits of the prefix are valid.
    pub(crate) prefix_length: u8,
    /// A: whether addresses are made from the prefix.
    pub(crate) is_autonomous: bool,
    /// R: whether the prefix is the whole address of the sender.
    pub(crate) is_router_address: bool,
    /// In seconds.
    pub(crate) valid_lifetime: u32,
    /// In seconds.
    pub(crate) preferred_lifetime: u32,
    pub(crate) prefix: Ipv6Addr,
}

/// Solicited Information (6.7.9): the predicates that a node matches to answer a DIS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SolicitedInformation {
    /// V: the DODAGVersionNumber.
    pub(crate) version: Option<u8>,
    /// I: the RPLInstanceID.
    pub(crate) instance: Option<u8>,
    /// D: the DODAGID.
    pub(crate) dodag_id: Option<Ipv6Addr>,
}

/// Targets, and who leads to them: RPL Target options, and the Transit Information options that follow (6.7.8, 9.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advertisement {
    pub(crate) targets: Vec<Target>,
    pub(crate) transits: Vec<Transit>,
}

/// RPL Target (6.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// How many bits of the prefix are valid: 128 for a node.
    pub(crate) prefix_length: u8,
    pub(crate) prefix: Ipv6Addr,
}

/// Transit Information (6.7.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transit {
    /// E: whether the targets are outside of the network.
    pub(crate) is_external: bool,
    /// Path Control: the more significant the highest bit, the more preferable the parent (6.7.8, figure 27).
    pub(crate) path_control: u8,
    /// Path Sequence.
    pub(crate) path_sequence: u8,
    /// Path Lifetime in units: 0 is the loss of the path, 255 is infinite.
    pub(crate) path_lifetime: u8,
    /// The parent, in non-storing mode.
    pub(crate) parent: Option<Ipv6Addr>,
}

impl Options {
    pub(super) fn parse(body: &mut Body<'_>) -> Result<Self, MessageError> {
        let mut options = Self::default();
        while !body.0.is_empty() {
            let [kind] = body.array()?;
            if kind == kind::PAD_1 {
                continue;
            }
            let [len] = body.array()?;
            options.take(kind, &mut Body(body.take(len.into())?))?;
        }
        let all_have_parents = options.advertisements.iter().all(|one| !one.transits.is_empty());
        // 9.4: targets are followed by Transit Information.
        if all_have_parents { Ok(options) } else { Err(MessageError::Option(kind::RPL_TARGET)) }
    }

    fn take(&mut self, kind: u8, option: &mut Body<'_>) -> Result<(), MessageError> {
        match kind {
            kind::DODAG_CONFIGURATION => self.configuration = Some(DodagConfiguration::parse(option)?),
            kind::PREFIX_INFORMATION => self.prefix = Some(PrefixInformation::parse(option)?),
            kind::SOLICITED_INFORMATION => self.solicited = Some(SolicitedInformation::parse(option)?),
            kind::RPL_TARGET => {
                let target = Target::parse(option)?;
                match self.advertisements.last_mut().filter(|last| last.transits.is_empty()) {
                    Some(last) => last.targets.push(target),
                    None => self.advertisements.push(Advertisement { targets: vec![target], transits: Vec::new() }),
                }
            }
            kind::TRANSIT_INFORMATION => {
                let last = self.advertisements.last_mut().ok_or(MessageError::Option(kind))?;
                last.transits.push(Transit::parse(option)?);
            }
            // PadN, metrics, routes, descriptors, and what is not known.
            _ => {}
        }
        Ok(())
    }
}

impl DodagConfiguration {
    fn parse(option: &mut Body<'_>) -> Result<Self, MessageError> {
        let [flags, interval_doublings, interval_min, redundancy] = option.array()?;
        let max_rank_increase = u16::from_be_bytes(option.array()?);
        let min_hop_rank_increase = u16::from_be_bytes(option.array()?);
        let objective_code_point = u16::from_be_bytes(option.array()?);
        let [_, default_lifetime] = option.array()?;
        let lifetime_unit = u16::from_be_bytes(option.array()?);
        if min_hop_rank_increase == 0 {
            return Err(MessageError::Option(kind::DODAG_CONFIGURATION)); // DAGRank divides by it (3.5.1)
        }
        Ok(Self {
            is_authenticated: flags & 8 != 0,
            path_control_size: flags & 7,
            trickle: Parameters { interval_min, doublings: interval_doublings, redundancy },
            max_rank_increase,
            min_hop_rank_increase,
            objective_code_point,
            default_lifetime,
            lifetime_unit,
        })
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let flags = u8::from(self.is_authenticated) << 3 | self.path_control_size & 7;
        let Parameters { interval_min, doublings, redundancy } = self.trickle;
        bytes.extend([kind::DODAG_CONFIGURATION, 14, flags, doublings, interval_min, redundancy]);
        bytes.extend(self.max_rank_increase.to_be_bytes());
        bytes.extend(self.min_hop_rank_increase.to_be_bytes());
        bytes.extend(self.objective_code_point.to_be_bytes());
        bytes.extend([0, self.default_lifetime]);
        bytes.extend(self.lifetime_unit.to_be_bytes());
    }
}

impl PrefixInformation {
    fn parse(option: &mut Body<'_>) -> Result<Self, MessageError> {
        let [prefix_length, flags] = option.array()?;
        let valid_lifetime = u32::from_be_bytes(option.array()?);
        let preferred_lifetime = u32::from_be_bytes(option.array()?);
        option.array::<4>()?;
        let prefix = option.address()?;
        if prefix_length > 128 {
            return Err(MessageError::Option(kind::PREFIX_INFORMATION));
        }
        let (is_autonomous, is_router_address) = (flags & 0x40 != 0, flags & 0x20 != 0);
        Ok(Self { prefix_length, is_autonomous, is_router_address, valid_lifetime, preferred_lifetime, prefix })
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        // L is never set: a router must not pass it on (6.7.10).
        let flags = u8::from(self.is_autonomous) << 6 | u8::from(self.is_router_address) << 5;
        bytes.extend([kind::PREFIX_INFORMATION, 30, self.prefix_length, flags]);
        bytes.extend(self.valid_lifetime.to_be_bytes());
        bytes.extend(self.preferred_lifetime.to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(self.prefix.octets());
    }
}

impl SolicitedInformation {
    fn parse(option: &mut Body<'_>) -> Result<Self, MessageError> {
        let [instance, flags] = option.array()?;
        let dodag_id = option.address()?;
        let [version] = option.array()?;
        Ok(Self {
            version: (flags & 0x80 != 0).then_some(version),
            instance: (flags & 0x40 != 0).then_some(instance),
            dodag_id: (flags & 0x20 != 0).then_some(dodag_id),
        })
    }

    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let flag = |is_there: bool, bit: u8| u8::from(is_there) << bit;
        let flags =
            flag(self.version.is_some(), 7) | flag(self.instance.is_some(), 6) | flag(self.dodag_id.is_some(), 5);
        bytes.extend([kind::SOLICITED_INFORMATION, 19, self.instance.unwrap_or(0), flags]);
        bytes.extend(self.dodag_id.unwrap_or(Ipv6Addr::UNSPECIFIED).octets());
        bytes.push(self.version.unwrap_or(0));
    }
}

impl Target {
    fn parse(option: &mut Body<'_>) -> Result<Self, MessageError> {
        let [_, prefix_length] = option.array()?;
        let mut octets = [0; 16];
        let len = usize::from(prefix_length).div_ceil(8);
        let prefix = octets.get_mut(..len).ok_or(MessageError::Option(kind::RPL_TARGET))?;
        prefix.copy_from_slice(option.take(len)?);
        // Bits after the prefix are ignored.
        if let Some(last) = prefix.last_mut() {
            *last &= 0xFF << (len * 8 - usize::from(prefix_length));
        }
        Ok(Self { prefix_length, prefix: octets.into() })
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let len = usize::from(self.prefix_length.min(128)).div_ceil(8);
        bytes.extend([kind::RPL_TARGET, 2 + len as u8, 0, self.prefix_length.min(128)]);
        bytes.extend(&self.prefix.octets()[..len]);
    }
}

impl Transit {
    fn parse(option: &mut Body<'_>) -> Result<Self, MessageError> {
        let [flags, path_control, path_sequence, path_lifetime] = option.array()?;
        let parent = if option.0.is_empty() { None } else { Some(option.address()?) };
        Ok(Self { is_external: flags & 0x80 != 0, path_control, path_sequence, path_lifetime, parent })
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let len = if self.parent.is_some() { 20 } else { 4 };
        let flags = u8::from(self.is_external) << 7;
        bytes.extend([kind::TRANSIT_INFORMATION, len, flags]);
        bytes.extend([self.path_control, self.path_sequence, self.path_lifetime]);
        bytes.extend(self.parent.iter().flat_map(Ipv6Addr::octets));
    }
}

/// Writes the targets of a DAO, each group followed by its Transit Information.
pub(super) fn encode_advertisements(advertisements: &[Advertisement], bytes: &mut Vec<u8>) {
    for advertisement in advertisements {
        advertisement.targets.iter().for_each(|target| target.encode(bytes));
        advertisement.transits.iter().for_each(|transit| transit.encode(bytes));
    }
}

/// The types of options (20.4).
mod kind {
    pub(super) const PAD_1: u8 = 0x00;
    pub(super) const DODAG_CONFIGURATION: u8 = 0x04;
    pub(super) const RPL_TARGET: u8 = 0x05;
    pub(super) const TRANSIT_INFORMATION: u8 = 0x06;
    pub(super) const SOLICITED_INFORMATION: u8 = 0x07;
    pub(super) const PREFIX_INFORMATION: u8 = 0x08;
}
