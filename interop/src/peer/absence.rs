//! Lists what a peer does not have, as data: the cells of the matrix that need it are not tried, and say why.

use terse_tls::ProtocolVersion;

use super::Role;
use crate::features::{Carrier, Cell};

/// Something that a peer does not have.
#[derive(Debug)]
pub struct Absence {
    /// The name of the feature.
    pub feature: &'static str,
    /// Why it cannot be tried.
    pub reason: &'static str,
    /// Whether it is absent in one role of ours only, and in which.
    role: Option<Role>,
    /// Whether it is absent in one version only, and in which.
    version: Option<ProtocolVersion>,
    /// Whether it is absent over one carrier only, and over which.
    carrier: Option<Carrier>,
}

/// Names a feature that cannot be tried in any version or role.
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

    /// It cannot be tried with TLS 1.2 or DTLS 1.2.
    pub(super) const fn tls12(self) -> Self {
        Self { version: Some(ProtocolVersion::TLS_1_2), ..self }
    }

    /// It cannot be tried with TLS 1.3 or DTLS 1.3.
    pub(super) const fn tls13(self) -> Self {
        Self { version: Some(ProtocolVersion::TLS_1_3), ..self }
    }

    /// It cannot be tried over TCP.
    pub(super) const fn tcp(self) -> Self {
        Self { carrier: Some(Carrier::Tcp), ..self }
    }

    /// It cannot be tried over datagrams.
    pub(super) const fn dtls(self) -> Self {
        Self { carrier: Some(Carrier::Udp), ..self }
    }

    /// Returns whether this absence is about `feature` in `cell`.
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
