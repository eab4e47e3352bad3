//! The evaluation as one HTML file.

use maud::{Markup, html};
use terse_sim::compare::itls::{DIFFERENCES, Figure, Paper, Part, SecurityLevel};

use super::table::{number, range, title};
use super::{Evaluation, Method, figure};
use crate::compare::report::{command_line, drawn, page};

/// Returns the report.
pub(super) fn render(evaluation: &Evaluation, method: &Method) -> String {
    let body = html! {
        h1 { "Identity-based handshakes beside the paper on iTLS" }
        p class="lead" {
            "The paper on iTLS lets two sides prove who they are by identity keys, without certificates, and measures \
             what that saves. This report repeats its measurements with Terse's engine on a simulated network, and \
             shows the paper's own numbers beside."
        }
        (missing(evaluation))
        h2 { "Tables I and II: bytes of a full handshake" }
        @for level in SecurityLevel::ALL { (traffic(evaluation, level)) }
        (differences(Part::Tables))
        @for figure in Figure::ALL { (section(evaluation, figure)) }
        (how(method))
    };
    page("Identity-based handshakes beside the paper on iTLS", GRID, &body)
}

/// Lists the values that could not be measured.
fn missing(evaluation: &Evaluation) -> Markup {
    html! {
        @if !evaluation.failures.is_empty() {
            h2 { "What could not be measured" }
            ul { @for failure in &evaluation.failures { li { (failure) } } }
        }
    }
}

/// Returns table I or II.
fn traffic(evaluation: &Evaluation, level: SecurityLevel) -> Markup {
    let rows: Vec<_> = evaluation.rows.iter().filter(|row| row.level == level).collect();
    html! {
        h3 { (level.bits()) " bit, bytes of records" }
        table class="numbers" {
            tr { th scope="col" { "" } th scope="col" { "client" } th scope="col" { "server" } th scope="col" { "total" } th scope="col" { "paper: client" } th scope="col" { "server" } th scope="col" { "total" } }
            @for row in rows {
                tr {
                    td { (row.series) }
                    td { (row.bytes.client) }
                    td { (row.bytes.server) }
                    td { b { (row.bytes.client + row.bytes.server) } }
                    @if let Some([client, server]) = row.paper {
                        td class="paper" { (client) }
                        td class="paper" { (server) }
                        td class="paper" { (client + server) }
                    }
                }
            }
        }
    }
}

/// Returns a figure with its drawings, its numbers, and what differs from the paper.
fn section(evaluation: &Evaluation, figure: Figure) -> Markup {
    html! {
        h2 { "Figure " (figure.number()) ": " (title(figure)) }
        @if figure == Figure::Ideal {
            figure { (drawn(figure::bars(evaluation), "Bars: the values of the table below")) }
        } @else {
            @if figure == Figure::Exchanges {
                p class="note" {
                    "The curves have the exchanges of identity-0rtt as a multiple of those of each other way to connect. To the right                      of them are the ranges that the paper gives for all delays together; a short line stands for \"at least\"                      or \"at most\"."
                }
            } @else {
                p class="note" { "The axis of times is logarithmic, and so are those of delays and rates." }
            }
            (drawn(figure::legend(figure), "The colours and marks of the ways to connect"))
            div class="grid" {
                @for mtu in figure.mtus() {
                    @for level in SecurityLevel::ALL {
                        figure {
                            figcaption { b { (level.bits()) " bit, MTU " (mtu) } }
                            (drawn(
                                figure::curves(evaluation, figure, level, *mtu),
                                &format!("Curves: {} bit, MTU {mtu}; the table below has the numbers", level.bits()),
                            ))
                        }
                    }
                }
            }
        }
        (values(evaluation, figure))
        (ratios(evaluation, figure))
        (differences(Part::Figure(figure)))
    }
}

/// Returns the values of the paper in a figure, and ours.
fn values(evaluation: &Evaluation, figure: Figure) -> Markup {
    let of_figure = evaluation.points.iter().filter(|measured| measured.point.figure == figure);
    let values: Vec<_> = of_figure.filter(|measured| measured.paper.is_some()).collect();
    html! {
        @if !values.is_empty() {
            table class="numbers" {
                tr {
                    th scope="col" { "" } th scope="col" { "bit" } th scope="col" { "MTU" } th scope="col" { (figure.x_unit()) } th scope="col" { "here, " (figure.unit()) }
                    th scope="col" { "standard error" } th scope="col" { "median" } th scope="col" { "paper" }
                }
                @for measured in values {
                    tr {
                        td { (measured.point.series) }
                        td { (measured.point.level.bits()) }
                        td { (measured.point.mtu) }
                        td { (measured.point.x) }
                        td { b { (number(measured.value.mean)) } }
                        td { @if let Some(error) = measured.value.standard_error { (number(error)) } }
                        td { (number(measured.value.median)) }
                        td class="paper" { @if let Some(paper) = measured.paper { (number(paper)) } }
                    }
                }
            }
        }
    }
}

/// Returns the ratios that the paper gives for a figure.
fn ratios(evaluation: &Evaluation, figure: Figure) -> Markup {
    let of_figure = Paper::get().ratio.iter().filter(|ratio| ratio.figure == figure.number());
    let ratios: Vec<_> = of_figure.flat_map(|ratio| evaluation.ratios(ratio)).collect();
    let of_what = if figure == Figure::Exchanges { "exchanges in a minute" } else { "times" };
    html! {
        @if !ratios.is_empty() {
            table class="numbers" {
                tr { th scope="col" { "ratio of " (of_what) } th scope="col" { "bit" } th scope="col" { "MTU" } th scope="col" { "here" } th scope="col" { "paper" } }
                @for ratio in ratios {
                    tr {
                        td { (ratio.of) " : " (ratio.to) }
                        td { (ratio.level.bits()) }
                        td { (ratio.said.mtu) }
                        td { b { (range(&ratio.ours)) } }
                        td class="paper" { (range(&ratio.paper())) }
                    }
                }
            }
        }
    }
}

/// Returns the sentences on what differs from the paper.
fn differences(part: Part) -> Markup {
    let of_part: Vec<_> = DIFFERENCES.iter().filter(|difference| difference.parts.contains(&part)).collect();
    html! {
        p { "What differs from the paper, and why:" }
        ul { @for difference in of_part { li { (difference.text) } } }
    }
}

/// Says how the numbers were made.
fn how(method: &Method) -> Markup {
    html! {
        h2 { "How this was measured" }
        ul {
            li {
                "Both sides run Terse's own engine, unmodified, with the suite TLS_AES_128_CCM_SHA256. Both authenticate. A \
                 handshake's time is measured at the server, from the arrival of the ClientHello until the handshake is \
                 complete there, as in the paper."
            }
            li { (method.computing) }
            li {
                "Where packets are lost, a value is the mean of " (method.runs) " handshakes; its line shows the standard error. A few \
                 handshakes wait for timers that double again and again, and weigh much in a mean: that is so in the paper, too, \
                 whose means are of 500. Without loss all handshakes take the same time."
            }
            li { "Values of the paper are those that its text gives as numbers. Nothing was read off its drawings." }
        }
        p { "To do it again: " code { (command_line()) } }
    }
}

const GRID: &str = "
.grid { display: grid; grid-template-columns: 1fr 1fr; gap: .4rem 1rem; } .grid figure { margin: .4rem 0; }
@media (max-width: 800px) { .grid { grid-template-columns: 1fr; } }
";
