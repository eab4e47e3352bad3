//! Parses a ClientHello of TLS 1.2, and negotiates in named steps (RFC 5246, 7.4.1.2 to 7.4.1.4).

use alloc::vec::Vec;

use crate::cert::Credential;
use crate::cert::SuitableCredentials;
use crate::config::ServerConfig;
use crate::crypto::{Group, Tls12KeyExchange, Tls12Suite};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::caching::Offered;
use crate::handshake::certificate_types::{Choice, client_takes};
use crate::handshake::negotiated::RecordSizes;
use crate::handshake::tls12::key_exchange;
use crate::handshake::{credentials, negotiated, signature, stapling};
use crate::wire::{
    CertificateAuthorities, CipherSuite, ClientHello, EcPointFormats, ExtendedMasterSecret, List, NamedGroup,
    ProtocolVersion, RenegotiationInfo, SessionTicket, SignatureAlgorithms, SignatureAlgorithmsCert, SignatureScheme,
    SupportedGroups,
};

/// A ClientHello with its parsed extensions.
pub(super) struct Offer<'a> {
    pub(super) hello: &'a ClientHello<'a>,
    pub(super) server_name: Option<&'a str>,
    pub(super) record_sizes: RecordSizes,
    pub(super) extended_master_secret: bool,
    /// Whether the client supports RFC 5746, and expects an answer.
    pub(super) secure_renegotiation: bool,
    /// Whether the client sent `ec_point_formats`, which is answered (RFC 8422, 5.2).
    pub(super) ec_point_formats: bool,
    pub(super) caching: Offered<'a>,
    /// Whether the client requests a stapled OCSP response.
    pub(super) asks_status: bool,
    /// The client's ticket (RFC 5077, 3.2); empty if it has none yet.
    pub(super) session_ticket: Option<&'a [u8]>,
    supported_groups: Option<SupportedGroups<'a>>,
    signature_algorithms: Option<SignatureAlgorithms<'a>>,
    signature_algorithms_cert: Option<SignatureAlgorithmsCert<'a>>,
    certificate_authorities: Option<CertificateAuthorities<'a>>,
}

impl<'a> Offer<'a> {
    /// Returns how many round trips the validation of the client's address took (RFC 6347, 4.2.1), as far as this side
    /// knows.
    pub(super) fn verified(&self) -> u32 {
        self.hello.cookie.is_some_and(|cookie| !cookie.is_empty()).into()
    }

    pub(super) fn parse(config: &ServerConfig, hello: &'a ClientHello<'a>) -> Result<Self, Error> {
        if !hello.legacy_compression_methods.contains(&0) {
            return Err(PeerMisbehaved::IllegalLegacyField.into());
        }
        let extensions = hello.extensions;
        let renegotiation_info = extensions.get()?;
        if renegotiation_info.is_some_and(|RenegotiationInfo(connection)| !connection.is_empty()) {
            return Err(PeerMisbehaved::IllegalRenegotiationInfo.into()); // RFC 5746, 3.6
        }
        let mut suites = hello.cipher_suites.0.iter();
        Ok(Self {
            hello,
            server_name: negotiated::server_name(extensions)?,
            record_sizes: RecordSizes::parse(extensions)?,
            extended_master_secret: extensions.get::<ExtendedMasterSecret>()?.is_some(),
            secure_renegotiation: renegotiation_info.is_some()
                || suites.any(|suite| suite == CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV),
            ec_point_formats: extensions.get::<EcPointFormats<'_>>()?.is_some(),
            caching: Offered::parse(config, extensions)?,
            asks_status: stapling::is_asked(extensions)?,
            session_ticket: extensions.get()?.map(|SessionTicket(ticket)| ticket),
            supported_groups: extensions.get()?,
            signature_algorithms: extensions.get()?,
            signature_algorithms_cert: extensions.get()?,
            certificate_authorities: extensions.get()?,
        })
    }

    /// docs/caching.md, 4.6: nothing is cached where the master secret does not stand for this handshake alone.
    pub(super) fn may_cache(&self, config: &ServerConfig) -> bool {
        config.common.defences().may_cache(self.extended_master_secret)
    }

    pub(super) fn offers(&self, suite: CipherSuite) -> bool {
        self.hello.cipher_suites.0.iter().any(|offered| offered == suite)
    }

    /// Whether the client supports a group. Without the extension it supports any curve (RFC 8422, 4).
    fn supports(&self, group: NamedGroup) -> bool {
        self.supported_groups.as_ref().is_none_or(|SupportedGroups(names)| names.iter().any(|name| name == group))
    }

    /// Whether the client offers a signature scheme. Without the extension it would be SHA-1 (RFC 5246, 7.4.1.4.1),
    /// which is never used.
    fn names(&self, scheme: SignatureScheme) -> bool {
        let mut schemes = self.signature_algorithms.iter().flat_map(|SignatureAlgorithms(schemes)| schemes.iter());
        schemes.any(|accepted| accepted == scheme)
    }

    /// Whether the client accepts signatures with this scheme: it must also support the curve of the key (RFC 8422,
    /// 5.3).
    fn accepts(&self, scheme: SignatureScheme) -> bool {
        self.names(scheme) && scheme.curve().is_none_or(|curve| self.supports(curve))
    }

    /// Returns the curve of a credential that the client would accept if it supported the curve.
    fn missing_curve(&self, credentials: &[Credential], exchange: Tls12KeyExchange) -> Option<NamedGroup> {
        let names = |scheme| key_exchange::fits(exchange, scheme) && self.names(scheme);
        let schemes = credentials.iter().filter_map(|it| signature::choose(it, ProtocolVersion::TLS_1_2, names));
        schemes.filter_map(SignatureScheme::curve).next()
    }

    /// Returns how the server's credentials suit the client's certificate authorities and signature schemes for chains.
    fn suitable(&self, config: &ServerConfig) -> SuitableCredentials {
        let authorities = self.certificate_authorities.as_ref().map(|CertificateAuthorities(names)| *names);
        let of_handshake = self.signature_algorithms.as_ref().map(|SignatureAlgorithms(schemes)| schemes);
        let of_chains = self.signature_algorithms_cert.as_ref().map(|SignatureAlgorithmsCert(schemes)| schemes);
        let schemes = of_chains.or(of_handshake).unwrap_or(&List::Items(&[]));
        credentials::suitable(&config.common, &config.credentials, authorities, schemes)
    }
}

/// A credential, and the scheme that its key signs with.
type Signed = (Credential, SignatureScheme);

/// The negotiated values.
pub(super) struct Negotiated {
    pub(super) suite: &'static Tls12Suite,
    /// The group; `None` with a pre-shared key alone.
    pub(super) group: Option<&'static dyn Group>,
    /// The server's credential and signature scheme; `None` with a pre-shared key.
    pub(super) credential: Option<Signed>,
    pub(super) certificates: Option<Choice>,
    pub(super) application_protocol: Option<Vec<u8>>,
}

impl Negotiated {
    pub(super) fn new(config: &ServerConfig, offer: &Offer<'_>) -> Result<Self, Error> {
        #[cfg(terse_testing)]
        crate::work::Work::negotiated_client_hello();
        if !offer.extended_master_secret && config.common.require_extended_master_secret {
            return Err(PeerIncompatible::NoExtendedMasterSecret.into()); // RFC 7627, 5.2
        }
        let mut groups = config.common.groups.iter().filter_map(|name| key_exchange::group(&config.common, *name));
        let group = groups.find(|group| offer.supports(group.name()));
        let (suite, credential) = select_suite(config, offer, group.is_some())?;
        let kind = credential.as_ref().map(|(credential, _)| credential.certificate_type());
        let certificates = kind.map(|kind| Choice::new(config, offer.hello.extensions, kind)).transpose()?;
        let group = group.filter(|_| suite.key_exchange != Tls12KeyExchange::Psk);
        let application_protocol = negotiated::select_application_protocol(config, offer.hello.extensions)?;
        Ok(Self { suite, group, credential, certificates, application_protocol })
    }
}

/// Returns the first suite in the server's order for which there is a credential that the client accepts, or pre-shared
/// keys.
fn select_suite(
    config: &ServerConfig,
    offer: &Offer<'_>,
    has_group: bool,
) -> Result<(&'static Tls12Suite, Option<Signed>), Error> {
    let mut reason = PeerIncompatible::NoCommonCipherSuite;
    let (suitable, takes) = (offer.suitable(config), client_takes(offer.hello.extensions)?);
    for id in config.common.suites.iter().filter(|id| offer.offers(**id)) {
        let Some(suite) = config.common.provider.tls12_suite(*id) else { continue };
        match suite.key_exchange {
            Tls12KeyExchange::Psk if config.psks.is_some() => return Ok((suite, None)),
            Tls12KeyExchange::EcdhePsk if config.psks.is_some() && has_group => return Ok((suite, None)),
            Tls12KeyExchange::Psk => {}
            _ if !has_group => reason = PeerIncompatible::NoCommonGroup,
            key_exchange => {
                let accepts = |scheme| key_exchange::fits(key_exchange, scheme) && offer.accepts(scheme);
                let fit = |credential: &Credential| {
                    signature::choose(credential, ProtocolVersion::TLS_1_2, accepts).filter(|_| takes(credential))
                };
                reason = match suitable.choose(&config.credentials, fit) {
                    Some((credential, scheme)) => return Ok((suite, Some((credential.clone(), scheme)))),
                    // An error about the issuer is kept, since it is more specific than those of other suites.
                    None if reason == PeerIncompatible::NoCommonAuthority => reason,
                    None if config.credentials.is_empty() || !key_exchange.has_certificates() => reason,
                    None if !config.credentials.iter().any(&takes) => PeerIncompatible::NoCommonCertificateType,
                    None if !config.credentials.iter().any(|credential| fit(credential).is_some()) => {
                        let curve = offer.missing_curve(&config.credentials, key_exchange);
                        curve.map_or(PeerIncompatible::NoCommonSignatureScheme, PeerIncompatible::NoCommonCurve)
                    }
                    None => PeerIncompatible::NoCommonAuthority,
                };
            }
        }
    }
    Err(reason.into())
}
