//! OCSP stapling in handshakes of both versions (RFC 6066, 8; RFC 9846, 4.4.2.1): requests, responses and their
//! verification.
//!
//! What must always hold: no response is sent without a request; a side that requests a response checks that of this
//! handshake, whether the certificate was sent or is cached.

use alloc::sync::Arc;

use super::signature::ClaimedPeer;
use super::{Output, signature};
use crate::cert::{Credential, Stapling, Trust};
use crate::config::{ClientConfig, Common, ServerConfig};
use crate::error::Error;
use crate::summary::Staple;
use crate::wire::{
    CertificateStatus, CertificateStatusRequest, EncodeError, ExtensionType, Extensions, ExtensionsBuilder,
    StatusRequested,
};

/// Returns the extensions that the entries of the peer's Certificate may have, because this side requested them.
pub(super) fn asked(trust: Option<&Trust>) -> &'static [ExtensionType] {
    match trust.map(Trust::stapling) {
        None | Some(Stapling::Off) => &[],
        Some(Stapling::Ask | Stapling::Require) => &[ExtensionType::STATUS_REQUEST],
    }
}

/// Requests a response as a client.
pub(super) fn offer(config: &ClientConfig, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
    if asked(Some(&config.trust)).is_empty() {
        return Ok(());
    }
    extensions.push(&CertificateStatusRequest::ANY)
}

/// Returns whether a client requests an OCSP response.
pub(super) fn is_asked(client_hello: Extensions<'_>) -> Result<bool, Error> {
    Ok(matches!(client_hello.get()?, Some(CertificateStatusRequest::Ocsp { .. })))
}

/// Requests a response as a server, in the CertificateRequest of TLS 1.3.
pub(super) fn request(config: &ServerConfig, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
    if asked(config.client_authentication.trust()).is_empty() {
        return Ok(());
    }
    extensions.push(&StatusRequested)
}

/// Returns the current response of `credential` for a peer that requests one.
pub(super) fn current(credential: &Credential, is_asked: bool, output: &Output<'_>) -> Option<Arc<[u8]>> {
    if !is_asked || !credential.has_staple() {
        return None;
    }
    let staple = credential.staple_at(output.now.unix);
    if staple.is_none() {
        output.note("the OCSP response to be stapled is out of date, and not sent");
    }
    staple
}

/// Returns the extensions of the leaf's CertificateEntry.
pub(super) fn extensions(staple: Option<&[u8]>) -> Result<ExtensionsBuilder, EncodeError> {
    let mut extensions = ExtensionsBuilder::default();
    if let Some(staple) = staple {
        extensions.push(&CertificateStatus(staple))?;
    }
    Ok(extensions)
}

/// Checks the response that came with the Certificate of `peer`, or that none came.
#[inline(never)]
pub(super) fn check(
    trust: Option<&Trust>,
    peer: &mut ClaimedPeer,
    response: Option<CertificateStatus<'_>>,
    common: &Common,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let Some((trust, check)) = trust.and_then(|trust| Some((trust, trust.staple_check()?))) else { return Ok(()) };
    let ClaimedPeer::Verified(peer) = peer else { return Ok(()) }; // whose configuration has no stapling
    let algorithms = signature::chain_algorithms(common);
    let response = response.map(|CertificateStatus(response)| response);
    if check(trust, peer, response, &common.provider, &algorithms, output.now.unix)? {
        output.summary.peer.staple = Staple::Good;
    }
    Ok(())
}
