//! An identity: the name that an identity key is made for.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};
use core::str::FromStr;

use pki_types::DnsName;

use crate::printable::Printable;

/// The type of an [`Identity`], the first byte of its encoding. A type without a name here has any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdentityType(pub u8);

impl IdentityType {
    /// A DNS name in lower case, as an A-label (RFC 5890, 2.3.2.1), without a dot at its end.
    pub const DNS_NAME: Self = Self(1);
    /// A name that the operator gives a device: any bytes, usually UTF-8.
    pub const DEVICE_NAME: Self = Self(2);
    /// An EUI-64: 8 bytes.
    pub const EUI_64: Self = Self(3);
}

/// An identity: its type, and 1 to 254 bytes. Identities are compared byte for byte.
///
/// As text it is `dns:broker.example`, `device:pump 7` or `eui64:0200000000000001`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The type, then the bytes.
    encoded: Vec<u8>,
}

/// The reason why something is not an [`Identity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityError {
    /// There are no bytes, or more than 254.
    Length,
    /// The DNS name is malformed, or has an upper-case letter or a dot at its end.
    DnsName,
    /// An EUI-64 does not have 8 bytes, or 16 hexadecimal digits as text.
    Eui64,
    /// The text does not begin with `dns:`, `device:` or `eui64:`.
    UnknownType,
}

impl Identity {
    /// The most bytes after the type.
    pub const MAX_LEN: usize = 254;

    /// Creates an identity of `kind`. The types that have names here are checked.
    pub fn new(kind: IdentityType, bytes: &[u8]) -> Result<Self, IdentityError> {
        if bytes.is_empty() || bytes.len() > Self::MAX_LEN {
            return Err(IdentityError::Length);
        }
        match kind {
            IdentityType::DNS_NAME if !is_dns_name(bytes) => return Err(IdentityError::DnsName),
            IdentityType::EUI_64 if bytes.len() != 8 => return Err(IdentityError::Eui64),
            _ => {}
        }
        let mut encoded = Vec::with_capacity(1 + bytes.len());
        encoded.push(kind.0);
        encoded.extend_from_slice(bytes);
        Ok(Self { encoded })
    }

    /// Creates the identity of a DNS name, which is put into lower case.
    pub fn dns_name(name: &DnsName<'_>) -> Result<Self, IdentityError> {
        let name = name.to_lowercase_owned();
        let name = name.as_ref();
        Self::new(IdentityType::DNS_NAME, name.strip_suffix('.').unwrap_or(name).as_bytes())
    }

    /// Creates the identity of a device with this EUI-64.
    pub fn eui64(eui64: [u8; 8]) -> Self {
        let mut encoded = Vec::from([IdentityType::EUI_64.0]);
        encoded.extend_from_slice(&eui64);
        Self { encoded }
    }

    /// Reads an identity from its encoding, `type || bytes`.
    pub fn decode(encoded: &[u8]) -> Result<Self, IdentityError> {
        let (kind, bytes) = encoded.split_first().ok_or(IdentityError::Length)?;
        Self::new(IdentityType(*kind), bytes)
    }

    /// Returns the encoding, `type || bytes`: 2 to 255 bytes.
    pub fn encoded(&self) -> &[u8] {
        &self.encoded
    }

    /// Returns the type.
    pub fn kind(&self) -> IdentityType {
        IdentityType(self.encoded[0])
    }

    /// Returns the bytes after the type.
    pub fn bytes(&self) -> &[u8] {
        &self.encoded[1..]
    }

    /// Returns the form that is hashed: `type(1) || length(2) || bytes || epoch(4)`.
    pub fn hashed(&self, epoch: u32) -> Vec<u8> {
        let bytes = self.bytes();
        let mut hashed = Vec::with_capacity(7 + bytes.len());
        hashed.push(self.kind().0);
        hashed.extend_from_slice(&(bytes.len() as u16).to_be_bytes()); // at most 254
        hashed.extend_from_slice(bytes);
        hashed.extend_from_slice(&epoch.to_be_bytes());
        hashed
    }
}

fn is_dns_name(bytes: &[u8]) -> bool {
    let is_valid = DnsName::try_from(bytes).is_ok();
    is_valid && !bytes.ends_with(b".") && !bytes.iter().any(u8::is_ascii_uppercase)
}

/// Parses the text form. A DNS name is put into lower case.
impl FromStr for Identity {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let (kind, name) = text.split_once(':').ok_or(IdentityError::UnknownType)?;
        match kind {
            "dns" => Self::dns_name(&DnsName::try_from(name).map_err(|_| IdentityError::DnsName)?),
            "device" => Self::new(IdentityType::DEVICE_NAME, name.as_bytes()),
            "eui64" => Ok(Self::eui64(parse_eui64(name).ok_or(IdentityError::Eui64)?)),
            _ => Err(IdentityError::UnknownType),
        }
    }
}

fn parse_eui64(digits: &str) -> Option<[u8; 8]> {
    let digits: Vec<_> = digits.bytes().filter(|byte| !matches!(byte, b'-' | b':')).collect();
    let is_hex = digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit);
    let text = core::str::from_utf8(&digits).ok().filter(|_| is_hex)?;
    u64::from_str_radix(text, 16).ok().map(u64::to_be_bytes)
}

/// Prints the text form. Characters that would move the cursor of a terminal, or begin a line of a log, are escaped, and
/// bytes that are no UTF-8 are replaced.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |f: &mut fmt::Formatter<'_>| self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"));
        let text = alloc::string::String::from_utf8_lossy(self.bytes());
        match self.kind() {
            IdentityType::DNS_NAME => write!(Printable(f), "dns:{text}"),
            IdentityType::DEVICE_NAME => write!(Printable(f), "device:{text}"),
            IdentityType::EUI_64 => f.write_str("eui64:").and_then(|()| hex(f)),
            IdentityType(kind) => write!(f, "type{kind}:").and_then(|()| hex(f)),
        }
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_string())
    }
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Length => "an identity has 1 to 254 bytes",
            Self::DnsName => "the DNS name of an identity is malformed, or not in lower case",
            Self::Eui64 => "an EUI-64 has 8 bytes: 16 hexadecimal digits",
            Self::UnknownType => {
                "an identity is written as dns:NAME, device:NAME or eui64:DIGITS (16 hexadecimal digits)"
            }
        })
    }
}

impl core::error::Error for IdentityError {}
