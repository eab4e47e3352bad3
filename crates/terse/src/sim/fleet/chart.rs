//! Curves of the share of devices over time.
//!
//! What must always hold: a curve is one line however many devices there are, and marks and dashes tell curves apart in a print
//! without colours.

use core::time::Duration;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::compare::report::Drawn;
use crate::sim::figure::{Area, COLOURS, mark, on_area, rounded, style};

/// The share of devices of which something is true, over time.
#[derive(Clone, Debug)]
pub(super) struct ShareCurve {
    pub(super) name: String,
    /// When it became true of each device, in order.
    pub(super) times: Vec<Duration>,
    /// All devices, those of which it never became true included.
    pub(super) devices: usize,
}

/// Draws curves since the event, in a figure of this width. The first four are solid, the others have dashes.
pub(super) fn shares(curves: &[ShareCurve], width: u32) -> Drawn {
    let last = curves.iter().filter_map(|curve| curve.times.last()).max().copied().unwrap_or_default();
    let last = last.as_secs_f64().max(0.001) * 1.04;
    let height = if width < 1000 { 300 } else { 420 };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..last, 0.0..104.0_f64)?;
        chart
            .configure_mesh()
            .x_desc("seconds since the event")
            .y_desc("% of devices")
            .x_labels(if width < 1000 { 6 } else { 12 })
            .y_labels(6)
            .x_label_formatter(&|value| rounded(*value))
            .y_label_formatter(&|value| format!("{value:.0}"))
            .axis_desc_style(style(14, HPos::Center))
            .label_style(style(13, HPos::Center))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()?;
        let (right, bottom) = on_area(&chart, (last, 0.0));
        for (number, curve) in curves.iter().enumerate() {
            let steps: Vec<(i32, i32)> = curve.steps(last).into_iter().map(|step| on_area(&chart, step)).collect();
            let colour = COLOURS[number % COLOURS.len()];
            let is_dashed = number >= COLOURS.len();
            draw_line(&area, &steps, colour, is_dashed)?;
            for share in MARKED {
                if let Some(time) = curve.reaches(share) {
                    mark(&area, on_area(&chart, (time, share)), number)?;
                }
            }
            let down = bottom - 14 - 20 * (curves.len() - number - 1) as i32;
            let wide = 30 + 7 * curves.iter().map(|curve| curve.name.chars().count()).max().unwrap_or(0) as i32;
            let left = right - wide.min(right - 70) - 30;
            draw_line(&area, &[(left, down), (left + 36, down)], colour, is_dashed)?;
            mark(&area, (left + 18, down), number)?;
            area.draw_text(&curve.name, &style(13, HPos::Left), (left + 44, down))?;
        }
        area.present()?;
    }
    Ok(svg)
}

impl ShareCurve {
    /// Returns the corners of the curve up to this time: seconds, and percent of the devices.
    fn steps(&self, last: f64) -> Vec<(f64, f64)> {
        let percent = |number: usize| 100.0 * number as f64 / self.devices.max(1) as f64;
        let mut corners = vec![(0.0, 0.0)];
        for (number, time) in self.times.iter().enumerate() {
            let seconds = time.as_secs_f64();
            corners.extend([(seconds, percent(number)), (seconds, percent(number + 1))]);
        }
        corners.push((last, percent(self.times.len())));
        corners
    }

    /// Returns the second at which this percentage of the devices is reached.
    fn reaches(&self, percent: f64) -> Option<f64> {
        let wanted = (percent / 100.0 * self.devices as f64).ceil() as usize;
        self.times.get(wanted.checked_sub(1)?).map(Duration::as_secs_f64)
    }
}

/// Draws a line through these places, or dashes along it. Places that lie on the way between two others are left out.
fn draw_line(
    area: &Area<'_>,
    places: &[(i32, i32)],
    colour: RGBColor,
    is_dashed: bool,
) -> Result<(), Box<dyn core::error::Error>> {
    let mut corners: Vec<(i32, i32)> = Vec::new();
    for place in places {
        let goes_on = |a: i32, b: i32, c: i32| (a == b && b == c, (a..=c).contains(&b) || (c..=a).contains(&b));
        if let [.., before, last] = corners[..] {
            let (across, down) = (goes_on(before.0, last.0, place.0), goes_on(before.1, last.1, place.1));
            if across.0 && down.1 || down.0 && across.1 {
                corners.pop();
            }
        }
        if corners.last() != Some(place) {
            corners.push(*place);
        }
    }
    let lines = if is_dashed { dashes(&corners) } else { vec![corners] };
    for line in lines {
        area.draw(&PathElement::new(line, colour.stroke_width(2)))?;
    }
    Ok(())
}

/// Cuts a line into dashes.
fn dashes(corners: &[(i32, i32)]) -> Vec<Vec<(i32, i32)>> {
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    let mut travelled = 0.0;
    for ends in corners.windows(2) {
        let [from, to] = [ends[0], ends[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let mut done = 0.0;
        while done < length {
            let phase: f64 = travelled % (DASH + GAP);
            let is_drawn = phase < DASH;
            let left = if is_drawn { DASH - phase } else { DASH + GAP - phase };
            let step = left.min(length - done).max(0.001);
            let at = |distance: f64| {
                let share = distance / length;
                ((from.0 + (to.0 - from.0) * share).round() as i32, (from.1 + (to.1 - from.1) * share).round() as i32)
            };
            if is_drawn {
                if line.is_empty() {
                    line.push(at(done));
                }
                line.push(at(done + step));
            } else if !line.is_empty() {
                lines.push(core::mem::take(&mut line));
            }
            (done, travelled) = (done + step, travelled + step);
        }
    }
    lines.extend((!line.is_empty()).then_some(line));
    lines
}

/// The percentages at which a curve has a mark.
const MARKED: [f64; 6] = [10.0, 30.0, 50.0, 70.0, 90.0, 100.0];

/// The length of a dash, and that of the gap after it, in pixels.
const DASH: f64 = 7.0;
const GAP: f64 = 5.0;
