//! The part of caching that the handshakes of all versions share: the data they give to the schemes, and what they do
//! with the result. The differences between schemes are in `cache/scheme`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::certificate_types::{CertificateTypes, verified_before};
use super::credentials;
use super::signature::ClaimedPeer;
use super::store::{ExpectRow, LookUp, WaitForRow};
use super::{Output, signature, stapling};
use crate::cache::{
    self, CacheSession, ClientOffer, ExpectedReply, FallbackReason, Fingerprint, OwnObjects, RequestEntry,
    RequestedCertificate, Schemes, Selected, Selection, ServerContext, TicketRows, TrustId,
};
use crate::cert::SuitableCredentials;
use crate::cert::{Credential, Expect, RevocationCheck};
use crate::config::{ClientConfig, ServerConfig};
use crate::error::{Error, PeerMisbehaved};
use crate::summary::{CachedObject, Mode};
use crate::time::Now;
use crate::wire::{CertificateType, Extensions, ProtocolVersion, SignatureScheme};

/// Returns whether a client may answer a request with its own Certificate of this fingerprint, or, for `None`, whether
/// it can only answer with an empty one.
pub(crate) fn answers(config: &ClientConfig, request: &RequestEntry, own: Option<Fingerprint>) -> bool {
    let asked = credentials::CertificateCriteria::from(request);
    let answer = |kind| {
        let answer = asked.answer(config, kind);
        answer.map(|(credential, _)| credential.fingerprint(request.version))
    };
    let mut kinds = config.credentials.iter().map(Credential::certificate_type);
    match own {
        Some(_) => kinds.any(|kind| answer(kind) == own),
        None => kinds.all(|kind| answer(kind).is_none()),
    }
}

/// Returns the objects that the server has selected as cached, checked against the offer.
pub(super) fn selected(
    extensions: Extensions<'_>,
    config: &ClientConfig,
    types: CertificateTypes,
    version: ProtocolVersion,
    output: &mut Output<'_>,
) -> Result<Selection, Error> {
    let Some(session) = output.cache.as_deref_mut() else { return Ok(Selection::default()) };
    let selection = session.read_reply(
        extensions,
        &ExpectedReply {
            version,
            certificate_type: types.server,
            has_extensions: version == ProtocolVersion::TLS_1_3 && !stapling::asked(Some(&config.trust)).is_empty(),
            has_credential: &|named| {
                let own = config.credentials.iter().find(|own| own.fingerprint(version) == named);
                own.is_some_and(|own| own.certificate_type() == types.client)
            },
            code_points: config.common.caching_code_points(),
            defences: config.common.defences(),
        },
    )?;
    output.summary.fallback = session.reason();
    output.summary.mode = Mode::of(selection.any(), selection.scheme);
    Ok(selection)
}

/// Returns the fingerprint of the server's cached Certificate, and the server's identity.
pub(super) fn cached_certificate(
    certificate_type: CertificateType,
    version: ProtocolVersion,
    output: &mut Output<'_>,
) -> Result<(Fingerprint, ClaimedPeer), Error> {
    let session = output.cache.as_deref().ok_or(PeerMisbehaved::IllegalCachingReply)?;
    let cached = session.server_certificate().filter(|cached| cached.stands_for(certificate_type, version));
    let cached = cached.ok_or(PeerMisbehaved::IllegalCachingReply)?;
    let (fingerprint, peer) = (cached.fingerprint(), cached.shared_peer());
    verified_before(&peer, output);
    output.left_out(CachedObject::ServerCertificate);
    Ok((fingerprint, ClaimedPeer::Verified(peer)))
}

/// The server's CertificateRequest, as far as a client needs it.
pub(super) struct Request {
    pub(super) signature_algorithms: Vec<SignatureScheme>,
    /// Whether the server requests a stapled OCSP response.
    pub(super) asks_status: bool,
    pub(super) suitable: SuitableCredentials,
    /// The fingerprint of the request, if there is a cache.
    pub(super) fingerprint: Option<Fingerprint>,
    /// The length of the message in full, with its header.
    pub(super) length: u16,
}

impl Request {
    /// Returns the cached request and its fingerprint.
    pub(super) fn cached(output: &mut Output<'_>) -> Result<(Fingerprint, Self), Error> {
        let session = output.cache.as_deref().ok_or(PeerMisbehaved::IllegalCachingReply)?;
        let cached = session.certificate_request().cloned().ok_or(PeerMisbehaved::IllegalCachingReply)?;
        output.left_out(CachedObject::CertificateRequest);
        let RequestEntry { fingerprint, signature_algorithms, asks_status, suitable, length, .. } = cached;
        Ok((fingerprint, Self { signature_algorithms, asks_status, suitable, fingerprint: Some(fingerprint), length }))
    }

    /// Returns the cache entry of the request.
    pub(super) fn entry(self, version: ProtocolVersion) -> Option<RequestEntry> {
        let Self { signature_algorithms, asks_status, suitable, fingerprint, length } = self;
        Some(RequestEntry { version, fingerprint: fingerprint?, signature_algorithms, asks_status, suitable, length })
    }

    /// Returns the credential that the client answers with, or `None` for an empty Certificate. If the server has
    /// selected the client's Certificate, it is the one that the ticket stands for.
    pub(super) fn answer(
        &self,
        config: &ClientConfig,
        kind: CertificateType,
        version: ProtocolVersion,
        selection: Selection,
        output: &mut Output<'_>,
    ) -> Result<Option<(Credential, SignatureScheme)>, Error> {
        let Self { signature_algorithms, suitable, .. } = self;
        let asked = credentials::CertificateCriteria { version, signature_algorithms, suitable: *suitable };
        let session = output.cache.as_deref().filter(|_| selection.client_certificate);
        let answer = match session.and_then(CacheSession::named_own_certificate) {
            Some(subject) => asked.answer_with(config, kind, subject),
            None => asked.answer(config, kind),
        };
        if answer.is_none() && selection.client_certificate {
            return Err(PeerMisbehaved::IllegalCachingReply.into());
        }
        if answer.is_none() {
            output.note("the server asks for a certificate, and there is none that fits");
            if !config.credentials.is_empty() {
                output.summary.fallback = Some(FallbackReason::NoCredentialFits);
            }
        }
        Ok(answer.map(|(credential, scheme)| (credential.clone(), scheme)))
    }
}

/// The offer of a client in the best scheme that this server has enabled.
pub(super) struct Offered<'a>(Option<ClientOffer<'a>>);

impl<'a> Offered<'a> {
    pub(super) fn parse(config: &ServerConfig, extensions: Extensions<'a>) -> Result<Self, Error> {
        let schemes = config.cache.as_ref().map_or(Schemes::OFF, |cache| cache.schemes);
        cache::read_offer(schemes, extensions, config.common.caching_code_points()).map(Self)
    }

    /// Looks up the tickets. Returns `None` if the store does not answer at once; then the handshake returns to its
    /// previous state.
    pub(super) fn look_up(&self, config: &ServerConfig, output: &mut Output<'_>) -> Option<TicketRows> {
        let mut rows = output.look_up.take().map_or_else(TicketRows::default, |known| known.rows);
        let Some(cache) = &config.cache else { return Some(rows) };
        cache.store.seed(output.rng);
        let tickets = self.0.iter().flat_map(ClientOffer::tickets);
        let pending = rows.look_up(&*cache.store, tickets);
        if pending.is_some() {
            let pending = pending.map(|ticket| (ticket, ExpectRow::look_up as WaitForRow));
            output.look_up = Some(Box::new(LookUp { rows, pending }));
            return None;
        }
        Some(rows)
    }

    /// Selects the objects that this handshake leaves out. `rows` are the result of [`Self::look_up`]. `client` is the
    /// type of the client's certificate, or `None` if it is not asked for one, and the version.
    pub(super) fn select(
        &self,
        config: &ServerConfig,
        rows: TicketRows,
        server_name: Option<&str>,
        client: (Option<CertificateType>, ProtocolVersion),
        own: OwnObjects<'_>,
        output: &mut Output<'_>,
    ) -> Selected {
        let Some(cache) = &config.cache else { return Selected::default() };
        let Some(offer) = &self.0 else {
            output.summary.fallback.get_or_insert(FallbackReason::NothingOffered);
            return Selected::default();
        };
        let trust = config.client_authentication.trust();
        let selected = cache::select(
            offer,
            rows,
            &ServerContext {
                cache,
                own,
                host_name: server_name.map(str::as_bytes),
                asked: &|| requested_certificate(config, client),
                revocation: &|| revocation_check(config, output.now),
                now: output.now,
                without_clock: trust.is_some_and(|trust| trust.accepts_without_clock()),
                defences: config.common.defences(),
            },
        );
        output.summary.mode = Mode::of(selected.selection.any(), selected.selection.scheme);
        output.summary.fallback = output.summary.fallback.or(selected.reason); // why a session is not resumed comes first
        selected
    }
}

/// Returns the properties of the Certificate that the client is asked for.
fn requested_certificate(
    config: &ServerConfig,
    (certificate_type, version): (Option<CertificateType>, ProtocolVersion),
) -> Option<RequestedCertificate> {
    let has_extensions =
        version == ProtocolVersion::TLS_1_3 && !stapling::asked(config.client_authentication.trust()).is_empty();
    Some(RequestedCertificate {
        trust_id: trust_id(config)?,
        certificate_type: certificate_type?,
        version,
        has_extensions,
    })
}

/// Returns the identifier of the policy that a client's chain is verified with, if clients are asked for one.
pub(super) fn trust_id(config: &ServerConfig) -> Option<TrustId> {
    let common = &config.common;
    let trust = config.client_authentication.trust()?;
    Some(trust.id(common.provider.sha256, Expect::Client, common.chain_signature_schemes()))
}

/// Returns the check for revocation of a client's chain that was verified before.
pub(super) fn revocation_check(config: &ServerConfig, now: Now) -> Option<RevocationCheck> {
    let trust = config.client_authentication.trust()?;
    trust.revocation_check(|| signature::chain_algorithms(&config.common), now.unix)
}
