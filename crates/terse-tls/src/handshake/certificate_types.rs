//! The negotiation of certificate types, X.509 or raw public key (RFC 7250), on both sides and in both versions.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use pki_types::CertificateDer;

use super::signature::ClaimedPeer;
use super::{Output, signature};
use crate::cache::Fingerprint;
use crate::cert::{CheckedChain, Credential, Expect, PresentedPeer, Trust, VerifiedPeer};
use crate::config::{ClientAuthentication, ClientConfig, Common, ServerConfig};
use crate::error::{CertificateError, Error, PeerIncompatible, PeerMisbehaved};
use crate::proof::FinishedProof;
use crate::summary::AuthenticatedBy;
use crate::wire::{
    CertificateType, ClientCertificateTypeSelected, ClientCertificateTypes, EncodeError, ExtensionType, Extensions,
    ExtensionsBuilder, List, ProtocolVersion, ServerCertificateTypeSelected, ServerCertificateTypes,
};

/// The certificate types of both sides in this handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct CertificateTypes {
    pub(super) server: CertificateType,
    pub(super) client: CertificateType,
}

impl CertificateTypes {
    /// Offers the types that a client accepts and has, unless they are only X.509 (RFC 7250, 4.1).
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

    /// Reads the types that the server has selected for a client; the default is X.509 (RFC 7250, 4.2).
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

/// Returns the types of a client's credentials, preferred first.
fn own_types(config: &ClientConfig) -> Vec<CertificateType> {
    let mut types = Vec::new();
    for own in config.credentials.iter().map(Credential::certificate_type) {
        if !types.contains(&own) {
            types.push(own);
        }
    }
    types
}

/// The certificate types that a server has chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) server: CertificateType,
    /// The type of the client's certificate; `None` if the client is not asked for one.
    pub(super) client: Option<CertificateType>,
    answers_server: bool,
    answers_client: bool,
}

impl Choice {
    /// Chooses the types. `server` is the type of the server's credential. For the client it is the server's preferred
    /// one among the client's types. If there is none, a client that need not authenticate is not asked for a
    /// certificate (RFC 7250, 4.2).
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

/// Returns a function that tells whether a client accepts the type of a credential.
pub(super) fn client_takes(offered: Extensions<'_>) -> Result<impl Fn(&Credential) -> bool, Error> {
    let kinds: Option<ServerCertificateTypes<'_>> = offered.get()?;
    Ok(move |credential: &Credential| match &kinds {
        Some(ServerCertificateTypes(kinds)) => kinds.iter().any(|kind| kind == credential.certificate_type()),
        None => credential.certificate_type() == CertificateType::X509,
    })
}

/// The most certificates that a Certificate message may have, also those that are on no path. Each of them takes memory
/// while the message is handled, which is more than the few bytes in which it can be sent.
const MAX_CERTIFICATES: usize = 100;

/// Checks that a Certificate message has room for one more certificate beside `count`.
pub(super) const fn check_room(count: usize) -> Result<(), CertificateError> {
    if count < MAX_CERTIFICATES { Ok(()) } else { Err(CertificateError::TooManyCertificates) }
}

/// The content of a Certificate message that is not empty.
pub(super) enum Presented<'a> {
    Chain(Vec<CertificateDer<'a>>),
    RawPublicKey(&'a [u8]),
}

impl Presented<'_> {
    /// Verifies the chain or key, unless `trust` takes it unverified, and notes the result in the summary.
    #[inline(never)]
    pub(super) fn verify(
        &self,
        trust: &Trust,
        expect: Expect<'_>,
        common: &Common,
        output: &mut Output<'_>,
    ) -> Result<ClaimedPeer, CertificateError> {
        if trust.is_unverified() {
            // A peer that does not know the extension has an X.509 certificate, and nothing else will refuse that.
            if !trust.accepts(self.certificate_type()) {
                return Err(CertificateError::UnacceptedType);
            }
            let peer = self.unverified()?;
            output.summary.peer.authenticated_by = AuthenticatedBy::Presented;
            return Ok(ClaimedPeer::Presented(Box::new(peer)));
        }
        let (peer, time_unchecked) = match self {
            Self::Chain(chain) => {
                let algorithms = signature::chain_algorithms(common);
                let CheckedChain { peer, time_unchecked, .. } =
                    trust.verify(chain, expect, &algorithms, output.now.unix)?;
                (peer, time_unchecked)
            }
            Self::RawPublicKey(key) => {
                let algorithms = signature::algorithms(common, &common.signature_schemes);
                (trust.verify_raw_public_key(key, &algorithms)?, false)
            }
        };
        output.summary.signatures_verified += u32::from(peer.signatures);
        output.summary.peer.identity = Some(peer.identity.clone());
        output.summary.peer.authenticated_by = AuthenticatedBy::Certificate;
        output.summary.peer.time_unchecked = time_unchecked;
        Ok(ClaimedPeer::Verified(Arc::new(peer)))
    }

    const fn certificate_type(&self) -> CertificateType {
        match self {
            Self::Chain(_) => CertificateType::X509,
            Self::RawPublicKey(_) => CertificateType::RAW_PUBLIC_KEY,
        }
    }

    fn unverified(&self) -> Result<PresentedPeer, CertificateError> {
        match self {
            Self::Chain(chain) => PresentedPeer::of_chain(chain),
            Self::RawPublicKey(key) => PresentedPeer::of_raw_public_key(key),
        }
    }

    /// Returns the fingerprint of the Certificate message.
    pub(super) fn fingerprint(&self, version: ProtocolVersion) -> Fingerprint {
        match self {
            Self::Chain(chain) => Fingerprint::of_chain(chain.iter().map(AsRef::as_ref)),
            Self::RawPublicKey(key) => Fingerprint::of_raw_public_key(version, key),
        }
    }
}

/// Remembers the issuers of the client's chain, once its Finished was verified.
pub(super) fn learn_issuers(config: &ServerConfig, proof: &FinishedProof, peer: Option<&VerifiedPeer>) {
    if let (Some(trust), Some(peer)) = (config.client_authentication.trust(), peer) {
        trust.learn(proof, peer);
    }
}

/// Notes a peer in the summary that was verified before and is cached.
pub(super) fn verified_before(peer: &VerifiedPeer, output: &mut Output<'_>) {
    output.summary.signatures_saved += u32::from(peer.signatures);
    output.summary.peer.identity = Some(peer.identity.clone());
    output.summary.peer.authenticated_by = AuthenticatedBy::CachedCertificate;
    output.summary.peer.time_unchecked = peer.is_unchecked_at(output.now.unix);
}
