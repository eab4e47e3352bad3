//! Voucher requests and status messages of pledges (RFC 8995, 5.2 to 5.7 and 5.9.4).
//!
//! What must always hold: the same request has the same answer, in this process and in every other one on the same
//! database.

use core::time::Duration;

use terse_brski::digest::{Sha256, sha256};
use terse_brski::registrar::{Decision, PledgeRequest, Refusal, RequestState, Topic};
use tokio::time::Instant;

use super::Service;
use super::metrics::VoucherCame;
use super::reply::{Received, Reply};
use super::settings::PROVIDER;
use super::store::{Forwarded, Known, StoredRequest};

impl Service {
    pub(super) async fn request_voucher(&self, received: &Received) -> Result<Reply, Reply> {
        let settings = &self.inner.settings;
        let request = settings.decisions.read_voucher_request(&received.chain, &received.posted(), self.now())?;
        match settings.signs(request.format()) {
            true => self.answer_voucher_request(request, received.arrived + self.hold()).await,
            false => Err(Reply::text(406, NO_COSE)),
        }
    }

    /// Answers a request. The pledge is kept waiting until `until`, whatever it waits for.
    async fn answer_voucher_request(&self, request: PledgeRequest, until: Instant) -> Result<Reply, Reply> {
        // Another task can be faster, once for each state that a request goes through.
        for _ in 0..3 {
            let stored = self.inner.store.request(&request, self.now()).await?;
            if let Some(reply) = self.decide(&request, stored.as_ref(), until).await? {
                return Ok(reply);
            }
        }
        Ok(Reply::later(SHORT_RETRY))
    }

    /// Does what is decided about a request. Returns `None` if another task has done something meanwhile.
    async fn decide(
        &self,
        request: &PledgeRequest,
        stored: Option<&StoredRequest>,
        until: Instant,
    ) -> Result<Option<Reply>, Reply> {
        let (inner, now) = (&self.inner, self.now());
        let record = stored.map(|stored| &stored.record);
        let manufacturer = inner.settings.decisions.manufacturer(request).ok_or(Refusal::UnknownManufacturer)?;
        let manufacturer = manufacturer.name.as_str();
        match inner.settings.decisions.decide(request, record, now)? {
            Decision::Answer { content_type, voucher } => {
                inner.metrics.voucher_came(VoucherCame::Repeated);
                Ok(Some(Reply::body(content_type, voucher.into())))
            }
            Decision::Wait { retry_after, record: None } => {
                Ok(Some(match stored.and_then(|one| one.failure.clone()) {
                    Some((202, _)) => Reply::later(retry_after),
                    Some((status, text)) => Reply::text(status, &text),
                    None => Reply::later(retry_after),
                }))
            }
            Decision::Wait { retry_after, record: Some(record) } => {
                let serial_number = &request.idevid().serial_number;
                match inner.store.await_operator(request, manufacturer, &record).await? {
                    true => tracing::info!(serial_number, manufacturer, "a device waits for an operator"),
                    false => return Ok(Some(too_many())),
                }
                Ok(Some(Reply::later(retry_after)))
            }
            Decision::Forward(forward) => {
                let place = match self.place(manufacturer, &forward.masa, until).await {
                    Ok(place) => place,
                    Err(none) => return Ok(Some(self.without_masa(request, manufacturer, none).await?)),
                };
                let (signed, now) = (self.sign(&forward)?, self.now());
                match inner.store.forward(request, manufacturer, &signed, now).await? {
                    Forwarded::Stored => {
                        Ok(Some(self.ask_masa(request, &forward.masa, signed, now, place, until).await))
                    }
                    Forwarded::Lost => Ok(None),
                    Forwarded::TooMany => Ok(Some(too_many())),
                }
            }
            Decision::Resend { masa, registrar_request } => {
                let Some(RequestState::Forwarded { sent, .. }) = record.map(|record| &record.state) else {
                    return Ok(None);
                };
                let place = match self.place(manufacturer, &masa, until).await {
                    Ok(place) => place,
                    Err(none) => return Ok(Some(self.without_masa(request, manufacturer, none).await?)),
                };
                let now = self.now();
                match inner.store.resend(request.sha256(), *sent, now).await? {
                    true => Ok(Some(self.ask_masa(request, &masa, registrar_request.into(), now, place, until).await)),
                    false => Ok(None),
                }
            }
        }
    }

    /// Returns the SHA-256 of the certificate that a client has presented, and what is known of it.
    pub(super) async fn client(&self, received: &Received) -> Result<(Sha256, Option<Known>), Reply> {
        let leaf = received.chain.first().ok_or(Refusal::NoCertificate)?;
        let digest = sha256(PROVIDER, leaf);
        Ok((digest, self.inner.store.client(&digest).await?))
    }

    /// Takes a status message.
    pub(super) async fn status(&self, topic: Topic, received: &Received) -> Result<Reply, Reply> {
        let stored = match self.client(received).await?.1 {
            Some(Known::Joining(stored)) => Some(stored),
            Some(Known::Earlier(_)) | None => None,
        };
        if let Some(stored) = &stored {
            // By the IDevID: a certificate that the device is issued later gives it no more messages.
            let now = Duration::from_millis(self.inner.clock.now().monotonic.0);
            let admitted = self.inner.status_limit.admit(&stored.joining.idevid, now);
            admitted.map_err(|seconds| Reply::text(429, TOO_MANY_MESSAGES).retry_after(seconds))?;
        }
        let joining = stored.as_ref().map(|stored| &stored.joining);
        let decisions = &self.inner.settings.decisions;
        let telemetry = decisions.read_status(topic, &received.chain, &received.posted(), joining)?;
        let Some(stored) = stored else {
            tracing::debug!(?topic, "a stranger has sent a status message");
            return Ok(Reply::text(200, ""));
        };
        let (serial_number, manufacturer) = (&stored.serial_number, &stored.manufacturer);
        let (status, reason) = (telemetry.status.status, telemetry.status.reason.as_deref());
        match telemetry.needs_attention {
            true => tracing::warn!(serial_number, manufacturer, ?topic, status, ?reason, "a device needs attention"),
            false => tracing::info!(serial_number, manufacturer, ?topic, status, "a device reports"),
        }
        if !status {
            self.inner.metrics.device_failed(topic);
        }
        self.inner.store.log_status(&stored, topic, &telemetry, self.now()).await?;
        if topic == Topic::Voucher && telemetry.joining.is_some() {
            self.ask_for_audit_log(&stored.joining.idevid).await?;
        }
        Ok(Reply::text(200, ""))
    }
}

pub(super) fn too_many() -> Reply {
    Reply::text(429, "the device has sent too many voucher requests; it can go on tomorrow").retry_after(3_600)
}

const TOO_MANY_MESSAGES: &str = "the device has sent too many status messages; it can go on later";

const NO_COSE: &str = "the key of this registrar signs no voucher requests in COSE, which has no RSA; send \
                       application/voucher-cms+json, or ask an operator for another key";

/// Retry-After while something else is under way.
const SHORT_RETRY: u32 = 5;
