//! The files that `terse compare` writes.

use std::path::Path;
use std::{fs, io};

use serde::Serialize;
use terse_sim::compare::{Captured, Row};

use crate::failure::Failure;

/// Refuses a file in a directory that does not exist, before the measurements rather than after them.
pub(crate) fn check(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            let (path, parent) = (path.display(), parent.display());
            Err(Failure::Failed(format!("cannot write {path}: there is no directory {parent}; make it first")))
        }
        _ => Ok(()),
    }
}

/// Writes a file, and replaces an existing one.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| cannot_write(path, error))
}

/// Whether a name means standard output.
pub(crate) fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn cannot_write(path: &Path, error: impl core::fmt::Display) -> Failure {
    Failure::Failed(format!("cannot write {}: {error}", path.display()))
}

/// A row of the file; the names of these fields are its columns.
#[derive(Serialize)]
struct Line<'a> {
    mode: &'a str,
    version: &'a str,
    transport: &'a str,
    certificates: &'a str,
    link: &'a str,
    mtu: usize,
    tls_bytes: usize,
    application_bytes: usize,
    transport_bytes: usize,
    network_bytes: usize,
    link_bytes: usize,
    total_bytes: usize,
    min_total_bytes: usize,
    max_total_bytes: usize,
    packets: usize,
    pure_acks: usize,
    retransmissions: usize,
    lost: usize,
    round_trips: u32,
    transport_round_trips: u32,
    connected_ms: f64,
    replied_ms: f64,
    closed_ms: f64,
    server_connected_ms: f64,
    early_data: bool,
    until_request_bytes: usize,
    median_requested_ms: f64,
    p95_requested_ms: f64,
    median_connected_ms: f64,
    p95_connected_ms: f64,
    client_signatures_verified: u32,
    server_signatures_verified: u32,
    client_cache_entry_bytes: usize,
    server_cache_entry_bytes: usize,
    client_cpu_ns: Option<u64>,
    server_cpu_ns: Option<u64>,
    client_peak_heap_bytes: Option<u64>,
    server_peak_heap_bytes: Option<u64>,
    runs: usize,
    failed_runs: usize,
    client_device: Option<&'a str>,
    server_device: Option<&'a str>,
    client_computing_ms: Option<f64>,
    server_computing_ms: Option<f64>,
}

/// Writes all rows as comma-separated values (RFC 4180), with a header; `-` is standard output.
pub(super) fn write_csv(path: &Path, rows: &[Row]) -> Result<(), Failure> {
    let out: Box<dyn io::Write> = match is_standard_output(path) {
        true => Box::new(io::stdout().lock()),
        false => Box::new(fs::File::create(path).map_err(|error| cannot_write(path, error))?),
    };
    let mut writer = csv::Writer::from_writer(out);
    for row in rows {
        writer.serialize(line(row)).map_err(|error| cannot_write(path, error))?;
    }
    writer.flush().map_err(|error| cannot_write(path, error))
}

fn line(row: &Row) -> Line<'_> {
    Line {
        mode: row.mode.name(),
        version: row.version.name(),
        transport: row.transport.name(),
        certificates: &row.certificates,
        link: &row.link,
        mtu: row.mtu,
        tls_bytes: row.bytes.tls,
        application_bytes: row.bytes.application,
        transport_bytes: row.bytes.transport,
        network_bytes: row.bytes.network,
        link_bytes: row.bytes.link,
        total_bytes: row.bytes.total,
        min_total_bytes: row.runs.min_total,
        max_total_bytes: row.runs.max_total,
        packets: row.packets,
        pure_acks: row.pure_acks,
        retransmissions: row.retransmissions,
        lost: row.lost,
        round_trips: row.round_trips,
        transport_round_trips: row.transport_round_trips,
        connected_ms: row.time_ms.connected,
        replied_ms: row.time_ms.replied,
        closed_ms: row.time_ms.closed,
        server_connected_ms: row.time_ms.server_connected,
        early_data: row.early_data,
        until_request_bytes: row.bytes.until_request,
        median_requested_ms: row.runs.median_requested_ms,
        p95_requested_ms: row.runs.p95_requested_ms,
        median_connected_ms: row.runs.median_connected_ms,
        p95_connected_ms: row.runs.p95_connected_ms,
        client_signatures_verified: row.signatures_verified.client,
        server_signatures_verified: row.signatures_verified.server,
        client_cache_entry_bytes: row.cache_entry_bytes.client,
        server_cache_entry_bytes: row.cache_entry_bytes.server,
        client_cpu_ns: row.cpu.map(|cpu| cpu.client),
        server_cpu_ns: row.cpu.map(|cpu| cpu.server),
        client_peak_heap_bytes: row.peak_heap.map(|heap| heap.client),
        server_peak_heap_bytes: row.peak_heap.map(|heap| heap.server),
        runs: row.runs.count,
        failed_runs: row.runs.failed,
        client_device: row.device.as_ref().map(|device| &*device.client),
        server_device: row.device.as_ref().map(|device| &*device.server),
        client_computing_ms: row.computing_ms.map(|computing| computing.client),
        server_computing_ms: row.computing_ms.map(|computing| computing.server),
    }
}

/// Writes the packets of all rows into one file; each row is an interface, with its secrets.
pub(crate) fn write_captures(path: &Path, captures: &[Captured]) -> Result<(), Failure> {
    write(path, &Captured::join(captures).to_pcapng())
}

/// Writes the secrets of all rows.
pub(crate) fn write_keys(path: &Path, captures: &[Captured]) -> Result<(), Failure> {
    let lines: String = captures.iter().map(|captured| captured.key_log.as_str()).collect();
    write(path, lines.as_bytes())
}
