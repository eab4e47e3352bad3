//! Which of several credentials a side shows.

use super::Credential;

/// How the credentials of a configuration suit what the peer says of issuers and chains: a bit for each, the first one
/// lowest. The configuration has [`Self::MAX`] at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Suited {
    /// One of the CAs that the peer names issued a certificate of the chain.
    pub(crate) issuers: u16,
    /// The peer takes the signatures of the whole chain.
    pub(crate) chains: u16,
}

impl Suited {
    /// How many credentials there can be.
    pub(crate) const MAX: usize = u16::BITS as usize;

    /// The one to show: of those that `fit`, one whose issuer the peer names; of these one whose chain it can check; of
    /// these the first.
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
