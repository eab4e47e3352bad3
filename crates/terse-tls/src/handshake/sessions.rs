//! The resumption that both versions have in common: on a server the context that a session is bound to, and what is
//! kept of the client; and how a resumed peer is reported.

use alloc::vec::Vec;

use super::{Output, caching, signature};
use crate::cache::{FallbackReason, ServerId, TrustId};
use crate::cert::{Expect, RevocationCheck, VerifiedPeer};
use crate::config::{ClientAuthentication, ClientConfig, ServerAddress, ServerConfig};
use crate::resume::{Binding, ClientPolicy, Context, MAX_LIFETIME, ResumedClient, Session, SessionOrigin, seconds};
use crate::summary::{AuthenticatedBy, Mode};
use crate::time::Now;
use crate::wire::{CertificateType, ProtocolVersion};

/// Returns the context that sessions of this handshake are bound to; `None` if the server does not resume.
pub(super) fn binding(
    config: &ServerConfig,
    version: ProtocolVersion,
    server_name: Option<&str>,
    application_protocol: Option<&[u8]>,
) -> Option<Binding> {
    config.resumption.as_ref()?;
    let client_policy = match config.client_authentication {
        ClientAuthentication::None => ClientPolicy::None,
        ClientAuthentication::Optional(_) => ClientPolicy::Optional(caching::trust_id(config)?),
        ClientAuthentication::Required(_) => ClientPolicy::Required(caching::trust_id(config)?),
    };
    let transport = config.common.transport();
    let credentials: Vec<_> = config.credentials.iter().map(|credential| credential.fingerprint(version)).collect();
    let context = Context {
        version: transport.version(version), // a session of TLS is not valid in DTLS
        server: &ServerId::from_host_name(server_name.map(str::as_bytes))?,
        credentials: &credentials,
        client_policy,
        application_protocol,
        early_data: config.early_data.filter(|_| version == ProtocolVersion::TLS_1_3),
    };
    Some(Binding::new(config.common.provider.sha256, &context))
}

/// Returns the session of `ticket`, if it may be resumed in this context, or else the reason why not, if a session was
/// found. A session with a revoked certificate is removed.
pub(super) fn find(
    config: &ServerConfig,
    ticket: &[u8],
    binding: Option<&Binding>,
    now: Now,
) -> Result<Session, Option<FallbackReason>> {
    let (Some(resumption), Some(binding), Some(time)) = (&config.resumption, binding, seconds(now)) else {
        return Err(None);
    };
    let session = resumption.find(ticket, binding, time).ok_or(None)?;
    let client = session.client.as_ref().filter(|client| client.identity.certificate_type() == CertificateType::X509);
    if let (Some(client), Some(revocation)) = (client, caching::revocation_check(config, now)) {
        revocation.check(client.links.as_slice()).map_err(FallbackReason::from).map_err(|reason| {
            if reason.is_final() {
                resumption.claim(ticket); // it must not be resumed any more
            }
            Some(reason)
        })?;
    }
    Ok(session)
}

/// The data that all sessions in a chain of resumptions share: the client, and when the chain must end.
#[derive(Clone)]
pub(super) struct Lineage {
    pub(super) client: Option<ResumedClient>,
    /// When the chain of resumptions must end, in seconds since 1970.
    pub(super) end: u64,
}

impl Lineage {
    /// Begins a chain with a handshake with certificates at `now`, in which the client authenticated as `peer`.
    pub(super) fn new(peer: Option<&VerifiedPeer>, now: u64) -> Self {
        let client = peer.map(|peer| ResumedClient {
            identity: peer.identity.clone(),
            signatures: peer.signatures,
            links: peer.links().into(),
        });
        // A validity includes its last second (RFC 5280, 4.1.2.5).
        let validity = peer.map_or(u64::MAX, |peer| peer.validity_with_staple().not_after.saturating_add(1));
        Self { client, end: validity.min(now.saturating_add(MAX_LIFETIME.into())) }
    }
}

/// Reports the client of a resumed session as in the handshake with certificates.
pub(super) fn resumed_client(client: Option<&ResumedClient>, output: &mut Output<'_>) {
    output.summary.mode = Mode::Resumed;
    if let Some(client) = client {
        output.summary.signatures_saved += u32::from(client.signatures);
        output.summary.peer.identity = Some(client.identity.clone());
        output.summary.peer.authenticated_by = AuthenticatedBy::Certificate;
    }
}

/// Reports the server of a resumed session.
pub(super) fn resumed_server(origin: &SessionOrigin, output: &mut Output<'_>) {
    output.summary.mode = Mode::Resumed;
    output.summary.signatures_saved += u32::from(origin.signatures);
    output.summary.peer.identity = Some(origin.identity.clone());
    output.summary.peer.authenticated_by = AuthenticatedBy::Certificate;
}

/// Reports a peer with an external pre-shared key.
pub(super) fn psk_peer(identity: &[u8], output: &mut Output<'_>) {
    output.summary.mode = Mode::Psk;
    output.summary.peer.psk_identity = Some(identity.into());
    output.summary.peer.authenticated_by = AuthenticatedBy::Psk;
}

/// Returns the identifier of the policy that the server's chain is verified with.
pub(crate) fn trust_id(config: &ClientConfig, server: &ServerAddress) -> TrustId {
    let common = &config.common;
    let has_roles = common.defences().separate_roles();
    let expect = if has_roles { config.expect(&server.name) } else { Expect::Client };
    config.trust.id(common.provider.sha256, expect, common.chain_signature_schemes())
}

/// Returns the check for revocation of a server's chain that was verified before.
pub(crate) fn revocation_check(config: &ClientConfig, now: Now) -> Option<RevocationCheck> {
    config.trust.revocation_check(|| signature::chain_algorithms(&config.common), now.unix)
}
