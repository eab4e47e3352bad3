//! The evaluation as tables for people.

use terse_sim::compare::itls::{DIFFERENCES, Figure, Paper, Part, Point, SecurityLevel};

use super::Evaluation;
use super::ratio::Range;
use crate::compare::table::lay_out;

/// Returns everything: tables I and II, then each figure, each followed by what differs from the paper.
pub(super) fn all(evaluation: &Evaluation) -> String {
    let mut text = String::new();
    for level in SecurityLevel::ALL {
        text += &traffic(evaluation, level);
    }
    text += &differences(Part::Tables);
    for figure in Figure::ALL {
        text += &self::figure(evaluation, figure);
        text += &differences(Part::Figure(figure));
    }
    text
}

/// Returns table I or II.
fn traffic(evaluation: &Evaluation, level: SecurityLevel) -> String {
    let rows: Vec<_> = evaluation.rows.iter().filter(|row| row.level == level).collect();
    let Some(first) = rows.first() else { return String::new() };
    let header = ["bytes", "client", "server", "total", "paper: client", "server", "total"];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    for row in &rows {
        let (client, server) = (row.bytes.client, row.bytes.server);
        let mut line = vec![row.series.to_string()];
        line.extend([client, server, client + server].map(|bytes| bytes.to_string()));
        line.extend(match row.paper {
            Some([client, server]) => [client, server, client + server].map(|bytes| bytes.to_string()),
            None => [const { String::new() }; 3].map(|_| "-".into()),
        });
        lines.push(line);
    }
    format!("Table {}: records of a full handshake, {} bit\n{}\n", first.table(), level.bits(), lay_out(&lines))
}

/// Returns a figure: for each level and MTU a line for each value of the abscissa, with the paper's values below.
fn figure(evaluation: &Evaluation, figure: Figure) -> String {
    let mut text = format!("Figure {}: {}\n", figure.number(), title(figure));
    for level in SecurityLevel::ALL {
        for mtu in figure.mtus() {
            text += &format!("{} bit, MTU {mtu}\n", level.bits());
            let names = figure.series().iter().map(ToString::to_string);
            let mut lines = vec![core::iter::once(figure.x_unit().to_owned()).chain(names).collect::<Vec<_>>()];
            for x in figure.xs() {
                let values: Vec<_> = figure
                    .series()
                    .iter()
                    .map(|series| evaluation.value(&Point { figure, level, mtu: *mtu, x: *x, series: *series }))
                    .collect();
                let ours = values.iter().map(|value| value.map_or("-".into(), |value| number(value.value.mean)));
                lines.push(core::iter::once(x.to_string()).chain(ours).collect());
                if values.iter().flatten().any(|value| value.paper.is_some()) {
                    let paper =
                        values.iter().map(|value| value.and_then(|value| value.paper).map_or("-".into(), number));
                    lines.push(core::iter::once(format!("{x}, paper")).chain(paper).collect());
                }
            }
            text += &lay_out(&lines);
        }
    }
    text + &ratios(evaluation, figure) + "\n"
}

/// Returns the ratios that the paper gives for a figure.
fn ratios(evaluation: &Evaluation, figure: Figure) -> String {
    let of_figure = Paper::get().ratio.iter().filter(|ratio| ratio.figure == figure.number());
    let mut lines = vec![["ratio", "bit", "MTU", "here", "paper"].map(str::to_owned).to_vec()];
    for ratio in of_figure.flat_map(|ratio| evaluation.ratios(ratio)) {
        lines.push(vec![
            format!("{} : {}", ratio.of, ratio.to),
            ratio.level.bits().to_string(),
            ratio.said.mtu.to_string(),
            range(&ratio.ours),
            range(&ratio.paper()),
        ]);
    }
    if lines.len() > 1 { lay_out(&lines) } else { String::new() }
}

/// Returns the sentences on what differs from the paper.
fn differences(part: Part) -> String {
    let of_part = DIFFERENCES.iter().filter(|difference| difference.parts.contains(&part));
    let mut text: String = of_part.map(|difference| format!("- {}\n", difference.text)).collect();
    text.push('\n');
    text
}

/// Says what a figure shows.
pub(super) const fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::Ideal => "milliseconds of a full handshake on an ideal network",
        Figure::Delay => "milliseconds of a full handshake, by the delay of each way in ms",
        Figure::Loss => "milliseconds of a full handshake, by loss in %",
        Figure::Rate => "milliseconds of a full handshake, by rate in kbit/s",
        Figure::Exchanges => "exchanges in a minute, by the delay of each way in ms",
    }
}

/// Formats a value of a figure.
pub(super) fn number(value: f64) -> String {
    format!("{value:.1}")
}

/// Formats a range.
pub(super) fn range(range: &Range) -> String {
    match (range.least, range.most) {
        (Some(least), Some(most)) if format!("{least:.2}") == format!("{most:.2}") => format!("{least:.2}"),
        (Some(least), Some(most)) => format!("{least:.2} to {most:.2}"),
        (Some(least), None) => format!("{least:.2} or more"),
        (None, Some(most)) => format!("to {most:.2}"),
        (None, None) => "-".into(),
    }
}
