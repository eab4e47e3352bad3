//! What a peer does not have, as facts: these cells of the matrix are not tried, and say why.

use terse_tls::ProtocolVersion;

use super::Role;
use crate::features::{Carrier, Cell};

/// Something that a peer does not have.
#[derive(Debug)]
pub struct Absence {
    /// The name of the feature.
    pub feature: &'static str,
    /// Why.
    pub reason: &'static str,
    /// In one role of ours only.
    role: Option<Role>,
    /// In one version only.
    version: Option<ProtocolVersion>,
    /// Over one carrier only.
    carrier: Option<Carrier>,
}

/// A feature that cannot be tried, in no version and in neither role.
pub(super) const fn absent(feature: &'static str, reason: &'static str) -> Absence {
    Absence { feature, reason, role: None, version: None, carrier: None }
}

impl Absence {
    /// Our client cannot try it; our server can.
    pub(super) const fn for_our_client(self) -> Self {
        Self { role: Some(Role::Client), ..self }
    }

    /// Our server cannot try it; our client can.
    pub(super) const fn for_our_server(self) -> Self {
        Self { role: Some(Role::Server), ..self }
    }

    /// Not with TLS 1.2, or DTLS 1.2.
    pub(super) const fn tls12(self) -> Self {
        Self { version: Some(ProtocolVersion::TLS_1_2), ..self }
    }

    /// Not with TLS 1.3, or DTLS 1.3.
    pub(super) const fn tls13(self) -> Self {
        Self { version: Some(ProtocolVersion::TLS_1_3), ..self }
    }

    /// Not over TCP.
    pub(super) const fn tcp(self) -> Self {
        Self { carrier: Some(Carrier::Tcp), ..self }
    }

    /// Not over datagrams.
    pub(super) const fn dtls(self) -> Self {
        Self { carrier: Some(Carrier::Udp), ..self }
    }

    /// Whether it is about `feature` in `cell`.
    pub(crate) fn is_about(&self, feature: &str, cell: &Cell) -> bool {
        self.feature == feature
            && self.role.is_none_or(|role| role == cell.role)
            && self.version.is_none_or(|version| version == cell.version)
            && self.carrier.is_none_or(|carrier| carrier == cell.carrier)
    }
}

// Reasons that several peers share.

pub(super) const NO_CCM_WITH_ECDHE: &str = "it has no suites of RFC 8442 with AES-CCM";

pub(super) const NO_CONNECTION_IDS: &str = "it has no connection IDs for DTLS 1.2";

pub(super) const NO_CUT_HELLO: &str = "its server takes no ClientHello that is cut";

pub(super) const CUTS_NO_HELLO: &str = "its client does not cut its first ClientHello";

pub(super) const SAYS_NOTHING: &str = "it leaves without an alert, which over UDP is not noticed";

pub(super) const NO_OTHER_VERSION: &str = "it has no other version of DTLS";
