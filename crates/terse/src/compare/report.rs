//! The report of `terse compare`: one HTML file that explains itself to somebody who has not read the paper.

use std::sync::Arc;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use terse_sim::compare::{Mode, Row, Sides, paper};
use terse_sim::computing::Device;
use terse_tls::summary::Transport;

use super::CompareArgs;
use super::table::groups;

mod figure;

use figure::LAYERS;
pub(crate) use figure::{Drawn, PAPER, thousands};

/// Returns the report as HTML. With `devices` computing took time.
pub(super) fn render(
    args: &CompareArgs,
    rows: &[Row],
    failures: &[String],
    devices: Option<&Sides<Arc<Device>>>,
) -> String {
    let has_paper = rows.iter().any(|row| paper_value(row).is_some());
    let body = html! {
        h1 { "What a secure connection costs" }
        (opening(rows))
        (missing(failures))
        (modes(rows))
        @for sheet in sheets(rows) {
            (section(&sheet, has_paper))
        }
        (method(args, rows, has_paper, devices))
    };
    page("What a secure connection costs", "", &body)
}

/// Returns a page with this body, and with a style of its own after that of all reports.
pub(crate) fn page(title: &str, style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// Groups the rows by version and name of the link, whatever their MTUs.
fn sheets(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut sheets: Vec<Vec<&Row>> = Vec::new();
    for row in rows {
        let same = |sheet: &&mut Vec<&Row>| {
            sheet.first().is_some_and(|first| (first.version, &first.link) == (row.version, &row.link))
        };
        match sheets.iter_mut().find(same) {
            Some(sheet) => sheet.push(row),
            None => sheets.push(vec![row]),
        }
    }
    sheets
}

/// Lists the rows that could not be measured, so that a reader knows why they are missing.
fn missing(failures: &[String]) -> Markup {
    html! {
        @if !failures.is_empty() {
            h2 { "What could not be measured" }
            p {
                "These connections never came to their end, however often they were tried; they are in no figure. A peer \
                 that stopped answering means that the link is too slow or loses too much for this way to connect. A device \
                 that has no time for an operation means that nobody measured the operation on it."
            }
            ul { @for failure in failures { li { (failure) } } }
        }
    }
}

/// Describes the result in a few sentences.
fn opening(rows: &[Row]) -> Markup {
    html! {
        p class="lead" {
            "A device opens a connection to a server, each side proves who it is, each sends one short message, and the \
             connection is closed. This report shows how many bytes that takes on the network, layer by layer, when "
            "nothing is known from before, and when something is."
        }
        table {
            tr { th scope="col" { "protocol" } th scope="col" { "link" } th scope="col" { "MTU" } th scope="col" { "full" } th scope="col" { "with handshake caching" } th scope="col" { "less" } }
            @for group in groups(rows) {
                @if let (Some(full), Some(best)) = (find(group, Mode::Full), cheapest_cached(group)) {
                    tr {
                        td { b { (full.version) } }
                        td { (full.link) }
                        td { (full.mtu) " B" }
                        td { (thousands(full.bytes.total)) " B in " (full.packets) " packets" }
                        td { b { (thousands(best.bytes.total)) " B" } " in " (best.packets) " packets (" (best.mode) ")" }
                        td { b { (percent(full, best)) } }
                    }
                }
            }
        }
        p class="note" {
            "MTU: the longest packet that the link carries; what is longer is cut into several, each with headers of its own. \
             Full: nothing is known from before. Packets: frames on the link, in both directions."
        }
        p { "With handshake caching both sides still prove who they are with their own keys, and every connection has a fresh \
             key exchange; only what the other side has seen before is neither sent nor checked again." }
    }
}

fn find(group: &[Row], mode: Mode) -> Option<&Row> {
    group.iter().find(|row| row.mode == mode)
}

fn cheapest_cached(group: &[Row]) -> Option<&Row> {
    let cached = [Mode::Rfc7924, Mode::Bithac, Mode::Compact];
    group.iter().filter(|row| cached.contains(&row.mode)).min_by_key(|row| row.bytes.total)
}

fn percent(full: &Row, row: &Row) -> String {
    format!("{:.1} %", 100.0 * (1.0 - row.bytes.total as f64 / full.bytes.total.max(1) as f64))
}

/// Describes each mode.
fn modes(rows: &[Row]) -> Markup {
    let known = MODES.iter().filter(|(mode, ..)| rows.iter().any(|row| row.mode == *mode));
    html! {
        h2 { "The ways to connect" }
        table {
            tr { th scope="col" { "mode" } th scope="col" { "what is left out" } th scope="col" { "who is authenticated by what" } th scope="col" { "old traffic stays secret if a long-term secret leaks" } }
            @for (mode, left_out, authenticated, secrecy) in known {
                tr { td { b { (mode) } } td { (left_out) } td { (authenticated) } td { (secrecy) } }
            }
        }
        p class="note" {
            "All modes but full, psk, identity-first and identity-bls12381 need an earlier connection between the same two; it is not counted. A certificate \
             chain is a kilobyte or more; that is why leaving it out matters, and why longer chains and larger keys make \
             the difference larger."
        }
    }
}

const MODES: [(Mode, &str, &str, &str); 9] = [
    (Mode::Full, "nothing", "certificates, sent and verified", "yes"),
    (
        Mode::Rfc7924,
        "the server's Certificate and CertificateRequest: a 32-byte fingerprint stands for each (RFC 7924)",
        "the same keys, proven by a signature in every connection; the server's chain was verified before",
        "yes",
    ),
    (
        Mode::Bithac,
        "those, and the client's Certificate: an 8-byte ticket stands for it (BiTHaC)",
        "the same keys, proven by a signature in every connection; both chains were verified before",
        "yes",
    ),
    (
        Mode::Compact,
        "all three messages: one 8-byte ticket stands for them",
        "the same keys, proven by a signature in every connection; both chains were verified before",
        "yes",
    ),
    (
        Mode::Resumed,
        "certificates and signatures",
        "the secret of an earlier connection, for as long as a session lasts; nobody signs",
        "TLS 1.2: not if the session's secret leaks; TLS 1.3: yes",
    ),
    (
        Mode::Psk,
        "certificates and signatures",
        "a key that both had from the beginning, and that has to be kept on both sides",
        "yes, with the key exchange used here",
    ),
    (
        Mode::IdentityFirst,
        "certificates and signatures",
        "identity keys, which one key generator made for both; the two have never met",
        "yes",
    ),
    (
        Mode::Identity,
        "those, and 32 bytes of each side's public key, which the other side keeps",
        "the same identity keys",
        "yes",
    ),
    (
        Mode::IdentityBls12381,
        "certificates and signatures",
        "identity keys on a curve with pairings, where a name alone gives the public key; the two have never met",
        "yes",
    ),
];

/// Returns the figure and the tables of one version on one kind of link.
fn section(sheet: &[&Row], has_paper: bool) -> Markup {
    let Some(first) = sheet.first() else { return html! {} };
    let carrier = if first.transport == Transport::Datagram { "UDP" } else { "TCP" };
    let slow = sheet.iter().any(|row| row.runs.median_connected_ms >= 1.0);
    html! {
        h2 { (first.version) " over " (carrier) ", " (first.link) }
        figure {
            (drawn(
                figure::layers(sheet),
                &format!("Bars: bytes of each layer, {} over {carrier}, {}; the table below has the numbers", first.version, first.link),
            ))
            figcaption {
                "Bytes from the first packet to the last, both directions. "
                @for (name, colour, _) in LAYERS {
                    span class="key" style=(format!("background:rgb({},{},{})", colour.0, colour.1, colour.2)) {}
                    (name) " "
                }
                @if has_paper && sheet.iter().any(|row| paper_value(row).is_some()) {
                    span class="key" style=(format!("background:rgb({},{},{})", PAPER.0, PAPER.1, PAPER.2)) {}
                    "what the paper on BiTHaC measured with wolfSSL; a range where it gives one for all MTUs, as a share \
                     of the full connection here"
                }
            }
        }
        @if slow {
            figure {
                (drawn(
                    figure::times(sheet),
                    &format!("Bars: time until the client may send its message, {} over {carrier}, {}", first.version, first.link),
                ))
                figcaption {
                    "Time until the client may send its message: median of all runs, and the line up to where 95 % of them \
                     were. "
                    @match &first.device {
                        Some(device) => {
                            "It is that of the network, and of computing on " (device.client) " (client) and " (device.server)
                            " (server)."
                        }
                        None => "Computing takes no time here: this is the network alone.",
                    }
                }
            }
        }
        @for group in sheet.chunk_by(|a, b| a.mtu == b.mtu) {
            (numbers(group))
        }
    }
}

/// Returns a figure with a description for those who cannot see it.
pub(crate) fn drawn(figure: Drawn, description: &str) -> Markup {
    let described = html! { svg role="img" aria-label=(description) {} }.into_string();
    let opening = described.trim_end_matches("></svg>");
    match figure {
        Ok(svg) => {
            // Half of the bytes of a circle say what is so anyway.
            let short = svg.replace(" opacity=\"1\"", "").replace(" stroke=\"none\" stroke-width=\"1\"/>", "/>");
            html! { (PreEscaped(short.replacen("<svg", opening, 1))) }
        }
        Err(error) => html! { p { "This figure cannot be drawn: " (error) } },
    }
}

/// Returns a table with a row for each mode, and one with a row for each message.
fn numbers(group: &[&Row]) -> Markup {
    let Some(first) = group.first() else { return html! {} };
    let full = group.iter().find(|row| row.mode == Mode::Full);
    let measured = group.iter().any(|row| row.cpu.is_some());
    let heap = group.iter().any(|row| row.peak_heap.is_some());
    let is_stream = first.transport == Transport::Stream;
    let carrier = if is_stream { "TCP" } else { "UDP" };
    let lossy = group.iter().any(|row| row.lost > 0 || row.runs.failed > 0);
    let computes = first.computing_ms.is_some();
    html! {
        details open[first.mtu >= 576] {
            summary { "Numbers, MTU " (first.mtu) " B, " (first.certificates) }
            table class="numbers" {
                tr {
                    th scope="col" { "mode" } th scope="col" { "bytes" } th scope="col" { "less" } th scope="col" { "handshake" } th scope="col" { "data" } th scope="col" { (carrier) } th scope="col" { "IP" } th scope="col" { "link" }
                    th scope="col" { "packets" } @if is_stream { th scope="col" { "ACKs" } } th scope="col" { "round trips" } th scope="col" { "ms" } @if lossy { th scope="col" { "ms of 95 %" } } @if computes { th scope="col" { "computing ms" } } th scope="col" { "verified" } th scope="col" { "cached B" }
                    @if lossy { th scope="col" { "lost" } th scope="col" { "failed runs" } }
                    @if measured { th scope="col" { "CPU ms" } }
                    @if heap { th scope="col" { "heap B" } }
                    @if group.iter().any(|row| paper_value(row).is_some()) { th scope="col" { "paper" } }
                }
                @for row in group {
                    tr {
                        td { (row.mode) }
                        td { b { (thousands(row.bytes.total)) } }
                        td { @if let Some(full) = full && row.mode != Mode::Full { (percent(full, row)) } }
                        td { (thousands(row.bytes.tls)) }
                        td { (thousands(row.bytes.application)) }
                        td { (thousands(row.bytes.transport)) }
                        td { (thousands(row.bytes.network)) }
                        td { (thousands(row.bytes.link)) }
                        td { (row.packets) }
                        @if is_stream { td { (row.pure_acks) } }
                        td { (row.round_trips + row.transport_round_trips) }
                        td { (format!("{:.1}", row.runs.median_connected_ms)) }
                        @if lossy { td { (format!("{:.1}", row.runs.p95_connected_ms)) } }
                        @if let Some(computing) = row.computing_ms {
                            td { (format!("{:.1} + {:.1}", computing.client, computing.server)) }
                        }
                        td { (row.signatures_verified.client) " + " (row.signatures_verified.server) }
                        td { (row.cache_entry_bytes.client) " + " (row.cache_entry_bytes.server) }
                        @if lossy { td { (row.lost) } td { (row.runs.failed) " of " (row.runs.count) } }
                        @if measured {
                            td { @if let Some(cpu) = row.cpu { (format!("{:.2} + {:.2}", cpu.client as f64 / 1e6, cpu.server as f64 / 1e6)) } }
                        }
                        @if heap {
                            td { @if let Some(heap) = row.peak_heap { (heap.client) " + " (heap.server) } }
                        }
                        @if group.iter().any(|row| paper_value(row).is_some()) {
                            td class="paper" { @if let Some(value) = paper_value(row) { (paper_text(&value)) } }
                        }
                    }
                }
            }
            p class="note" {
                "handshake: what both sides say before the connection is secured. data: the two messages, tickets for later and \
                 the goodbye. " (carrier) ", IP, link: headers" @if is_stream { "; and what TCP sent again" } ". \
                 round trips, ms: until the client may send its message, median of all runs. "
                @if lossy {
                    "ms of 95 %: so many of the runs that did not fail were connected after this time. "
                }
                @if computes {
                    "computing: how long the sides computed, from the first packet to the last. "
                }
                @if is_stream { "ACKs: segments that do nothing but acknowledge. " }
                "verified: signatures in certificate chains; cached B: what is kept about the other side. Where two numbers \
                 stand, they are the client's and the server's."
            }
            (messages(group))
        }
    }
}

fn messages(group: &[&Row]) -> Markup {
    let mut lines = Vec::new();
    for (from, is_client) in [("client", true), ("server", false)] {
        let sent = |row: &Row| if is_client { row.bytes.sent.client.clone() } else { row.bytes.sent.server.clone() };
        let mut seen = Vec::new();
        for (message, _) in group.iter().flat_map(|row| sent(row).0) {
            if !seen.contains(&message) {
                seen.push(message);
            }
        }
        for message in seen {
            let sizes: Vec<u64> = group.iter().map(|row| sent(row).of(message)).collect();
            lines.push((from, message.to_string(), sizes));
        }
    }
    html! {
        table class="numbers" {
            tr { th scope="col" { "message, bytes" } th scope="col" { "from" } @for row in group { th scope="col" { (row.mode) } } }
            @for (from, message, sizes) in lines {
                tr {
                    td { (message) } td { (from) }
                    @for size in sizes { td { @if size > 0 { (thousands(size as usize)) } @else { "-" } } }
                }
            }
        }
    }
}

fn paper_value(row: &Row) -> Option<paper::PaperValue> {
    (row.certificates == paper::CERTIFICATES).then(|| paper::value(row.version, row.mode, row.mtu)).flatten()
}

/// Returns the paper's bytes where they can be derived, otherwise the share that it saved.
fn paper_text(value: &paper::PaperValue) -> String {
    match (value.bytes, value.saved) {
        (Some(bytes), _) => format!("{} B", thousands(bytes.round() as usize)),
        (None, (0.0, most)) => format!("to {most:.1} % less"),
        (None, (least, most)) => format!("{least:.1} to {most:.1} % less"),
    }
}

/// Describes the measurement, and how to repeat it.
fn method(args: &CompareArgs, rows: &[Row], has_paper: bool, devices: Option<&Sides<Arc<Device>>>) -> Markup {
    let runs = rows.iter().map(|row| row.runs.count).max().unwrap_or(0);
    html! {
        h2 { "How this was measured" }
        ul {
            li {
                "Both sides run Terse's own engine, unmodified. "
                @if args.files.are_given() {
                    "The certificates are those that were given on the command line."
                } @else {
                    "Certificates were made for the occasion ("
                    (rows.first().map_or("", |row| row.certificates.as_str()))
                    ": the key's algorithm and size, and how many certificates from leaf to root; the root is not sent). \
                     Both sides prove who they are: with these, or in resumed and psk with a secret that both know."
                }
            }
            li {
                "The network is simulated in virtual time. Every byte here is in a packet that the simulated TCP or UDP \
                 sent: acknowledgements, SYN and FIN included; none is added afterwards. On Ethernet a frame has a header \
                 of 14 bytes; preamble and checksum, which no capture shows, are not counted."
            }
            li {
                "The client sends " (args.request) " bytes and the server " (args.reply) "; each row is the connection with the \
                 median of bytes among " (runs) " (seed " (args.seed) ")."
            }
            @if let Some(Sides { client, server }) = devices {
                li { "The client computes on " (of_device(client)) }
                li { "The server computes on " (of_device(server)) }
                li {
                    "Each operation that the engine really asked for takes the device's time for it. A flight is computed \
                     as a whole before its first byte leaves; TCP goes on meanwhile."
                }
            }
            li { "Round trips are those before the client may send its message, with that of TCP's SYN." }
            @if has_paper {
                li {
                    "The paper: BiTHaC, section V-A, figures 4 and 5: wolfSSL in containers on a virtual Ethernet, RSA-2048 \
                     chains of three. It gives shares and one difference in bytes; absolute values are derived from these. \
                     Its implementation offers more in its hello messages than this one."
                }
            }
        }
        p { "To do it again: " code { (command_line()) } }
        p { "To see the packets: the same command with " code { "--pcapng FILE" } " writes them for Wireshark, with the secrets that decrypt them." }
    }
}

/// Says what a device is, and where its times come from.
fn of_device(device: &Device) -> Markup {
    html! { b { (device.name) } ": " (device.description) ". Its times: " (device.source) }
}

/// Returns the command that made the report.
pub(crate) fn command_line() -> String {
    let words = std::env::args_os().skip(1).map(|word| {
        let word = word.to_string_lossy().into_owned();
        if word.contains(char::is_whitespace) { format!("'{word}'") } else { word }
    });
    core::iter::once("terse".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

pub(crate) const STYLE: &str = "
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1080px; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; background: #fff; }
h1 { font-size: 1.9rem; margin-bottom: .3rem; } h2 { margin-top: 2.4rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
.lead { font-size: 1.1rem; } .note { color: #555; font-size: .9rem; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .9rem; } th, td { border-bottom: 1px solid #e4e4e4; padding: .3rem .6rem; text-align: left; vertical-align: top; }
th { background: #f5f5f5; font-weight: 600; } .numbers { display: block; overflow-x: auto; font-size: .8rem; } .numbers th, .numbers td { padding: .25rem .42rem; } .numbers td, .numbers th { text-align: right; white-space: nowrap; } .numbers td:first-child, .numbers th:first-child { text-align: left; } .numbers th[scope=row] { font-weight: 400; background: none; }
.numbers td.paper { color: #8c0000; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; } figcaption { color: #444; font-size: .9rem; }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 .7em; vertical-align: baseline; }
details { margin: .6rem 0; } summary { cursor: pointer; font-weight: 600; } code { background: #f3f3f3; padding: 0 .25em; }
";
