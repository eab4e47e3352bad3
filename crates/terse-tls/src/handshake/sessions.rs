//! What both versions of a server have in common when they resume: the context that a session is bound to, and what is
//! kept of the client.

use alloc::vec::Vec;

use super::caching::trust_id;
use crate::cache::ServerId;
use crate::cert::VerifiedPeer;
use crate::config::{ClientAuthentication, ServerConfig};
use crate::resume::{Binding, ClientPolicy, Context, MAX_LIFETIME, ResumedClient};
use crate::time::Now;
use crate::wire::ProtocolVersion;

/// What sessions of this handshake are bound to. `None`: the server does not resume, or nothing that was verified before
/// counts now.
pub(super) fn binding(
    config: &ServerConfig,
    version: ProtocolVersion,
    server_name: Option<&str>,
    application_protocol: Option<&[u8]>,
    now: Now,
) -> Option<Binding> {
    config.resumption.as_ref()?;
    let client_policy = match config.client_authentication {
        ClientAuthentication::None => ClientPolicy::None,
        ClientAuthentication::Optional(_) => ClientPolicy::Optional(trust_id(config, now)?),
        ClientAuthentication::Required(_) => ClientPolicy::Required(trust_id(config, now)?),
    };
    let credentials: Vec<_> = config.credentials.iter().map(|credential| credential.fingerprint()).collect();
    let context = Context {
        version,
        server: &ServerId::from_host_name(server_name.map(str::as_bytes))?,
        credentials: &credentials,
        client_policy,
        application_protocol,
        early_data: config.early_data.filter(|_| version == ProtocolVersion::TLS_1_3),
    };
    Some(Binding::new(config.common.provider.sha256, &context))
}

/// What stays the same from session to session: whom the client proved to be, and when that ends.
#[derive(Clone)]
pub(super) struct Lineage {
    pub(super) client: Option<ResumedClient>,
    /// In seconds since 1970.
    pub(super) end: u64,
}

impl Lineage {
    /// Of a handshake with certificates at `now`, in which the client proved to be `peer`.
    pub(super) fn new(peer: Option<&VerifiedPeer>, now: u64) -> Self {
        let client = peer.map(|peer| ResumedClient { identity: peer.identity.clone(), signatures: peer.signatures });
        // The last second of a validity counts (RFC 5280, 4.1.2.5).
        let validity = peer.map_or(u64::MAX, |peer| peer.validity.not_after.saturating_add(1));
        Self { client, end: validity.min(now.saturating_add(MAX_LIFETIME.into())) }
    }
}
