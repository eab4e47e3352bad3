//! The server's CertificateRequest and ServerHelloDone, and the client's flight that answers them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::finish::ExpectFinished;
use super::{Agreed, Learned, State};
use crate::cache::Fingerprint;
use crate::cert::Credential;
use crate::config::ClientConfig;
use crate::crypto::{SharedSecret, Signing, Tls12KeyExchange};
use crate::error::{Error, PeerMisbehaved};
use crate::handshake::caching::Request;
use crate::handshake::signature::ProvenPeer;
use crate::handshake::tls12::{certificate, key_exchange};
use crate::handshake::{Message, Output, SignatureRequest, credentials, sessions};
use crate::schedule::EpochKeys;
use crate::schedule::tls12::{MasterSecret, psk_premaster};
use crate::summary::CachedObject;
use crate::wire::{
    CachedMessage12, Certificate12, CertificateRequest12, CertificateVerify, ClientKeyExchangeEcdhe,
    ClientKeyExchangeEcdhePsk, ClientKeyExchangePsk, Encode, Finished, HandshakeType, List, ProtocolVersion,
    ServerHelloDone, ServerKeyExchangeEcdhePsk, ServerKeyExchangePsk, SignatureAlgorithms, SignatureScheme, Writer,
};

/// The state that expects CertificateRequest or ServerHelloDone.
pub(crate) struct ExpectServerHelloDone {
    agreed: Agreed,
    learned: Learned,
    /// This side's share, and the shared secret; `None` with a pre-shared key alone.
    ecdhe: Option<(Vec<u8>, SharedSecret)>,
    /// Whether ServerKeyExchange came.
    has_server_key_exchange: bool,
}

/// The state that waits for the signature of the client's key.
pub(crate) struct ExpectSignature {
    flight: PartialFlight,
    pub(super) request: SignatureRequest,
}

/// The client's flight before CertificateVerify and Finished.
struct PartialFlight {
    agreed: Agreed,
    learned: Learned,
    master_secret: MasterSecret,
}

impl ExpectServerHelloDone {
    pub(super) const fn ecdhe(
        agreed: Agreed,
        server: Option<ProvenPeer>,
        public: Vec<u8>,
        shared_secret: SharedSecret,
    ) -> Self {
        let learned = Learned { server, request: None };
        Self { agreed, learned, ecdhe: Some((public, shared_secret)), has_server_key_exchange: true }
    }

    /// Creates the state for a pre-shared key: ServerKeyExchange is required with ECDHE, and optional otherwise.
    pub(super) fn psk(agreed: Agreed) -> Self {
        Self { agreed, learned: Learned::default(), ecdhe: None, has_server_key_exchange: false }
    }

    /// Handles ServerKeyExchange with a pre-shared key (RFC 4279, 2; RFC 5489, 2). The identity hint is ignored.
    pub(super) fn server_key_exchange(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        let kind = HandshakeType::SERVER_KEY_EXCHANGE;
        match self.agreed.suite.key_exchange {
            Tls12KeyExchange::Psk if !self.has_server_key_exchange => {
                message.expect::<ServerKeyExchangePsk<'_>>(kind)?;
            }
            Tls12KeyExchange::EcdhePsk if self.ecdhe.is_none() => {
                let ServerKeyExchangeEcdhePsk { params, .. } = message.expect(kind)?;
                let group = key_exchange::group(&self.agreed.config.common, params.group);
                let group = group.ok_or(PeerMisbehaved::IllegalKeyShare)?;
                output.summary.group = Some(params.group);
                self.ecdhe = Some(group.respond(output.rng, params.public)?);
            }
            _ => return Err(message.unexpected()),
        }
        self.has_server_key_exchange = true;
        self.agreed.transcript.add(message.bytes);
        Ok(self)
    }

    /// Handles a CertificateRequest (RFC 5246, 7.4.4), which has only a fingerprint if it is cached (RFC 7924, 5.2).
    #[inline(never)]
    pub(super) fn certificate_request(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<Box<Self>, Error> {
        let is_left_out = self.agreed.selection.leaves_out() && self.agreed.selection.certificate_request;
        if self.learned.request.is_some() || is_left_out || !self.agreed.suite.key_exchange.has_certificates() {
            return Err(message.unexpected());
        }
        let request = if self.agreed.selection.certificate_request {
            let CachedMessage12(hash_value) = message.expect(HandshakeType::CERTIFICATE_REQUEST)?;
            let (fingerprint, request) = Request::cached(output)?;
            if hash_value != fingerprint.0 {
                return Err(PeerMisbehaved::IllegalCachedMessage.into());
            }
            request
        } else {
            let request: CertificateRequest12<'_> = message.expect(HandshakeType::CERTIFICATE_REQUEST)?;
            let accepts = |scheme: &SignatureScheme| request.accepts(scheme.client_certificate_type());
            let ClientConfig { common, credentials, .. } = &*self.agreed.config;
            let has_cache = output.cache.is_some();
            let SignatureAlgorithms(schemes) = &request.signature_algorithms;
            let authorities = Some(request.certificate_authorities);
            Request {
                signature_algorithms: schemes.iter().filter(accepts).collect(),
                asks_status: false, // a client of TLS 1.2 cannot answer
                suitable: credentials::suitable(common, credentials, authorities, schemes),
                fingerprint: has_cache.then(|| Fingerprint::of_body(message.kind, message.body)),
                length: u16::try_from(message.bytes.len()).unwrap_or(u16::MAX),
            }
        };
        self.learned.request = Some(request);
        self.agreed.transcript.add(message.bytes);
        Ok(self)
    }

    /// Handles ServerHelloDone, and sends the client's flight (RFC 5246, 7.4.5).
    #[inline(never)]
    pub(super) fn server_hello_done(
        mut self: Box<Self>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let ServerHelloDone = message.expect(HandshakeType::SERVER_HELLO_DONE)?;
        let selection = self.agreed.selection;
        if selection.leaves_out() && selection.certificate_request {
            let (fingerprint, request) = Request::cached(output)?;
            self.learned.request = Some(request);
            let Agreed { config, transcript, .. } = &mut self.agreed;
            config.common.bind(transcript, fingerprint); // docs/caching.md, 4.1
        }
        if (selection.certificate_request || selection.client_certificate) && self.learned.request.is_none() {
            return Err(PeerMisbehaved::IllegalCachingReply.into());
        }
        self.agreed.transcript.add(message.bytes);
        let credential = self.certificate(output)?;
        let Self { mut agreed, learned, ecdhe, .. } = *self;
        if credential.is_none() {
            agreed.transcript.stop_keeping();
        }
        let premaster_secret = agreed.client_key_exchange(ecdhe, message, output)?;
        let Agreed { config, suite, randoms, transcript, extended_master_secret: extended, .. } = &agreed;
        let master_secret =
            key_exchange::master_secret(&config.common, suite, *extended, &premaster_secret, randoms, transcript);
        let mut flight = PartialFlight { agreed, learned, master_secret };
        let Some((credential, scheme)) = credential else { return flight.finish(None, output) };
        let messages = flight.agreed.transcript.take_messages();
        let request = SignatureRequest::new(credential, scheme, messages);
        match request.sign(output.rng)? {
            Signing::Done(signature) => flight.certificate_verify(request, &signature, output),
            Signing::Pending => Ok(State::Signature(Box::new(ExpectSignature { flight, request }))),
        }
    }

    /// Sends the Certificate, if the server has requested it and it is not omitted (RFC 5246, 7.4.6). Returns the
    /// credential for CertificateVerify.
    #[inline(never)]
    fn certificate(&mut self, output: &mut Output<'_>) -> Result<Option<(Credential, SignatureScheme)>, Error> {
        let Some(request) = &self.learned.request else { return Ok(None) };
        let Agreed { config, types, selection, transcript, .. } = &mut self.agreed;
        let answer = request.answer(config, types.client, ProtocolVersion::TLS_1_2, *selection, output)?;
        let kind = HandshakeType::CERTIFICATE;
        let Some((credential, scheme)) = answer else {
            output.send(kind, &Certificate12(List::Items(&[])), transcript)?;
            return Ok(None);
        };
        if selection.client_certificate {
            // docs/caching.md, 4.1: the transcript binds what the empty message, or none, stands for.
            config.common.bind(transcript, credential.fingerprint(ProtocolVersion::TLS_1_2));
            output.left_out(CachedObject::ClientCertificate);
            if !selection.leaves_out() {
                output.send(kind, &Nothing, transcript)?;
            }
        } else {
            certificate::send(&credential, transcript, output)?;
        }
        Ok(Some((credential, scheme)))
    }
}

impl Agreed {
    /// Sends ClientKeyExchange (RFC 8422, 5.7; RFC 4279, 2; RFC 5489, 2). Returns the premaster secret.
    #[inline(never)]
    fn client_key_exchange(
        &mut self,
        ecdhe: Option<(Vec<u8>, SharedSecret)>,
        message: Message<'_>,
        output: &mut Output<'_>,
    ) -> Result<SharedSecret, Error> {
        let kind = HandshakeType::CLIENT_KEY_EXCHANGE;
        let key_exchange = self.suite.key_exchange;
        let ecdhe = match ecdhe {
            Some((public, shared_secret)) if key_exchange.has_certificates() => {
                output.send(kind, &ClientKeyExchangeEcdhe { public: &public }, &mut self.transcript)?;
                return Ok(shared_secret);
            }
            ecdhe => ecdhe,
        };
        let (identity, key) = self.config.tls12_psk().ok_or(PeerMisbehaved::SelectedUnofferedSuite)?;
        sessions::psk_peer(identity, output);
        match (key_exchange, &ecdhe) {
            (Tls12KeyExchange::Psk, None) => {
                output.send(kind, &ClientKeyExchangePsk { identity }, &mut self.transcript)?;
            }
            (Tls12KeyExchange::EcdhePsk, Some((public, _))) => {
                output.send(kind, &ClientKeyExchangeEcdhePsk { identity, public }, &mut self.transcript)?;
            }
            _ => return Err(message.unexpected()), // ServerKeyExchange is missing
        }
        Ok(psk_premaster(key, ecdhe.as_ref().map(|(_, shared_secret)| shared_secret))?)
    }
}

/// The body of a client's Certificate under a ticket (BiTHaC, IV-B).
struct Nothing;

impl Encode for Nothing {
    fn encode(&self, _: &mut Writer<'_>) {}
}

impl ExpectSignature {
    pub(super) fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<State, Error> {
        let Self { flight, request } = *self;
        flight.certificate_verify(request, signature, output)
    }
}

impl PartialFlight {
    /// Sends CertificateVerify (RFC 5246, 7.4.8).
    #[inline(never)]
    fn certificate_verify(
        mut self,
        request: SignatureRequest,
        signature: &[u8],
        output: &mut Output<'_>,
    ) -> Result<State, Error> {
        let verify = CertificateVerify { algorithm: request.scheme(), signature };
        output.send(HandshakeType::CERTIFICATE_VERIFY, &verify, &mut self.agreed.transcript)?;
        self.finish(Some(&request.into_credential()), output)
    }

    /// Sends Finished, which is protected with the new keys (RFC 5246, 7.4.9).
    #[inline(never)]
    fn finish(self, proven: Option<&Credential>, output: &mut Output<'_>) -> Result<State, Error> {
        let Self { mut agreed, learned, master_secret } = self;
        let keys = master_secret.key_block(&agreed.randoms);
        output.link.new_keys(&EpochKeys::Tls12(keys.client))?;
        let verify_data = master_secret.client_verify_data(&agreed.transcript.current());
        output.send(HandshakeType::FINISHED, &Finished(&verify_data), &mut agreed.transcript)?;
        output.link.end_of_flight()?;
        let proven = proven.map(|own| own.fingerprint(ProtocolVersion::TLS_1_2));
        let expect =
            Box::new(ExpectFinished { agreed, learned, master_secret, proven, keys: keys.server, ticket: None });
        Ok(if expect.agreed.ticket_follows {
            State::NewSessionTicket(expect)
        } else {
            State::Finished(expect.with_new_keys(output))
        })
    }
}
