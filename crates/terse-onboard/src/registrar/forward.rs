//! The MASA is asked for a voucher (RFC 8995, 5.5 and 5.6), in a task that goes on when the pledge has gone.
//!
//! What must always hold: the answer of the MASA is stored before the pledge gets it; how long a MASA takes is the time of
//! this task, and holds up no pledge for longer than configured.

use core::time::Duration;

use terse_brski::cms::Unsigned;
use terse_brski::registrar::{Answer, MasaResponse, MasaUrl, PledgeRequest, ReceivedVoucher, Refusal, text_for_people};
use terse_brski::voucher::VoucherRequest;
use terse_net::OsRng;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::Service;
use super::reply::Reply;
use super::settings::PROVIDER;
use crate::client::Incoming;

impl Service {
    /// Takes a place for a connection to the MASA of a manufacturer, if one is free.
    pub(super) fn place(&self, manufacturer: &str) -> Option<OwnedSemaphorePermit> {
        self.inner.settings.masas.get(manufacturer)?.place()
    }

    /// Signs a registrar's voucher request, with the certificates that the MASA may pin.
    pub(super) fn sign(&self, request: &VoucherRequest) -> Result<Vec<u8>, Reply> {
        let settings = &self.inner.settings;
        let signed = Unsigned::new(PROVIDER, &request.to_json(), &settings.chain, settings.scheme, Some(self.now()))
            .and_then(|unsigned| unsigned.sign(&*settings.key, &mut OsRng));
        signed.map_err(|error| {
            tracing::error!(%error, "the voucher request cannot be signed");
            Reply::text(500, "the registrar cannot sign its voucher request; its operator must look into it")
        })
    }

    /// Asks the MASA. Returns its answer if that comes soon; otherwise the pledge comes again.
    pub(super) async fn ask_masa(
        &self,
        request: &PledgeRequest,
        masa: &MasaUrl,
        registrar_request: Vec<u8>,
        place: OwnedSemaphorePermit,
    ) -> Reply {
        let (sender, answer) = oneshot::channel();
        let (service, request, masa) = (self.clone(), request.clone(), masa.clone());
        tokio::spawn(async move {
            let reply = service.exchange(&request, &masa, &registrar_request).await;
            drop(place);
            drop(sender.send(reply)); // the pledge may have gone
        });
        let hold = Duration::from_millis(self.inner.settings.config.limits.hold_milliseconds.into());
        match tokio::time::timeout(hold, answer).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) | Err(_) => Reply::later(SHORT_RETRY),
        }
    }

    /// Sends a request to the MASA, and stores what comes of it.
    async fn exchange(&self, request: &PledgeRequest, masa: &MasaUrl, registrar_request: &[u8]) -> Reply {
        let settings = &self.inner.settings;
        let serial_number = &request.idevid().serial_number;
        let Some(manufacturer) = settings.decisions.manufacturer(request).map(|one| one.name.as_str()) else {
            return Refusal::UnknownManufacturer.into();
        };
        let Some(client) = settings.masas.get(manufacturer) else { return Refusal::UnknownManufacturer.into() };
        let asked = client.request_voucher(&settings.decisions, masa, registrar_request, request.accept()).await;
        let response = match asked {
            Ok(response) => response,
            Err(error) => {
                tracing::warn!(serial_number, masa = masa.base(), %error, "the MASA cannot be asked");
                return self.refused(request, Reply::later(LONG_RETRY), "").await;
            }
        };
        let Incoming { status, content_type, body, .. } = &response;
        let read = MasaResponse { status: *status, content_type: content_type.as_deref(), body };
        match settings.decisions.read_masa_response(request, &read, self.now()) {
            Ok(Answer::Voucher(voucher)) => self.issued(request, manufacturer, &voucher, response.body).await,
            Ok(Answer::Later { retry_after }) => {
                tracing::warn!(serial_number, masa = masa.base(), status, "the MASA has no answer yet");
                self.refused(request, Reply::later(retry_after), "").await
            }
            Err(refusal) => {
                let said = matches!(refusal, Refusal::Masa(_)).then(|| text_for_people(body)).flatten();
                tracing::warn!(serial_number, masa = masa.base(), status, %refusal, ?said, "the MASA gives no voucher");
                let text = match said {
                    Some(said) => format!("{refusal}; it says: {said}"),
                    None => refusal.to_string(),
                };
                self.refused(request, Reply::text(refusal.status(), &text), &text).await
            }
        }
    }

    async fn issued(
        &self,
        request: &PledgeRequest,
        manufacturer: &str,
        voucher: &ReceivedVoucher,
        body: Vec<u8>,
    ) -> Reply {
        let serial_number = &request.idevid().serial_number;
        match self.inner.store.answer(request, manufacturer, voucher, &body, self.now()).await {
            Ok(true) => {}
            Ok(false) => return Reply::later(SHORT_RETRY), // and then it gets the one that is stored
            Err(error) => return Reply::database(&error),
        }
        tracing::info!(serial_number, manufacturer, "a device gets a voucher");
        if voucher.findings.as_ref().is_some_and(|findings| !findings.pins_own_chain) {
            tracing::warn!(serial_number, manufacturer, "the voucher pins another domain: the device will refuse it");
        }
        if voucher.findings.as_ref().is_some_and(|findings| findings.signer_is_known == Some(false)) {
            tracing::warn!(serial_number, manufacturer, "the voucher is not signed under voucher_anchors");
        }
        Reply::body(&voucher.content_type, body)
    }

    /// Stores how a request failed, so that the same one has the same answer until the MASA is asked again.
    async fn refused(&self, request: &PledgeRequest, reply: Reply, text: &str) -> Reply {
        match self.inner.store.failed(request.sha256(), reply.status(), text).await {
            Ok(()) => reply,
            Err(error) => Reply::database(&error),
        }
    }
}

/// Retry-After while the MASA takes its time.
const SHORT_RETRY: u32 = 5;

/// Retry-After when the MASA cannot be reached.
const LONG_RETRY: u32 = 30;
