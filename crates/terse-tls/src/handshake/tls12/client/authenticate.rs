//! The server's Certificate, CertificateStatus and ServerKeyExchange: who it is, and its share of the key exchange.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::Agreed;
use super::flight::ExpectServerHelloDone;
use crate::cache::Fingerprint;
use crate::cert::{PeerRole, VerifiedPeer};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::signature::ProvenPeer;
use crate::handshake::tls12::{certificate, key_exchange};
use crate::handshake::{Message, Output, caching, signature, stapling};
use crate::wire::{
    CachedMessage12, CertificateStatus, CertificateVerify, HandshakeType, ProtocolVersion, ServerKeyExchangeEcdhe,
};

/// The ServerHello came, with a suite that is authenticated by a certificate.
pub(crate) struct ExpectCertificate {
    pub(super) agreed: Agreed,
}

/// The server's Certificate came, in full or cached, and is believed.
pub(crate) struct ExpectServerKeyExchange {
    agreed: Agreed,
    peer: Arc<VerifiedPeer>,
    /// Of the Certificate, where there is a cache.
    fingerprint: Option<Fingerprint>,
    /// CertificateStatus came.
    has_status: bool,
}

impl ExpectCertificate {
    /// RFC 5246, 7.4.2; cached: the fingerprint alone (RFC 7924, 5.1).
    #[inline(never)]
    pub(super) fn certificate(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectServerKeyExchange>, Error> {
        if self.agreed.selection.leaves_out_certificate() {
            return Err(message.unexpected());
        }
        let (fingerprint, peer) = if self.agreed.selection.server_certificate {
            self.cached_certificate(message, output)?
        } else {
            self.full_certificate(message, output)?
        };
        self.agreed.transcript.add(message.bytes);
        Ok(Box::new(ExpectServerKeyExchange { agreed: self.agreed, peer, fingerprint, has_status: false }))
    }

    fn cached_certificate(
        &self,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<(Option<Fingerprint>, Arc<VerifiedPeer>), Error> {
        let CachedMessage12(hash_value) = message.expect(HandshakeType::CERTIFICATE)?;
        let (fingerprint, peer) =
            caching::cached_certificate(self.agreed.types.server, ProtocolVersion::TLS_1_2, output)?;
        if hash_value != fingerprint.0 {
            return Err(PeerMisbehaved::IllegalCachedMessage.into());
        }
        Ok((Some(fingerprint), peer))
    }

    /// Whether the server's Certificate is left out, and what comes is what follows it.
    pub(super) fn is_left_out(&self, kind: HandshakeType) -> bool {
        let follows = [HandshakeType::CERTIFICATE_STATUS, HandshakeType::SERVER_KEY_EXCHANGE];
        self.agreed.selection.leaves_out_certificate() && follows.contains(&kind)
    }

    /// It is not sent: the transcript takes its fingerprint (docs/caching.md, 4.1).
    #[inline(never)]
    pub(super) fn left_out_certificate(
        mut self: Box<Self>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectServerKeyExchange>, Error> {
        let (fingerprint, peer) =
            caching::cached_certificate(self.agreed.types.server, ProtocolVersion::TLS_1_2, output)?;
        let Agreed { config, transcript, .. } = &mut self.agreed;
        config.common.bind(transcript, fingerprint);
        let fingerprint = Some(fingerprint);
        Ok(Box::new(ExpectServerKeyExchange { agreed: self.agreed, peer, fingerprint, has_status: false }))
    }

    #[inline(never)]
    fn full_certificate(
        &self,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<(Option<Fingerprint>, Arc<VerifiedPeer>), Error> {
        let Agreed { config, server, types, .. } = &self.agreed;
        let presented = certificate::presented(message, types.server)?.ok_or(PeerMisbehaved::EmptyServerCertificate)?;
        let peer = presented.verify(&config.trust, PeerRole::Server(&server.name), &config.common, output)?;
        let is_kept = output.cache.is_some() && self.agreed.extended_master_secret;
        let fingerprint = is_kept.then(|| presented.fingerprint(&config.common, ProtocolVersion::TLS_1_2));
        Ok((fingerprint, peer))
    }
}

impl ExpectServerKeyExchange {
    /// RFC 6066, 8: what is stapled to the Certificate, whether that was sent or is cached.
    #[inline(never)]
    pub(super) fn certificate_status(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        if !self.agreed.status_follows || self.has_status {
            return Err(message.unexpected());
        }
        let status = message.expect(HandshakeType::CERTIFICATE_STATUS)?;
        self.check_staple(Some(status), output)?;
        self.has_status = true;
        self.agreed.transcript.add(message.bytes);
        Ok(self)
    }

    fn check_staple(&mut self, staple: Option<CertificateStatus<'_>>, output: &mut Output<'_>) -> Result<(), Error> {
        let Agreed { config, .. } = &self.agreed;
        stapling::check(Some(&config.trust), &mut self.peer, staple, &config.common, output)
    }

    /// RFC 8422, 5.4: the parameters are signed with the certificate's key, and answered at once.
    #[inline(never)]
    pub(super) fn server_key_exchange(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectServerHelloDone>, Error> {
        let exchange: ServerKeyExchangeEcdhe<'_> = message.expect(HandshakeType::SERVER_KEY_EXCHANGE)?;
        if !self.has_status {
            self.check_staple(None, output)?;
        }
        let Agreed { config, suite, randoms, transcript, .. } = &mut self.agreed;
        let ServerKeyExchangeEcdhe { params, algorithm, signature } = exchange;
        let group = key_exchange::group(&config.common, params.group).ok_or(PeerMisbehaved::IllegalKeyShare)?;
        if !key_exchange::fits(suite.key_exchange, algorithm) {
            return Err(PeerMisbehaved::IllegalSignatureScheme.into());
        }
        let valid = signature::verify(
            &config.common,
            ProtocolVersion::TLS_1_2,
            self.peer.public_key(),
            &CertificateVerify { algorithm, signature },
            &key_exchange::signed_params(randoms, &params)?,
            output,
        )?;
        transcript.add(message.bytes);
        let (public, shared_secret) = group.respond(output.rng, params.public)?;
        output.summary.group = Some(params.group);
        let Self { agreed, peer, fingerprint, .. } = *self;
        let server = ProvenPeer::new(peer, fingerprint, valid);
        Ok(Box::new(ExpectServerHelloDone::ecdhe(agreed, server, public, shared_secret)))
    }
}
