//! Values that only a verification makes.

/// Says that the peer's Finished was verified. What enters a store takes one along; it is not `Clone`, so that each
/// stands for one handshake.
#[derive(Debug)]
pub(crate) struct FinishedProof(());

impl FinishedProof {
    /// To be called on the line after the peer's Finished was verified, and nowhere else.
    pub(crate) const fn after_finished() -> Self {
        Self(())
    }
}
