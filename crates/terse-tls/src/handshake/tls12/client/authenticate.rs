//! The server's Certificate, CertificateStatus and ServerKeyExchange: its authentication, and its key share.

use alloc::boxed::Box;

use super::Agreed;
use super::flight::ExpectServerHelloDone;
use crate::cache::Fingerprint;
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::signature::ClaimedPeer;
use crate::handshake::tls12::{certificate, key_exchange};
use crate::handshake::{Message, Output, caching, signature, stapling};
use crate::wire::{
    CachedMessage12, CertificateStatus, CertificateVerify, HandshakeType, ProtocolVersion, ServerKeyExchangeEcdhe,
};

/// The state after a ServerHello with a cipher suite that uses certificates.
pub(crate) struct ExpectCertificate {
    pub(super) agreed: Agreed,
}

/// The state after the server's Certificate, full or cached, was verified.
pub(crate) struct ExpectServerKeyExchange {
    agreed: Agreed,
    peer: ClaimedPeer,
    /// The fingerprint of the Certificate, if there is a cache.
    fingerprint: Option<Fingerprint>,
    /// Whether CertificateStatus came.
    has_status: bool,
}

impl ExpectCertificate {
    /// Handles a Certificate (RFC 5246, 7.4.2), which has only a fingerprint if it is cached (RFC 7924, 5.1).
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
    ) -> Result<(Option<Fingerprint>, ClaimedPeer), Error> {
        let CachedMessage12(hash_value) = message.expect(HandshakeType::CERTIFICATE)?;
        let (fingerprint, peer) =
            caching::cached_certificate(self.agreed.types.server, ProtocolVersion::TLS_1_2, output)?;
        if hash_value != fingerprint.0 {
            return Err(PeerMisbehaved::IllegalCachedMessage.into());
        }
        Ok((Some(fingerprint), peer))
    }

    /// Whether the server's Certificate is omitted, and `kind` is a message that may follow it.
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
    ) -> Result<(Option<Fingerprint>, ClaimedPeer), Error> {
        let Agreed { config, server, types, .. } = &self.agreed;
        let presented = certificate::presented(message, types.server)?.ok_or(PeerMisbehaved::EmptyServerCertificate)?;
        let peer = presented.verify(&config.trust, config.expect(&server.name), &config.common, output)?;
        let is_kept = output.cache.is_some() && self.agreed.extended_master_secret;
        let fingerprint = is_kept.then(|| presented.fingerprint(ProtocolVersion::TLS_1_2));
        Ok((fingerprint, peer))
    }
}

impl ExpectServerKeyExchange {
    /// Handles the OCSP response for the Certificate, whether that was sent or is cached (RFC 6066, 8).
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

    /// Verifies the parameters, which are signed with the certificate's key, and computes the shared secret (RFC 8422,
    /// 5.4).
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
        let server = peer.proven(fingerprint, valid, output);
        Ok(Box::new(ExpectServerHelloDone::ecdhe(agreed, server, public, shared_secret)))
    }
}
