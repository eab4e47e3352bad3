//! The selection of a side's credential (RFC 9846, 4.5.1; RFC 5246, 7.4.2 and 7.4.6).
//!
//! What must always hold: the selection depends only on the configuration, and on what the peer sent in this handshake
//! or in the cached CertificateRequest, so that a cached request is answered like a full one.

use alloc::vec::Vec;

use crate::cache::{Fingerprint, RequestEntry};
use crate::cert::{Credential, SuitableCredentials};
use crate::config::{ClientConfig, Common};
use crate::handshake::signature;
use crate::wire::{CertificateType, DistinguishedName, List, ProtocolVersion, SignatureScheme};

/// Returns how `credentials` suit the peer. `authorities` is the peer's `certificate_authorities`, and `schemes` its
/// `signature_algorithms_cert` or else `signature_algorithms`. Nothing is computed if there is no choice.
#[inline(never)]
pub(super) fn suitable(
    common: &Common,
    credentials: &[Credential],
    authorities: Option<List<'_, DistinguishedName<'_>>>,
    schemes: &List<'_, SignatureScheme>,
) -> SuitableCredentials {
    if credentials.len() < 2 && !credentials.iter().any(Credential::is_only_for_named_authorities) {
        return SuitableCredentials::default();
    }
    let known = common.provider.signatures.by_scheme.iter().map(|(scheme, _)| *scheme);
    let known: Vec<_> = known.filter(|known| schemes.iter().any(|scheme| scheme == *known)).collect();
    let algorithms = signature::algorithms(common, &known);
    let is_accepted = |id: &[u8]| algorithms.iter().any(|algorithm| algorithm.signature_alg_id().as_ref() == id);
    let names = || authorities.iter().flat_map(|names| names.iter()).map(|DistinguishedName(name)| name);
    let mut suitable = SuitableCredentials::default();
    for (nth, credential) in credentials.iter().enumerate().take(SuitableCredentials::MAX) {
        suitable.issuers |= u16::from(credential.is_issued_by(names())) << nth;
        suitable.chains |= u16::from(credential.is_signed_with(is_accepted)) << nth;
    }
    suitable
}

/// The criteria of a CertificateRequest, cached or not.
#[derive(Clone, Copy)]
pub(super) struct CertificateCriteria<'a> {
    pub(super) version: ProtocolVersion,
    pub(super) signature_algorithms: &'a [SignatureScheme],
    pub(super) suitable: SuitableCredentials,
}

impl<'a> From<&'a RequestEntry> for CertificateCriteria<'a> {
    fn from(request: &'a RequestEntry) -> Self {
        let RequestEntry { version, signature_algorithms, suitable, .. } = request;
        Self { version: *version, signature_algorithms, suitable: *suitable }
    }
}

impl CertificateCriteria<'_> {
    /// Returns the credential and scheme that a client answers with, if its certificate type is `kind`; `None` for an
    /// empty Certificate.
    pub(super) fn answer(self, config: &ClientConfig, kind: CertificateType) -> Option<(&Credential, SignatureScheme)> {
        self.suitable.choose(&config.credentials, |own| self.scheme(own, kind))
    }

    /// Returns the credential with the fingerprint that the server has selected, and its scheme; `None` if it does not
    /// fit.
    pub(super) fn answer_with(
        self,
        config: &ClientConfig,
        kind: CertificateType,
        selected: Fingerprint,
    ) -> Option<(&Credential, SignatureScheme)> {
        let own = config.credentials.iter().find(|own| own.fingerprint(self.version) == selected)?;
        Some((own, self.scheme(own, kind)?))
    }

    fn scheme(self, own: &Credential, kind: CertificateType) -> Option<SignatureScheme> {
        let accepts = |scheme| self.signature_algorithms.contains(&scheme);
        if own.certificate_type() == kind { signature::choose(own, self.version, accepts) } else { None }
    }
}

#[cfg(test)]
mod tests;
