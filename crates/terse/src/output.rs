//! The command prints lines on standard output, warnings and errors on standard error, and a connection as a table.
//!
//! What must always hold: a reader that goes away causes no panic, and names that a peer chose cannot move the cursor
//! of a terminal.

use core::fmt;
use std::io::{self, Write};

use terse_net::Report;
use terse_tls::Connection;
use terse_tls::summary::{EarlyDataProtection, EarlyDataStatus, Summary, Traffic, Transport};
use time::OffsetDateTime;

use crate::failure::Failure;

/// Prints one line on standard output, at once.
pub(crate) fn line(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| cannot_print(&error))
}

/// Prints a peer's data as it is, and ends the line.
pub(crate) fn data(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let end: &[u8] = if bytes.ends_with(b"\n") { b"" } else { b"\n" };
    let printed = out.write_all(bytes).and_then(|()| out.write_all(end)).and_then(|()| out.flush());
    printed.map_err(|error| cannot_print(&error))
}

/// Prints one line on standard error. A failure of this cannot be reported anywhere.
pub(crate) fn warn(text: &impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "terse: {text}");
}

/// Prints a value as one line of JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Failed(error.to_string()))?;
    line(text)
}

fn cannot_print(error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot write to standard output: {error}"))
}

/// Replaces the control characters in a text.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Formats a date, such as `2026-11-21 17:05 UTC`.
pub(crate) fn date(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    time.map_or_else(
        || "in a far future".to_owned(),
        |time| format!("{} {:02}:{:02} UTC", time.date(), time.hour(), time.minute()),
    )
}

/// A connection that has ended, to be printed as JSON or as a table.
pub(crate) struct Ended<'a> {
    /// The summary of the connection.
    pub(crate) summary: &'a Summary,
    /// The error of the connection, if it failed.
    pub(crate) error: Option<&'a str>,
    /// The application protocol, if there is one.
    pub(crate) alpn: Option<String>,
    /// Exported keying material in hexadecimal, if it was requested.
    pub(crate) exported: Option<&'a str>,
}

/// The JSON object of the command line's contract; further data that was requested follows at the end.
#[derive(serde::Serialize)]
struct Object<'a> {
    #[serde(flatten)]
    report: Report<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alpn: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exported: Option<&'a str>,
}

impl<'a> Ended<'a> {
    /// Returns a connection that ended without an error.
    pub(crate) fn new(connection: &'a Connection, exported: Option<&'a str>) -> Self {
        let alpn = connection.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        Self { summary: connection.summary(), error: None, alpn, exported }
    }

    /// Prints one line of JSON.
    pub(crate) fn print_json(&self) -> Result<(), Failure> {
        let report = Report::new(self.summary, self.error);
        json(&Object { report, alpn: self.alpn.as_deref(), exported: self.exported })
    }

    /// Prints a client's table with `title`.
    pub(crate) fn print_table(&self, title: &str) -> Result<(), Failure> {
        let mut table = printable(title);
        for (name, value) in self.rows() {
            table += &format!("\n  {name:<14}{}", printable(&value));
        }
        line(table)
    }

    /// Prints a server's line about `peer`.
    pub(crate) fn print_line(&self, peer: &str) -> Result<(), Failure> {
        let row = |(name, value): (&str, String)| match name {
            "version" | "cipher suite" | "group" => value,
            _ => format!("{name} {value}"),
        };
        let values: Vec<_> = self.rows().into_iter().map(row).collect();
        line(printable(&format!("{peer}: {}", values.join("; "))))
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let summary = self.summary;
        let mut rows = vec![
            ("version", or_none(summary.version_name())),
            ("cipher suite", or_none(summary.cipher_suite)),
            ("group", or_none(summary.group)),
            ("peer", peer(summary)),
            ("mode", mode(summary)),
        ];
        if summary.early_data != EarlyDataStatus::None {
            let protection = summary.early_data_protection.map(|protection| match protection {
                EarlyDataProtection::Session => ", under a session",
                EarlyDataProtection::Ticket => ", under a ticket",
                EarlyDataProtection::FirstContact => ", at first contact",
                _ => "",
            });
            rows.push(("early data", format!("{}{}", summary.early_data.name(), protection.unwrap_or_default())));
        }
        rows.extend(summary.fallback.map(|reason| ("fallback", reason.to_string())));
        rows.extend([
            ("signatures", format!("{} verified, {} saved", summary.signatures_verified, summary.signatures_saved)),
            ("sent", traffic(&summary.sent)),
            ("received", traffic(&summary.received)),
            ("handshake", format!("{}, {} ms", count(summary.round_trips, "round trip"), summary.handshake_ms)),
        ]);
        if summary.transport == Transport::Datagram {
            let Summary { sent, received, retransmissions, .. } = summary;
            let (sent, received) = (sent.datagrams, received.datagrams);
            rows.push(("datagrams", format!("{sent} sent, {retransmissions} of them again; {received} received")));
        }
        if summary.dropped.total() > 0 {
            let causes = summary.dropped.by_cause().into_iter().filter(|(_, count)| *count > 0);
            let causes: Vec<_> = causes.map(|(cause, count)| format!("{count} {}", cause.replace('_', " "))).collect();
            rows.push(("dropped", causes.join(", ")));
        }
        rows.extend(self.alpn.clone().map(|name| ("alpn", name)));
        rows.extend(self.exported.map(|hex| ("exported", hex.to_owned())));
        rows
    }
}

fn peer(summary: &Summary) -> String {
    let how = match summary.peer.authenticated_by.name() {
        "none" => return "not authenticated".into(),
        name => name.replace('_', " "),
    };
    let unchecked = if summary.peer.time_unchecked { ", its time unchecked" } else { "" };
    match summary.peer.name() {
        Some(name) => format!("{name}, by {how}{unchecked}"),
        None => format!("by {how}{unchecked}"),
    }
}

fn mode(summary: &Summary) -> String {
    let cached: Vec<_> = summary.cached.iter().map(|object| object.name().replace('_', " ")).collect();
    match cached.is_empty() {
        true => summary.mode.to_string(),
        false => format!("{}: {} cached", summary.mode, cached.join(", ")),
    }
}

fn traffic(traffic: &Traffic) -> String {
    format!("{} B in records, {} B of them handshake messages", traffic.record_bytes, traffic.handshake_bytes)
}

fn or_none(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "none".into(), |value| value.to_string())
}

/// Formats a number and a noun.
pub(crate) fn count(n: u32, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
