//! The name of the server that a client wants to reach (RFC 6066, 3).

use super::InvalidMessage;
use super::codec::{Encode, List, Parse, Reader, Writer, non_empty};
use super::{Extension, ExtensionType};

/// `server_name` (RFC 6066, 3): names of distinct types from the client, an empty body from the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ServerNameList<'a> {
    Names(List<'a, ServerName<'a>>),
    Acknowledged,
}

impl<'a> ServerNameList<'a> {
    /// Returns the host name, if there is one. Names of other types are ignored.
    pub(crate) fn host_name(&self) -> Result<Option<&'a str>, InvalidMessage> {
        let Self::Names(names) = self else { return Ok(None) };
        let mut host_names = names.iter().filter(|name| name.name_type == ServerName::HOST_NAME);
        let Some(ServerName { name, .. }) = host_names.next() else { return Ok(None) };
        if host_names.next().is_some() || !name.iter().all(u8::is_ascii_graphic) {
            return Err(InvalidMessage::IllegalValue);
        }
        core::str::from_utf8(name).map(Some).map_err(|_| InvalidMessage::IllegalValue)
    }
}

impl<'a> Parse<'a> for ServerNameList<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        if reader.is_empty() {
            return Ok(Self::Acknowledged);
        }
        List::new(non_empty(reader.vec16()?)?).map(Self::Names)
    }
}

impl Encode for ServerNameList<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        if let Self::Names(names) = self {
            writer.vec::<2>(|writer| names.encode(writer));
        }
    }
}

impl<'a> Extension<'a> for ServerNameList<'a> {
    const TYPE: ExtensionType = ExtensionType::SERVER_NAME;
}

/// `ServerName` (RFC 6066, 3). Names of all types begin with a length of 16 bits, so that unknown types can be skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerName<'a> {
    pub(crate) name_type: u8,
    pub(crate) name: &'a [u8],
}

impl<'a> ServerName<'a> {
    /// NameType `host_name`.
    const HOST_NAME: u8 = 0;

    pub(crate) const fn host(name: &'a str) -> Self {
        Self { name_type: Self::HOST_NAME, name: name.as_bytes() }
    }
}

impl<'a> Parse<'a> for ServerName<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, InvalidMessage> {
        let (name_type, name) = (reader.u8()?, reader.vec16()?);
        if name_type == Self::HOST_NAME {
            non_empty(name)?;
        }
        Ok(Self { name_type, name })
    }
}

impl Encode for ServerName<'_> {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.u8(self.name_type);
        writer.vec16(self.name);
    }
}
