//! The DTLS and the CoAP of constrained BRSKI (draft-ietf-anima-constrained-voucher-31), as constrained networks need them.

use serde::Deserialize;
use terse_brski::coap::Transmission;
use terse_tls::{CipherSuite, ClientConfig, ConfigBuilder, Datagrams, MaxFragmentLength, NamedGroup, ProtocolVersion};

/// A version of DTLS. A pledge offers one alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum DtlsVersion {
    /// DTLS 1.2 (RFC 6347), with TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8 (RFC 7251).
    #[serde(rename = "1.2")]
    Dtls12,
    /// DTLS 1.3 (RFC 9147), with AES-128 in GCM or CCM.
    #[default]
    #[serde(rename = "1.3")]
    Dtls13,
}

impl DtlsVersion {
    /// Returns the name in configurations: `1.2` or `1.3`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dtls12 => "1.2",
            Self::Dtls13 => "1.3",
        }
    }
}

/// How a pledge of constrained BRSKI speaks DTLS and CoAP.
///
/// # Defaults
///
/// - DTLS 1.3.
/// - Datagrams fit into IPv6 packets of 1,024 bytes. Connection IDs are offered, for records to the registrar alone. The timers
///   are those of [`Datagrams::default`]. Tags of 8 bytes are offered last, as
///   [`short_tags`](field@Datagrams::short_tags) says.
/// - The transmission parameters of CoAP are those of RFC 7252.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CoapsSettings {
    /// The version of DTLS.
    pub version: DtlsVersion,
    /// Sizes and timers of DTLS.
    pub datagrams: Datagrams,
    /// Timers of CoAP.
    pub transmission: Transmission,
}

impl Default for CoapsSettings {
    fn default() -> Self {
        let datagrams = Datagrams::default().max_datagram(MAX_DATAGRAM).connection_id(Some(0)).short_tags(true);
        Self { version: DtlsVersion::default(), datagrams, transmission: Transmission::default() }
    }
}

impl CoapsSettings {
    /// Applies these settings to the configuration of a client.
    pub(super) fn apply<'a>(&self, config: &'a mut ConfigBuilder<ClientConfig>) -> &'a mut ConfigBuilder<ClientConfig> {
        // P-256 first: a registrar of constrained BRSKI may have nothing else.
        config.datagrams(self.datagrams).groups([NamedGroup::SECP256R1, NamedGroup::X25519]);
        match self.version {
            DtlsVersion::Dtls12 => config
                .versions([ProtocolVersion::TLS_1_2])
                .suites([CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8])
                .max_fragment_length(MaxFragmentLength::Bytes1024)
                .compatibility_mode(true), // names the point format
            DtlsVersion::Dtls13 => config
                .versions([ProtocolVersion::TLS_1_3])
                .suites([
                    CipherSuite::TLS_AES_128_GCM_SHA256,
                    CipherSuite::TLS_AES_128_CCM_SHA256,
                    CipherSuite::TLS_AES_128_CCM_8_SHA256,
                ])
                .record_size_limit(RECORD_SIZE_LIMIT),
        }
    }
}

/// What an IPv6 packet of 1,024 bytes leaves for UDP.
const MAX_DATAGRAM: usize = 1_024 - 48;

/// The largest record that the pledge takes: a block of CoAP of 512 bytes fits, and the memory of the device is bounded.
const RECORD_SIZE_LIMIT: u16 = 1_024;

#[cfg(test)]
mod tests;
