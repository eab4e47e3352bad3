//! `terse registrar fetch`: a voucher without a nonce is fetched for a device that will come when the MASA cannot be reached
//! (RFC 8995, 3.1, 5.5 and 7.3); and pledges get it then.
//!
//! What must always hold: what a MASA refuses is refused; a voucher that was fetched stands in for one that cannot be reached
//! alone. One that could not be reached counts as such until it has answered: also while a request finds out for longer than
//! a pledge is kept waiting. The audit log is judged when the voucher is fetched, so that EST can open without the MASA.

use std::path::{Path, PathBuf};

use terse_brski::certificate::is_unprintable;
use terse_brski::certificate::issuer_of_ca;
use terse_brski::digest::{Sha256, sha256};
use terse_brski::registrar::{
    Answer, AuditRefused, ExpectedDevice, Findings, Forward, MasaResponse, MasaUrl, PledgeRequest, Refusal,
    text_for_people,
};
use terse_net::{Clock, files};

use super::Service;
use super::audit::read_audit_log;
use super::forward::NoPlace;
use super::masa::MasaClient;
use super::metrics::VoucherCame;
use super::reply::Reply;
use super::settings::PROVIDER;
use crate::client::Incoming;
use crate::config::ConfigError;

mod error;

pub use error::FetchError;

/// For which device a voucher is fetched.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FetchOptions {
    /// Its serial number.
    pub serial_number: String,
    /// The name of its manufacturer in the configuration. It may be missing if there is one alone.
    pub manufacturer: Option<String>,
    /// The certificate of the CA that has issued its IDevID. It may be missing if the manufacturer has one anchor, and that is
    /// this CA.
    pub idevid_issuer: Option<PathBuf>,
}

impl FetchOptions {
    /// A device with this serial number, of the only manufacturer and its only issuer.
    pub const fn new(serial_number: String) -> Self {
        Self { serial_number, manufacturer: None, idevid_issuer: None }
    }
}

/// A voucher that was fetched and is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// The name of the manufacturer.
    pub manufacturer: String,
    /// When the voucher ends, in seconds since 1970; `None` if it has no end.
    pub expires_on: Option<u64>,
    /// What the audit log says: `good`, `bad`, or `requested` if it did not come.
    pub audit: String,
    /// Why it is bad, or did not come.
    pub audit_reason: Option<String>,
    /// Whether the voucher is signed under the configured anchors, if there are any.
    pub signer_is_known: Option<bool>,
}

/// Fetches a voucher for later, and stores it. `path` is that of the configuration of the registrar, which may be running.
pub async fn fetch(path: &Path, clock: Clock, options: &FetchOptions) -> Result<Fetched, FetchError> {
    let service = Service::open(path, clock).await.map_err(FetchError::Start)?;
    let fetched = service.fetch(options).await;
    service.inner.store.close().await;
    fetched
}

impl Service {
    async fn fetch(&self, options: &FetchOptions) -> Result<Fetched, FetchError> {
        let device = self.expected(options)?;
        if self.inner.store.is_rejected(&device).await? {
            return Err(FetchError::Rejected);
        }
        let client = self.inner.settings.masas.get(&device.manufacturer);
        let client = client.ok_or(FetchError::from(Refusal::UnknownManufacturer))?;
        let forward = self.inner.settings.decisions.fetch(&device, self.now())?;
        let (request, body) = self.request(&device, &forward).await?;
        let response = client.request_voucher(&self.inner.settings.decisions, &forward.masa, &body, None).await?;
        let findings = match self.received(&device, &response) {
            Ok(Some((received, findings))) => {
                self.inner.store.fetched(&device, &request, &received).await?;
                findings
            }
            Ok(None) => return Err(FetchError::Later),
            Err(refusal) => {
                self.inner.store.fetch_refused(&request).await?;
                let said = matches!(refusal, Refusal::Masa(_)).then(|| text_for_people(&response.body)).flatten();
                let (manufacturer, serial_number) = (&device.manufacturer, &device.serial_number);
                let earlier = self.inner.store.usable(manufacturer, serial_number, self.now()).await?;
                let has_earlier = earlier.iter().any(|one| one.idevid_issuer == device.idevid_issuer);
                return Err(FetchError::Refused { refusal, said: said.map(str::to_owned), has_earlier });
            }
        };
        let (audit, audit_reason) = self.audit_fetched(&device, client, &forward.masa, &body).await?;
        self.inner.store.fetch_audited(&request, audit, audit_reason.as_deref()).await?;
        Ok(Fetched {
            manufacturer: device.manufacturer,
            expires_on: findings.expires_on.map(|end| end.as_secs()),
            audit: audit.into(),
            audit_reason,
            signer_is_known: findings.signer_is_known,
        })
    }

    /// Completes what an operator has said about a device.
    fn expected(&self, options: &FetchOptions) -> Result<ExpectedDevice, FetchError> {
        let serial_number = options.serial_number.clone();
        let is_long = serial_number.chars().count() > MAX_SERIAL_NUMBER_LEN;
        if serial_number.is_empty() || is_long || serial_number.contains(is_unprintable) {
            return Err(FetchError::SerialNumber);
        }
        let names = || self.inner.settings.masas.keys().cloned();
        let manufacturer = match &options.manufacturer {
            Some(name) => names().find(|one| one == name),
            None => names().next().filter(|_| names().count() == 1),
        };
        let manufacturer = manufacturer.ok_or_else(|| FetchError::Manufacturer(names().collect()))?;
        let idevid_issuer = match &options.idevid_issuer {
            Some(path) => read_issuer(path).map_err(FetchError::Issuer)?,
            None => {
                let mut issuers = self.inner.settings.decisions.issuers(&manufacturer)?;
                match (issuers.len(), issuers.pop()) {
                    (1, Some(issuer)) => issuer,
                    (count, _) => return Err(FetchError::Issuers(count)),
                }
            }
        };
        Ok(ExpectedDevice { manufacturer, serial_number, idevid_issuer })
    }

    /// Returns the request to send, which is stored: the last one, if the MASA has not answered that.
    async fn request(&self, device: &ExpectedDevice, forward: &Forward) -> Result<(Sha256, Vec<u8>), FetchError> {
        if let Some(unanswered) = self.inner.store.unanswered_fetch(device, self.now()).await? {
            return Ok(unanswered);
        }
        let cannot = |_| FetchError::Masa("the registrar cannot sign its voucher request; check its key".into());
        let body = self.sign(forward).map_err(cannot)?;
        let request = sha256(PROVIDER, &body);
        match self.inner.store.begin_fetch(device, &request, &body, self.now()).await? {
            true => Ok((request, body)),
            false => Err(FetchError::TooMany),
        }
    }

    /// Reads the response of the MASA. Returns `None` if that has no answer yet.
    fn received(
        &self,
        device: &ExpectedDevice,
        response: &Incoming,
    ) -> Result<Option<(terse_brski::registrar::ReceivedVoucher, Findings)>, Refusal> {
        let Incoming { status, content_type, retry_after, body, .. } = response;
        let read =
            MasaResponse { status: *status, content_type: content_type.as_deref(), retry_after: *retry_after, body };
        match self.inner.settings.decisions.read_fetched(device, &read, self.now())? {
            Answer::Voucher(received) => {
                let findings = received.findings.clone().ok_or(Refusal::VoucherType)?;
                Ok(Some((received, findings)))
            }
            Answer::Later { .. } => Ok(None),
        }
    }

    /// Asks for the audit log by the same request, and judges it. Returns the state of the log, and why.
    async fn audit_fetched(
        &self,
        device: &ExpectedDevice,
        client: &MasaClient,
        masa: &MasaUrl,
        body: &[u8],
    ) -> Result<(&'static str, Option<String>), FetchError> {
        let settings = &self.inner.settings;
        if settings.audits.get(&device.manufacturer).is_some_and(|policy| policy.is_ignored) {
            return Ok(("good", None));
        }
        let response = match client.request_audit_log(&settings.decisions, masa, body).await {
            Ok(response) => response,
            Err(error) => return Ok(("requested", Some(error.to_string()))),
        };
        let log = match read_audit_log(&response) {
            Ok(Some(log)) => log,
            Ok(None) => return Ok(("bad", Some(AuditRefused::NotNamed.to_string()))),
            Err(problem) => return Ok(("requested", Some(problem))),
        };
        let (store, serial_number) = (&self.inner.store, &device.serial_number);
        let known = store.history_of_serial(&device.manufacturer, serial_number).await?;
        let known = known.and(store.fetched_history(&device.manufacturer, serial_number).await?);
        Ok(match self.judge(&device.manufacturer, &log, None, &known) {
            Ok(None) => ("good", None),
            Ok(Some(problem)) => ("bad", Some(problem)),
            Err(problem) => ("requested", Some(problem)),
        })
    }

    /// Answers a pledge whose MASA cannot be asked now: by a voucher that was fetched, if there is one and the MASA cannot be
    /// reached.
    pub(super) async fn without_masa(
        &self,
        request: &PledgeRequest,
        manufacturer: &str,
        none: NoPlace,
    ) -> Result<Reply, Reply> {
        let NoPlace::Unreachable(retry_after) = none else { return Ok(Reply::later(SHORT_RETRY)) };
        let (store, now) = (&self.inner.store, self.now());
        let serial_number = &request.idevid().serial_number;
        for stored in store.usable(manufacturer, serial_number, now).await? {
            let decisions = &self.inner.settings.decisions;
            let received = match decisions.use_fetched(request, &stored.idevid_issuer, &stored.voucher, now) {
                Ok(received) => received,
                Err(refusal) => {
                    tracing::debug!(serial_number, manufacturer, %refusal, "a voucher that was fetched is not used");
                    continue;
                }
            };
            return match store.answer_with(request, manufacturer, &stored, &received, now).await? {
                Some(true) => {
                    self.inner.metrics.voucher_came(VoucherCame::Fetched);
                    tracing::info!(serial_number, manufacturer, "a device gets the voucher that was fetched for it");
                    Ok(Reply::body(&received.content_type, stored.voucher))
                }
                Some(false) => Ok(Reply::later(SHORT_RETRY)), // and then it gets the one that is stored
                None => Err(super::brski::too_many()),
            };
        }
        Ok(Reply::later(retry_after))
    }
}

/// Reads the certificate of a CA, as the issuer of IDevIDs.
fn read_issuer(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let certificates = files::read_certificates(path)?;
    let [certificate] = &certificates[..] else {
        return Err(ConfigError::new(path, "it has several certificates; give that of the CA of the IDevID alone"));
    };
    let issuer = issuer_of_ca(certificate).map_err(|error| ConfigError::new(path, error))?;
    let problem = "the certificate has no subject key identifier; give that of the CA that has issued the IDevID";
    issuer.ok_or_else(|| ConfigError::new(path, problem))
}

/// Retry-After while something else is under way.
const SHORT_RETRY: u32 = 5;

/// The most characters of a serial number (RFC 5280, A.1).
const MAX_SERIAL_NUMBER_LEN: usize = 64;
