//! The negotiation that both versions have in common: the application protocol (RFC 7301), record sizes (RFC 8449, RFC
//! 6066), and over datagrams connection IDs (RFC 9146) and return routability checks (RFC 9853).

use alloc::vec::Vec;

use super::Output;
use crate::config::{ClientConfig, ServerConfig};
use crate::error::{Error, InvalidMessage, PeerIncompatible, PeerMisbehaved};
use crate::wire::{
    ConnectionId, EncodeError, ExtensionType, Extensions, ExtensionsBuilder, List, MaxFragmentLength, ProtocolName,
    ProtocolNameList, ProtocolVersion, RecordSizeLimit, Rrc, ServerNameList,
};

/// The largest limit without the content type, which TLS 1.3 adds (RFC 8449, 4): 2^14 bytes.
const MAX_RECORD_SIZE_LIMIT: u16 = 0x4000;

/// Reads the server's answers to a client.
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

/// Reads the server's connection ID for a client. In DTLS 1.3 it is in the ServerHello (RFC 9147, 9.1).
pub(super) fn read_connection_id(extensions: Extensions<'_>, output: &mut Output<'_>) -> Result<(), Error> {
    if let Some(ConnectionId(cid)) = extensions.get()? {
        connection_ids(cid, output);
        // RFC 9853, 3: `rrc` requires `connection_id`.
        output.agreed.return_routability_check = extensions.get::<Rrc>()?.is_some();
    }
    Ok(())
}

/// Uses the negotiated connection IDs. Each side puts the other's ID into its protected records, unless it is empty
/// (RFC 9146, 3).
fn connection_ids(theirs: &[u8], output: &mut Output<'_>) {
    output.link.use_connection_id(theirs);
    output.receive.connection_id = true;
    output.agreed.connection_ids = true;
}

/// Answers a client's connection ID with the server's own, if the link has one, and answers `rrc`.
pub(super) fn answer_connection_id(
    offered: Extensions<'_>,
    extensions: &mut ExtensionsBuilder,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    // On a stream these extensions are ignored, even if they are malformed.
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

/// Reads the selected application protocol, which must be exactly one of those that were offered (RFC 7301, 3.1).
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

/// Reads the negotiated record size, of which only one extension may be selected (RFC 8449, 4; RFC 6066, 4).
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
    /// Returns the value that means "no limit".
    pub(super) const fn max(version: ProtocolVersion) -> u16 {
        MAX_RECORD_SIZE_LIMIT + content_type(version)
    }
}

/// Returns how many bytes of the limit the content type takes: only TLS 1.3 encrypts it (RFC 8449, 4).
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

/// The record size that a client requests.
pub(super) enum RecordSizes {
    Any,
    Limit(RecordSizeLimit),
    Fragments(MaxFragmentLength),
}

impl RecordSizes {
    /// Parses the client's request. `record_size_limit` takes precedence over `max_fragment_length` (RFC 8449, 5),
    /// which must parse nevertheless.
    pub(super) fn parse(offered: Extensions<'_>) -> Result<Self, Error> {
        let length = offered.get()?.map_or(Self::Any, Self::Fragments);
        Ok(offered.get()?.map_or(length, Self::Limit))
    }

    /// Answers the client's request for a server.
    fn answer(
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

/// Selects the application protocol. A server without ALPN ignores the extension; a server with ALPN requires a common
/// protocol (RFC 7301, 3.2).
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

/// Answers what a client offers in every version, in the message that carries a server's answers in `version`. The
/// application protocol was selected before.
pub(super) fn answer(
    config: &ServerConfig,
    record_sizes: &RecordSizes,
    version: ProtocolVersion,
    extensions: &mut ExtensionsBuilder,
    output: &mut Output<'_>,
) -> Result<(), EncodeError> {
    answer_application_protocol(output.agreed.application_protocol.as_deref(), extensions)?;
    record_sizes.answer(config, version, extensions, output)
}

/// Answers with the selected application protocol.
fn answer_application_protocol(name: Option<&[u8]>, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
    match name {
        Some(name) => extensions.push(&ProtocolNameList(List::Items(&[ProtocolName(name)]))),
        None => Ok(()),
    }
}

/// Returns the host name that a client requests.
pub(super) fn server_name<'a>(offered: Extensions<'a>) -> Result<Option<&'a str>, Error> {
    match offered.get()? {
        Some(ServerNameList::Acknowledged) => Err(InvalidMessage::Truncated.into()),
        Some(names) => Ok(names.host_name()?),
        None => Ok(None),
    }
}
