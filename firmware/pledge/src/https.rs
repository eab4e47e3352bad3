//! BRSKI over HTTPS: HTTP/1.1 over TLS 1.3.

use alloc::vec::Vec;

use terse_brski::pledge::{Https, Request, Response};
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng};
use terse_tls::{ApiMisuse, CertificateType, ClientConfig, ClientParts, Credential, Instant, Now, Trust};

use crate::exchange::{Exchange, Lost};
use crate::http::{Answer, Reader, write_request};

/// A client of HTTP/1.1 over TLS 1.3, on a connection that stays open.
#[derive(Default)]
pub struct HttpsExchange {
    /// What is not sent yet of the request.
    unsent: Vec<u8>,
    /// Reads the response that is due.
    reader: Option<Reader>,
    answer: Option<Result<Answer, Lost>>,
}

impl Exchange for HttpsExchange {
    type Form = Https;
    type Answer = Answer;

    fn config(provider: &CryptoProvider, credential: Credential) -> Result<ClientConfig, ApiMisuse> {
        let mut config = ClientConfig::builder_of(provider, ClientParts::NONE.tls13().streams());
        config.trust(Trust::unverified(&[CertificateType::X509])?).credential(credential).send_server_name(false);
        config.record_size_limit(MAX_RECORD).max_record(usize::from(MAX_RECORD));
        config.max_handshake_message(MAX_MESSAGE).build()
    }

    fn new(_: &mut dyn Rng) -> Result<Self, CryptoError> {
        Ok(Self::default())
    }

    fn request(&mut self, _: Now, _: &mut dyn Rng, authority: &str, request: &Request) -> Result<(), Lost> {
        self.unsent = write_request(authority, request);
        self.reader = Some(Reader::new(request.max_response));
        Ok(())
    }

    fn receive(&mut self, _: Now, _: &mut dyn Rng, data: &[u8]) {
        self.answer = match &mut self.reader {
            Some(reader) if self.answer.is_none() => reader.receive(data),
            _ => Some(Err(Lost)), // nobody asked, or the response is whole
        };
    }

    fn end(&mut self) {
        // A response that is whole stays so.
        if let Some(reader) = self.reader.as_mut().filter(|_| self.answer.is_none()) {
            self.answer = Some(reader.end());
        }
    }

    fn transmit(&mut self, _: Now, out: &mut [u8]) -> Option<usize> {
        let len = self.unsent.len().min(out.len());
        out.get_mut(..len)?.copy_from_slice(self.unsent.get(..len)?);
        self.unsent.drain(..len);
        (len > 0).then_some(len)
    }

    fn timeout(&self) -> Option<Instant> {
        None // the pledge has one
    }

    fn handle_timeout(&mut self, _: Now) {}

    fn poll(&mut self) -> Option<Result<Answer, Lost>> {
        let answer = self.answer.take()?;
        self.reader = None;
        Some(answer)
    }

    fn response(answer: &Answer) -> Response<'_> {
        answer.response()
    }
}

/// The largest record, with its content type.
const MAX_RECORD: u16 = 4_096;

/// The longest handshake message: a registrar's chain.
const MAX_MESSAGE: usize = 8_192;
