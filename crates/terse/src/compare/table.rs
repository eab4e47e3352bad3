//! A comparison is printed as tables for people: one for each version and link, with a line for each mode.

use terse_sim::compare::{Mode, Row, paper};
use terse_tls::HandshakeType;
use terse_tls::summary::Transport;

/// Groups rows of one version on one link, which are compared with each other.
pub(super) fn groups(rows: &[Row]) -> impl Iterator<Item = &[Row]> {
    rows.chunk_by(|a, b| (a.version, &a.link, a.mtu) == (b.version, &b.link, b.mtu))
}

/// Returns the table of bytes by layer.
pub(super) fn layers(group: &[Row]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let (carrier, is_stream) = match first.transport {
        Transport::Datagram => ("UDP", false),
        _ => ("TCP", true),
    };
    let mut text =
        format!("{} over {carrier}; {}, MTU {} B; {}", first.version, first.link, first.mtu, first.certificates);
    if let Some(device) = &first.device {
        text += &format!("; computing on {} (client) and {} (server)", device.client, device.server);
    }
    text.push('\n');
    let has_cpu = group.iter().any(|row| row.cpu.is_some());
    let has_heap = group.iter().any(|row| row.peak_heap.is_some());
    let has_loss = group.iter().any(|row| row.lost > 0 || row.runs.failed > 0);
    let has_paper = group.iter().any(|row| paper_share(row).is_some());
    let mut header = vec!["bytes", "total", "saved", "handshake", "data", carrier, "IP", "link", "packets"];
    if is_stream {
        header.push("pure ACKs");
    }
    header.extend(["round trips", "ms"]);
    let shows_request = group.iter().any(|row| row.early_data);
    if shows_request {
        header.extend(["request B", "request ms"]);
        header.extend(has_loss.then_some("of 95 %"));
    }
    header.extend(has_loss.then_some("ms of 95 %"));
    header.extend(first.computing_ms.map(|_| "computing ms"));
    header.push("verified");
    header.extend(has_loss.then_some("lost"));
    header.extend(has_loss.then_some("failed"));
    header.extend(has_cpu.then_some("CPU ms"));
    header.extend(has_heap.then_some("heap B"));
    header.extend(has_paper.then_some("paper saved"));
    let mut lines = vec![header.into_iter().map(str::to_owned).collect::<Vec<_>>()];
    for row in group {
        let bytes = &row.bytes;
        let sizes = [bytes.tls, bytes.application, bytes.transport, bytes.network, bytes.link, row.packets];
        let mut line = vec![row.mode.to_string(), bytes.total.to_string(), saved(group, row)];
        line.extend(sizes.map(|size| size.to_string()));
        if is_stream {
            line.push(row.pure_acks.to_string());
        }
        let verified = row.signatures_verified;
        line.extend([
            (row.round_trips + row.transport_round_trips).to_string(),
            format!("{:.1}", row.runs.median_connected_ms),
        ]);
        if shows_request {
            let mark = if row.early_data { "early " } else { "" };
            line.extend([bytes.until_request.to_string(), format!("{mark}{:.1}", row.runs.median_requested_ms)]);
            line.extend(has_loss.then(|| format!("{:.1}", row.runs.p95_requested_ms)));
        }
        line.extend(has_loss.then(|| format!("{:.1}", row.runs.p95_connected_ms)));
        line.extend(row.computing_ms.map(|computing| format!("{:.1} + {:.1}", computing.client, computing.server)));
        line.push(format!("{} + {}", verified.client, verified.server));
        if has_loss {
            line.extend([row.lost.to_string(), format!("{}/{}", row.runs.failed, row.runs.count)]);
        }
        if has_cpu {
            line.push(
                row.cpu.map_or_else(dash, |cpu| {
                    format!("{:.2} + {:.2}", cpu.client as f64 / 1e6, cpu.server as f64 / 1e6)
                }),
            );
        }
        if has_heap {
            line.push(row.peak_heap.map_or_else(dash, |heap| format!("{} + {}", heap.client, heap.server)));
        }
        if has_paper {
            line.push(paper_share(row).unwrap_or_else(dash));
        }
        lines.push(line);
    }
    text += &lay_out(&lines);
    text
}

/// Returns the table of bytes by handshake message.
pub(super) fn messages(group: &[Row]) -> String {
    let mut lines = vec![];
    let header = ["message", "from"].map(str::to_owned).into_iter();
    lines.push(header.chain(group.iter().map(|row| row.mode.to_string())).collect::<Vec<_>>());
    for is_client in [true, false] {
        let sent = |row: &Row| if is_client { row.bytes.sent.client.clone() } else { row.bytes.sent.server.clone() };
        let mut seen: Vec<HandshakeType> = Vec::new();
        for row in group {
            for (message, _) in sent(row).0 {
                if !seen.contains(&message) {
                    seen.push(message);
                }
            }
        }
        let from = if is_client { "client" } else { "server" };
        for message in seen {
            let sizes = group.iter().map(|row| match sent(row).of(message) {
                0 => dash(),
                size => size.to_string(),
            });
            lines.push([message.to_string(), from.to_owned()].into_iter().chain(sizes).collect());
        }
    }
    lay_out(&lines)
}

/// Returns the share of a full handshake that a row saved.
fn saved(group: &[Row], row: &Row) -> String {
    match group.iter().find(|full| full.mode == Mode::Full) {
        Some(full) if row.mode != Mode::Full && full.bytes.total > 0 => {
            format!("{:.1} %", 100.0 * (1.0 - row.bytes.total as f64 / full.bytes.total as f64))
        }
        _ => dash(),
    }
}

/// What BiTHaC says was saved, if it measured this.
fn paper_share(row: &Row) -> Option<String> {
    if row.certificates != paper::CERTIFICATES || row.mode == Mode::Full {
        return None;
    }
    let (least, most) = paper::value(row.version, row.mode, row.mtu)?.saved;
    Some(match (least == most, least == 0.0) {
        (true, _) => format!("{most:.1} %"),
        (false, true) => format!("to {most:.1} %"),
        (false, false) => format!("{least:.1} to {most:.1} %"),
    })
}

fn dash() -> String {
    "-".into()
}

/// Pads columns to the width of their longest value: the first to the left, the others to the right.
pub(crate) fn lay_out(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell: &String| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let mut cells = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            cells += &if column == 0 { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        text += cells.trim_end();
        text.push('\n');
    }
    text
}
