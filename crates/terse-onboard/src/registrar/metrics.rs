//! What a registrar counts and measures. `docs/metrics.md` says what each metric is for.

use core::time::Duration;

use pki_types::UnixTime;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use terse_brski::coap::Resource;
use terse_brski::registrar::{Refusal, Topic};

use super::masa::MasaError;
use super::store::Counts;
use crate::metrics::{Common, Exposition, Kinds, OTHER, Series, own};

/// The metrics of a registrar.
pub(super) struct Metrics {
    pub(super) common: Common,
    pub(super) exposition: Exposition,
    masa_requests: Series<2, Counter>,
    masa_seconds: Series<1, Histogram>,
    est_requests: Series<1, Counter>,
    vouchers: Series<1, Counter>,
    certificates: Series<1, Counter>,
    identity_keys: Counter,
    telemetry_failures: Series<1, Counter>,
    waiting: Series<1, Gauge>,
    ending: Series<1, Gauge>,
    audits: Gauge,
    crl: Series<1, Gauge>,
}

/// What a MASA is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Voucher,
    AuditLog,
}

/// How a device got its voucher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VoucherCame {
    /// From the MASA, just now.
    Issued,
    /// From the database, for a request that was answered before.
    Repeated,
    /// It was fetched in advance.
    Fetched,
}

impl Metrics {
    /// `errors` are those of the database.
    pub(super) fn new(errors: Counter, started: UnixTime) -> Self {
        let mut registry = Registry::default();
        let kinds = Kinds { resources: &RESOURCES, transports: &TRANSPORTS, refusals: Refusal::NAMES };
        let common = Common::register(&mut registry, &kinds, errors, started.as_secs());
        let own = own(&mut registry);
        let outcomes =
            ASKED.iter().flat_map(|(asked, outcomes)| outcomes.iter().map(|outcome| [asked.name(), *outcome]));
        let masa_requests = ("masa_requests", "Requests to MASAs");
        let masa_requests = Series::counters(own, masa_requests, ["kind", "outcome"], outcomes);
        let masa_seconds = ("masa_request_duration_seconds", "How long MASAs took");
        let kinds = ASKED.map(|(asked, _)| [asked.name()]);
        let masa_seconds = Series::seconds(own, masa_seconds, ["kind"], kinds);
        let est_requests = ("est_requests", "Certification requests to the EST server");
        let est_requests = Series::counters(own, est_requests, ["outcome"], EST_OUTCOMES.map(|outcome| [outcome]));
        let vouchers = ("vouchers", "Vouchers that devices got");
        let vouchers = Series::counters(own, vouchers, ["outcome"], [["issued"], ["repeated"], ["fetched"]]);
        let certificates = ("certificates_issued", "LDevIDs that were issued");
        let certificates = Series::counters(own, certificates, ["kind"], [["enrolment"], ["renewal"]]);
        let identity_keys = Counter::default();
        own.register("identity_keys_given", "Identity keys that devices got", identity_keys.clone());
        let failures = ("telemetry_failures", "Status messages of devices that something failed");
        let telemetry_failures = Series::counters(own, failures, ["topic"], [["voucher"], ["enrolment"]]);
        let waiting = ("devices_waiting", "Devices that wait for an operator");
        let waiting = Series::gauges(own, waiting, ["reason"], [["join"], ["audit-log"]]);
        let ending = ("ldevids_ending", "Devices whose newest LDevID ends within so many days");
        let ending = Series::gauges(own, ending, ["days"], [["7"], ["30"]]);
        let audits = Gauge::default();
        own.register("audit_logs_missing", "Devices whose audit log has not come", audits.clone());
        let crl = ("crl_end_timestamp_seconds", "When the list of revoked certificates ends, since 1970");
        let crl = Series::gauges(own, crl, ["issuer"], []);
        Self {
            common,
            exposition: Exposition::new(registry),
            masa_requests,
            masa_seconds,
            est_requests,
            vouchers,
            certificates,
            identity_keys,
            telemetry_failures,
            waiting,
            ending,
            audits,
            crl,
        }
    }

    /// Counts a request to a MASA. `outcome` is one of the list for it.
    pub(super) fn masa_asked(&self, asked: Asked, time: Duration, outcome: &'static str) {
        self.masa_seconds.took([asked.name()], time);
        self.masa_requests.count([asked.name(), outcome]);
    }

    /// Counts a certification request to the EST server.
    pub(super) fn est_asked(&self, outcome: &'static str) {
        self.est_requests.count([outcome]);
    }

    pub(super) fn voucher_came(&self, how: VoucherCame) {
        self.vouchers.count([match how {
            VoucherCame::Issued => "issued",
            VoucherCame::Repeated => "repeated",
            VoucherCame::Fetched => "fetched",
        }]);
    }

    pub(super) fn certificate_issued(&self, is_renewal: bool) {
        self.certificates.count([if is_renewal { "renewal" } else { "enrolment" }]);
    }

    pub(super) fn identity_key_given(&self) {
        self.identity_keys.inc();
    }

    pub(super) fn device_failed(&self, topic: Topic) {
        self.telemetry_failures.count([match topic {
            Topic::Voucher => "voucher",
            Topic::Enrolment => "enrolment",
        }]);
    }

    /// Notes when the list of the own CA ends; 0 if there is none yet.
    pub(super) fn crl_ends(&self, end: u64) {
        self.crl.set(["domain-ca"], end);
    }

    /// Notes what was counted in the database.
    pub(super) fn counted(&self, counts: &Counts) {
        self.waiting.set(["join"], counts.waiting_to_join);
        self.waiting.set(["audit-log"], counts.waiting_for_audit);
        self.ending.set(["7"], counts.ending_in_week);
        self.ending.set(["30"], counts.ending_in_month);
        self.audits.set(i64::try_from(counts.audits_missing).unwrap_or(i64::MAX));
    }
}

impl Asked {
    const fn name(self) -> &'static str {
        match self {
            Self::Voucher => "voucher",
            Self::AuditLog => "audit-log",
        }
    }
}

impl MasaError {
    /// Returns the outcome of a request that ended so.
    pub(super) const fn outcome(&self) -> &'static str {
        match self.is_outage() {
            true => "unreachable",
            false => "not-asked",
        }
    }
}

/// Returns the name of a resource.
pub(super) const fn resource_name(resource: Resource) -> &'static str {
    match resource {
        Resource::RequestVoucher => "requestvoucher",
        Resource::VoucherStatus => "voucher_status",
        Resource::EnrollStatus => "enrollstatus",
        Resource::CaCerts => "cacerts",
        Resource::CsrAttributes => "csrattrs",
        Resource::SimpleEnroll => "simpleenroll",
        Resource::SimpleReenroll => "simplereenroll",
        Resource::IdentityKey => "identity-key",
        Resource::Core => "core",
        _ => OTHER,
    }
}

/// Returns the name of the resource at a path of HTTPS.
pub(super) fn resource_at(path: &str) -> &'static str {
    if path == "/health" {
        return "health";
    }
    let name = path.strip_prefix("/.well-known/brski/").or_else(|| path.strip_prefix("/.well-known/est/"));
    let known = name.and_then(|name| RESOURCES.iter().find(|known| **known == name));
    known.copied().unwrap_or(OTHER)
}

/// Whether the answer of a resource with this status is one that no stranger gets: the client has shown a certificate, which was
/// verified, and has signed with its key.
pub(super) fn is_proof(resource: &str, status: u16) -> bool {
    // Anybody may report a status, and ask for health and links.
    matches!(status, 200..=299) && ![OTHER, "voucher_status", "enrollstatus", "core", "health"].contains(&resource)
}

const RESOURCES: [&str; 10] = [
    "requestvoucher",
    "voucher_status",
    "enrollstatus",
    "cacerts",
    "csrattrs",
    "simpleenroll",
    "simplereenroll",
    "identity-key",
    "core",
    "health",
];

/// The name of HTTPS as a transport.
pub(super) const HTTPS: &str = "https";

/// The name of CoAPS for devices and stateful join proxies.
pub(super) const COAPS: &str = "coaps";

/// The name of CoAPS behind stateless join proxies.
pub(super) const JPY: &str = "jpy";

const TRANSPORTS: [&str; 3] = [HTTPS, COAPS, JPY];

/// What can come of a request to a MASA.
const ASKED: [(Asked, &[&str]); 2] = [
    (Asked::Voucher, &["voucher", "later", "refused", "unusable", "unreachable", "not-asked"]),
    (Asked::AuditLog, &["good", "bad", "unusable", "unreachable", "not-asked"]),
];

/// What can come of a request to the EST server.
const EST_OUTCOMES: [&str; 5] = ["certificate", "later", "refused", "unusable", "unreachable"];

#[cfg(test)]
mod tests;
