//! Metrics with labels.
//!
//! What must always hold: a series that is not there is not made by counting.

use core::time::Duration;

use prometheus_client::encoding::EncodeMetric;
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The labels of one series: names and values.
type Labels<const N: usize> = [(&'static str, &'static str); N];

/// The series of one metric with `N` labels. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Series<const N: usize, M> {
    names: [&'static str; N],
    family: Family<Labels<N>, M, fn() -> M>,
}

impl<const N: usize, M> Series<N, M>
where
    M: Clone + core::fmt::Debug + EncodeMetric + TypedMetric + Send + Sync + 'static,
{
    fn register(
        registry: &mut Registry,
        (name, help): (&str, &str),
        names: [&'static str; N],
        new: fn() -> M,
        values: impl IntoIterator<Item = [&'static str; N]>,
    ) -> Self {
        let series = Self { names, family: Family::new_with_constructor(new) };
        for values in values {
            drop(series.family.get_or_create(&series.labels(values)));
        }
        registry.register(name, help, series.family.clone());
        series
    }

    fn labels(&self, values: [&'static str; N]) -> Labels<N> {
        core::array::from_fn(|index| (self.names[index], values[index])) // both have N
    }
}

impl<const N: usize> Series<N, Counter> {
    /// Registers a counter with these labels. Its name gets the suffix `_total`.
    pub(crate) fn counters(
        registry: &mut Registry,
        texts: (&str, &str),
        names: [&'static str; N],
        values: impl IntoIterator<Item = [&'static str; N]>,
    ) -> Self {
        Self::register(registry, texts, names, Counter::default, values)
    }

    /// Counts one. Nothing is counted under labels that were not registered.
    pub(crate) fn count(&self, values: [&'static str; N]) {
        if let Some(counter) = self.family.get(&self.labels(values)) {
            counter.inc();
        }
    }

    /// Returns one of the counters, to count without looking for it.
    pub(crate) fn one(&self, values: [&'static str; N]) -> Counter {
        self.family.get(&self.labels(values)).map(|counter| counter.clone()).unwrap_or_default()
    }
}

impl<const N: usize> Series<N, Gauge> {
    /// Registers a gauge with these labels.
    pub(crate) fn gauges(
        registry: &mut Registry,
        texts: (&str, &str),
        names: [&'static str; N],
        values: impl IntoIterator<Item = [&'static str; N]>,
    ) -> Self {
        Self::register(registry, texts, names, Gauge::default, values)
    }

    /// Sets the gauge with these labels, which is made if it is not there: only for labels that the operator causes.
    pub(crate) fn set(&self, values: [&'static str; N], value: u64) {
        let gauge = self.family.get_or_create(&self.labels(values));
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Returns one of the gauges, to change it without looking for it.
    pub(crate) fn one(&self, values: [&'static str; N]) -> Gauge {
        self.family.get(&self.labels(values)).map(|gauge| gauge.clone()).unwrap_or_default()
    }
}

impl<const N: usize> Series<N, Histogram> {
    /// Registers a histogram of seconds with these labels.
    pub(crate) fn seconds(
        registry: &mut Registry,
        texts: (&str, &str),
        names: [&'static str; N],
        values: impl IntoIterator<Item = [&'static str; N]>,
    ) -> Self {
        Self::register(registry, texts, names, || Histogram::new(SECONDS), values)
    }

    /// Notes how long something took.
    pub(crate) fn took(&self, values: [&'static str; N], time: Duration) {
        if let Some(histogram) = self.family.get(&self.labels(values)) {
            histogram.observe(time.as_secs_f64());
        }
    }
}

/// The upper ends of the buckets: from an answer out of the database up to one that waited for a MASA.
const SECONDS: [f64; 11] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 30.0];

#[cfg(test)]
mod tests;
