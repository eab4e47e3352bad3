//! What both versions agree on alike: the application protocol (RFC 7301), the sizes of records (RFC 8449, RFC 6066),
//! and over datagrams connection IDs (RFC 9146) and checks of return routability (RFC 9853).

use alloc::vec::Vec;

use super::Output;
use crate::config::{ClientConfig, ServerConfig};
use crate::error::{Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};
use crate::wire::{
    ConnectionId, EncodeError, ExtensionType, Extensions, ExtensionsBuilder, List, MaxFragmentLength, ProtocolName,
    ProtocolNameList, ProtocolVersion, RecordSizeLimit, Rrc, ServerNameList,
};

/// 2^14 bytes and, in TLS 1.3, the content type (RFC 8449, 4).
const MAX_RECORD_SIZE_LIMIT: u16 = 0x4000;

/// A client reads what the server agreed to.
pub(super) fn read(
    config: &ClientConfig,
    extensions: Extensions<'_>,
    version: ProtocolVersion,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    if let Some(ServerNameList::Names(_)) = extensions.get()? {
        return Err(InvalidMessage::TrailingData.into()); // RFC 6066, 3: the answer is empty
    }
    application_protocol(config, extensions.get()?, output)?;
    read_connection_id(extensions, output)?;
    record_sizes(config, extensions.get()?, extensions.get()?, version, output)
}

/// A client reads the server's connection ID. In DTLS 1.3 it stands in the ServerHello (RFC 9147, 9.1).
pub(super) fn read_connection_id(extensions: Extensions<'_>, output: &mut Output<'_>) -> Result<(), Error> {
    if let Some(ConnectionId(cid)) = extensions.get()? {
        connection_ids(cid, output);
        // RFC 9853, 3: without the other there is none.
        output.agreed.return_routability_check = extensions.get::<Rrc>()?.is_some();
    }
    Ok(())
}

/// RFC 9146, 3: both sides put the other's connection ID into their protected records, unless it is empty.
fn connection_ids(theirs: &[u8], output: &mut Output<'_>) {
    output.link.use_connection_id(theirs);
    output.receive.connection_id = true;
    output.agreed.connection_ids = true;
}

/// A server answers a client's connection ID with its own, if the link has them, and what goes with it.
pub(super) fn answer_connection_id(
    offered: Extensions<'_>,
    extensions: &mut ExtensionsBuilder,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    // Before they are parsed: on a stream they mean nothing, whatever is in them.
    let Some((ours, checks_routability)) = output.link.connection_id() else { return Ok(()) };
    let Some(ConnectionId(theirs)) = offered.get()? else { return Ok(()) };
    extensions.push(&ConnectionId(ours))?;
    connection_ids(theirs, output);
    if checks_routability && offered.get::<Rrc>()?.is_some() {
        extensions.push(&Rrc)?;
        output.agreed.return_routability_check = true;
    }
    Ok(())
}

/// RFC 7301, 3.1: exactly one, of those that were offered.
fn application_protocol(
    config: &ClientConfig,
    selected: Option<ProtocolNameList<'_>>,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let Some(ProtocolNameList(list)) = selected else { return Ok(()) };
    let mut names = list.iter();
    match (names.next(), names.next()) {
        (Some(name), None) if config.common.alpn_protocols.iter().any(|ours| ours == name.0) => {
            output.agreed.application_protocol = Some(name.0.into());
            Ok(())
        }
        _ => Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::APPLICATION_LAYER_PROTOCOL_NEGOTIATION).into()),
    }
}

/// RFC 8449, 4 and RFC 6066, 4: not both.
fn record_sizes(
    config: &ClientConfig,
    limit: Option<RecordSizeLimit>,
    length: Option<MaxFragmentLength>,
    version: ProtocolVersion,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    match (limit, length) {
        (Some(_), Some(_)) => return Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::MAX_FRAGMENT_LENGTH).into()),
        (Some(RecordSizeLimit(theirs)), None) => {
            let ours = config.common.record_size_limit.unwrap_or(RecordSizeLimit::max(version));
            limit_records(theirs, ours, version, output);
        }
        (None, Some(length)) if Some(length) != config.max_fragment_length => {
            return Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::MAX_FRAGMENT_LENGTH).into());
        }
        (None, Some(length)) => max_fragment_length(length, version, output),
        (None, None) => {}
    }
    Ok(())
}

impl RecordSizeLimit {
    /// What stands for "no limit".
    pub(super) const fn max(version: ProtocolVersion) -> u16 {
        MAX_RECORD_SIZE_LIMIT + content_type(version)
    }
}

/// How many bytes of the limit the content type takes: it is encrypted in TLS 1.3 only (RFC 8449, 4).
const fn content_type(version: ProtocolVersion) -> u16 {
    match version {
        ProtocolVersion::TLS_1_3 => 1,
        _ => 0,
    }
}

fn limit_records(theirs: u16, ours: u16, version: ProtocolVersion, output: &mut Output<'_>) {
    output.link.limits().limit_protected(usize::from(theirs - content_type(version))); // at least 64
    output.receive.max_inner = Some(ours.min(RecordSizeLimit::max(version)).into());
}

fn max_fragment_length(length: MaxFragmentLength, version: ProtocolVersion, output: &mut Output<'_>) {
    output.link.limits().limit(length.bytes());
    output.receive.max_inner = Some(length.bytes() + usize::from(content_type(version)));
}

/// What a client says about the sizes of records.
pub(super) enum RecordSizes {
    Any,
    Limit(RecordSizeLimit),
    Fragments(MaxFragmentLength),
}

impl RecordSizes {
    /// RFC 8449, 5: `record_size_limit` replaces `max_fragment_length`, of which a malformed one is refused all the
    /// same.
    pub(super) fn parse(offered: Extensions<'_>) -> Result<Self, Error> {
        let length = offered.get()?.map_or(Self::Any, Self::Fragments);
        Ok(offered.get()?.map_or(length, Self::Limit))
    }

    /// A server follows its client.
    pub(super) fn answer(
        &self,
        config: &ServerConfig,
        version: ProtocolVersion,
        extensions: &mut ExtensionsBuilder,
        output: &mut Output<'_>,
    ) -> Result<(), EncodeError> {
        match *self {
            Self::Any => {}
            Self::Limit(RecordSizeLimit(theirs)) => {
                let ours = config.common.record_size_limit.unwrap_or(u16::MAX).min(RecordSizeLimit::max(version));
                extensions.push(&RecordSizeLimit(ours))?;
                limit_records(theirs, ours, version, output);
            }
            Self::Fragments(length) => {
                extensions.push(&length)?;
                max_fragment_length(length, version, output);
            }
        }
        Ok(())
    }
}

/// RFC 7301, 3.2: a server without ALPN ignores it; one with it insists.
pub(super) fn select_application_protocol(
    config: &ServerConfig,
    offered: Extensions<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let offered: Option<ProtocolNameList<'_>> = offered.get()?;
    let ours = &config.common.alpn_protocols;
    let Some(ProtocolNameList(theirs)) = offered.filter(|_| !ours.is_empty()) else { return Ok(None) };
    let chosen = ours.iter().find(|ours| theirs.iter().any(|ProtocolName(name)| name == **ours));
    Ok(Some(chosen.ok_or(PeerIncompatible::NoCommonApplicationProtocol)?.clone()))
}

/// The answer to ALPN.
pub(super) fn answer_application_protocol(
    name: Option<&[u8]>,
    extensions: &mut ExtensionsBuilder,
) -> Result<(), EncodeError> {
    match name {
        Some(name) => extensions.push(&ProtocolNameList(List::Items(&[ProtocolName(name)]))),
        None => Ok(()),
    }
}

/// The host name that a client asks for.
pub(super) fn server_name<'a>(offered: Extensions<'a>) -> Result<Option<&'a str>, Error> {
    match offered.get()? {
        Some(ServerNameList::Acknowledged) => Err(InvalidMessage::Truncated.into()),
        Some(names) => Ok(names.host_name()?),
        None => Ok(None),
    }
}
