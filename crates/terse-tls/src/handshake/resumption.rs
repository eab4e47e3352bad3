//! What sessions of both versions are kept under: the binding on a server, the scope and the origin on a client.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Output;
use crate::cache::{Scope, ServerId, TrustId};
use crate::cert::{PeerRole, VerifiedPeer};
use crate::config::{ClientAuthentication, ClientConfig, ServerAddress, ServerConfig};
use crate::resume::{Binding, ClientPolicy, Context, MAX_LIFETIME, Origin, ResumedClient, seconds};
use crate::summary::{AuthenticatedBy, Mode, Transport};
use crate::time::Now;
use crate::wire::ProtocolVersion;

/// What a server's sessions are bound to in this handshake. `None`: what was verified cannot be relied on later.
pub(super) fn binding(
    config: &ServerConfig,
    version: ProtocolVersion,
    server_name: Option<&str>,
    application_protocol: Option<&[u8]>,
    now: Now,
) -> Option<Binding> {
    let server = ServerId::from_host_name(server_name.map(str::as_bytes))?;
    let credentials: Vec<_> = config.credentials.iter().map(|credential| credential.fingerprint(version)).collect();
    let client_policy = match config.client_authentication {
        ClientAuthentication::None => ClientPolicy::None,
        ClientAuthentication::Optional(_) => ClientPolicy::Optional(super::caching::trust_id(config, now)?),
        ClientAuthentication::Required(_) => ClientPolicy::Required(super::caching::trust_id(config, now)?),
    };
    let context = Context {
        version,
        server: &server,
        credentials: &credentials,
        client_policy,
        application_protocol,
        early_data: config.early_data.filter(|_| version == ProtocolVersion::TLS_1_3),
    };
    Some(Binding::new(config.common.provider.sha256, &context))
}

/// The client that a server resumes a session with, marked as it was in the handshake with certificates.
pub(super) fn resumed_client(client: Option<&ResumedClient>, output: &mut Output<'_>) {
    output.summary.mode = Mode::Resumed;
    if let Some(client) = client {
        output.summary.signatures_saved += u32::from(client.signatures);
        output.summary.peer.identity = Some(client.identity.clone());
        output.summary.peer.authenticated_by = AuthenticatedBy::Certificate;
    }
}

/// The server that a client resumes a session with.
pub(super) fn resumed_server(origin: &Origin, output: &mut Output<'_>) {
    output.summary.mode = Mode::Resumed;
    output.summary.signatures_saved += u32::from(origin.signatures);
    output.summary.peer.identity = Some(origin.identity.clone());
    output.summary.peer.authenticated_by = AuthenticatedBy::Certificate;
}

/// When a session must end that begins with a certificate, or none, now: in seconds since 1970.
pub(super) fn end_of(client: Option<&VerifiedPeer>, now: u64) -> u64 {
    let week = now + u64::from(MAX_LIFETIME);
    client.map_or(week, |client| week.min(client.validity.not_after))
}

/// What a client's sessions and cached objects are kept under.
pub(crate) fn scope(config: &ClientConfig, server: &ServerAddress) -> Scope {
    Scope {
        server: ServerId::new(&server.name),
        port: server.port,
        transport: Transport::Stream,
        credential: config.credential.as_ref().map(|own| own.fingerprint(ProtocolVersion::TLS_1_3)),
    }
}

/// What the server's chain is verified under. `None`: nothing verified before counts.
pub(crate) fn trust_id(config: &ClientConfig, server: &ServerAddress, now: Now) -> Option<TrustId> {
    let common = &config.common;
    let role = PeerRole::Server(&server.name);
    config.trust.id(common.provider.sha256, role, &common.signature_schemes, now.unix)
}

/// What a client's session keeps of a handshake with certificates, if it may be resumed at all.
pub(super) fn origin(
    config: &ClientConfig,
    server: &ServerAddress,
    peer: &VerifiedPeer,
    output: &Output<'_>,
) -> Option<Origin> {
    Some(Origin {
        authenticated: seconds(output.now)?,
        trust_id: trust_id(config, server, output.now)?,
        identity: peer.identity.clone(),
        validity: peer.validity,
        signatures: peer.signatures,
        application_protocol: output.agreed.application_protocol.as_deref().map(Box::from),
    })
}
