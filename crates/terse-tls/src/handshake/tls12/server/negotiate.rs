//! Reading a ClientHello of TLS 1.2, and choosing from it: a list of named steps (RFC 5246, 7.4.1.2 to 7.4.1.4).

use alloc::vec::Vec;

use crate::cert::Credential;
use crate::config::ServerConfig;
use crate::crypto::{Group, Tls12KeyExchange, Tls12Suite};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::caching::Offered;
use crate::handshake::tls12::key_exchange;
use crate::handshake::{agreement, signature};
use crate::wire::{
    CipherSuite, ClientHello, EcPointFormats, ExtendedMasterSecret, ProtocolVersion, RenegotiationInfo,
    SignatureAlgorithms, SignatureScheme, SupportedGroups,
};

/// A ClientHello with the extensions that matter, each parsed.
pub(super) struct Offer<'a> {
    pub(super) hello: &'a ClientHello<'a>,
    pub(super) server_name: Option<&'a str>,
    pub(super) extended_master_secret: bool,
    /// The client knows RFC 5746, and wants to hear that this side does as well.
    pub(super) secure_renegotiation: bool,
    pub(super) caching: Offered<'a>,
    supported_groups: Option<SupportedGroups<'a>>,
    signature_algorithms: Option<SignatureAlgorithms<'a>>,
}

impl<'a> Offer<'a> {
    pub(super) fn parse(config: &ServerConfig, hello: &'a ClientHello<'a>) -> Result<Self, Error> {
        if !hello.legacy_compression_methods.contains(&0) {
            return Err(PeerMisbehaved::IllegalLegacyField.into());
        }
        let extensions = hello.extensions;
        extensions.get::<EcPointFormats<'_>>()?; // RFC 8422, 5.1.2: uncompressed points must be among them
        let renegotiation_info = extensions.get()?;
        if renegotiation_info.is_some_and(|RenegotiationInfo(connection)| !connection.is_empty()) {
            return Err(PeerMisbehaved::IllegalRenegotiationInfo.into()); // RFC 5746, 3.6
        }
        let mut suites = hello.cipher_suites.0.iter();
        Ok(Self {
            hello,
            server_name: agreement::server_name(extensions)?,
            extended_master_secret: extensions.get::<ExtendedMasterSecret>()?.is_some(),
            secure_renegotiation: renegotiation_info.is_some()
                || suites.any(|suite| suite == CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV),
            caching: Offered::parse(config, extensions)?,
            supported_groups: extensions.get()?,
            signature_algorithms: extensions.get()?,
        })
    }

    /// Without the extension the client takes any curve (RFC 8422, 4).
    fn supports(&self, group: &dyn Group) -> bool {
        self.supported_groups
            .as_ref()
            .is_none_or(|SupportedGroups(names)| names.iter().any(|name| name == group.name()))
    }

    /// Without the extension it would be SHA-1 (RFC 5246, 7.4.1.4.1), which is out of the question.
    fn accepts(&self, scheme: SignatureScheme) -> bool {
        let schemes = self.signature_algorithms.iter().flat_map(|SignatureAlgorithms(schemes)| schemes.iter());
        schemes.into_iter().any(|accepted| accepted == scheme)
    }
}

/// What was chosen.
pub(super) struct Negotiated {
    pub(super) suite: &'static Tls12Suite,
    pub(super) group: &'static dyn Group,
    /// What the server proves its identity with, and how it signs.
    pub(super) credential: Credential,
    pub(super) scheme: SignatureScheme,
    pub(super) application_protocol: Option<Vec<u8>>,
}

impl Negotiated {
    pub(super) fn new(config: &ServerConfig, offer: &Offer<'_>) -> Result<Self, Error> {
        if !offer.extended_master_secret && config.common.require_extended_master_secret {
            return Err(PeerIncompatible::NoExtendedMasterSecret.into()); // RFC 7627, 5.2
        }
        let (suite, credential, scheme) = select_suite(config, offer)?;
        let mut groups = config.common.groups.iter().filter_map(|name| key_exchange::group(&config.common, *name));
        let group = groups.find(|group| offer.supports(*group)).ok_or(PeerIncompatible::NoCommonGroup)?;
        let application_protocol = agreement::select_application_protocol(config, offer.hello.extensions)?;
        Ok(Self { suite, group, credential, scheme, application_protocol })
    }
}

/// The first suite, in the server's order, for which it has a key that the client can verify.
fn select_suite(
    config: &ServerConfig,
    offer: &Offer<'_>,
) -> Result<(&'static Tls12Suite, Credential, SignatureScheme), PeerIncompatible> {
    let mut suites = (config.common.suites.iter())
        .filter(|id| offer.hello.cipher_suites.0.iter().any(|offered| offered == **id))
        .filter_map(|id| config.common.provider.tls12_suite(*id))
        .peekable();
    if suites.peek().is_none() {
        return Err(PeerIncompatible::NoCommonCipherSuite);
    }
    suites
        .find_map(|suite| {
            select_credential(config, offer, suite.key_exchange).map(|(key, scheme)| (suite, key, scheme))
        })
        .ok_or(PeerIncompatible::NoCommonSignatureScheme)
}

fn select_credential(
    config: &ServerConfig,
    offer: &Offer<'_>,
    key_exchange: Tls12KeyExchange,
) -> Option<(Credential, SignatureScheme)> {
    let accepts = |scheme| key_exchange::fits(key_exchange, scheme) && offer.accepts(scheme);
    config.credentials.iter().find_map(|credential| {
        let scheme = signature::choose(credential, ProtocolVersion::TLS_1_2, accepts)?;
        Some((credential.clone(), scheme))
    })
}
