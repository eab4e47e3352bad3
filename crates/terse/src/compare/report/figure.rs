//! The figures of the report, as SVG.

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use terse_sim::compare::{Mode, Row, paper};

/// A layer's name, its colour, and its bytes in a row.
type Layer = (&'static str, RGBColor, fn(&Row) -> usize);

/// Layers from the bottom of a bar to its top.
pub(super) const LAYERS: [Layer; 5] = [
    ("TLS handshake", RGBColor(31, 78, 121), |row| row.bytes.tls),
    ("two messages, tickets, close", RGBColor(91, 155, 213), |row| row.bytes.application),
    ("TCP or UDP", RGBColor(237, 125, 49), |row| row.bytes.transport),
    ("IP", RGBColor(255, 192, 0), |row| row.bytes.network),
    ("link", RGBColor(165, 165, 165), |row| row.bytes.link),
];

/// The colour of a paper's values.
pub(crate) const PAPER: RGBColor = RGBColor(192, 0, 0);

const BAR: f64 = 0.72;
const SIZE: (u32, u32) = (1000, 420);

/// The most bars whose names fit beside each other; more of them stand upright, in a space of this height.
const MOST_ACROSS: usize = 10;
const NAMES: u32 = 88;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
pub(crate) type Drawn = Result<String, Box<dyn core::error::Error>>;

/// Draws the bytes on all layers: a bar for each row, with a gap between MTUs. A paper's value is drawn beside.
pub(super) fn layers(rows: &[&Row]) -> Drawn {
    let highest = rows.iter().map(|row| row.bytes.total).max().unwrap_or(1).max(1);
    let highest =
        rows.iter().filter_map(|row| paper_range(rows, row)).map(|(_, most)| most).fold(highest as f64, f64::max);
    draw(
        rows,
        highest * 1.14,
        "bytes",
        |value| format!("{:.0}", value),
        |chart, row, left| {
            let mut bottom = 0.0;
            for (_, colour, bytes) in LAYERS {
                let top = bottom + bytes(row) as f64;
                chart.draw_series([Rectangle::new([(left, bottom), (left + BAR, top)], colour.filled())])?;
                bottom = top;
            }
            label(chart, left, bottom, &thousands(row.bytes.total))?;
            if let Some((least, most)) = paper_range(rows, row) {
                let x = left + BAR + 0.1;
                let ends = [least, most].map(|y| PathElement::new([(x - 0.1, y), (x + 0.1, y)], PAPER.stroke_width(3)));
                chart.draw_series(ends)?;
                chart.draw_series([PathElement::new([(x, least), (x, most)], PAPER.stroke_width(2))])?;
            }
            Ok(())
        },
    )
}

/// Draws the time until the client was connected.
pub(super) fn times(rows: &[&Row]) -> Drawn {
    let longest = rows.iter().map(|row| row.runs.p95_connected_ms).fold(0.001, f64::max);
    let (unit, per_unit) = if longest >= 10_000.0 { ("seconds", 1e3) } else { ("milliseconds", 1.0) };
    let highest = longest / per_unit;
    draw(
        rows,
        highest * 1.14,
        unit,
        |value| format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        |chart, row, left| {
            let (median, most) = (row.runs.median_connected_ms / per_unit, row.runs.p95_connected_ms / per_unit);
            chart.draw_series([Rectangle::new([(left, 0.0), (left + BAR, median)], LAYERS[0].1.filled())])?;
            let x = left + BAR / 2.0;
            if most > median {
                chart.draw_series([PathElement::new([(x, median), (x, most)], BLACK.stroke_width(1))])?;
                chart.draw_series([PathElement::new([(x - 0.1, most), (x + 0.1, most)], BLACK.stroke_width(1))])?;
            }
            label(chart, left, most, &format!("{median:.1}"))
        },
    )
}

/// Returns the paper's value in bytes: given, or its share of the full handshake that was measured here.
fn paper_range(rows: &[&Row], row: &Row) -> Option<(f64, f64)> {
    if row.certificates != paper::CERTIFICATES {
        return None;
    }
    let value = paper::value(row.version, row.mode, row.mtu)?;
    if let Some(bytes) = value.bytes {
        return Some((bytes, bytes));
    }
    let full = rows.iter().find(|full| full.mode == Mode::Full && full.mtu == row.mtu)?.bytes.total as f64;
    let (least, most) = value.saved;
    let least = if least == 0.0 { most } else { least }; // "up to" has no lower end
    Some((full * (1.0 - most / 100.0), full * (1.0 - least / 100.0)))
}

fn draw(
    rows: &[&Row],
    highest: f64,
    unit: &str,
    tick: impl Fn(f64) -> String,
    bar: impl Fn(&mut Chart<'_, '_>, &Row, f64) -> Result<(), Box<dyn core::error::Error>>,
) -> Drawn {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let places = places(rows);
        let turned = rows.len() > MOST_ACROSS;
        let width = places.last().map_or(1.0, |last| last + 1.3);
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .x_label_area_size(if turned { NAMES + 30 } else { 44 })
            .y_label_area_size(70)
            .build_cartesian_2d(-0.3..width, 0.0..highest)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .y_desc(unit)
            .y_label_formatter(&|value| tick(*value))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()?;
        for (row, left) in rows.iter().zip(&places) {
            bar(&mut chart, row, *left)?;
            let name = if turned { upwards(13) } else { centred(13) };
            below(&area, &chart, (*left + BAR / 2.0, 14), row.mode.name(), &name)?;
        }
        for group in rows.iter().zip(&places).collect::<Vec<_>>().chunk_by(|(a, _), (b, _)| a.mtu == b.mtu) {
            if let [(first, from), ..] = group
                && let Some((_, to)) = group.last()
            {
                let down = if turned { NAMES as i32 + 18 } else { 32 };
                let middle = (*from + **to + BAR) / 2.0;
                below(&area, &chart, (middle, down), &format!("MTU {} B", first.mtu), &centred(13))?;
            }
        }
        area.present()?;
    }
    Ok(svg)
}

/// Returns the left edge of each bar.
fn places(rows: &[&Row]) -> Vec<f64> {
    let mut left = -1.0;
    let mut mtu = rows.first().map(|row| row.mtu);
    let place = |row: &&Row| {
        left += if mtu == Some(row.mtu) { 1.0 } else { 1.7 };
        mtu = Some(row.mtu);
        left
    };
    rows.iter().map(place).collect()
}

/// Draws text above a bar.
fn label(chart: &mut Chart<'_, '_>, left: f64, top: f64, text: &str) -> Result<(), Box<dyn core::error::Error>> {
    let (x, y) = chart.plotting_area().map_coordinate(&(left + BAR / 2.0, top));
    let area = chart.plotting_area().strip_coord_spec();
    let (base_x, base_y) = area.get_base_pixel();
    area.draw_text(text, &centred(13), (x - base_x, y - base_y - 14))?;
    Ok(())
}

/// Draws text below the axis.
fn below(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    chart: &Chart<'_, '_>,
    (x, down): (f64, i32),
    text: &str,
    style: &TextStyle<'_>,
) -> Result<(), Box<dyn core::error::Error>> {
    let (x, y) = chart.plotting_area().map_coordinate(&(x, 0.0));
    area.draw_text(text, style, (x, y + down - 6))?;
    Ok(())
}

fn centred(size: u32) -> TextStyle<'static> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    TextStyle::from(("sans-serif", size).into_font()).color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top))
}

/// The style of names that stand upright below their bars.
fn upwards(size: u32) -> TextStyle<'static> {
    use plotters::style::text_anchor::{HPos, Pos, VPos};
    let style = TextStyle::from(("sans-serif", size).into_font().transform(FontTransform::Rotate270)).color(&BLACK);
    style.pos(Pos::new(HPos::Right, VPos::Center))
}

/// Formats 12345 as `12,345`.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
