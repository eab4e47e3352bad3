//! The command prints lines on standard output, warnings and errors on standard error, and a connection as a table.
//!
//! What must always hold: a reader that goes away causes no panic, and names that a peer chose cannot move the cursor
//! of a terminal.

use core::fmt;
use std::io::{self, Write};

use terse_brski::certificate::is_unprintable;
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
    let text = text.to_string();
    let lines: Vec<_> = text.split('\n').map(printable).collect(); // an error may have several
    let _ = writeln!(io::stderr().lock(), "terse: {}", lines.join("\n"));
}

/// Prints a value as one line of JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Failed(error.to_string()))?;
    line(escaped(&text))
}

/// Returns JSON of one line with its unprintable characters as escapes. They are in strings only, where this changes no value.
fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match is_unprintable(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}"))),
            false => escaped.push(c),
        }
    }
    escaped
}

/// The log of a service: each write is one line, in which nothing is unprintable.
pub(crate) struct LogLine<W>(pub(crate) W);

impl<W: Write> Write for LogLine<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        writeln!(self.0, "{}", printable(text))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn cannot_print(error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot write to standard output: {error}"))
}

/// Replaces the characters in a text that a terminal would obey: a device can call itself what it likes, and U+202E would turn
/// around what an operator reads.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if is_unprintable(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{LogLine, escaped, printable};

    #[test]
    fn nothing_reaches_a_terminal_that_it_would_obey() {
        let hidden = [
            '\u{1b}',
            '\u{9b}',
            '\u{ad}',
            '\u{61c}',
            '\u{200f}',
            '\u{2028}',
            '\u{202e}',
            '\u{2069}',
            '\u{feff}',
            '\u{e0041}',
        ];
        for c in hidden {
            let name = format!("WI-{c}3005");
            assert_eq!(printable(&name), "WI-\u{fffd}3005", "{:x}", u32::from(c));
            let json = escaped(&serde_json::to_string(&name).unwrap());
            assert!(json.chars().all(|c| (' '..='~').contains(&c)), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), name);
            let mut log = Vec::new();
            LogLine(&mut log).write_all(format!("a device reports {name}\nas two\n").as_bytes()).unwrap();
            assert_eq!(String::from_utf8(log).unwrap(), "a device reports WI-\u{fffd}3005\u{fffd}as two\n");
        }
        assert_eq!(printable("Zähler 7 №"), "Zähler 7 №");
    }
}
