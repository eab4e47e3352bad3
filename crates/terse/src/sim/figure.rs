//! The figures as SVG: boxes of distributions, curves, and the occupancy of packet buffers.
//!
//! What must always hold: a figure can be read in a print without colours.

use std::collections::BTreeSet;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use terse_sim::scenario::Statistics;

use crate::compare::report::{Drawn, PAPER};

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A box of a box plot.
#[derive(Clone, Debug)]
pub(super) struct Boxed {
    /// The lines below it.
    pub(super) names: Vec<String>,
    pub(super) values: Vec<f64>,
    /// The value of a paper, drawn beside.
    pub(super) paper: Option<f64>,
    /// Whether it is filled darkly, to tell two kinds of boxes apart.
    pub(super) is_dark: bool,
}

/// What stands at the axes of a box plot, and how wide it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes<'a> {
    /// What the values are.
    pub(super) unit: &'a str,
    /// What the boxes are, if their names do not say it.
    pub(super) across: &'a str,
    /// What has a value: "runs", "devices".
    pub(super) counted: &'a str,
    /// The width in pixels.
    pub(super) width: u32,
}

/// A curve.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    /// 0 to 3: the colour, and the shape of the marks.
    pub(super) style: usize,
    pub(super) is_dashed: bool,
}

/// Draws boxes of runs over the whole width.
pub(super) fn boxes(boxes: &[Boxed], unit: &str) -> Drawn {
    boxes_on(boxes, Axes { unit, across: "", counted: "runs", width: 1000 })
}

/// Draws boxes from the lower to the upper quartile with the median, whiskers (Tukey's), and each value outside of them.
pub(super) fn boxes_on(boxes: &[Boxed], axes: Axes<'_>) -> Drawn {
    let Axes { unit, across, counted, width: wide } = axes;
    let all = || boxes.iter().flat_map(|boxed| boxed.values.iter().copied().chain(boxed.paper));
    // A few values far away would make everything else flat: they are counted instead.
    let reach = boxes.iter().map(|boxed| {
        let (_, most) = Statistics::of(boxed.values.iter().copied()).whiskers(&boxed.values);
        most.max(boxed.paper.unwrap_or(0.0))
    });
    let highest = reach.fold(0.001_f64, f64::max) * 1.25;
    let beyond = all().filter(|value| *value > highest).count();
    let names = boxes.iter().map(|boxed| boxed.names.len()).max().unwrap_or(1) as u32;
    let lines = names + u32::from(!across.is_empty());
    let height = if wide < 1000 { 220 } else { 330 };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (wide, height + 17 * lines)).into_drawing_area();
        area.fill(&WHITE)?;
        let width = boxes.len().max(1) as f64;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(14 + 17 * lines)
            .y_label_area_size(74)
            .build_cartesian_2d(0.0..width, 0.0..highest)?;
        mesh(&mut chart, unit)?;
        for (place, boxed) in boxes.iter().enumerate() {
            draw_box(&area, &mut chart, place as f64 + 0.5, boxed, highest)?;
        }
        if beyond > 0 {
            let (right, top) = on_area(&chart, (width, highest));
            let text = format!("{beyond} {counted} are higher");
            area.draw_text(&text, &style(13, HPos::Right), (right - 6, top + 10))?;
        }
        let (x, y) = on_area(&chart, (width / 2.0, 0.0));
        if !across.is_empty() {
            area.draw_text(across, &style(13, HPos::Center), (x, y + 14 + 17 * names as i32))?;
        }
        area.present()?;
    }
    Ok(svg)
}

fn draw_box(
    area: &Area<'_>,
    chart: &mut Chart<'_, '_>,
    middle: f64,
    boxed: &Boxed,
    highest: f64,
) -> Result<(), Box<dyn core::error::Error>> {
    let statistics = Statistics::of(boxed.values.iter().copied());
    let (left, right) = (middle - WIDTH / 2.0, middle + WIDTH / 2.0);
    if statistics.count > 0 {
        let (least, most) = statistics.whiskers(&boxed.values);
        let Statistics { lower_quartile, median, upper_quartile, .. } = statistics;
        let fill = if boxed.is_dark { DARK } else { LIGHT };
        let line = BLACK.stroke_width(1);
        let across = |y: f64, share: f64| {
            let half = (right - left) / 2.0 * share;
            PathElement::new([(middle - half, y), (middle + half, y)], line)
        };
        chart.draw_series([
            PathElement::new([(middle, least), (middle, lower_quartile)], line),
            PathElement::new([(middle, upper_quartile), (middle, most)], line),
        ])?;
        chart.draw_series([across(least, 0.5), across(most, 0.5)])?;
        chart.draw_series([Rectangle::new([(left, lower_quartile), (right, upper_quartile)], fill.filled())])?;
        chart.draw_series([Rectangle::new([(left, lower_quartile), (right, upper_quartile)], line)])?;
        chart.draw_series([PathElement::new([(left, median), (right, median)], BLACK.stroke_width(3))])?;
        let outside = boxed.values.iter().filter(|value| !(least..=most).contains(*value) && **value <= highest);
        // Of many devices some stand at the same pixel.
        let places: BTreeSet<(i32, i32)> = outside.map(|value| on_area(chart, (middle, *value))).collect();
        for place in places {
            area.draw(&Circle::new(place, 2, line))?;
        }
    }
    if let Some(paper) = boxed.paper {
        let ends = [(left - 0.08, paper), (right + 0.08, paper)];
        chart.draw_series([PathElement::new(ends, PAPER.stroke_width(2))])?;
    }
    for (line, name) in boxed.names.iter().enumerate() {
        let (x, y) = on_area(chart, (middle, 0.0));
        area.draw_text(name, &style(13, HPos::Center), (x, y + 14 + 17 * line as i32))?;
    }
    Ok(())
}

/// Draws curves over an axis with these marks.
pub(super) fn curves(curves: &[Curve], ticks: &[f64], axis: &str, unit: &str) -> Drawn {
    let points = || curves.iter().flat_map(|curve| curve.points.iter());
    let highest = points().map(|(_, y)| *y).fold(0.001_f64, f64::max) * 1.1;
    let last = ticks.iter().copied().fold(0.001_f64, f64::max) * 1.05;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (1000, 400)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(50)
            .y_label_area_size(74)
            .build_cartesian_2d(0.0..last, 0.0..highest)?;
        mesh(&mut chart, unit)?;
        for tick in ticks {
            let (x, y) = on_area(&chart, (*tick, 0.0));
            area.draw_text(&tick.to_string(), &style(13, HPos::Center), (x, y + 14))?;
        }
        let (x, y) = on_area(&chart, (last / 2.0, 0.0));
        area.draw_text(axis, &style(14, HPos::Center), (x, y + 34))?;
        let (right, top) = on_area(&chart, (last, highest));
        for (number, curve) in curves.iter().enumerate() {
            let colour = COLOURS[curve.style % COLOURS.len()];
            let on_area: Vec<_> = curve.points.iter().map(|point| on_area(&chart, *point)).collect();
            for ends in on_area.windows(2) {
                line(&area, [ends[0], ends[1]], colour, curve.is_dashed)?;
            }
            for point in on_area {
                mark(&area, point, curve.style)?;
            }
            let down = top + 16 + 20 * number as i32;
            line(&area, [(right - 250, down), (right - 214, down)], colour, curve.is_dashed)?;
            mark(&area, (right - 232, down), curve.style)?;
            area.draw_text(&curve.name, &style(13, HPos::Left), (right - 204, down))?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// Draws how many packet buffers are in use after each allocation.
pub(super) fn pool(occupancy: &[u8], frames: u8) -> Drawn {
    let highest = f64::from(frames.max(occupancy.iter().copied().max().unwrap_or(0)));
    let last = occupancy.len().max(10) as f64;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (540, 240)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d(0.0..last, 0.0..highest)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_desc("calls of the allocator")
            .y_desc("buffers in use")
            .x_labels(8)
            .x_label_formatter(&|value| format!("{value:.0}"))
            .y_label_formatter(&|value| format!("{value:.0}"))
            .axis_desc_style(style(13, HPos::Center))
            .label_style(style(12, HPos::Center))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()?;
        let bars = occupancy.iter().enumerate().map(|(place, used)| {
            let left = place as f64;
            Rectangle::new([(left, 0.0), (left + 1.0, f64::from(*used))], DARK.filled())
        });
        chart.draw_series(bars)?;
        area.present()?;
    }
    Ok(svg)
}

fn mesh(chart: &mut Chart<'_, '_>, unit: &str) -> Result<(), Box<dyn core::error::Error>> {
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_desc(unit)
        .y_label_formatter(&|value| rounded(*value))
        .axis_desc_style(style(14, HPos::Center))
        .label_style(style(13, HPos::Center))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .draw()?;
    Ok(())
}

/// Returns a number of an axis, without the digits that sums of fractions have.
pub(super) fn rounded(value: f64) -> String {
    ((value * 1e4).round() / 1e4).to_string()
}

/// Draws a line between two places, or dashes.
fn line(
    area: &Area<'_>,
    [from, to]: [(i32, i32); 2],
    colour: RGBColor,
    is_dashed: bool,
) -> Result<(), Box<dyn core::error::Error>> {
    let (across, down) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
    let length = across.hypot(down);
    let (dash, step) = if is_dashed { (6.0, 11.0) } else { (length, length.max(1.0)) };
    let at = |distance: f64| {
        let share = (distance / length.max(1.0)).min(1.0);
        (from.0 + (across * share).round() as i32, from.1 + (down * share).round() as i32)
    };
    let mut begin = 0.0;
    while begin < length {
        area.draw(&PathElement::new([at(begin), at(begin + dash)], colour.stroke_width(2)))?;
        begin += step;
    }
    Ok(())
}

/// Draws the mark of a curve: circle, square, triangle or ring.
pub(super) fn mark(area: &Area<'_>, (x, y): (i32, i32), kind: usize) -> Result<(), Box<dyn core::error::Error>> {
    let colour = COLOURS[kind % COLOURS.len()];
    match kind % COLOURS.len() {
        0 => area.draw(&Circle::new((x, y), 4, colour.filled()))?,
        1 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], colour.filled()))?,
        2 => area.draw(&Polygon::new(vec![(x - 5, y + 4), (x + 5, y + 4), (x, y - 5)], colour.filled()))?,
        _ => area.draw(&Circle::new((x, y), 4, colour.stroke_width(2)))?,
    }
    Ok(())
}

pub(super) fn on_area(chart: &Chart<'_, '_>, at: (f64, f64)) -> (i32, i32) {
    chart.plotting_area().map_coordinate(&at)
}

pub(super) fn style(size: u32, horizontal: HPos) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&BLACK).pos(Pos::new(horizontal, VPos::Center))
}

/// The width of a box, of the space that it has.
const WIDTH: f64 = 0.46;

pub(super) const DARK: RGBColor = RGBColor(91, 155, 213);
const LIGHT: RGBColor = RGBColor(221, 235, 247);
pub(super) const COLOURS: [RGBColor; 4] =
    [RGBColor(31, 78, 121), RGBColor(237, 125, 49), RGBColor(84, 130, 53), RGBColor(127, 96, 0)];
