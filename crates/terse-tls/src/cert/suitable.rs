//! The choice among several credentials of a side.

use super::Credential;

/// Which credentials of a configuration suit the peer's certificate_authorities and signature algorithms: one bit for
/// each credential, the first one lowest. A configuration has at most [`Self::MAX`] credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SuitableCredentials {
    /// The credentials whose chain has a certificate of a CA that the peer names.
    pub(crate) issuers: u16,
    /// The credentials whose chain has only signatures that the peer accepts.
    pub(crate) chains: u16,
}

impl SuitableCredentials {
    /// The most credentials that a configuration may have.
    pub(crate) const MAX: usize = u16::BITS as usize;

    /// Chooses a credential among those that `fit`: preferably one whose issuer the peer names, then one whose chain
    /// the peer can verify, then the first one.
    pub(crate) fn choose<'a, T>(
        self,
        credentials: &'a [Credential],
        fit: impl Fn(&'a Credential) -> Option<T>,
    ) -> Option<(&'a Credential, T)> {
        let has = |bits: u16, nth: usize| bits >> nth & 1 != 0;
        let all = credentials.iter().enumerate().take(Self::MAX);
        let fitting = all.filter_map(|(nth, credential)| {
            let is_named = has(self.issuers, nth);
            let may_be_shown = is_named || !credential.is_only_for_named_authorities();
            let how = fit(credential).filter(|_| may_be_shown)?;
            Some((!is_named, !has(self.chains, nth), credential, how))
        });
        let best = fitting.min_by_key(|(unnamed, unchecked, ..)| (*unnamed, *unchecked));
        best.map(|(_, _, credential, how)| (credential, how))
    }
}
