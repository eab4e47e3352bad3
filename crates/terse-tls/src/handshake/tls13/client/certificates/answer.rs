//! The client's own Certificate and CertificateVerify (RFC 9846, 4.5).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::super::super::certificate::{self, Signer};
use super::super::finish::LastFlight;
use super::{CertificateState, Negotiated};
use crate::cert::Credential;
use crate::crypto::Signing;
use crate::error::Error;
use crate::handshake::{Handshake, Output, SignatureRequest, stapling, unboxed};
use crate::summary::CachedObject;
use crate::wire::{
    Certificate, CertificateEntry, CertificateVerify, HandshakeType, List, ProtocolVersion, SignatureScheme,
};

/// The state of a client whose private key has not signed CertificateVerify yet.
pub(super) struct ExpectSignature {
    flight: Box<LastFlight>,
    pub(super) request: Box<SignatureRequest>,
}

impl LastFlight {
    #[inline(never)]
    pub(super) fn answer(mut self: Box<Self>, output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Some((credential, scheme)) = self.state.certificate_of_client(output)? else {
            return self.finish(None, output);
        };
        let content = Signer::Client.content(&self.state.hello.transcript.current());
        let request = Box::new(SignatureRequest::new(credential, scheme, content));
        match request.sign(output.rng)? {
            Signing::Done(signature) => {
                let credential = self.certificate_verify(request, &signature, output)?;
                drop(signature); // memory use is highest in what follows
                self.finish(Some(&credential), output)
            }
            Signing::Pending => {
                Ok(Box::new(CertificateState::Signature(Box::new(ExpectSignature { flight: self, request }))))
            }
        }
    }

    /// Sends CertificateVerify. Returns the credential that it proves.
    #[inline(never)]
    fn certificate_verify(
        &mut self,
        request: Box<SignatureRequest>,
        signature: &[u8],
        output: &mut Output<'_>,
    ) -> Result<Credential, Error> {
        let verify = CertificateVerify { algorithm: request.scheme(), signature };
        output.send(HandshakeType::CERTIFICATE_VERIFY, &verify, &mut self.state.hello.transcript)?;
        Ok(unboxed(request).into_credential())
    }
}

impl ExpectSignature {
    pub(super) fn signed(self: Box<Self>, signature: &[u8], output: &mut Output<'_>) -> Result<Handshake, Error> {
        let Self { mut flight, request } = unboxed(self);
        let credential = flight.certificate_verify(request, signature, output)?;
        flight.finish(Some(&credential), output)
    }
}

impl Negotiated {
    /// Sends Certificate, if the server has requested it and it is not left out. Returns the credential that
    /// CertificateVerify must prove, if there is one.
    #[inline(never)]
    fn certificate_of_client(
        &mut self,
        output: &mut Output<'_>,
    ) -> Result<Option<(Credential, SignatureScheme)>, Error> {
        let Some(request) = &self.request else { return Ok(None) };
        let (kind, version) = (self.types.client, ProtocolVersion::TLS_1_3);
        let answer = request.answer(&self.hello.config, kind, version, self.selection, output)?;
        let transcript = &mut self.hello.transcript;
        let Some((credential, scheme)) = answer else {
            let none = Certificate { certificate_request_context: &[], certificate_list: List::Items(&[]) };
            output.send(HandshakeType::CERTIFICATE, &none, transcript)?;
            return Ok(None);
        };
        let cached = self.selection.client_certificate;
        if cached {
            let common = &self.hello.config.common;
            common.bind(transcript, credential.fingerprint(version));
            output.left_out(CachedObject::ClientCertificate);
        }
        if cached && self.selection.leaves_out() {
            return Ok(Some((credential, scheme)));
        }
        let staple = stapling::current(&credential, request.asks_status, output);
        let extensions = stapling::extensions(staple.as_deref())?;
        let entries = if cached {
            Vec::from([CertificateEntry { cert_data: &[], extensions: extensions.extensions() }])
        } else {
            certificate::entries(&credential, extensions.extensions())
        };
        let certificate = Certificate { certificate_request_context: &[], certificate_list: List::Items(&entries) };
        output.send(HandshakeType::CERTIFICATE, &certificate, transcript)?;
        Ok(Some((credential, scheme)))
    }
}
