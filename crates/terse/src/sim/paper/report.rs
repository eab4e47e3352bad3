//! The evaluation as one HTML file.

use maud::{Markup, html};

use super::checks::{duty_cycle, hops_of};
use super::{Evaluation, Loss, Measured, all_peers, find, growth, peers};
use crate::compare::report::{command_line, drawn};
use crate::sim::figure::{self, Boxed, Curve};
use crate::sim::measure::{bytes, seconds};
use crate::sim::report::{numbers, page, pool};

/// The words of a row's name, as in "tls mss=844 nagle".
const WORDS_IN_NAME: usize = 3;

const TITLE: &str = "TLS and DTLS over 6TiSCH, beside the paper";

/// Returns the report.
pub(super) fn render(evaluation: &Evaluation) -> String {
    let body = html! {
        h1 { (TITLE) }
        p class="lead" {
            "A paper measured how long TLS 1.2 and DTLS 1.2 take to connect over a 6TiSCH network, with Mbed TLS on OpenWSN. \
             This report repeats its tables and figures on Terse's simulated network, and shows the paper's own numbers \
             beside."
        }
        (summary(evaluation))
        h2 { "Table 2: an ideal channel, one hop" }
        (numbers(&evaluation.table2.iter().collect::<Vec<_>>()))
        h2 { "Table 3: a performance enhancing proxy in the gateway" }
        (numbers(&evaluation.table3.iter().collect::<Vec<_>>()))
        (figure5(evaluation))
        (losses(6, "TLS under loss", &evaluation.figure6))
        (losses(7, "DTLS beside TLS under loss", &evaluation.figure7))
        h2 id="figure10" { "Figure 10: packet buffers of the mote" }
        p { "The first run of each row, after each call of the allocator." }
        div class="grid" { @for measured in &evaluation.figure10 { (pool(measured)) } }
        (checks(evaluation))
        (how(evaluation))
    };
    page(TITLE, &body)
}

fn summary(evaluation: &Evaluation) -> Markup {
    let count = |holds| evaluation.checks.iter().filter(|check| check.holds == Some(holds)).count();
    html! {
        p {
            "What had to hold was written down before it was run: " b { (count(true)) } " checks hold, and " b { (count(false)) }
            " do not. They are listed below."
        }
    }
}

fn figure5(evaluation: &Evaluation) -> Markup {
    let mut curves: Vec<Curve> = Vec::new();
    for measured in &evaluation.figure5 {
        let hops = hops_of(measured);
        let name = format!("{}, {hops} hop{}", peers(measured), if hops > 1 { "s" } else { "" });
        let point = (100.0 * duty_cycle(measured), measured.latency().mean);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => {
                let style = usize::from(!peers(measured).starts_with("tls"));
                curves.push(Curve { name, points: vec![point], style, is_dashed: hops > 1 });
            }
        }
    }
    let mut ticks: Vec<f64> = evaluation.figure5.iter().map(|measured| 100.0 * duty_cycle(measured)).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    html! {
        h2 id="figure5" { "Figure 5: time against duty cycle" }
        figure { (drawn(
                figure::curves(&curves, &ticks, "duty cycle of the busiest mote, %", "seconds, mean"),
                "Curves: the mean time until the client is connected against the duty cycle of the busiest mote",
            )) }
    }
}

fn losses(number: u8, title: &str, measured: &[Measured]) -> Markup {
    let boxes = |of: &dyn Fn(&Measured) -> Vec<f64>| -> Vec<Boxed> {
        let peers = all_peers(measured);
        let rows = peers.iter().flat_map(|name| Loss::ALL.map(|loss| (find(measured, name, loss), *name, loss)));
        let boxed = |(row, name, loss): (Option<&Measured>, &str, Loss)| {
            let words = name.split(' ').map(str::to_owned);
            let mut names: Vec<String> = words.chain(core::iter::repeat(String::new())).take(WORDS_IN_NAME).collect();
            names.push(loss.name().trim_start_matches("5 % of ").to_owned());
            Some(Boxed { names, values: of(row?), paper: None, is_dark: loss != Loss::Nothing })
        };
        rows.filter_map(boxed).collect()
    };
    let in_seconds = boxes(&|measured| measured.values(seconds));
    let in_bytes = boxes(&|measured| measured.values(bytes));
    html! {
        h2 id=(format!("figure{number}")) { "Figure " (number) ": " (title) }
        figure { (drawn(figure::boxes(&in_seconds, "seconds"), "Boxes: seconds, without loss and with it")) }
        figure { (drawn(figure::boxes(&in_bytes, "bytes on the air"), "Boxes: bytes on the air, without loss and with it")) }
        p class="note" {
            "A box has half of the runs; the thick line is the median, whiskers reach to the outermost runs within one and a \
             half times the height of the box, and circles are runs beyond. Light boxes are without loss. 5 % of fragments are \
             lost after the MAC has acknowledged them, on each hop, or 5 % of packets, once on their way."
        }
        table class="numbers" {
            tr { th scope="col" { "median with loss over the least without" } th scope="col" { "loss" } th scope="col" { "seconds" } th scope="col" { "bytes" } th scope="col" { "failed runs" } }
            @for name in all_peers(measured) {
                @for loss in [Loss::Fragments, Loss::Packets] {
                    tr {
                        td { (name) } td { (loss.name()) }
                        td { (ratio(growth(measured, name, loss, Measured::latency))) }
                        td { (ratio(growth(measured, name, loss, Measured::bytes))) }
                        td {
                            @if let Some(row) = find(measured, name, loss) {
                                (row.outcomes.len() - row.connected().count()) " of " (row.outcomes.len())
                            }
                        }
                    }
                }
            }
        }
    }
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))
}

fn checks(evaluation: &Evaluation) -> Markup {
    html! {
        h2 id="checks" { "Checks" }
        table {
            tr { th scope="col" { "" } th scope="col" { "place" } th scope="col" { "what must hold" } th scope="col" { "here" } th scope="col" { "the paper says" } }
            @for check in &evaluation.checks {
                tr {
                    @match check.holds {
                        Some(true) => { td class="holds" { "holds" } }
                        Some(false) => { td class="fails" { "fails" } }
                        None => { td { "shown" } }
                    }
                    td {
                        @if let Some(table) = check.table { "table " (table) }
                        @if let Some(figure) = check.figure { "figure " (figure) }
                    }
                    td { (check.check) }
                    td { (format!("{:.3}", check.value)) }
                    td { @if let Some(paper) = &check.paper { (paper) } }
                }
            }
        }
    }
}

fn how(evaluation: &Evaluation) -> Markup {
    let runs = evaluation.table2.first().map_or(0, |measured| measured.outcomes.len());
    html! {
        h2 { "How this was measured" }
        ul {
            li {
                "The peers are scripts with the sizes of Mbed TLS 2.24's messages; each row of tables 2 and 3 was run " (runs)
                " times, the client beginning at any time of the slotframe."
            }
            li {
                "Fitted to the paper, and marked so in the scenarios: the client's computing time (2.1 s), the size of the \
                 certificate (407 B), the size of later fragments (96 B), the third cell for receiving, the timeouts of the \
                 mote's TCP (3 s) and of the server's DTLS (4 s). Everything else has a source; the number of TCP's \
                 acknowledgements comes out of the model."
            }
            li { "Values of the paper are those that its tables and text give as numbers. Nothing was read off its drawings." }
        }
        p { "To do it again: " code { (command_line()) } }
    }
}
