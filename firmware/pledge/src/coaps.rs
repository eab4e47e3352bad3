//! Constrained BRSKI: CoAP over DTLS 1.3.

use terse_brski::coap::{self, BlockSize, Client, ClientConfig as CoapConfig};
use terse_brski::pledge::{Coaps, Request, Response, coaps};
use terse_tls::crypto::{CryptoError, CryptoProvider, Rng};
use terse_tls::{ApiMisuse, CertificateType, ClientConfig, ClientParts, Credential, Datagrams, Instant, Now, Trust};

use crate::exchange::{Exchange, Lost};

/// A client of CoAP over DTLS 1.3, with records that 6LoWPAN carries.
pub struct CoapsExchange {
    client: Client,
    /// The request that is outstanding.
    request: Option<Request>,
}

impl Exchange for CoapsExchange {
    type Form = Coaps;
    type Answer = (Request, coap::Response);

    fn config(provider: &CryptoProvider, credential: Credential) -> Result<ClientConfig, ApiMisuse> {
        let mut config = ClientConfig::builder_of(provider, ClientParts::NONE.tls13().datagrams());
        config.trust(Trust::unverified(&[CertificateType::X509])?).credential(credential).send_server_name(false);
        config.datagrams(Datagrams::constrained().max_datagram(MAX_DATAGRAM));
        config.record_size_limit(MAX_RECORD).max_record(usize::from(MAX_RECORD));
        config.max_handshake_message(MAX_MESSAGE).build()
    }

    fn new(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut config = CoapConfig::default();
        config.block_size = BlockSize::for_datagram(MAX_RECORD.into());
        Ok(Self { client: Client::new(config, rng)?, request: None })
    }

    fn request(&mut self, now: Now, rng: &mut dyn Rng, _: &str, request: &Request) -> Result<(), Lost> {
        let mapped = coaps::request(request).ok_or(Lost)?;
        self.client.request(now, rng, mapped).map_err(|_| Lost)?;
        self.request = Some(request.clone());
        Ok(())
    }

    fn receive(&mut self, now: Now, rng: &mut dyn Rng, data: &[u8]) {
        self.client.handle_input(now, rng, data);
    }

    fn end(&mut self) {}

    fn transmit(&mut self, now: Now, out: &mut [u8]) -> Option<usize> {
        self.client.poll_transmit(now, out)
    }

    fn timeout(&self) -> Option<Instant> {
        self.client.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Now) {
        if self.timeout().is_some_and(|timeout| timeout <= now.monotonic) {
            self.client.handle_timeout(now);
        }
    }

    fn poll(&mut self) -> Option<Result<Self::Answer, Lost>> {
        let outcome = self.client.poll_response()?;
        Some(self.request.take().zip(outcome.ok()).ok_or(Lost))
    }

    fn response((request, response): &Self::Answer) -> Response<'_> {
        coaps::response(request, response)
    }
}

/// What an IPv6 packet leaves for UDP where datagrams of 1,024 bytes pass (draft-ietf-anima-constrained-voucher-31).
const MAX_DATAGRAM: usize = 1_024;

/// The largest record, with its content type.
const MAX_RECORD: u16 = 960;

/// The longest handshake message: a registrar's chain.
const MAX_MESSAGE: usize = 4_096;
