//! A voucher is issued: decided on, signed, stored (RFC 8995, 5.5 and 5.6).
//!
//! What must always hold: each request is under way once, in a task that goes on when the registrar hangs up; one device has a
//! few of all places; a decision that was overtaken is made again; nothing is answered before it is stored.

use alloc::sync::Arc;
use core::time::Duration;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use axum::http::StatusCode;
use bytes::Bytes;
use pki_types::UnixTime;
use terse_brski::digest::Sha256;
use terse_brski::masa::{Context, Decision, RegistrarRequest, RevocationStatus};
use terse_brski::voucher::MAX_LEN;
use tokio::sync::watch;

use super::problem::Problem;
use super::service::Shared;
use super::store::Stored;

/// The vouchers that are being issued.
#[derive(Default)]
pub(super) struct UnderWay {
    requests: Mutex<HashMap<Job, Issuing>>,
}

/// A voucher that is being issued.
struct Issuing {
    serial_number: String,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// A request, and as whom its registrar has authenticated itself.
type Job = (Sha256, Option<String>);

type Outcome = Result<Bytes, Problem>;

impl UnderWay {
    fn lock(&self) -> MutexGuard<'_, HashMap<Job, Issuing>> {
        // Nobody panics with the lock; and whatever is in the map can be used.
        self.requests.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Takes a job off the list when it ends, however it ends.
struct Ending(Arc<Shared>, Job);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.under_way.lock().remove(&self.1);
    }
}

impl Shared {
    /// Returns the voucher for a request, or tells the registrar to come back if that takes too long.
    pub(super) async fn voucher(
        self: &Arc<Self>,
        request: RegistrarRequest,
        customer: Option<String>,
        time: UnixTime,
    ) -> Outcome {
        let mut outcome = self.begin(request, customer, time)?;
        let done = tokio::time::timeout(self.limits.voucher_time(), outcome.wait_for(Option::is_some)).await;
        match done {
            Ok(Ok(outcome)) => outcome.clone().unwrap_or_else(|| Err(Problem::busy())), // it is there
            Ok(Err(_)) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "issuing the voucher failed")),
            // RFC 8995, 5.6.
            Err(_) => Err(Problem::later(
                StatusCode::ACCEPTED,
                "the voucher is not signed yet; send the same request again",
                RETRY_SECONDS,
            )),
        }
    }

    /// Begins to issue, unless the same request is under way already.
    fn begin(
        self: &Arc<Self>,
        request: RegistrarRequest,
        customer: Option<String>,
        time: UnixTime,
    ) -> Result<watch::Receiver<Option<Outcome>>, Problem> {
        let job = (*request.sha256(), customer);
        let mut under_way = self.under_way.lock();
        if let Some(issuing) = under_way.get(&job) {
            return Ok(issuing.outcome.clone());
        }
        let serial_number = request.serial_number();
        let of_device = under_way.values().filter(|issuing| issuing.serial_number == serial_number).count();
        if under_way.len() >= self.limits.vouchers_under_way || of_device >= MAX_OF_DEVICE {
            return Err(Problem::busy());
        }
        let (sender, outcome) = watch::channel(None);
        under_way.insert(job.clone(), Issuing { serial_number: serial_number.into(), outcome: outcome.clone() });
        let (shared, ending) = (self.clone(), Ending(self.clone(), job));
        tokio::spawn(async move {
            let outcome = shared.issue(&request, ending.1.1.as_deref(), time).await;
            drop(ending); // who comes from here on finds the voucher in the database
            sender.send_replace(Some(outcome));
        });
        Ok(outcome)
    }

    async fn issue(&self, request: &RegistrarRequest, customer: Option<&str>, time: UnixTime) -> Outcome {
        let day_before = UnixTime::since_unix_epoch(Duration::from_secs(time.as_secs().saturating_sub(DAY)));
        let limit = self.limits.vouchers_per_device_and_day;
        for _ in 0..ATTEMPTS {
            let known = self.store.look_up(&self.provider, request, day_before, limit).await;
            let known = known.map_err(|error| Problem::database(&error))?;
            let registered = known.record.as_ref().filter(|record| record.is_registered || record.device.is_blocked);
            let mut context = Context {
                issued: known.issued.as_ref(),
                device: registered.map(|record| &record.device),
                log: &known.log,
                customer,
                revocation: RevocationStatus::Good,
                revocation_next_update: None,
            };
            // Nothing is looked up for a request that would be refused in any case.
            let mut decision = self.masa.decide(request, &context, time)?;
            if matches!(decision, Decision::Issue(_)) && known.recent >= limit {
                let text = "there were too many vouchers for this device today; try again tomorrow";
                return Err(Problem::later(StatusCode::TOO_MANY_REQUESTS, text, HOUR));
            }
            // Nor is a voucher repeated for a registrar that was revoked meanwhile.
            if request.path().states_revocation() {
                let learned = self.revocations.look_up(&self.provider, request.path(), time).await;
                (context.revocation, context.revocation_next_update) = (learned.status, learned.next_update);
                decision = self.masa.decide(request, &context, time)?;
            }
            let issuance = match decision {
                Decision::Repeat(voucher) => {
                    self.metrics.voucher_repeated();
                    return Ok(Bytes::copy_from_slice(voucher));
                }
                Decision::Issue(issuance) => issuance,
            };
            let signed = self.signer.sign(&self.provider, request.format(), &issuance.voucher, time).await;
            self.signer_seen.note(signed.is_ok(), time);
            let signed = signed.map_err(|error| {
                self.metrics.signer_failed();
                tracing::error!(error, "a voucher was not signed");
                Problem::later(StatusCode::SERVICE_UNAVAILABLE, "the voucher could not be signed; try again", 10)
            })?;
            if signed.len() > MAX_LEN {
                let text =
                    "the voucher would be longer than devices read; give the registrar's CA a shorter certificate";
                return Err(Problem::new(StatusCode::NOT_ACCEPTABLE, text));
            }
            let stored = self.store.store(request, &known, &issuance, &signed).await;
            if stored.map_err(|error| Problem::database(&error))? == Stored::Committed {
                self.metrics.voucher_issued();
                let assertion = issuance.voucher.assertion.name();
                tracing::info!(serial_number = request.serial_number(), assertion, customer, "a voucher was issued");
                return Ok(signed.into());
            }
        }
        Err(Problem::busy())
    }
}

/// How often a decision is made while others change the device. Each time another voucher for it was stored.
const ATTEMPTS: usize = 32;

/// The most vouchers for one device that are being issued at a time, so that those for others are issued meanwhile.
const MAX_OF_DEVICE: usize = 8;

/// Retry-After of a voucher that is not signed yet. RFC 8995, 5.6 lets a device wait for 60 seconds at most.
const RETRY_SECONDS: u64 = 10;

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
