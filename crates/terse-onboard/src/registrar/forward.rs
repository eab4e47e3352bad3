//! The MASA is asked for a voucher (RFC 8995, 5.5 and 5.6), in a task that goes on when the pledge has gone.
//!
//! What must always hold: the answer of the MASA is stored before the pledge gets it; how long a MASA takes is the time of
//! this task, and holds up no pledge for longer than configured; a MASA that cannot be reached is asked again soon, and by
//! few (`outage`).

use core::time::Duration;

use pki_types::UnixTime;
use terse_brski::artefact::Unsigned;
use terse_brski::registrar::{
    Answer, Forward, MasaResponse, MasaUrl, PledgeRequest, ReceivedVoucher, Refusal, text_for_people,
};
use terse_net::OsRng;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use super::Service;
use super::masa::MasaError;
use super::metrics::{Asked, VoucherCame};
use super::outage::{Attempt, Masa, Outages, retry_after};
use super::reply::Reply;
use super::settings::PROVIDER;
use crate::client::Incoming;

/// A place for a connection to a MASA.
pub(super) struct Place {
    attempt: Attempt,
    _permit: OwnedSemaphorePermit,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    /// All are in use.
    Busy,
    /// The MASA could not be reached, and is asked again after this many seconds.
    Unreachable(u32),
}

impl Masa {
    /// Returns the MASA at a URL, as it is asked for a manufacturer.
    pub(super) fn of(manufacturer: &str, url: &MasaUrl) -> Self {
        Self { manufacturer: manufacturer.into(), base: url.base().into() }
    }
}

impl Place {
    /// Notes how it went. Returns after how many seconds the MASA is asked again if it could not be reached.
    pub(super) fn ended<T>(self, result: &Result<T, MasaError>) -> Option<u32> {
        match result {
            Err(error) if error.is_outage() => Some(retry_after(self.attempt.failed())),
            Err(error) if error.is_own() => None, // which says nothing of the MASA
            Ok(_) | Err(_) => {
                self.attempt.answered();
                None
            }
        }
    }
}

impl Service {
    /// Takes a place for a connection to the MASA of a manufacturer, if one is free. While somebody else finds out whether a
    /// MASA can be reached again, this waits for it until `until`; it takes the place afterwards, so that those who wait for one
    /// MASA take none away.
    pub(super) async fn place(&self, manufacturer: &str, masa: &MasaUrl, until: Instant) -> Result<Place, NoPlace> {
        let attempt = Outages::attempt(&self.inner.outages, Masa::of(manufacturer, masa), until).await;
        let attempt = attempt.map_err(|wait| NoPlace::Unreachable(retry_after(wait)))?;
        let _permit = self.permit(manufacturer).ok_or(NoPlace::Busy)?;
        Ok(Place { attempt, _permit })
    }

    /// The same without waiting.
    pub(super) fn free_place(&self, manufacturer: &str, masa: &MasaUrl) -> Option<Place> {
        let _permit = self.permit(manufacturer)?;
        let attempt = Outages::try_attempt(&self.inner.outages, Masa::of(manufacturer, masa))?;
        Some(Place { attempt, _permit })
    }

    fn permit(&self, manufacturer: &str) -> Option<OwnedSemaphorePermit> {
        self.inner.settings.masas.get(manufacturer)?.place()
    }

    /// How long a pledge is kept waiting.
    pub(super) fn hold(&self) -> Duration {
        Duration::from_millis(self.inner.settings.config.limits.hold_milliseconds.into())
    }

    /// Signs a registrar's voucher request, with the certificates that the MASA may pin.
    pub(super) fn sign(&self, forward: &Forward) -> Result<Vec<u8>, Reply> {
        let settings = &self.inner.settings;
        let Forward { request, format, enclosed, .. } = forward;
        let others = enclosed.iter().filter(|one| !settings.chain.contains(one));
        let certificates: Vec<_> = settings.chain.iter().chain(others).cloned().collect();
        let content = format.encode_request(request);
        let signed = Unsigned::new(*format, PROVIDER, &content, &certificates, settings.scheme, self.now())
            .and_then(|unsigned| unsigned.sign(&*settings.key, &mut OsRng));
        signed.map_err(|error| {
            tracing::error!(%error, "the voucher request cannot be signed");
            Reply::text(500, "the registrar cannot sign its voucher request; its operator must look into it")
        })
    }

    /// Asks the MASA. `sent` is the time that is stored with the request. Returns the answer if that comes before `until`;
    /// otherwise the pledge comes again.
    pub(super) async fn ask_masa(
        &self,
        request: &PledgeRequest,
        masa: &MasaUrl,
        registrar_request: Vec<u8>,
        sent: UnixTime,
        place: Place,
        until: Instant,
    ) -> Reply {
        let (sender, answer) = oneshot::channel();
        let (service, request, masa) = (self.clone(), request.clone(), masa.clone());
        tokio::spawn(async move {
            let reply = service.exchange(&request, &masa, &registrar_request, sent, place).await;
            drop(sender.send(reply)); // the pledge may have gone
        });
        match tokio::time::timeout_at(until, answer).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) | Err(_) => Reply::later(SHORT_RETRY),
        }
    }

    /// Sends a request to the MASA, and stores what comes of it.
    async fn exchange(
        &self,
        request: &PledgeRequest,
        masa: &MasaUrl,
        registrar_request: &[u8],
        sent: UnixTime,
        place: Place,
    ) -> Reply {
        let settings = &self.inner.settings;
        let serial_number = &request.idevid().serial_number;
        let Some(manufacturer) = settings.decisions.manufacturer(request).map(|one| one.name.as_str()) else {
            return Refusal::UnknownManufacturer.into();
        };
        let Some(client) = settings.masas.get(manufacturer) else { return Refusal::UnknownManufacturer.into() };
        let begun = Instant::now();
        let asked =
            client.request_voucher(&settings.decisions, masa, registrar_request, Some(request.masa_accept())).await;
        let unreachable = place.ended(&asked);
        let count = |outcome| self.inner.metrics.masa_asked(Asked::Voucher, begun.elapsed(), outcome);
        self.saw_masa(manufacturer, &asked);
        let response = match asked {
            Ok(response) => response,
            Err(error) => {
                count(error.outcome());
                tracing::warn!(serial_number, masa = masa.base(), %error, "the MASA cannot be asked");
                return match unreachable {
                    Some(retry_after) => self.unsent(request, manufacturer, sent, retry_after).await,
                    None => self.refused(request, sent, Reply::later(LONG_RETRY), "").await,
                };
            }
        };
        let Incoming { status, content_type, retry_after, body, .. } = &response;
        let read =
            MasaResponse { status: *status, content_type: content_type.as_deref(), retry_after: *retry_after, body };
        match settings.decisions.read_masa_response(request, &read, self.now()) {
            Ok(Answer::Voucher(voucher)) => {
                count("voucher");
                self.issued(request, manufacturer, voucher).await
            }
            Ok(Answer::Later { retry_after }) => {
                count("later");
                tracing::warn!(serial_number, masa = masa.base(), status, "the MASA has no answer yet");
                match self.inner.store.delayed(request.sha256(), sent, retry_after, self.now()).await {
                    Ok(()) => Reply::later(retry_after),
                    Err(error) => Reply::database(&error),
                }
            }
            Err(refusal) => {
                count(if matches!(refusal, Refusal::Masa(_)) { "refused" } else { "unusable" });
                let said = matches!(refusal, Refusal::Masa(_)).then(|| text_for_people(body)).flatten();
                tracing::warn!(serial_number, masa = masa.base(), status, %refusal, ?said, "the MASA gives no voucher");
                let text = match said {
                    Some(said) => format!("{refusal}; it says: {said}"),
                    None => refusal.to_string(),
                };
                self.refused(request, sent, Reply::text(refusal.status(), &text).because(refusal), &text).await
            }
        }
    }

    async fn issued(&self, request: &PledgeRequest, manufacturer: &str, received: ReceivedVoucher) -> Reply {
        let serial_number = &request.idevid().serial_number;
        match self.inner.store.answer(request, manufacturer, &received, self.now()).await {
            Ok(true) => {}
            Ok(false) => return Reply::later(SHORT_RETRY), // and then it gets the one that is stored
            Err(error) => return Reply::database(&error),
        }
        self.inner.metrics.voucher_came(VoucherCame::Issued);
        tracing::info!(serial_number, manufacturer, "a device gets a voucher");
        if received.findings.as_ref().is_some_and(|findings| !findings.pins_own_chain) {
            tracing::warn!(serial_number, manufacturer, "the voucher pins another domain: the device will refuse it");
        }
        if received.findings.as_ref().is_some_and(|findings| findings.signer_is_known == Some(false)) {
            tracing::warn!(serial_number, manufacturer, "the voucher is not signed under voucher_anchors");
        }
        Reply::body(&received.content_type, received.voucher)
    }

    /// Stores that a request could not be sent, so that it is sent again as soon as the MASA can be reached.
    async fn unsent(&self, request: &PledgeRequest, manufacturer: &str, sent: UnixTime, retry_after: u32) -> Reply {
        if let Err(error) = self.inner.store.unsent(request.sha256(), sent).await {
            return Reply::database(&error);
        }
        let none = NoPlace::Unreachable(retry_after);
        self.without_masa(request, manufacturer, none).await.unwrap_or_else(|reply| reply)
    }

    /// Stores how a request failed, so that the same one has the same answer until the MASA is asked again.
    async fn refused(&self, request: &PledgeRequest, sent: UnixTime, reply: Reply, text: &str) -> Reply {
        match self.inner.store.failed(request.sha256(), sent, reply.status(), text).await {
            Ok(()) => reply,
            Err(error) => Reply::database(&error),
        }
    }
}

/// Retry-After while the MASA takes its time.
const SHORT_RETRY: u32 = 5;

/// Retry-After when the answer of the MASA cannot be used.
const LONG_RETRY: u32 = 30;
