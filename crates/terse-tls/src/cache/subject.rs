//! This module names what a ticket stands for. Both sides derive the ticket from that and the secrets of the handshake
//! (`schedule`).

use super::Fingerprint;
use crate::crypto::{Digest, Hash};

/// The objects that a ticket stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TicketSubject {
    /// A ticket of `bithac` stands for the client's Certificate (BiTHaC, IV-B).
    Client(Fingerprint),
    /// A ticket of `compact` stands for everything static that both sides sent or left out.
    Static(Parts),
}

/// The fingerprints of what was static in a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) server_certificate: Fingerprint,
    /// The CertificateRequest, if the client was asked for a certificate.
    pub(crate) certificate_request: Option<Fingerprint>,
    /// The Certificate that the client proved. An empty one counts as absent.
    pub(crate) client_certificate: Option<Fingerprint>,
}

impl Parts {
    /// Returns `SHA-256(fingerprint(server Certificate) || fingerprint(CertificateRequest) || fingerprint(client
    /// Certificate))`, with 32 zero bytes for an absent one.
    pub(crate) fn hash(&self, sha256: &dyn Hash) -> Digest {
        let or_zeros = |part: Option<Fingerprint>| part.map_or([0; 32], |Fingerprint(bytes)| bytes);
        let Fingerprint(server_certificate) = self.server_certificate;
        sha256.hash(&[&server_certificate, &or_zeros(self.certificate_request), &or_zeros(self.client_certificate)])
    }
}
