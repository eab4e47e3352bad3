//! What a listener for health says: a scraper's view of its metrics, and the table that documents them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::deadline::soon;

/// An answer over plain HTTP.
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Gets a page.
pub(crate) async fn get(address: SocketAddr, path: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: operator\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.split(' ').nth(1).unwrap().to_owned();
    Answer { status, head: head.to_ascii_lowercase(), body: body.into() }
}

/// The metrics of a service, as a scraper reads them.
#[derive(Debug, PartialEq)]
pub(crate) struct Scrape {
    /// The type of each metric.
    types: BTreeMap<String, String>,
    /// The value of each series, by its name with its labels in order.
    series: BTreeMap<String, f64>,
}

impl Scrape {
    /// Scrapes, and checks the form of the text.
    pub(crate) async fn of(address: SocketAddr) -> Self {
        let answer = get(address, "/metrics").await;
        assert_eq!(answer.status, "200", "{}", answer.body);
        assert!(answer.head.contains("content-type: text/plain; version=0.0.4"), "{}", answer.head);
        Self::parse(&answer.body)
    }

    /// Parses version 0.0.4 of the text format: metrics one after the other, each with its help, its type and its series.
    fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'));
        let (mut types, mut series): (BTreeMap<String, String>, _) = (BTreeMap::new(), BTreeMap::new());
        let mut current = String::new();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, help) = help.split_once(' ').unwrap();
                assert!(!help.is_empty() && !types.contains_key(name), "{line}");
                current = name.into();
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(name == current && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
                types.insert(current.clone(), kind.to_owned());
            } else {
                let (name, value) = sample(line);
                assert!(belongs(&name, &current, &types[&current]), "{line} is not of {current}");
                assert!(series.insert(name, value).is_none(), "{line} is there twice");
            }
        }
        let scrape = Self { types, series };
        scrape.check_histograms();
        scrape
    }

    /// The buckets of a histogram grow up to its count.
    fn check_histograms(&self) {
        for (name, count) in self.series.iter().filter(|(name, _)| name.contains("_count{")) {
            let (metric, labels) = name.split_once("_count{").unwrap();
            let of = |series: &&String| {
                series.strip_prefix(metric).and_then(|rest| rest.strip_prefix("_bucket{")).is_some_and(|rest| {
                    let others: Vec<_> =
                        rest.trim_end_matches('}').split(',').filter(|one| !one.starts_with("le=")).collect();
                    others.join(",") == labels.trim_end_matches('}')
                })
            };
            let mut buckets: Vec<(f64, f64)> = self
                .series
                .iter()
                .filter(|(series, _)| of(series))
                .map(|(series, value)| (end_of(series), *value))
                .collect();
            buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
            assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{name}: {buckets:?}");
            assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)), "{name}");
        }
    }

    /// Returns the value of a series: `terse_requests_total{resource="other",status="4xx",transport="https"}`, with its labels
    /// in the order of the alphabet.
    pub(crate) fn value(&self, series: &str) -> f64 {
        *self.series.get(series).unwrap_or_else(|| panic!("{series} is not among {:#?}", self.series))
    }

    /// Returns the names of all series.
    pub(crate) fn names(&self) -> Vec<&String> {
        self.series.keys().collect()
    }

    /// Compares the metrics with the table of `docs/metrics.md`, both ways. `service` is the name in its column.
    pub(crate) fn check_documented(&self, service: &str) {
        let documented = documented(service);
        let names: Vec<_> = documented.keys().collect();
        assert_eq!(self.types.keys().collect::<Vec<_>>(), names, "the metrics and the table of docs/metrics.md differ");
        for (name, (kind, labels)) in &documented {
            assert_eq!(&self.types[name], kind, "{name}");
            let own = self.series.keys().filter(|series| belongs(series, name, kind));
            for series in own {
                let here: Vec<_> = label_names(series).into_iter().filter(|label| label != "le").collect();
                assert_eq!(&here, labels, "{series}");
            }
        }
    }
}

/// Reads the line of a series. Its labels come in the order of the alphabet.
fn sample(line: &str) -> (String, f64) {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let value = if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap_or_else(|_| panic!("{line}")) };
    let Some((name, labels)) = series.split_once('{') else {
        assert!(is_name(series), "{line}");
        return (series.into(), value);
    };
    assert!(is_name(name), "{line}");
    let labels = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
    let mut labels: Vec<_> = labels.split(',').map(str::to_owned).collect();
    for label in &labels {
        let (name, value) = label.split_once('=').unwrap_or_else(|| panic!("{line}"));
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        assert!(is_name(name) && value.is_some_and(|value| !value.contains(['"', '\\', '\n'])), "{line}");
    }
    labels.sort();
    (format!("{name}{{{}}}", labels.join(",")), value)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether a series is of a metric.
fn belongs(series: &str, metric: &str, kind: &str) -> bool {
    let name = series.split('{').next().unwrap();
    match kind {
        "histogram" => ["_bucket", "_sum", "_count"].iter().any(|suffix| name.strip_suffix(suffix) == Some(metric)),
        _ => name == metric,
    }
}

fn label_names(series: &str) -> Vec<String> {
    let labels = series.split_once('{').map_or("", |(_, labels)| labels.trim_end_matches('}'));
    labels
        .split(',')
        .filter(|label| !label.is_empty())
        .map(|label| label.split('=').next().unwrap().to_owned())
        .collect()
}

/// The upper end of a bucket.
fn end_of(series: &str) -> f64 {
    let end = series.split_once("le=\"").unwrap().1.split('"').next().unwrap();
    if end == "+Inf" { f64::INFINITY } else { end.parse().unwrap() }
}

/// Reads the table: the type and the labels of each metric of a service.
fn documented(service: &str) -> BTreeMap<String, (String, Vec<String>)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `terse_") || line.starts_with("| `process_"));
    let mut metrics = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, labels, services, meaning] = cells[..] else { panic!("{row}") };
        assert!(["both", "registrar", "masa"].contains(&services) && !meaning.is_empty(), "{row}");
        if services != "both" && services != service {
            continue;
        }
        let mut labels: Vec<_> = labels.split(", ").map(|label| label.trim_matches('`').to_owned()).collect();
        labels.retain(|label| label != "none");
        labels.sort();
        let known = metrics.insert(name.trim_matches('`').to_owned(), (kind.to_owned(), labels));
        assert!(known.is_none(), "{name} is there twice");
    }
    metrics
}
