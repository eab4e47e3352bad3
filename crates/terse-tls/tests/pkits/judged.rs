//! What Terse says about one chain of published vectors.

use pki_types::{CertificateDer, UnixTime};
use terse_tls::{ApiMisuse, CertificateError, Expect, Trust};

/// The result for one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    Accepted,
    Refused(CertificateError),
    /// The configuration is refused.
    Misuse(ApiMisuse),
}

impl Judged {
    /// Judges a chain, leaf first.
    pub(crate) fn by(
        trust: &Result<Trust, ApiMisuse>,
        chain: &[CertificateDer<'_>],
        expect: Expect<'_>,
        time: UnixTime,
    ) -> Self {
        let trust = match trust {
            Ok(trust) => trust,
            Err(misuse) => return Self::Misuse(*misuse),
        };
        match trust.check(&terse_aws_lc::PROVIDER, chain, expect, Some(time)) {
            Ok(_) => Self::Accepted,
            Err(error) => Self::Refused(error),
        }
    }

    pub(crate) fn is_accepted(self) -> bool {
        self == Self::Accepted
    }
}
