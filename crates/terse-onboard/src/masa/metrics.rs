//! What a MASA counts and measures. `docs/metrics.md` says what each metric is for.

use pki_types::UnixTime;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use terse_brski::masa::Refusal;

use crate::metrics::{Common, Exposition, Kinds, OTHER, Series, own};

/// The metrics of a MASA.
pub(super) struct Metrics {
    pub(super) common: Common,
    pub(super) exposition: Exposition,
    vouchers: Series<1, Counter>,
    signer_failures: Counter,
}

impl Metrics {
    /// `errors` are those of the database.
    pub(super) fn new(errors: Counter, started: UnixTime) -> Self {
        let mut registry = Registry::default();
        let kinds = Kinds { resources: &RESOURCES, transports: &[HTTPS], refusals: Refusal::NAMES };
        let common = Common::register(&mut registry, &kinds, errors, started.as_secs());
        let own = own(&mut registry);
        let vouchers = ("vouchers", "Vouchers that registrars got");
        let vouchers = Series::counters(own, vouchers, ["outcome"], [["issued"], ["repeated"]]);
        let signer_failures = Counter::default();
        own.register("voucher_signer_failures", "Vouchers that were not signed", signer_failures.clone());
        Self { common, exposition: Exposition::new(registry), vouchers, signer_failures }
    }

    pub(super) fn voucher_issued(&self) {
        self.vouchers.count(["issued"]);
    }

    pub(super) fn voucher_repeated(&self) {
        self.vouchers.count(["repeated"]);
    }

    pub(super) fn signer_failed(&self) {
        self.signer_failures.inc();
    }
}

/// Returns the name of the resource at a path.
pub(super) fn resource_at(path: &str) -> &'static str {
    match path {
        "/.well-known/brski/requestvoucher" => VOUCHER,
        "/.well-known/brski/requestauditlog" => AUDIT_LOG,
        "/health" => HEALTH,
        _ => OTHER,
    }
}

/// The name of the only transport.
pub(super) const HTTPS: &str = "https";

/// The name of the resource that issues vouchers.
pub(super) const VOUCHER: &str = "requestvoucher";

/// The name of the resource with the audit logs.
pub(super) const AUDIT_LOG: &str = "requestauditlog";

const HEALTH: &str = "health";

const RESOURCES: [&str; 3] = [VOUCHER, AUDIT_LOG, HEALTH];
