//! What is simulated: the form of the onboarding, and the link below.

use core::time::Duration;

use terse_brski::coap::{PathForm, Transmission};
use terse_brski::pledge::Proximity;
use terse_tls::{CipherSuite, Datagrams, ProtocolVersion};

use crate::compare::IpVersion;
use crate::link::Link;
use crate::tcp;

/// An onboarding on a link. The pledge is at the first end, the registrar at the second.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What pledge and registrar speak.
    pub protocol: Protocol,
    /// The link.
    pub link: Link,
    /// The version of IP.
    pub ip: IpVersion,
    /// What all losses and all randomness follow from.
    pub seed: u64,
    /// When a pledge that is not enrolled is given up.
    pub limit: Duration,
}

impl Setting {
    /// Returns an onboarding on this link over IPv6, with a limit of a day, and the seed 1.
    pub const fn new(protocol: Protocol, link: Link) -> Self {
        Self { protocol, link, ip: IpVersion::V6, seed: 1, limit: Duration::from_secs(86_400) }
    }
}

/// What pledge and registrar speak.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// Constrained BRSKI over CoAPS.
    Coaps {
        /// The version of DTLS.
        dtls: Dtls,
        /// How requests name their resource.
        path_form: PathForm,
        /// How the voucher request names the registrar.
        proximity: Proximity,
        /// The timers of CoAP on both sides.
        transmission: Transmission,
        /// The timers of DTLS on both sides. Datagrams are made to fit the link.
        datagrams: Datagrams,
    },
    /// BRSKI over HTTPS: TLS 1.3 over TCP.
    Https {
        /// How TCP behaves on both sides. Segments are made to fit the link.
        tcp: tcp::Config,
    },
}

impl Protocol {
    /// Returns constrained BRSKI with its defaults: Uri-Path-Abbrev, the hash of the registrar's key, and the timers of CoAP and
    /// DTLS for the Internet.
    pub fn coaps(dtls: Dtls) -> Self {
        Self::Coaps {
            dtls,
            path_form: PathForm::Abbreviated,
            proximity: Proximity::PublicKeySha256,
            transmission: Transmission::default(),
            datagrams: Datagrams::default(),
        }
    }

    /// Returns BRSKI over HTTPS, with the TCP of Linux and timers for slow links: on one, those of Linux repeat segments that are
    /// under way.
    pub fn https() -> Self {
        let (rto_initial, rto_minimum) = (TCP_TIMEOUT, TCP_TIMEOUT);
        Self::Https { tcp: tcp::Config { rto_initial, rto_minimum, loss_probe: false, ..tcp::Config::linux() } }
    }
}

/// A version of DTLS, with the cipher suite that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtls {
    /// DTLS 1.2 with `TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8`, which RFC 7925 and constrained BRSKI require.
    V12,
    /// DTLS 1.3 with `TLS_AES_128_CCM_SHA256`, whose tags are not shortened.
    V13,
}

impl Dtls {
    /// Both versions.
    pub const ALL: [Self; 2] = [Self::V12, Self::V13];

    /// Returns the name: `DTLS 1.3`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V12 => "DTLS 1.2",
            Self::V13 => "DTLS 1.3",
        }
    }

    pub(super) const fn version(self) -> ProtocolVersion {
        match self {
            Self::V12 => ProtocolVersion::TLS_1_2,
            Self::V13 => ProtocolVersion::TLS_1_3,
        }
    }

    pub(super) const fn suite(self) -> CipherSuite {
        match self {
            Self::V12 => CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,
            Self::V13 => CipherSuite::TLS_AES_128_CCM_SHA256,
        }
    }

    /// Returns the length of the tags of the suite.
    pub(super) const fn tag_len(self) -> usize {
        match self {
            Self::V12 => 8,
            Self::V13 => 16,
        }
    }
}

/// The least timeout of TCP: as much as CoAP waits at first, at most (RFC 7252, 4.8).
const TCP_TIMEOUT: Duration = Duration::from_secs(3);
