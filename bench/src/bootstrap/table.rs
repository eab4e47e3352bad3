//! The tables of `terse-bench bootstrap`.

use super::scene::START;
use super::{Device, Form, Leg, Measured, Phase};
use crate::table::{lay_out, thousands};

/// The phases that `terse pledge` reports, and what they are called here: as in constrained BRSKI, whose names are short.
const PHASES: [(&str, &str); 15] = [
    (START, "start of the process"),
    ("discover", "discovery"),
    ("connect", "handshake 1"),
    ("sign_voucher_request", "rv: signing the voucher request"),
    ("request_voucher", "rv: requestvoucher"),
    ("voucher_status", "vs: voucher_status"),
    ("cacerts", "crts: cacerts, waits for the audit log"),
    ("csrattrs", "att: csrattrs"),
    ("make_key", "sen: making a key"),
    ("sign_request", "sen: signing the request"),
    ("enroll", "sen: simpleenroll"),
    ("store", "sen: storing the certificate"),
    ("connect_ldevid", "handshake 2"),
    ("enrollstatus", "es: enrollstatus"),
    ("wait_for_voucher", "waiting for a decision"),
];

/// What the paper measured from discovery to the voucher, in milliseconds: with wolfSSL, and with OpenSSL.
const PAPER: &str = "1,467 ± 22, 1,469 ± 32";

/// What is aimed at for the median, in milliseconds.
const AIM: &str = "below 100";

pub(super) fn render(measured: &Measured) -> String {
    let Measured { form, file_system, devices, .. } = measured;
    let (form, columns) = match form {
        Form::Https => ("over HTTPS", Columns::TcpAndEthernet),
        Form::Coaps13 => ("over CoAPS, DTLS 1.3, through a stateless join proxy", Columns::Udp),
        Form::Coaps12 => ("over CoAPS, DTLS 1.2, through a stateless join proxy", Columns::Udp),
    };
    let note = match columns {
        Columns::TcpAndEthernet => format!(
            "\nEthernet: in segments of {SEGMENT} bytes with {HEADERS} bytes of headers each, and what opens TCP; no \
             acknowledgements alone\n"
        ),
        Columns::Udp => "\nbytes of the pledge are of UDP payload; those of the registrar's legs of TCP\n".into(),
    };
    format!(
        "{} devices {form}, each with new keys of all parties; four processes; databases on {file_system}, synced with each \
         commit\n\n{}\n{}{note}",
        devices.len(),
        times(measured),
        bytes(devices, columns),
    )
}

/// What the table of bytes has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    TcpAndEthernet,
    Udp,
}

fn times(measured: &Measured) -> String {
    let devices = &measured.devices;
    let mut rows = vec![["milliseconds", "median", "mean", "deviation", "paper, or aim"].map(str::to_owned).to_vec()];
    let mut row = |name: &str, values: Vec<f64>, paper: &str| rows.push(cells(name, values, paper));
    for phase in names(devices) {
        row(label(&phase), devices.iter().map(|device| sum(device, &phase, |one| one.ms)).collect(), "");
    }
    row("to the voucher", devices.iter().map(|device| device.voucher_ms).collect(), PAPER);
    row("to enrolled and reported", devices.iter().map(|device| device.enrolled_ms).collect(), AIM);
    row("the same, first of new services", measured.first_ms.clone(), "");
    for (place, name) in legs(devices) {
        let of = |device: &Device| device.masa.get(place).map(|leg| leg.ms);
        row(&format!("{name}, registrar to MASA"), devices.iter().filter_map(of).collect(), "");
    }
    row("CPU time, pledge", devices.iter().map(|device| device.cpu_ms).collect(), "");
    // The system counts it in steps of 10 ms: only the mean says something.
    let mut services =
        cells("CPU time, services", devices.iter().filter_map(|device| device.services_cpu_ms).collect(), "");
    [services[1], services[3]] = [String::new(), String::new()];
    rows.push(services);
    lay_out(&rows)
}

fn bytes(devices: &[Device], columns: Columns) -> String {
    let header = ["bytes, median", "sent", "received", "sent, Ethernet", "received, Ethernet"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let mut totals = [Vec::new(), Vec::new()];
    for phase in names(devices) {
        let way = |bytes: fn(&Phase) -> u64| {
            median(devices.iter().map(|device| sum(device, &phase, |one| bytes(one) as f64)).collect())
        };
        let carried = [way(|one| one.sent), way(|one| one.received)];
        if carried != [0.0, 0.0] {
            let row = Carried { bytes: carried, opens: phase.starts_with("connect") };
            totals.iter_mut().zip([row.bytes, row.ethernet()]).for_each(|(total, row)| total.push(row));
            rows.push(row.cells(label(&phase)));
        }
    }
    let [payload, ethernet] = totals.map(|rows| [0, 1].map(|way| rows.iter().map(|row| row[way]).sum::<f64>()));
    rows.push(numbers("pledge, sum of these", payload, ethernet));
    for (place, name) in legs(devices) {
        let way = |bytes: fn(&Leg) -> u64| {
            median(devices.iter().filter_map(|device| device.masa.get(place)).map(|leg| bytes(leg) as f64).collect())
        };
        let row = Carried { bytes: [way(|leg| leg.sent), way(|leg| leg.received)], opens: true };
        rows.push(row.cells(&format!("{name}, registrar to MASA")));
    }
    if columns == Columns::Udp {
        rows.iter_mut().for_each(|row| row.truncate(3));
    }
    lay_out(&rows)
}

/// The bytes that TCP carried both ways.
struct Carried {
    bytes: [f64; 2],
    /// Whether a connection was opened for it.
    opens: bool,
}

impl Carried {
    /// Returns the bytes on Ethernet, at least.
    fn ethernet(&self) -> [f64; 2] {
        let opening = if self.opens { OPENING } else { [0.0, 0.0] };
        [0, 1].map(|way| self.bytes[way] + (self.bytes[way] / SEGMENT).ceil() * HEADERS + opening[way])
    }

    fn cells(&self, name: &str) -> Vec<String> {
        numbers(name, self.bytes, self.ethernet())
    }
}

/// The most bytes of a segment, with timestamps, on Ethernet.
const SEGMENT: f64 = 1_448.0;

/// The headers of a segment: 14 bytes of Ethernet, 20 of IPv4, 32 of TCP with timestamps.
const HEADERS: f64 = 66.0;

/// What opens a connection: SYN and ACK one way, SYN with ACK the other.
const OPENING: [f64; 2] = [74.0 + 66.0, 74.0];

/// Returns the phases of all devices, in the order of the first one.
fn names(devices: &[Device]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for phase in devices.iter().flat_map(|device| &device.phases) {
        if !names.contains(&phase.phase) {
            names.push(phase.phase.clone());
        }
    }
    names
}

fn label(phase: &str) -> &str {
    PHASES.iter().find(|(name, _)| *name == phase).map_or(phase, |(_, label)| label)
}

/// Returns the places of the connections to the MASA, and what they are for, if that is the same for all devices.
fn legs(devices: &[Device]) -> Vec<(usize, &'static str)> {
    let counts: Vec<_> = devices.iter().map(|device| device.masa.len()).collect();
    match counts.first() {
        Some(first) if counts.iter().any(|count| count != first) => Vec::new(),
        Some(1) => vec![(0, "voucher and audit log")],
        Some(2) => vec![(0, "voucher"), (1, "audit log")],
        _ => Vec::new(),
    }
}

fn sum(device: &Device, phase: &str, value: impl Fn(&Phase) -> f64) -> f64 {
    device.phases.iter().filter(|one| one.phase == phase).map(value).sum()
}

fn cells(name: &str, values: Vec<f64>, paper: &str) -> Vec<String> {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let cell = |value: f64| format!("{value:.2}");
    vec![name.to_owned(), cell(median(values)), cell(mean), cell(variance.sqrt()), paper.to_owned()]
}

fn numbers(name: &str, payload: [f64; 2], ethernet: [f64; 2]) -> Vec<String> {
    let numbers = payload.into_iter().chain(ethernet).map(|number| thousands(number.round() as u64));
    core::iter::once(name.to_owned()).chain(numbers).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = |place: usize| values.get(place).copied().unwrap_or_default();
    (middle(values.len().saturating_sub(1) / 2) + middle(values.len() / 2)) / 2.0
}
