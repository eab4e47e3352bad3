//! What MASA and registrar both measure: requests, connections, certificates, and the database.

use core::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use terse_net::tokio::AcceptorEvent;

use super::Series;

/// The metrics of both services.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    requests: Series<3, Counter>,
    seconds: Series<1, Histogram>,
    refusals: Series<1, Counter>,
    open: Series<1, Gauge>,
    evicted: Series<1, Counter>,
    failed: Series<1, Counter>,
    certificates: Series<1, Gauge>,
    database: Gauge,
}

/// What a service has, from which the series follow.
pub(crate) struct Kinds {
    /// The names of the resources; `other` is added.
    pub(crate) resources: &'static [&'static str],
    /// The names of the transports.
    pub(crate) transports: &'static [&'static str],
    /// The names of the reasons to refuse a request.
    pub(crate) refusals: &'static [&'static str],
}

/// The connections of one transport. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    open: Gauge,
    evicted: Counter,
    failed: Counter,
}

/// A connection, which counts as open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection(Gauge);

impl Common {
    /// Registers the metrics. `errors` are those of the database, `started` is the time in seconds since 1970.
    pub(crate) fn register(registry: &mut Registry, kinds: &Kinds, errors: Counter, started: u64) -> Self {
        let resources = || kinds.resources.iter().copied().chain([OTHER]);
        let transports = || kinds.transports.iter().map(|transport| [*transport]);
        let requests = resources().flat_map(|resource| {
            let statuses = move |transport: &&'static str| STATUSES.map(|status| [resource, *transport, status]);
            kinds.transports.iter().flat_map(statuses)
        });
        let start = Gauge::<i64>::default();
        start.set(i64::try_from(started).unwrap_or(i64::MAX));
        registry.register("process_start_time_seconds", "When the service started, since 1970", start);
        let registry = super::own(registry);
        let build = ("build_info", "The version of the program; always 1");
        Series::gauges(registry, build, ["version"], [[VERSION]]).set([VERSION], 1);
        registry.register("database_errors", "Statements that the database did not carry out", errors);
        let database = Gauge::default();
        registry.register("database_up", "Whether the database answers: 1 or 0", database.clone());
        Self {
            requests: Series::counters(
                registry,
                ("requests", "Requests that were answered"),
                ["resource", "transport", "status"],
                requests,
            ),
            seconds: Series::seconds(
                registry,
                ("request_duration_seconds", "From the last byte of a request to its answer"),
                ["resource"],
                kinds.resources.iter().map(|resource| [*resource]),
            ),
            refusals: Series::counters(
                registry,
                ("refusals", "Requests that were refused"),
                ["reason"],
                kinds.refusals.iter().map(|reason| [*reason]),
            ),
            open: Series::gauges(
                registry,
                ("connections_open", "Connections whose handshake is complete"),
                ["transport"],
                transports(),
            ),
            evicted: Series::counters(
                registry,
                ("connections_evicted", "Connections that made room for others"),
                ["transport"],
                transports(),
            ),
            failed: Series::counters(
                registry,
                ("handshake_failures", "Handshakes that failed, took too long or made room for others"),
                ["transport"],
                transports(),
            ),
            certificates: Series::gauges(
                registry,
                ("certificate_end_timestamp_seconds", "When the first certificate of these ends, since 1970"),
                ["certificate"],
                [],
            ),
            database,
        }
    }

    /// Counts a request by its answer.
    pub(crate) fn answered(&self, resource: &'static str, transport: &'static str, status: u16) {
        let status = match status {
            202 => "202",
            429 => "429",
            ..=399 => "2xx",
            400..=499 => "4xx",
            500.. => "5xx",
        };
        self.requests.count([resource, transport, status]);
    }

    /// Notes how long it took to answer a request, and why it was refused.
    pub(crate) fn took(&self, resource: &'static str, time: Duration, refusal: Option<&'static str>) {
        self.seconds.took([resource], time);
        if let Some(reason) = refusal {
            self.refusals.count([reason]);
        }
    }

    /// Returns the connections of a transport.
    pub(crate) fn connections(&self, transport: &'static str) -> Connections {
        Connections {
            open: self.open.one([transport]),
            evicted: self.evicted.one([transport]),
            failed: self.failed.one([transport]),
        }
    }

    /// Notes when certificates end. `name` is one of a few, which the configuration decides.
    pub(crate) fn certificate_ends(&self, name: &'static str, end: Option<u64>) {
        if let Some(end) = end {
            self.certificates.set([name], end);
        }
    }

    /// Notes whether the database answers.
    pub(crate) fn database_is_up(&self, is_up: bool) {
        self.database.set(is_up.into());
    }
}

impl Connections {
    /// Counts a connection as open.
    pub(crate) fn open(&self) -> OpenConnection {
        self.open.inc();
        OpenConnection(self.open.clone())
    }

    /// Counts a connection that makes room for another one.
    pub(crate) fn evict(&self) {
        self.evicted.inc();
    }

    /// Counts what an acceptor reports.
    pub(crate) fn handshake_event(&self, event: &AcceptorEvent<'_>) {
        match event {
            AcceptorEvent::Failed { .. } | AcceptorEvent::Evicted { .. } => self.fail(),
            _ => {}
        }
    }

    /// Counts a handshake that came to no end.
    pub(crate) fn fail(&self) {
        self.failed.inc();
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Returns when the first of these certificates ends, in seconds since 1970.
pub(crate) fn first_end<T: AsRef<[u8]>>(certificates: impl IntoIterator<Item = T>) -> Option<u64> {
    let ends = certificates.into_iter().filter_map(|one| terse_brski::certificate::validity(one.as_ref()).ok());
    ends.map(|(_, end)| end.as_secs()).min()
}

/// The resource of requests for what is not there.
pub(crate) const OTHER: &str = "other";

/// The classes of statuses. 202 and 429 tell a client to come again, and are classes of their own.
const STATUSES: [&str; 5] = ["2xx", "202", "4xx", "429", "5xx"];

const VERSION: &str = env!("CARGO_PKG_VERSION");
