//! How many signatures of certificates are still verified for a request.

use crate::masa::Refusal;

/// The signatures that may still be verified.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) const fn new(verifications: usize) -> Self {
        Self(verifications)
    }

    /// Takes so many off, before they are verified, or refuses the request.
    pub(super) fn spend(&mut self, verifications: usize) -> Result<(), Refusal> {
        self.0 = self.0.checked_sub(verifications).ok_or(Refusal::TooManyCertificates)?;
        Ok(())
    }
}
