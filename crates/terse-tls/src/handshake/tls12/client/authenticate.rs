//! The server's Certificate and ServerKeyExchange: who it is, and its share of the key exchange.

use alloc::boxed::Box;

use super::flight::ExpectServerHelloDone;
use super::{Agreed, Learned};
use crate::cache::PeerEntry;
use crate::cert::{PeerRole, VerifiedPeer};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::tls12::{certificate, key_exchange};
use crate::handshake::{Message, Output, caching, signature};
use crate::wire::{CachedMessage12, CertificateVerify, HandshakeType, ProtocolVersion, ServerKeyExchangeEcdhe};

/// The ServerHello came, with a suite that is authenticated by a certificate.
pub(crate) struct ExpectCertificate {
    pub(super) agreed: Agreed,
}

/// The server's Certificate came, in full or cached, and is believed.
pub(crate) struct ExpectServerKeyExchange {
    agreed: Agreed,
    peer: VerifiedPeer,
    learned: Learned,
}

impl ExpectCertificate {
    /// RFC 5246, 7.4.2; cached: the fingerprint alone (RFC 7924, 5.1).
    #[inline(never)]
    pub(super) fn certificate(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectServerKeyExchange>, Error> {
        if self.agreed.selection.leaves_out() && self.agreed.selection.server_certificate {
            return Err(message.unexpected());
        }
        let (peer, server_certificate) = if self.agreed.selection.server_certificate {
            (self.cached_certificate(message, output)?, None)
        } else {
            self.full_certificate(message, output)?
        };
        self.agreed.transcript.add(message.bytes);
        let learned = Learned { server_certificate, ..Learned::default() };
        Ok(Box::new(ExpectServerKeyExchange { agreed: self.agreed, peer, learned }))
    }

    fn cached_certificate(&self, message: Message<'_>, output: &mut Output<'_>) -> Result<VerifiedPeer, Error> {
        let CachedMessage12(hash_value) = message.expect(HandshakeType::CERTIFICATE)?;
        let (fingerprint, peer) =
            caching::cached_certificate(self.agreed.types.server, ProtocolVersion::TLS_1_2, output)?;
        if hash_value != fingerprint.0 {
            return Err(PeerMisbehaved::IllegalCachedMessage.into());
        }
        Ok(peer)
    }

    /// Whether the server's Certificate is left out, and what comes is what follows it.
    pub(super) fn is_left_out(&self, kind: HandshakeType) -> bool {
        let selection = &self.agreed.selection;
        selection.leaves_out() && selection.server_certificate && kind == HandshakeType::SERVER_KEY_EXCHANGE
    }

    /// It is not sent: the transcript takes its fingerprint (`caching`, rule 1).
    #[inline(never)]
    pub(super) fn left_out_certificate(
        mut self: Box<Self>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectServerKeyExchange>, Error> {
        let (fingerprint, peer) =
            caching::cached_certificate(self.agreed.types.server, ProtocolVersion::TLS_1_2, output)?;
        let Agreed { config, transcript, .. } = &mut self.agreed;
        config.common.bind(transcript, fingerprint);
        Ok(Box::new(ExpectServerKeyExchange { agreed: self.agreed, peer, learned: Learned::default() }))
    }

    #[inline(never)]
    fn full_certificate(
        &self,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<(VerifiedPeer, Option<PeerEntry>), Error> {
        let Agreed { config, server, types, .. } = &self.agreed;
        let presented = certificate::presented(message, types.server)?.ok_or(PeerMisbehaved::EmptyServerCertificate)?;
        let peer = presented.verify(&config.trust, PeerRole::Server(&server.name), &config.common, output)?;
        let version = ProtocolVersion::TLS_1_2;
        let session = output.cache.as_deref_mut().filter(|_| self.agreed.extended_master_secret);
        let entry = session.and_then(|session| {
            let fingerprint = presented.fingerprint(&config.common, version);
            session.saw_certificate(fingerprint);
            session.entry(fingerprint, version, peer.clone())
        });
        Ok((peer, entry))
    }
}

impl ExpectServerKeyExchange {
    /// RFC 8422, 5.4: the parameters are signed with the certificate's key, and answered at once.
    #[inline(never)]
    pub(super) fn server_key_exchange(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<ExpectServerHelloDone>, Error> {
        let exchange: ServerKeyExchangeEcdhe<'_> = message.expect(HandshakeType::SERVER_KEY_EXCHANGE)?;
        let Agreed { config, suite, randoms, transcript, .. } = &mut self.agreed;
        let ServerKeyExchangeEcdhe { params, algorithm, signature } = exchange;
        let group = key_exchange::group(&config.common, params.group).ok_or(PeerMisbehaved::IllegalKeyShare)?;
        if !key_exchange::fits(suite.key_exchange, algorithm) {
            return Err(PeerMisbehaved::IllegalSignatureScheme.into());
        }
        signature::verify(
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
        let Self { agreed, peer, learned } = *self;
        let learned = Learned { peer: Some(peer), ..learned };
        Ok(Box::new(ExpectServerHelloDone::ecdhe(agreed, learned, public, shared_secret)))
    }
}
