//! What the Certificate messages carry: X.509 chains or raw public keys (RFC 7250), on both sides and in both versions.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::CertificateDer;

use super::{Output, signature};
use crate::cache::Fingerprint;
use crate::cert::{Credential, PeerRole, Trust, VerifiedPeer};
use crate::config::{ClientAuthentication, ClientConfig, Common, ServerConfig};
use crate::error::{CertificateError, Error, PeerIncompatible, PeerMisbehaved};
use crate::proof::FinishedProof;
use crate::summary::AuthenticatedBy;
use crate::wire::{
    CertificateType, ClientCertificateTypeSelected, ClientCertificateTypes, EncodeError, ExtensionType, Extensions,
    ExtensionsBuilder, List, ProtocolVersion, ServerCertificateTypeSelected, ServerCertificateTypes,
};

/// What both sides' Certificates carry in this handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct CertificateTypes {
    pub(super) server: CertificateType,
    pub(super) client: CertificateType,
}

impl CertificateTypes {
    /// A client says what it takes and has, where that is not X.509 alone (RFC 7250, 4.1).
    pub(super) fn offer(config: &ClientConfig, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let own = own_types(config);
        if !own.is_empty() && own != [CertificateType::X509] {
            extensions.push(&ClientCertificateTypes(List::Items(&own)))?;
        }
        let accepted = config.trust.certificate_types();
        if accepted.contains(&CertificateType::RAW_PUBLIC_KEY) {
            extensions.push(&ServerCertificateTypes(List::Items(accepted)))?;
        }
        Ok(())
    }

    /// A client reads the server's choice; without one it is X.509 (RFC 7250, 4.2).
    pub(super) fn read(config: &ClientConfig, extensions: Extensions<'_>) -> Result<Self, Error> {
        let client = match extensions.get()? {
            Some(ClientCertificateTypeSelected(client)) if !own_types(config).contains(&client) => {
                return Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::CLIENT_CERTIFICATE_TYPE).into());
            }
            Some(ClientCertificateTypeSelected(client)) => client,
            None => CertificateType::X509,
        };
        let server = match extensions.get()? {
            Some(ServerCertificateTypeSelected(server)) if !config.trust.accepts(server) => {
                return Err(PeerMisbehaved::SelectedUnoffered(ExtensionType::SERVER_CERTIFICATE_TYPE).into());
            }
            Some(ServerCertificateTypeSelected(server)) => server,
            None => CertificateType::X509,
        };
        Ok(Self { server, client })
    }
}

/// What a client has, preferred first.
fn own_types(config: &ClientConfig) -> Vec<CertificateType> {
    let mut types = Vec::new();
    for own in config.credentials.iter().map(Credential::certificate_type) {
        if !types.contains(&own) {
            types.push(own);
        }
    }
    types
}

/// The choice of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) server: CertificateType,
    /// What the client may show. `None`: it is not asked.
    pub(super) client: Option<CertificateType>,
    answers_server: bool,
    answers_client: bool,
}

impl Choice {
    /// `server` is what the server shows. What the client may show is what the server prefers among what the client
    /// has; if there is nothing, a client that need not authenticate is not asked (RFC 7250, 4.2).
    pub(super) fn new(config: &ServerConfig, offered: Extensions<'_>, server: CertificateType) -> Result<Self, Error> {
        let theirs: Option<ClientCertificateTypes<'_>> = offered.get()?;
        let has = |kind| match &theirs {
            Some(ClientCertificateTypes(kinds)) => kinds.iter().any(|other| other == kind),
            None => kind == CertificateType::X509,
        };
        let trust = config.client_authentication.trust();
        let client = trust.and_then(|trust| trust.certificate_types().iter().copied().find(|kind| has(*kind)));
        if let (ClientAuthentication::Required(_), None) = (&config.client_authentication, client) {
            return Err(PeerIncompatible::NoCommonCertificateType.into());
        }
        Ok(Self {
            server,
            client,
            answers_server: offered.get::<ServerCertificateTypes<'_>>()?.is_some(),
            answers_client: theirs.is_some() && client.is_some(),
        })
    }

    pub(super) fn answer(self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        if let Some(client) = self.client.filter(|_| self.answers_client) {
            extensions.push(&ClientCertificateTypeSelected(client))?;
        }
        if self.answers_server {
            extensions.push(&ServerCertificateTypeSelected(self.server))?;
        }
        Ok(())
    }
}

/// Whether a client takes what a credential shows, by what it offered.
pub(super) fn client_takes(offered: Extensions<'_>) -> Result<impl Fn(&Credential) -> bool, Error> {
    let kinds: Option<ServerCertificateTypes<'_>> = offered.get()?;
    Ok(move |credential: &Credential| match &kinds {
        Some(ServerCertificateTypes(kinds)) => kinds.iter().any(|kind| kind == credential.certificate_type()),
        None => credential.certificate_type() == CertificateType::X509,
    })
}

/// What a Certificate message carried, and it is not empty.
pub(super) enum Presented<'a> {
    Chain(Vec<CertificateDer<'a>>),
    RawPublicKey(&'a [u8]),
}

impl Presented<'_> {
    /// Verifies it, and says so in the summary.
    #[inline(never)]
    pub(super) fn verify(
        &self,
        trust: &Trust,
        role: PeerRole<'_>,
        common: &Common,
        output: &mut Output<'_>,
    ) -> Result<Arc<VerifiedPeer>, CertificateError> {
        let (peer, time_unchecked) = match self {
            Self::Chain(chain) => trust.verify(chain, role, &signature::chain_algorithms(common), output.now.unix)?,
            Self::RawPublicKey(key) => {
                let algorithms = signature::algorithms(common, &common.signature_schemes);
                (trust.verify_raw_public_key(key, &algorithms)?, false)
            }
        };
        output.summary.signatures_verified += u32::from(peer.signatures);
        output.summary.peer.identity = Some(peer.identity.clone());
        output.summary.peer.authenticated_by = AuthenticatedBy::Certificate;
        output.summary.peer.time_unchecked = time_unchecked;
        Ok(Arc::new(peer))
    }

    /// The fingerprint of the message that carried it.
    pub(super) fn fingerprint(&self, version: ProtocolVersion) -> Fingerprint {
        match self {
            Self::Chain(chain) => Fingerprint::of_chain(chain.iter().map(AsRef::as_ref)),
            Self::RawPublicKey(key) => Fingerprint::of_raw_public_key(version, key),
        }
    }
}

/// The Finished of a client that proved to be `peer` was verified: remembers who issued its chain.
pub(super) fn learn_issuers(config: &ServerConfig, proof: &FinishedProof, peer: Option<&VerifiedPeer>) {
    if let (Some(trust), Some(peer)) = (config.client_authentication.trust(), peer) {
        trust.learn(proof, peer);
    }
}

/// The peer was verified before, and is cached: says so in the summary.
pub(super) fn verified_before(peer: &VerifiedPeer, output: &mut Output<'_>) {
    output.summary.signatures_saved += u32::from(peer.signatures);
    output.summary.peer.identity = Some(peer.identity.clone());
    output.summary.peer.authenticated_by = AuthenticatedBy::CachedCertificate;
    output.summary.peer.time_unchecked = peer.is_unchecked_at(output.now.unix);
}
