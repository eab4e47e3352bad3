//! Reading a ClientHello, and choosing from it: a list of named steps (RFC 9846, 4.2.2 and 4.3).

use alloc::vec::Vec;

use crate::cert::Credential;
use crate::config::ServerConfig;
use crate::crypto::{Digest, Group, Hash, Tls13Suite};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::caching::Offered;
use crate::handshake::certificate_types::{Choice, client_takes};
use crate::handshake::{agreement, signature};
use crate::wire::{
    CertificateAuthorities, ClientHello, Encode, ExtensionType, Extensions, KeyShareClientHello, KeyShareEntry,
    ProtocolVersion, SignatureAlgorithms, SignatureAlgorithmsCert, SignatureScheme, SupportedGroups,
};

/// A ClientHello with the extensions that matter, each parsed.
pub(super) struct Offer<'a> {
    pub(super) hello: &'a ClientHello<'a>,
    pub(super) server_name: Option<&'a str>,
    pub(super) caching: Offered<'a>,
    supported_groups: SupportedGroups<'a>,
    signature_algorithms: SignatureAlgorithms<'a>,
    key_share: KeyShareClientHello<'a>,
}

impl<'a> Offer<'a> {
    pub(super) fn parse(config: &ServerConfig, hello: &'a ClientHello<'a>) -> Result<Self, Error> {
        if hello.legacy_compression_methods != [0] {
            return Err(PeerMisbehaved::IllegalLegacyField.into());
        }
        let extensions = hello.extensions;
        // Not used, but a malformed one is refused all the same.
        extensions.get::<SignatureAlgorithmsCert<'_>>()?;
        extensions.get::<CertificateAuthorities<'_>>()?;
        check_pre_shared_key(extensions)?;
        Ok(Self {
            hello,
            server_name: agreement::server_name(extensions)?,
            caching: Offered::parse(config, extensions)?,
            supported_groups: extensions.require()?,
            signature_algorithms: extensions.require()?,
            key_share: extensions.require()?,
        })
    }

    pub(super) fn key_shares(&self) -> impl Iterator<Item = KeyShareEntry<'a>> + use<'a> {
        self.key_share.0.iter()
    }

    /// What a second ClientHello must repeat (RFC 9846, 4.2.2): all but key_share, cookie, early_data, pre_shared_key and
    /// padding. In any order: wolfSSL sends another one.
    pub(super) fn fixed_part(&self, hash: &dyn Hash) -> Digest {
        const PADDING: ExtensionType = ExtensionType(21);
        let mut context = hash.start();
        let without_extensions = ClientHello { extensions: Extensions::EMPTY, ..self.hello.clone() }.to_vec();
        context.update(&without_extensions.unwrap_or_default());
        let mut extensions: Vec<_> = self.hello.extensions.iter().collect();
        extensions.sort_unstable_by_key(|(kind, _)| *kind);
        for (kind, body) in extensions {
            match kind {
                ExtensionType::KEY_SHARE
                | ExtensionType::COOKIE
                | ExtensionType::EARLY_DATA
                | ExtensionType::PRE_SHARED_KEY
                | PADDING => {}
                _ => {
                    context.update(&kind.0.to_be_bytes());
                    context.update(&(body.len() as u32).to_be_bytes());
                    context.update(body);
                }
            }
        }
        context.finish()
    }
}

/// RFC 9846, 4.3.11 and 4.3.9: the last one, and not without the modes.
fn check_pre_shared_key(extensions: Extensions<'_>) -> Result<(), PeerMisbehaved> {
    let mut kinds = extensions.iter().map(|(kind, _)| kind);
    if !kinds.any(|kind| kind == ExtensionType::PRE_SHARED_KEY) {
        return Ok(());
    }
    if kinds.next().is_some() {
        return Err(PeerMisbehaved::MisplacedExtension(ExtensionType::PRE_SHARED_KEY));
    }
    if extensions.iter().all(|(kind, _)| kind != ExtensionType::PSK_KEY_EXCHANGE_MODES) {
        return Err(PeerMisbehaved::MissingExtension(ExtensionType::PSK_KEY_EXCHANGE_MODES));
    }
    Ok(())
}

/// What was chosen.
pub(super) struct Negotiated<'a> {
    pub(super) suite: &'static Tls13Suite,
    pub(super) group: &'static dyn Group,
    /// The client's share for that group; without one a HelloRetryRequest is due.
    pub(super) key_share: Option<&'a [u8]>,
    /// What the server proves its identity with, and how it signs.
    pub(super) credential: Credential,
    pub(super) scheme: SignatureScheme,
    pub(super) certificates: Choice,
    pub(super) application_protocol: Option<Vec<u8>>,
}

impl<'a> Negotiated<'a> {
    pub(super) fn new(config: &ServerConfig, offer: &Offer<'a>) -> Result<Self, Error> {
        let suite = select_suite(config, offer)?;
        check_key_shares(config, offer)?;
        let (group, key_share) = select_group(config, offer)?;
        let (credential, scheme) = select_credential(config, offer)?;
        let certificates = Choice::new(config, offer.hello.extensions, credential.certificate_type())?;
        let application_protocol = agreement::select_application_protocol(config, offer.hello.extensions)?;
        Ok(Self { suite, group, key_share, credential, scheme, certificates, application_protocol })
    }
}

/// The server's preference decides.
fn select_suite(config: &ServerConfig, offer: &Offer<'_>) -> Result<&'static Tls13Suite, Error> {
    let common = &config.common;
    let offered = |id| offer.hello.cipher_suites.0.iter().any(|other| other == id);
    let id = common.suites.iter().copied().find(|id| common.provider.tls13_suite(*id).is_some() && offered(*id));
    Ok(id.and_then(|id| common.provider.tls13_suite(id)).ok_or(PeerIncompatible::NoCommonCipherSuite)?)
}

/// The first credential that the client takes, and that can sign with a scheme of the client's (RFC 9846, 4.3.3).
fn select_credential(config: &ServerConfig, offer: &Offer<'_>) -> Result<(Credential, SignatureScheme), Error> {
    let accepts = |scheme| offer.signature_algorithms.0.iter().any(|other| other == scheme);
    let mut reason = PeerIncompatible::NoCommonCertificateType;
    for credential in &config.credentials {
        if client_takes(offer.hello.extensions, credential)? {
            match signature::choose(credential, ProtocolVersion::TLS_1_3, accepts) {
                Some(scheme) => return Ok((credential.clone(), scheme)),
                None => reason = PeerIncompatible::NoCommonSignatureScheme,
            }
        }
    }
    Err(reason.into())
}

/// RFC 9846, 4.3.8: shares are for groups that the client supports, one for each. Groups that are not known here are
/// not looked at.
fn check_key_shares(config: &ServerConfig, offer: &Offer<'_>) -> Result<(), Error> {
    for group in config.common.provider.groups {
        let shares = offer.key_shares().filter(|share| share.group == group.name()).count();
        let is_supported = offer.supported_groups.0.iter().any(|name| name == group.name());
        if shares > 1 || (shares == 1 && !is_supported) {
            return Err(PeerMisbehaved::IllegalKeyShare.into());
        }
    }
    Ok(())
}

/// The server's preference, among groups with a share; without one, among those that need a HelloRetryRequest, which
/// costs a round trip and half a kilobyte.
fn select_group<'a>(config: &ServerConfig, offer: &Offer<'a>) -> Result<(&'static dyn Group, Option<&'a [u8]>), Error> {
    let common = &config.common;
    let groups = common.groups.iter().filter_map(|name| common.provider.group(*name));
    for group in groups.clone() {
        if let Some(share) = offer.key_shares().find(|share| share.group == group.name()) {
            return Ok((group, Some(share.key_exchange)));
        }
    }
    let supported = |group: &&dyn Group| offer.supported_groups.0.iter().any(|name| name == group.name());
    let group = groups.clone().find(supported).ok_or(PeerIncompatible::NoCommonGroup)?;
    Ok((group, None))
}
