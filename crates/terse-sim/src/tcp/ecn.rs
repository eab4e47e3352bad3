//! Explicit congestion notification (RFC 3168): the codepoint of the IP header, and a connection's two halves of the echo.

use super::{EcnMode, Flags, SequenceNumber};

/// The ECN field of the IP header (RFC 3168, 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// 00: the packet is dropped where there is congestion.
    #[default]
    NotEct,
    /// 01: the packet may be marked (and, by RFC 9331, asks for another treatment).
    Ect1,
    /// 10: the packet may be marked.
    Ect0,
    /// 11: the packet was marked: there is congestion.
    Ce,
}

impl Ecn {
    /// Returns the codepoint in the two lowest bits of the traffic class.
    pub const fn from_bits(traffic_class: u8) -> Self {
        match traffic_class & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns the codepoint as two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// The state of ECN in a connection.
#[derive(Clone, Debug)]
pub(super) struct EcnState {
    mode: EcnMode,
    /// Whether both sides have agreed on ECN (RFC 3168, 6.1.1).
    pub(super) agreed: bool,
    /// As receiver: whether a mark is echoed, until the sender answers (RFC 3168, 6.1.3).
    echo: bool,
    /// As sender: whether the window was reduced, so that the next new data says so (RFC 3168, 6.1.2).
    reduced: bool,
    /// As sender: the number up to which all must be acknowledged before the window is reduced again.
    until: SequenceNumber,
}

impl EcnState {
    pub(super) const fn new(mode: EcnMode, initial_sequence: SequenceNumber) -> Self {
        Self { mode, agreed: false, echo: false, reduced: false, until: initial_sequence }
    }

    /// Sets the flags of a SYN that requests ECN, or of a SYN-ACK that accepts it. A retransmission does not request it
    /// again: somebody on the path may have dropped the SYN for its flags (RFC 3168, 6.1.1.1).
    pub(super) fn handshake_flags(&self, flags: &mut Flags, answers: bool, retransmitted: bool) {
        if answers {
            flags.ece = self.agreed;
        } else if self.mode == EcnMode::On && !retransmitted {
            (flags.ece, flags.cwr) = (true, true);
        }
    }

    /// Takes the flags of a SYN. A SYN requests with both flags; a SYN-ACK accepts with ECE alone.
    pub(super) fn take_handshake(&mut self, flags: Flags, answers: bool, asked: bool) {
        self.agreed = if answers {
            asked && self.mode == EcnMode::On && flags.ece && !flags.cwr
        } else {
            self.mode != EcnMode::Off && flags.ece && flags.cwr
        };
    }

    /// Takes the flags and codepoint of a segment. Returns whether it was marked.
    pub(super) fn receive(&mut self, flags: Flags, codepoint: Ecn) -> bool {
        if !self.agreed {
            return false;
        }
        self.echo &= !flags.cwr;
        self.echo |= codepoint == Ecn::Ce;
        codepoint == Ecn::Ce
    }

    /// Whether an echo requires a smaller window now: this is so once for each window of data.
    pub(super) fn should_reduce(&self, flags: Flags, acknowledged: SequenceNumber) -> bool {
        self.agreed && flags.ece && !acknowledged.is_before(self.until)
    }

    /// Notes that the window was reduced, for an echo or a loss, when all up to `next` had been sent.
    pub(super) fn reduced(&mut self, next: SequenceNumber) {
        if self.agreed {
            self.reduced = true;
            self.until = next;
        }
    }

    /// Sets the flags of a segment, and returns its codepoint. Only new data carries CWR, and only new data may be
    /// marked.
    pub(super) fn send(&mut self, flags: &mut Flags, new_data: bool) -> Ecn {
        if !self.agreed {
            return Ecn::NotEct;
        }
        flags.ece = self.echo;
        if !new_data {
            return Ecn::NotEct;
        }
        flags.cwr = core::mem::take(&mut self.reduced);
        Ecn::Ect0
    }
}
