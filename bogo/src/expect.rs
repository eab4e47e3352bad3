//! A connection is compared with the runner's expectations.

use sha2::{Digest as _, Sha256};
use terse_tls::summary::{AuthenticatedBy, EarlyDataStatus, Mode, Summary};
use terse_tls::{CertificateType, Connection, PeerIdentity, ProtocolVersion};

use crate::Failure;
use crate::options::{Options, Refusal};
use crate::sessions::{Kept, Sessions};

/// Checks the status of early data.
pub(crate) fn early_data(options: &Options, summary: &Summary, is_resume: bool) -> Result<(), Failure> {
    let expect = &options.expect;
    let status = summary.early_data;
    require("early data is accepted", !expect.accept_early_data || status == EarlyDataStatus::Accepted)?;
    // A server that does not resume may not have noticed that there was early data.
    let rejected = status == EarlyDataStatus::Rejected || (options.server && status == EarlyDataStatus::None);
    require("early data is rejected", !expect.reject_early_data || rejected)?;
    let offered = is_resume && status != EarlyDataStatus::None;
    require("early data is not offered", !expect.no_offer_early_data || options.server || !offered)
}

/// The reason why there was early data or none, in BoringSSL's words.
pub(crate) struct EarlyDataReason<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) is_resume: bool,
    pub(crate) hello_retry: bool,
    pub(crate) sessions: &'a Sessions,
}

impl EarlyDataReason<'_> {
    /// Checks the reason. A reason that Terse does not distinguish is unimplemented.
    pub(crate) fn check(&self, options: &Options) -> Result<(), Failure> {
        let Some(expected) = options.expect.early_data_reason.as_deref() else { return Ok(()) };
        let known = if options.server { self.of_server(options) } else { self.of_client(options) };
        match known {
            Some(_) => equal("reason", Some(expected), known),
            None => Err(Refusal::Unimplemented(format!("-expect-early-data-reason {expected}")).into()),
        }
    }

    fn of_client(&self, options: &Options) -> Option<&'static str> {
        let offered = self.sessions.offered();
        Some(match self.summary.early_data {
            EarlyDataStatus::Accepted => "accept",
            _ if !options.enable_early_data => "disabled",
            _ if options.versions().is_ok_and(|left| !left.contains(&ProtocolVersion::TLS_1_3)) => "protocol_version",
            _ if offered.is_none() => "no_session_offered",
            _ if self.summary.version != Some(ProtocolVersion::TLS_1_3) => "protocol_version",
            _ if self.hello_retry => "hello_retry_request",
            _ if self.summary.mode != Mode::Resumed => "session_not_resumed",
            EarlyDataStatus::Rejected => "peer_declined",
            _ if offered.is_some_and(|offered| offered.supports_early_data) => "alpn_mismatch",
            _ => "unsupported_for_session",
        })
    }

    fn of_server(&self, options: &Options) -> Option<&'static str> {
        Some(match self.summary.early_data {
            EarlyDataStatus::Accepted => "accept",
            _ if !options.enable_early_data => "disabled",
            _ if self.summary.version != Some(ProtocolVersion::TLS_1_3) => "protocol_version",
            _ if !self.is_resume => "no_session_offered",
            _ if self.summary.mode != Mode::Resumed => "session_not_resumed",
            _ if self.hello_retry => "hello_retry_request",
            EarlyDataStatus::None => "peer_declined",
            EarlyDataStatus::Rejected => return None,
        })
    }
}

/// Checks all that is known when the handshake is complete.
pub(crate) fn handshake(
    options: &Options,
    connection: &Connection,
    is_resume: bool,
    hello_retry: bool,
    selected: i32,
) -> Result<(), Failure> {
    let (expect, summary) = (&options.expect, connection.summary());
    equal("version", expect.version, summary.version)?;
    equal("cipher suite", expect.cipher, summary.cipher_suite)?;
    equal("group", expect.curve_id, summary.group)?;
    equal("application protocol", expect.alpn.as_deref(), Some(connection.alpn_protocol().unwrap_or_default()))?;
    equal("server name", expect.server_name.as_deref(), connection.server_name())?;
    require("no server name", !expect.no_server_name || connection.server_name().is_none())?;
    equal("HelloRetryRequest", expect.hello_retry, Some(hello_retry))?;
    if summary.mode != Mode::Resumed {
        equal("signature scheme", expect.peer_signature_algorithm, summary.peer.signature_scheme)?;
    }
    equal("credential", expect.selected_credential, Some(selected))?;
    equal("resumption", Some(is_resume && !expect.session_miss), Some(summary.mode == Mode::Resumed))?;
    if expect.secure_renegotiation && options.server {
        return Err(Refusal::Unimplemented("-expect-secure-renegotiation of a server".into()).into());
    }
    peer(options, summary)
}

/// Checks the identity of the peer.
fn peer(options: &Options, summary: &Summary) -> Result<(), Failure> {
    let (expect, identity) = (&options.expect, summary.peer.identity.as_ref());
    let has_certificate = matches!(identity, Some(PeerIdentity::Certificate(_)));
    let has_psk = summary.peer.authenticated_by == AuthenticatedBy::Psk;
    if expect.no_peer_certificate || has_psk || expect.peer_raw_public_key.is_some() {
        require("no certificate of the peer", !has_certificate)?;
    } else if !options.server || options.require_client_certificate {
        require("an identity of the peer", identity.is_some())?;
    }
    let certificate_type = identity.map_or(CertificateType::X509, PeerIdentity::certificate_type);
    equal("certificate type", expect.peer_certificate_type, Some(certificate_type))?;
    let key = identity.and_then(PeerIdentity::raw_public_key_der).map(|key| Sha256::digest(key).to_vec());
    equal("raw public key", expect.peer_raw_public_key.as_ref(), key.as_ref())
}

/// Checks the session that a server issued: in TLS 1.3 one is expected. Terse keeps none from a handshake with an
/// external pre-shared key.
pub(crate) fn session(
    options: &Options,
    summary: &Summary,
    offered: Option<Kept>,
    received: Option<Kept>,
) -> Result<(), Failure> {
    let expect = &options.expect;
    if summary.version != Some(ProtocolVersion::TLS_1_3) {
        return require("a new ticket", !expect.ticket_renewal || (received.is_some() && received != offered));
    }
    if summary.mode == Mode::Psk {
        return require("no session", received.is_none());
    }
    equal("a session", Some(!expect.no_session && !options.shim_shuts_down), Some(received.is_some()))?;
    let early_data = received.map(|received| received.supports_early_data);
    equal("early data of the session", early_data.map(|_| expect.ticket_supports_early_data), early_data)
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, wanted: Option<T>, got: Option<T>) -> Result<(), Failure> {
    match wanted {
        Some(_) if wanted != got => Err(Failure::Unexpected(format!("{what}: wanted {wanted:?}, got {got:?}"))),
        _ => Ok(()),
    }
}

pub(crate) fn require(what: &str, is_true: bool) -> Result<(), Failure> {
    if is_true { Ok(()) } else { Err(Failure::Unexpected(format!("not so: {what}"))) }
}
