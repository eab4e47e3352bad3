//! What a ticket stands for. Both sides derive it from that and the secrets of the handshake (`schedule`).

use super::Fingerprint;
use crate::crypto::{Digest, Hash};

/// What a ticket stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TicketSubject {
    /// Of `bithac`: the client's Certificate (BiTHaC, IV-B).
    Client(Fingerprint),
    /// Of `compact`: everything static that both sides sent or left out.
    Static(Parts),
}

/// What was static in a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) server_certificate: Fingerprint,
    /// The client was asked for a certificate.
    pub(crate) certificate_request: Option<Fingerprint>,
    /// What the client proved. An empty Certificate counts as absent.
    pub(crate) client_certificate: Option<Fingerprint>,
}

impl Parts {
    /// `SHA-256(fingerprint(server Certificate) || fingerprint(CertificateRequest) || fingerprint(client
    /// Certificate))`, with 32 zero bytes for an absent one.
    pub(crate) fn hash(&self, sha256: &dyn Hash) -> Digest {
        let or_zeros = |part: Option<Fingerprint>| part.map_or([0; 32], |Fingerprint(bytes)| bytes);
        let Fingerprint(server_certificate) = self.server_certificate;
        sha256.hash(&[&server_certificate, &or_zeros(self.certificate_request), &or_zeros(self.client_certificate)])
    }
}
