//! The evaluation as tables for people.

use super::checks::{duty_cycle, hops_of};
use super::{Evaluation, Loss, Measured, all_peers, find, growth, peers};
use crate::compare::table::lay_out;
use crate::sim::table::{interval, rows, with_deviation};

/// Returns everything: tables 2 and 3, figures 5 to 7, and all checks.
pub(super) fn all(evaluation: &Evaluation) -> String {
    let mut text = String::new();
    text += &rows("Table 2: an ideal channel, one hop", &evaluation.table2.iter().collect::<Vec<_>>());
    text += &rows("\nTable 3: with a proxy", &evaluation.table3.iter().collect::<Vec<_>>());
    text += &figure5(evaluation);
    text += &losses("\nFigure 6: TLS under loss", &evaluation.figure6);
    text += &losses("\nFigure 7: DTLS under loss", &evaluation.figure7);
    text += &checks(evaluation);
    text
}

fn figure5(evaluation: &Evaluation) -> String {
    let header = ["", "hops", "duty cycle", "seconds", "95 %", "bytes"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for measured in &evaluation.figure5 {
        let latency = measured.latency();
        lines.push(vec![
            peers(measured).to_owned(),
            hops_of(measured).to_string(),
            format!("{} %", 100.0 * duty_cycle(measured)),
            with_deviation(&latency, 3),
            interval(&latency, 3),
            format!("{:.0}", measured.bytes().mean),
        ]);
    }
    format!("\nFigure 5: the duty cycle\n{}", lay_out(&lines))
}

fn losses(title: &str, measured: &[Measured]) -> String {
    let header =
        ["", "loss", "seconds, median", "to the least without", "bytes, median", "to the least without", "failed"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for name in all_peers(measured) {
        for loss in Loss::ALL {
            let Some(row) = find(measured, name, loss) else { continue };
            let ratio = |of: fn(&Measured) -> _| {
                growth(measured, name, loss, of).map_or("-".into(), |ratio| format!("{ratio:.2}"))
            };
            let (latency, bytes) = (row.latency(), row.bytes());
            lines.push(vec![
                name.to_owned(),
                loss.name().to_owned(),
                format!("{:.3}", latency.median),
                ratio(Measured::latency),
                format!("{:.0}", bytes.median),
                ratio(Measured::bytes),
                format!("{}/{}", row.outcomes.len() - latency.count, row.outcomes.len()),
            ]);
        }
    }
    format!("{title}\n{}", lay_out(&lines))
}

fn checks(evaluation: &Evaluation) -> String {
    let mut text = String::from("\nChecks, written down before they were run\n");
    for check in &evaluation.checks {
        let place = match (check.table, check.figure) {
            (Some(table), _) => format!("table {table}"),
            (_, Some(figure)) => format!("figure {figure}"),
            _ => String::new(),
        };
        let holds = match check.holds {
            Some(true) => "holds",
            Some(false) => "FAILS",
            None => "shown",
        };
        let paper = check.paper.as_ref().map(|paper| format!("; paper: {paper}")).unwrap_or_default();
        text += &format!("  {holds}  {place:<9} {:>8.3}  {}{paper}\n", check.value, check.check);
    }
    text
}
