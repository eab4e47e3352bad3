//! The report of `terse sim run`: one HTML file.

use maud::{Markup, html};
use terse_sim::scenario::{Charge, Forming, Outcome, PaperValues, ScenarioFile, Statistics};

use super::figure::{self, Boxed};
use super::fleet::{self, Places, by_kind};
use super::measure::{Measured, bytes, seconds};
use super::table::{difference, interval, with_deviation};
use super::{schedule, timeline};
use crate::compare::report::{self, command_line, drawn};

/// Returns the report of a file's rows.
pub(super) fn of_rows(file: &ScenarioFile, measured: &[Measured], places: &Places) -> String {
    let title = if file.title.is_empty() { "Handshakes over 6TiSCH" } else { &file.title };
    let (whole, single) = by_kind(measured);
    let body = html! {
        h1 { (title) }
        @if !single.is_empty() {
            p class="lead" {
                "A mote of a 6TiSCH network connects to a server. This report shows how long that took in virtual time, how many \
                 bytes and frames were on the air, and what was sent again or dropped."
            }
            (numbers(&single))
            (networks(&single))
            (boxes(&single))
            (timeline::section(&single))
            (schedules(&single))
            (pools(&single))
        }
        @if !whole.is_empty() { (fleet::report::section(&whole, places)) }
        (how(measured))
    };
    page(title, &body)
}

/// Returns a page with this body.
pub(super) fn page(title: &str, body: &Markup) -> String {
    report::page(title, PRINT, body)
}

/// Whether a row has values of a paper.
pub(super) fn has_paper(measured: &[&Measured]) -> bool {
    measured.iter().any(|measured| measured.row.scenario.paper != PaperValues::default())
}

/// Returns the table of all rows.
pub(super) fn numbers(measured: &[&Measured]) -> Markup {
    let has_paper = has_paper(measured);
    html! {
        table class="numbers" {
            tr {
                th scope="col" { "" } th scope="col" { "seconds" } th scope="col" { "95 % interval" } th scope="col" { "median" } th scope="col" { "bytes" } th scope="col" { "frames" } th scope="col" { "again" }
                th scope="col" { "dropped" } th scope="col" { "failed" }
                @if has_paper { th scope="col" { "paper: s" } th scope="col" { "paper: B" } }
            }
            @for measured in measured { (row(measured, has_paper)) }
        }
        p class="note" {
            "seconds: mean ± standard deviation, from the client's first packet until it is connected. bytes, frames: on the \
             air until both sides are connected, each hop and each repetition by the MAC, without its acknowledgements. \
             again: segments that TCP, or flights that DTLS, sent again. dropped: packets that the mesh lost. failed: runs \
             that never were connected; they count nowhere else."
            @if has_paper { " Beside the paper's values: by how much the mean is above or below." }
        }
    }
}

fn row(measured: &Measured, has_paper: bool) -> Markup {
    let (latency, bytes) = (measured.latency(), measured.bytes());
    let mean = |of: &dyn Fn(&Outcome) -> f64| format!("{:.1}", Statistics::of(measured.values(of)).mean);
    let paper = measured.row.scenario.paper;
    let runs = measured.outcomes.len();
    html! {
        tr {
            td { (measured.row.name) }
            @if latency.count > 0 {
                td { b { (with_deviation(&latency, 3)) } }
                td { (interval(&latency, 3)) }
                td { (format!("{:.3}", latency.median)) }
                td { b { (with_deviation(&bytes, 0)) } }
                td { (mean(&|outcome| outcome.air.frames as f64)) }
                td { (mean(&|outcome| outcome.retransmissions as f64)) }
                td { (mean(&|outcome| outcome.drops.values().sum::<u64>() as f64)) }
            } @else {
                td colspan="7" { (measured.failure.as_deref().unwrap_or("never connected")) }
            }
            td { (runs - latency.count) "/" (runs) }
            @if has_paper {
                (beside(paper.latency_ms.map(|ms| ms / 1e3), &latency, 3))
                (beside(paper.bytes, &bytes, 0))
            }
        }
    }
}

/// Returns the value of a paper, and by how much the mean differs.
fn beside(paper: Option<f64>, ours: &Statistics, digits: usize) -> Markup {
    html! {
        td class="paper" {
            @if let Some(paper) = paper {
                (format!("{paper:.digits$}"))
                @if ours.count > 0 { " (" (difference(ours.mean, paper)) ")" }
            }
        }
    }
}

/// Returns what handshakes took of batteries, and what it took networks to form themselves.
fn networks(measured: &[&Measured]) -> Markup {
    let mean = |values: Vec<f64>, digits: usize| match values.len() {
        0 => "-".to_owned(),
        _ => format!("{:.digits$}", Statistics::of(values).mean),
    };
    let charge = |measured: &Measured, of: &dyn Fn(&Charge) -> f64, digits| {
        mean(measured.connected().filter_map(|outcome| outcome.charge.as_ref()).map(of).collect(), digits)
    };
    let forming =
        |measured: &Measured, of: &dyn Fn(&Forming) -> f64, digits| mean(measured.forming().map(of).collect(), digits);
    let has_charge = measured.iter().any(|measured| measured.charge().count > 0);
    let forms = measured.iter().any(|measured| measured.forming().next().is_some());
    html! {
        @if has_charge {
            h2 { "Batteries" }
            table class="numbers" {
                tr {
                    th scope="col" { "" } th scope="col" { "client mC" } th scope="col" { "of it computing" } th scope="col" { "all motes mC" } th scope="col" { "client's radio on" }
                    th scope="col" { "idle days" } th scope="col" { "least of all" }
                }
                @for measured in measured {
                    tr {
                        td { (measured.row.name) }
                        td { b { (charge(measured, &|charge| charge.client, 2)) } }
                        td { (charge(measured, &|charge| charge.computing, 2)) }
                        td { (charge(measured, &|charge| charge.all, 2)) }
                        td { (charge(measured, &|charge| 100.0 * charge.duty_cycle, 2)) " %" }
                        td { (charge(measured, &|charge| charge.days, 0)) }
                        td { (charge(measured, &|charge| charge.least_days, 0)) }
                    }
                }
            }
            p class="note" {
                "mC: millicoulombs, from the client's first packet until both sides are connected, idle listening included. \
                 idle days: how long the battery lasts if the mote only stays in the network, as it did before; and that of the mote \
                 whose battery is empty first."
            }
        }
        @if forms {
            h2 { "The network itself" }
            table class="numbers" {
                tr { th scope="col" { "" } th scope="col" { "formed s" } th scope="col" { "kB" } th scope="col" { "mC" } th scope="col" { "hops" } th scope="col" { "tunnel s" } th scope="col" { "meanwhile B" } }
                @for measured in measured {
                    tr {
                        td { (measured.row.name) }
                        td { b { (forming(measured, &|forming| forming.time.as_secs_f64(), 0)) } }
                        td { (forming(measured, &|forming| forming.bytes as f64 / 1e3, 1)) }
                        td { (mean(measured.forming().filter_map(|forming| forming.charge).collect(), 0)) }
                        td { (mean(measured.outcomes.iter().filter_map(|outcome| outcome.hops).map(f64::from).collect(), 1)) }
                        td { (mean(tunnels(measured), 1)) }
                        td { (mean(measured.values(|outcome| outcome.air.network_bytes as f64), 0)) }
                    }
                }
            }
            p class="note" {
                "formed: until every mote had a parent, a cell to it and a route from the root; kB and mC: the frames of beacons, \
                 keep-alives, 6P and RPL until then, and the charge of all motes. hops: of the client, when it began. tunnel: until \
                 it had cells on all hops. meanwhile: bytes that the network sent for itself during the handshake."
            }
        }
    }
}

/// Returns how long tunnels took, in seconds.
fn tunnels(measured: &Measured) -> Vec<f64> {
    measured.forming().filter_map(|forming| forming.tunnel).map(|tunnel| tunnel.time.as_secs_f64()).collect()
}

/// Returns the schedules of the motes on the client's way, of networks that formed themselves.
fn schedules(measured: &[&Measured]) -> Markup {
    let with_tunnel = |measured: &&&Measured| measured.row.scenario.forming.tunnel_cells > 0;
    let forms = |measured: &&&Measured| measured.outcomes.first().is_some_and(|outcome| !outcome.schedule.is_empty());
    let shown: Vec<&Measured> = match measured.iter().any(|measured| with_tunnel(&measured)) {
        true => measured.iter().filter(with_tunnel).filter(forms).take(MOST_SCHEDULES).copied().collect(),
        false => measured.iter().filter(forms).take(MOST_SCHEDULES).copied().collect(),
    };
    html! {
        @if !shown.is_empty() {
            h2 { "Schedules" }
            p { "In the first run of each row, when the client begins; figure 11 of the paper has a tunnel over two hops." }
            @for measured in shown {
                @if let Some(outcome) = measured.outcomes.first() {
                    figure {
                        figcaption { b { (measured.row.name) } }
                        (drawn(
                            schedule::drawn(outcome, measured.row.scenario.forming.slotframe),
                            &format!("The cells of the motes on the client's way to the root: {}", measured.row.name),
                        ))
                    }
                }
            }
        }
    }
}

/// Returns the distributions of times and bytes, some rows in each figure.
fn boxes(measured: &[&Measured]) -> Markup {
    let has_paper = has_paper(measured);
    html! {
        h2 { "Distributions" }
        @for (number, measured) in measured.chunks(BOXES_IN_FIGURE).enumerate() {
            (box_plot(measured, "seconds", seconds, |measured| measured.row.scenario.paper.latency_ms.map(|ms| ms / 1e3)))
            (box_plot(measured, "bytes on the air", bytes, |measured| measured.row.scenario.paper.bytes))
            @if number == 0 {
                p class="note" {
                    "A box has half of the runs; the thick line is the median. Whiskers reach to the outermost runs within one \
                     and a half times the height of the box, and circles are runs beyond. "
                    @if has_paper { "A red line is the mean of a paper." }
                }
            }
        }
    }
}

fn box_plot(
    measured: &[&Measured],
    unit: &str,
    of: impl Fn(&Outcome) -> f64 + Copy,
    paper: impl Fn(&Measured) -> Option<f64>,
) -> Markup {
    let boxed = |measured: &&Measured| Boxed {
        names: measured.row.name.split(", ").map(str::to_owned).collect(),
        values: measured.values(of),
        paper: paper(measured),
        is_dark: true,
    };
    let boxes: Vec<Boxed> = measured.iter().map(boxed).collect();
    html! { figure { (drawn(figure::boxes(&boxes, unit), &described(&boxes, unit))) } }
}

/// Describes boxes by their medians.
pub(super) fn described(boxes: &[Boxed], unit: &str) -> String {
    let medians = boxes.iter().map(|boxed| {
        let statistics = Statistics::of(boxed.values.iter().copied());
        let median = if statistics.count == 0 { "none".to_owned() } else { format!("{:.1}", statistics.median) };
        format!("{}: {median}", boxed.names.join(", "))
    });
    format!("Box plot, {unit}; medians: {}", medians.collect::<Vec<_>>().join("; "))
}

/// Returns the packet buffers of the client's mote over the first run of each row.
fn pools(measured: &[&Measured]) -> Markup {
    html! {
        @if measured.len() <= MOST_POOLS {
            h2 { "Packet buffers of the mote" }
            p { "In the first run of each row, after each call of the allocator, as in figure 10 of the paper." }
            div class="grid" { @for measured in measured { (pool(measured)) } }
        }
    }
}

/// Returns the packet buffers of the client's mote over the first run of a row.
pub(super) fn pool(measured: &Measured) -> Markup {
    let frames = measured.row.scenario.pool.frames;
    html! {
        @if let Some(outcome) = measured.outcomes.first() {
            figure { figcaption { b { (measured.row.name) } } (drawn(
                    figure::pool(&outcome.pool, frames),
                    &format!("Packet buffers in use after each call of the allocator: {}", measured.row.name),
                )) }
        }
    }
}

/// Says how the numbers were made.
fn how(measured: &[Measured]) -> Markup {
    let runs = measured.iter().map(|measured| measured.outcomes.len()).max().unwrap_or(0);
    let seed = measured.first().map_or(0, |measured| measured.row.scenario.repetitions.seed);
    let has_single = measured.iter().any(|measured| !measured.row.scenario.is_whole());
    html! {
        h2 { "How this was measured" }
        ul {
            li {
                "Each row was run up to " (runs) " times (seed " (seed) ")"
                @if has_single { "; the client begins at any time of the slotframe" } "."
            }
            li { "The network is simulated in virtual time: every frame is sent in its cell, and every byte of it was made. \
                  After each run every packet and frame is accounted for." }
            li { "Scripted peers send messages of the sizes that Mbed TLS 2.24 sends, and compute as long as the scenario says; \
                  the engine is Terse's own, unmodified, and computes as long as the device would." }
        }
        p { "To do it again: " code { (command_line()) } }
    }
}

/// The most boxes in a figure.
const BOXES_IN_FIGURE: usize = 8;

/// The most rows whose schedules are drawn.
const MOST_SCHEDULES: usize = 6;

/// The most rows whose packet buffers are drawn.
const MOST_POOLS: usize = 12;

const PRINT: &str = "
.grid { display: grid; grid-template-columns: 1fr 1fr; gap: .4rem 1rem; } .grid figure { margin: .4rem 0; }
.fleets th { white-space: normal; } .fleets th, .fleets td { padding: .25rem .3rem; } .holds { color: #2e6b2e; font-weight: 600; } .fails { color: #8c0000; font-weight: 600; }
.grid svg { width: 100%; }
@media screen and (max-width: 800px) { .grid { grid-template-columns: 1fr; } }
@media print { body { max-width: none; margin: 0; font-size: 11pt; } .numbers { overflow: visible; font-size: 7.5pt; } .numbers th, .numbers td { padding: .15rem .22rem; } .numbers th { white-space: normal; } figure, tr { break-inside: avoid; } h2, h2 + p { break-after: avoid; } }
";
