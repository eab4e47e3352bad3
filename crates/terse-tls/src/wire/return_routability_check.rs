//! The return routability check (RFC 9853): the extension `rrc`, and the messages of its content type.

use super::InvalidMessage;
use super::codec::{Encode, Parse, Reader, Writer, empty};
use super::{Extension, ExtensionType};

empty! {
    /// `rrc` (RFC 9853, 3).
    Rrc
}

impl Extension<'_> for Rrc {
    const TYPE: ExtensionType = ExtensionType::RRC;
}

/// `return_routability_check` (RFC 9853, 4). Messages of unknown types do not parse, so that the receiver can ignore
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names)] // the RFC's own names
pub(crate) enum ReturnRoutabilityCheck {
    /// Asks the peer to return the cookie at once to the address that the challenge came from.
    PathChallenge(PathCookie),
    /// Returns the cookie of a challenge that came on a path in use.
    PathResponse(PathCookie),
    /// Returns the cookie of a challenge that came on a path that is not preferred any more.
    PathDrop(PathCookie),
}

/// `Cookie`: 64 random bits.
pub(crate) type PathCookie = [u8; 8];

impl ReturnRoutabilityCheck {
    /// The length of each message in bytes.
    pub(crate) const LEN: usize = 1 + 8;

    /// Returns `rrc_msg_type` and the cookie.
    const fn parts(&self) -> (u8, &PathCookie) {
        match self {
            Self::PathChallenge(cookie) => (0, cookie),
            Self::PathResponse(cookie) => (1, cookie),
            Self::PathDrop(cookie) => (2, cookie),
        }
    }
}

impl Parse<'_> for ReturnRoutabilityCheck {
    fn parse(reader: &mut Reader<'_>) -> Result<Self, InvalidMessage> {
        let message = match reader.u8()? {
            0 => Self::PathChallenge,
            1 => Self::PathResponse,
            2 => Self::PathDrop,
            _ => return Err(InvalidMessage::IllegalValue),
        };
        reader.array().map(message)
    }
}

impl Encode for ReturnRoutabilityCheck {
    fn encode(&self, writer: &mut Writer<'_>) {
        let (msg_type, cookie) = self.parts();
        writer.u8(msg_type);
        writer.bytes(cookie);
    }
}
