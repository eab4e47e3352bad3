//! Builds a ClientHello in named steps, one for each extension (RFC 9846, 4.2.2 and 4.3; RFC 5246, 7.4.1.2).

use alloc::vec::Vec;

use pki_types::ServerName;

use super::ExpectServerHello;
use super::agreement::{HYBRID, OfferedAgreement};
use crate::error::Error;
use crate::handshake::certificate_types::CertificateTypes;
use crate::handshake::{Output, stapling};
use crate::schedule::Transcript;
use crate::wire::{
    self, CipherSuite, CipherSuites, ClientHello, ConnectionId, Cookie, EarlyData, EcPointFormats, Encode, EncodeError,
    Encoded, ExtendedMasterSecret, ExtensionType, ExtensionsBuilder, HandshakeType, List, ProtocolName,
    ProtocolNameList, ProtocolVersion, RecordSizeLimit, Rrc, ServerNameList, SessionTicket, SignatureAlgorithms,
    SignatureAlgorithmsCert, SupportedGroups, SupportedVersions, Transport,
};

/// The body of a ClientHello, whose binders are still to be filled in.
pub(super) struct UnboundClientHello(Vec<u8>);

impl ExpectServerHello {
    /// Makes a ClientHello for all enabled versions.
    pub(super) fn client_hello(
        &mut self,
        cookie: Option<Cookie<'_>>,
        output: &Output<'_>,
    ) -> Result<UnboundClientHello, EncodeError> {
        let common = &self.config.common;
        let transport = output.link.transport();
        let mut extensions = ExtensionsBuilder::default();
        self.offer_versions(transport, &mut extensions)?;
        self.offer_server_name(&mut extensions)?;
        if self.offers_groups() {
            self.offer_groups(&mut extensions)?;
        }
        self.offer_point_formats(&mut extensions)?;
        if self.config.trusts_certificates() {
            extensions.push(&SignatureAlgorithms(List::Items(&common.signature_schemes)))?;
            if let Some(schemes) = &common.signature_schemes_of_chains {
                extensions.push(&SignatureAlgorithmsCert(List::Items(schemes)))?;
            }
        }
        self.offer_application_protocols(&mut extensions)?;
        self.offer_record_sizes(&mut extensions)?;
        if let Some((cid, checks_routability)) = output.link.connection_id() {
            extensions.push(&ConnectionId(cid))?;
            if checks_routability {
                extensions.push(&Rrc)?;
            }
        }
        if self.identity.is_none() || self.config.trusts_certificates() {
            CertificateTypes::offer(&self.config, &mut extensions)?;
            stapling::offer(&self.config, &mut extensions)?;
        }
        self.offer_caching(&mut extensions, output)?;
        if let Some(cookie) = cookie {
            extensions.push(&cookie)?;
        }
        self.offer_session_ticket(&mut extensions)?;
        if self.offers(ProtocolVersion::TLS_1_3) && self.offers_groups() {
            OfferedAgreement::offer(self.agreement.as_ref(), &mut extensions)?;
        }
        match &self.identity {
            Some(identity) => {
                identity.offer(&mut extensions)?;
                if identity.early_data().is_some() {
                    extensions.push(&EarlyData)?;
                }
            }
            None => self.psks.as_ref().map_or(Ok(()), |psks| psks.offer(&self.config, &mut extensions))?,
        }
        self.psks.as_ref().map_or(Ok(()), |psks| psks.offer_last(&mut extensions, output.now))?;
        self.offered = extensions.types().into();
        let mut suites: Vec<_> = self.config.offered_suites().collect();
        if self.offers(ProtocolVersion::TLS_1_2) {
            // It has the meaning of an empty renegotiation_info, with 3 bytes less (RFC 5746, 3.3 and 3.4).
            suites.push(CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV);
            self.offered.push(ExtensionType::RENEGOTIATION_INFO);
        }
        let hello = ClientHello {
            legacy_version: transport.version(ProtocolVersion::TLS_1_2),
            random: self.random,
            legacy_session_id: &self.legacy_session_id,
            cookie: match transport {
                Transport::Stream => None,
                Transport::Datagram => Some(&self.legacy_cookie),
            },
            cipher_suites: CipherSuites(List::Items(&suites)),
            legacy_compression_methods: &[0],
            extensions: extensions.extensions(),
        };
        hello.to_vec().map(UnboundClientHello)
    }

    /// Sends a ClientHello; a second one follows `transcript`. Returns the message.
    pub(super) fn send_client_hello(
        &self,
        UnboundClientHello(mut hello): UnboundClientHello,
        transcript: Option<&Transcript>,
        output: &mut Output<'_>,
    ) -> Result<Vec<u8>, Error> {
        if let Some(psks) = &self.psks {
            psks.bind(&mut hello, transcript, output.link.transport())?;
        }
        let message = output.push(HandshakeType::CLIENT_HELLO, &Encoded(&hello))?.into();
        output.link.end_of_flight()?;
        Ok(message)
    }

    /// Offers the versions. A client that only has TLS 1.2 omits `supported_versions`.
    fn offer_versions(&self, transport: Transport, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let common = &self.config.common;
        let versions: Vec<_> = common.versions.iter().copied().filter(|version| self.offers(*version)).collect();
        if versions.contains(&ProtocolVersion::TLS_1_3) {
            let versions: Vec<_> = versions.iter().map(|version| transport.version(*version)).collect();
            extensions.push(&SupportedVersions(List::Items(&versions)))?;
        }
        if versions.contains(&ProtocolVersion::TLS_1_2) {
            extensions.push(&ExtendedMasterSecret)?;
        }
        Ok(())
    }

    /// Offers the groups. A client that only has TLS 1.2 can only use elliptic curves.
    fn offer_groups(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let common = &self.config.common;
        let takes_all = common.enables(ProtocolVersion::TLS_1_3);
        let mut groups: Vec<_> =
            common.groups.iter().copied().filter(|group| takes_all || group.is_elliptic_curve()).collect();
        if let Some(identity) = &self.identity {
            if !self.config.trusts_certificates() {
                groups.clear();
            }
            if identity.is_hybrid() && !groups.contains(&HYBRID) {
                groups.push(HYBRID);
            }
        }
        extensions.push(&SupportedGroups(List::Items(&groups)))
    }

    /// Offers uncompressed points. They are the default without this extension (RFC 8422, 5.1.2), but clients should
    /// send it (RFC 8422, 4), and some servers require it.
    fn offer_point_formats(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        if self.config.compatibility_mode && self.offers(ProtocolVersion::TLS_1_2) {
            extensions.push(&EcPointFormats::uncompressed())?;
        }
        Ok(())
    }

    /// Offers the server's host name, but no IP address (RFC 6066, 3).
    fn offer_server_name(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        match &self.server.name {
            ServerName::DnsName(name) if self.config.send_server_name => {
                let name = name.as_ref();
                let name = wire::ServerName::host(name.strip_suffix('.').unwrap_or(name));
                extensions.push(&ServerNameList::Names(List::Items(&[name])))
            }
            _ => Ok(()),
        }
    }

    fn offer_application_protocols(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let protocols: Vec<_> = self.config.common.alpn_protocols.iter().map(|name| ProtocolName(name)).collect();
        if protocols.is_empty() {
            return Ok(());
        }
        extensions.push(&ProtocolNameList(List::Items(&protocols)))
    }

    fn offer_record_sizes(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let common = &self.config.common;
        if let Some(limit) = common.record_size_limit {
            let newest = common.versions.iter().copied().filter(|version| common.enables(*version)).max();
            let max = RecordSizeLimit::max(newest.unwrap_or(ProtocolVersion::TLS_1_3));
            extensions.push(&RecordSizeLimit(limit.min(max)))?;
        }
        if let Some(length) = self.config.max_fragment_length {
            extensions.push(&length)?;
        }
        Ok(())
    }

    /// Offers the ticket of a TLS 1.2 session, or requests one with an empty ticket (RFC 5077, 3.2).
    fn offer_session_ticket(&self, extensions: &mut ExtensionsBuilder) -> Result<(), EncodeError> {
        let resumes = self.config.resumption.is_some() && self.identity.is_none();
        if !resumes || !self.config.common.enables(ProtocolVersion::TLS_1_2) {
            return Ok(());
        }
        let ticket = self.tls12_session.as_ref().map_or(&[][..], |session| &session.ticket);
        extensions.push(&SessionTicket(ticket))
    }

    /// Adds the extensions of the caching schemes, which are the same in both ClientHellos (docs/caching.md, 4.8),
    /// since the session does not change in between.
    fn offer_caching(&self, extensions: &mut ExtensionsBuilder, output: &Output<'_>) -> Result<(), EncodeError> {
        let Some(session) = output.cache.as_deref() else {
            return Ok(());
        };
        session.write_offers(self.config.common.caching_code_points(), extensions)
    }
}
