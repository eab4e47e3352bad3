//! Parses a ClientHello, and chooses the handshake's parameters from it, in named steps (RFC 9846, 4.2.2 and 4.3).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::agreement::{Agreement, GroupAgreement};
use super::psk::Candidate;
use crate::cache::{FallbackReason, TicketRows};
use crate::cert::Credential;
use crate::config::ServerConfig;
use crate::crypto::{Digest, Hash, Tls13Suite};
use crate::error::{Error, PeerIncompatible, PeerMisbehaved};
use crate::handshake::caching::Offered;
use crate::handshake::certificate_types::{Choice, client_takes};
use crate::handshake::identity::server::EarlyDataContext;
use crate::handshake::negotiated::RecordSizes;
use crate::handshake::{Output, credentials, negotiated, sessions, signature, stapling};
use crate::identity::IdentityAlgorithm;
use crate::resume::Binding;
use crate::time::Now;
use crate::wire::{
    CertificateAuthorities, CipherSuite, ClientHello, EarlyData, Encode, ExtensionType, Extensions,
    IdentityShareClientHello, KeyShareClientHello, KeyShareEntry, PreSharedKeyClientHello, ProtocolVersion,
    PskKeyExchangeMode, PskKeyExchangeModes, SignatureAlgorithms, SignatureAlgorithmsCert, SignatureScheme,
    SupportedGroups, Transport,
};

/// A ClientHello with the extensions that the server uses, each parsed.
pub(super) struct Offer<'a> {
    pub(super) hello: &'a ClientHello<'a>,
    pub(super) server_name: Option<&'a str>,
    pub(super) record_sizes: RecordSizes,
    pub(super) caching: Offered<'a>,
    pub(super) pre_shared_key: Option<PreSharedKeyClientHello<'a>>,
    /// Whether the client supports `psk_dhe_ke`, the only pre-shared key mode that this server supports.
    pub(super) takes_psks: bool,
    /// Whether the client offers early data.
    pub(super) early_data: bool,
    /// Whether the client requests a stapled OCSP response.
    pub(super) asks_status: bool,
    pub(super) supported_groups: Option<SupportedGroups<'a>>,
    /// The schemes for CertificateVerify. A client that offers only pre-shared keys may omit them.
    signature_algorithms: Option<SignatureAlgorithms<'a>>,
    signature_algorithms_cert: Option<SignatureAlgorithmsCert<'a>>,
    certificate_authorities: Option<CertificateAuthorities<'a>>,
    pub(super) key_share: Option<KeyShareClientHello<'a>>,
    /// The client's identity, if the server has identity keys.
    pub(super) identity_share: Option<IdentityShareClientHello<'a>>,
}

impl<'a> Offer<'a> {
    pub(super) fn parse(
        config: &ServerConfig,
        hello: &'a ClientHello<'a>,
        transport: Transport,
    ) -> Result<Self, Error> {
        let has_cookie = transport == Transport::Datagram && hello.cookie.is_some_and(|cookie| !cookie.is_empty());
        if hello.legacy_compression_methods != [0] || has_cookie {
            return Err(PeerMisbehaved::IllegalLegacyField.into());
        }
        let extensions = hello.extensions;
        check_pre_shared_key(extensions)?;
        let modes: Option<PskKeyExchangeModes<'_>> = extensions.get()?;
        let mut modes = modes.iter().flat_map(|PskKeyExchangeModes(modes)| modes.iter());
        Ok(Self {
            hello,
            server_name: negotiated::server_name(extensions)?,
            record_sizes: RecordSizes::parse(extensions)?,
            caching: Offered::parse(config, extensions)?,
            pre_shared_key: extensions.get()?,
            takes_psks: modes.any(|mode| mode == PskKeyExchangeMode::PSK_DHE_KE),
            early_data: extensions.get::<EarlyData>()?.is_some(),
            asks_status: stapling::is_asked(extensions)?,
            supported_groups: extensions.get()?,
            signature_algorithms: extensions.get()?,
            signature_algorithms_cert: extensions.get()?,
            certificate_authorities: extensions.get()?,
            key_share: extensions.get()?,
            identity_share: match config.identity {
                Some(_) => extensions.get()?,
                None => None,
            },
        })
    }

    pub(super) fn key_shares(&self) -> impl Iterator<Item = KeyShareEntry<'a>> {
        self.key_share.iter().flat_map(|KeyShareClientHello(shares)| shares.iter())
    }

    /// Returns whether the handshake can use a certificate of the server.
    fn takes_certificates(&self, config: &ServerConfig) -> bool {
        let takes = self.supported_groups.is_some() && self.signature_algorithms.is_some();
        takes && !config.credentials.is_empty()
    }

    /// Returns the ClientHello whose whole message is `bytes`, without its binders (RFC 9846, 4.3.11.2).
    pub(super) fn truncated<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let binders_len = self.pre_shared_key.as_ref().map_or(0, PreSharedKeyClientHello::binders_len);
        &bytes[..bytes.len().saturating_sub(binders_len)]
    }

    /// Returns the hash of what a second ClientHello must repeat (RFC 9846, 4.2.2): all but key_share, cookie,
    /// early_data, pre_shared_key and padding, and in identity_share all but the public part of the client's key. The extensions may come in another order, as from wolfSSL.
    pub(super) fn fixed_part(&self, hash: &dyn Hash) -> Digest {
        let mut context = hash.start();
        let without_extensions = ClientHello { extensions: Extensions::EMPTY, ..self.hello.clone() }.to_vec();
        context.update(&without_extensions.unwrap_or_default());
        let mut extensions: Vec<_> = self.hello.extensions.iter().collect();
        extensions.sort_unstable_by_key(|(kind, _)| *kind);
        for (kind, body) in extensions {
            let body = match &self.identity_share {
                Some(share) if kind == ExtensionType::IDENTITY_SHARE => {
                    &without_public_part(share).to_vec().unwrap_or_default()
                }
                _ => body,
            };
            match kind {
                ExtensionType::KEY_SHARE
                | ExtensionType::COOKIE
                | ExtensionType::EARLY_DATA
                | ExtensionType::PRE_SHARED_KEY
                | ExtensionType::PADDING => {}
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

/// Returns the share as it would be without the public part of the client's key.
fn without_public_part<'a>(share: &IdentityShareClientHello<'a>) -> IdentityShareClientHello<'a> {
    let len = IdentityAlgorithm::from_code(share.code()).map_or(usize::MAX, IdentityAlgorithm::ephemeral_len);
    let key_exchange = share.key_exchange.get(..len).unwrap_or(share.key_exchange);
    IdentityShareClientHello { key_exchange, ..*share }
}

/// Checks that `pre_shared_key` is the last extension (RFC 9846, 4.3.11), and that `psk_key_exchange_modes` comes with
/// it (4.3.9).
fn check_pre_shared_key(extensions: Extensions<'_>) -> Result<(), PeerMisbehaved> {
    let has = |wanted| extensions.iter().any(|(kind, _)| kind == wanted);
    if !has(ExtensionType::PRE_SHARED_KEY) {
        return Ok(());
    }
    if extensions.last() != Some(ExtensionType::PRE_SHARED_KEY) {
        return Err(PeerMisbehaved::MisplacedExtension(ExtensionType::PRE_SHARED_KEY));
    }
    if !has(ExtensionType::PSK_KEY_EXCHANGE_MODES) {
        return Err(PeerMisbehaved::MissingExtension(ExtensionType::PSK_KEY_EXCHANGE_MODES));
    }
    Ok(())
}

/// The parameters that the server has chosen from a ClientHello.
pub(super) struct Negotiated<'a> {
    pub(super) suite: &'static Tls13Suite,
    pub(super) agreement: Agreement<'a>,
    pub(super) proof: Proof<'a>,
    pub(super) application_protocol: Option<Vec<u8>>,
    /// The context that sessions are bound to, if the server resumes.
    pub(super) binding: Option<Binding>,
    /// Why a session that was found is not resumed.
    pub(super) fallback: Option<FallbackReason>,
    /// The cache entries of the offered tickets, after they were looked up.
    pub(super) rows: TicketRows,
}

/// How the server proves its identity to the client.
pub(super) enum Proof<'a> {
    /// The credential, its signature scheme, and the certificate types.
    Certificate(Credential, SignatureScheme, Choice),
    Psk(Box<Candidate<'a>>),
    /// The identity of [`Negotiated::agreement`].
    Identity,
}

impl<'a> Negotiated<'a> {
    /// Chooses the parameters. After a HelloRetryRequest, `fixed` is the suite that it selected.
    pub(super) fn new(
        config: &ServerConfig,
        offer: &Offer<'a>,
        fixed: Option<CipherSuite>,
        now: Now,
        transport: Transport,
    ) -> Result<Self, Error> {
        #[cfg(terse_testing)]
        crate::work::Work::negotiated_client_hello();
        let suites = common_suites(config, offer, fixed);
        let suite = *suites.first().ok_or(PeerIncompatible::NoCommonCipherSuite)?;
        let identity = Agreement::select_identity(config, offer, now)?;
        let application_protocol = negotiated::select_application_protocol(config, offer.hello.extensions)?;
        let alpn = application_protocol.as_deref();
        let binding = sessions::binding(config, ProtocolVersion::TLS_1_3, offer.server_name, alpn);
        let rows = TicketRows::default();
        let refused = match identity {
            Ok(mut agreement) => {
                let proof = Proof::Identity;
                if let (Some(identity), Some(share)) = (agreement.identity_mut(), &offer.identity_share)
                    && offer.early_data
                    && offer.hello.cipher_suites.0.iter().next() == Some(suite.id)
                {
                    identity.find_ticket(
                        config,
                        share,
                        &EarlyDataContext { transport, application_protocol: alpn, now },
                    );
                }
                return Ok(Self { suite, agreement, proof, application_protocol, binding: None, fallback: None, rows });
            }
            Err(refused) => refused,
        };
        if offer.identity_share.is_some() && !offer.takes_certificates(config) {
            return Err(refused.into());
        }
        let agreement = Agreement::KeyShare(GroupAgreement::select(config, offer)?);
        let mut fallback = None;
        let candidate = Candidate::find(config, offer, &suites, binding.as_ref(), now, transport, &mut fallback);
        let (proof, suite) = match candidate {
            Some(candidate) => {
                if !candidate.is_external() {
                    config.check_without_identity(refused)?;
                }
                let suite = candidate.suite;
                (Proof::Psk(Box::new(candidate)), suite)
            }
            None => {
                config.check_without_identity(refused)?;
                (select_credential(config, offer)?, suite)
            }
        };
        Ok(Self { suite, agreement, proof, application_protocol, binding, fallback, rows })
    }

    /// Verifies that the client has the selected pre-shared key, if there is one. `messages` end with its ClientHello
    /// without the binders. If the session was used up meanwhile, the handshake continues with a certificate.
    pub(super) fn prove(mut self, config: &ServerConfig, offer: &Offer<'_>, messages: &Digest) -> Result<Self, Error> {
        if let Proof::Psk(candidate) = &self.proof {
            candidate.verify(messages)?;
            if !candidate.claim(config) {
                self.proof = select_credential(config, offer)?; // a session, which needs no other permission
            }
        }
        Ok(self)
    }

    /// Adds the cache entries of the offered tickets, if the handshake uses a certificate (docs/caching.md, 4.6).
    /// Returns `None` if the store does not answer at once.
    pub(super) fn look_up(mut self, config: &ServerConfig, offer: &Offer<'_>, output: &mut Output<'_>) -> Option<Self> {
        if let Proof::Certificate(..) = self.proof {
            self.rows = offer.caching.look_up(config, output)?;
        }
        Some(self)
    }
}

/// Returns the suites that both sides support, in the server's order of preference.
fn common_suites(config: &ServerConfig, offer: &Offer<'_>, fixed: Option<CipherSuite>) -> Vec<&'static Tls13Suite> {
    let offered = |id| offer.hello.cipher_suites.0.iter().any(|other| other == id);
    let suites = config.common.enabled_tls13_suites().filter(|suite| offered(suite.id));
    suites.filter(|suite| fixed.is_none_or(|fixed| fixed == suite.id)).collect()
}

/// Selects the credential that suits the client best, among those whose type it accepts and that can sign with one of
/// its schemes (RFC 9846, 4.3.3).
fn select_credential<'a>(config: &ServerConfig, offer: &Offer<'_>) -> Result<Proof<'a>, Error> {
    if config.credentials.is_empty() {
        return Err(match offer.pre_shared_key {
            Some(_) if !offer.takes_psks => PeerIncompatible::NoCommonPskMode, // RFC 9846, 4.2.1
            _ => PeerIncompatible::NoCommonPsk,
        }
        .into());
    }
    let offered = offer.signature_algorithms.as_ref();
    let offered = offered.ok_or(PeerMisbehaved::MissingExtension(ExtensionType::SIGNATURE_ALGORITHMS))?;
    let accepts = |scheme| offered.0.iter().any(|other| other == scheme);
    let takes = client_takes(offer.hello.extensions)?;
    let fit = |credential: &Credential| {
        signature::choose(credential, ProtocolVersion::TLS_1_3, accepts).filter(|_| takes(credential))
    };
    let authorities = offer.certificate_authorities.as_ref().map(|CertificateAuthorities(names)| *names);
    let of_chains = offer.signature_algorithms_cert.as_ref().map_or(&offered.0, |schemes| &schemes.0);
    let suitable = credentials::suitable(&config.common, &config.credentials, authorities, of_chains);
    let Some((credential, scheme)) = suitable.choose(&config.credentials, fit) else {
        return Err(match &config.credentials {
            all if !all.iter().any(&takes) => PeerIncompatible::NoCommonCertificateType,
            all if !all.iter().any(|credential| fit(credential).is_some()) => PeerIncompatible::NoCommonSignatureScheme,
            _ => PeerIncompatible::NoCommonAuthority,
        }
        .into());
    };
    let types = Choice::new(config, offer.hello.extensions, credential.certificate_type())?;
    Ok(Proof::Certificate(credential.clone(), scheme, types))
}
