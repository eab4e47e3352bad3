//! The figures as SVG: a curve for each way to connect, and the paper's values as marks.
//!
//! What must always hold: a curve is known by the shape of its marks, so that a print in black and white can be read; a
//! value of the paper is a large hollow mark of the shape of its curve.

use core::error::Error;

use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use terse_sim::compare::itls::{Figure, Paper, Point, SecurityLevel, Series};

use super::{Evaluation, Measured};

mod bars;
mod marks;

pub(super) use bars::bars;
pub(super) use marks::legend;
use marks::{Area, colour, mark, text};

type Drawn = Result<String, Box<dyn Error>>;
type Outcome = Result<(), Box<dyn Error>>;
type Chart<'a, 'b, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, Y>>;

const SIZE: (u32, u32) = (540, 380);

/// How far apart the paper's marks stand at one place, in pixels, so that none hides another.
const APART: i32 = 11;

/// The greatest ratio in the drawings of figure 8: that of the paper, and some room.
const RATIOS: f64 = 4.5;

/// One drawing of a figure: at one level and MTU.
#[derive(Clone, Copy)]
struct Sheet<'e> {
    evaluation: &'e Evaluation,
    figure: Figure,
    level: SecurityLevel,
    mtu: usize,
}

/// Draws the curves of a figure at one level and MTU. All drawings of a figure have the same axes.
///
/// Figures 5 to 7 have times on a logarithmic axis; a network that takes no time is in figure 4. Figure 8 has the exchanges
/// of `identity-0rtt` as a multiple of those of each other way to connect, as in the paper.
pub(super) fn curves(evaluation: &Evaluation, figure: Figure, level: SecurityLevel, mtu: usize) -> Drawn {
    let sheet = Sheet { evaluation, figure, level, mtu };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let last = sheet.xs().count() as f64 - 1.0;
        let mut builder = ChartBuilder::on(&area);
        builder.margin(12).x_label_area_size(46).y_label_area_size(66);
        if figure == Figure::Exchanges {
            let mut chart = builder.build_cartesian_2d(-0.3..last + 1.5, 0.0..RATIOS)?;
            sheet.axes(&area, &mut chart, 0.0, "identity-0rtt : other")?;
            sheet.ratios(&area, &mut chart)?;
        } else {
            let (least, most) = range(evaluation, figure);
            let mut chart = builder.build_cartesian_2d(-0.3..last + 0.5, (least..most).log_scale())?;
            sheet.axes(&area, &mut chart, least, figure.unit())?;
            sheet.times(&area, &mut chart)?;
        }
        area.present()?;
    }
    Ok(svg)
}

impl Sheet<'_> {
    /// Returns the values of the abscissa that are drawn, each with its place.
    fn xs(self) -> impl Iterator<Item = (f64, f64)> {
        let drawn = self.figure.xs().iter().filter(|x| **x > 0.0);
        drawn.enumerate().map(|(place, x)| (place as f64, *x))
    }

    fn measured(&self, x: f64, series: Series) -> Option<&Measured> {
        self.evaluation.value(&Point { figure: self.figure, level: self.level, mtu: self.mtu, x, series })
    }

    /// Draws the axes, with the values of the abscissa and its unit.
    fn axes<Y>(self, area: &Area<'_>, chart: &mut Chart<'_, '_, Y>, least: f64, unit: &str) -> Outcome
    where
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        // Lines between those that have numbers help on a logarithmic axis only.
        let light = if self.figure == Figure::Exchanges { WHITE } else { RGBColor(240, 240, 240) };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_desc(unit)
            .axis_desc_style(text(14, HPos::Center))
            .y_label_formatter(&|value| format!("{value}"))
            .label_style(text(13, HPos::Center))
            .light_line_style(light)
            .bold_line_style(RGBColor(215, 215, 215))
            .draw()?;
        for (place, x) in self.xs() {
            let (right, down) = on_area(chart, (place, least));
            area.draw_text(&x.to_string(), &text(13, HPos::Center), (right, down + 12))?;
        }
        let name = match self.figure {
            Figure::Ideal | Figure::Delay | Figure::Exchanges => "delay of each way",
            Figure::Loss => "loss",
            Figure::Rate => "rate",
        };
        let (right, down) = on_area(chart, ((self.xs().count() as f64 - 1.0) / 2.0, least));
        area.draw_text(&format!("{name}, {}", self.figure.x_unit()), &text(14, HPos::Center), (right, down + 34))?;
        Ok(())
    }

    /// Draws a curve through `points`, with its marks.
    fn curve<Y>(area: &Area<'_>, chart: &mut Chart<'_, '_, Y>, series: Series, points: &[(f64, f64)]) -> Outcome
    where
        Y: Ranged<ValueType = f64>,
    {
        chart.draw_series([PathElement::new(points.to_vec(), colour(series).stroke_width(2))])?;
        points.iter().try_for_each(|at| mark(area, series, on_area(chart, *at), marks::OURS, colour(series).filled()))
    }

    /// Draws times, their standard errors, and the paper's values.
    fn times<Y: Ranged<ValueType = f64>>(self, area: &Area<'_>, chart: &mut Chart<'_, '_, Y>) -> Outcome {
        // The first curves are the ones that matter most: they are drawn last, over the others.
        for series in self.figure.series().iter().rev() {
            let value = |(place, x)| self.measured(x, *series).map(|measured| (place, measured.value));
            let values: Vec<_> = self.xs().filter_map(value).filter(|(_, value)| value.mean > 0.0).collect();
            for (place, value) in &values {
                let error = value.standard_error.unwrap_or(0.0);
                // What is below the axis cannot be drawn over a logarithmic scale.
                let ends = [(value.mean - error).max(value.mean / 10.0), value.mean + error].map(|end| (*place, end));
                chart.draw_series([PathElement::new(ends.to_vec(), colour(*series).stroke_width(1))])?;
            }
            let points: Vec<_> = values.iter().map(|(place, value)| (*place, value.mean)).collect();
            Self::curve(area, chart, *series, &points)?;
        }
        for (place, x) in self.xs() {
            let of_paper = [Series::Identity, Series::Psk, Series::Ecc, Series::Rsa].into_iter();
            let of_paper = of_paper.filter_map(|series| Some((series, self.measured(x, series)?.paper?)));
            for (number, (series, milliseconds)) in of_paper.enumerate() {
                let (right, down) = on_area(chart, (place, milliseconds));
                let right = right + APART * (2 * number as i32 - 3) / 2;
                mark(area, series, (right, down), marks::PAPER, BLACK.stroke_width(2))?;
            }
        }
        Ok(())
    }

    /// Draws the ratios of exchanges, and the ranges that the paper gives for all delays together, beside.
    fn ratios<Y: Ranged<ValueType = f64>>(self, area: &Area<'_>, chart: &mut Chart<'_, '_, Y>) -> Outcome {
        for series in self.figure.series().iter().rev().filter(|series| **series != Series::IdentityEarly) {
            let value = |x, series| Some(self.measured(x, series)?.value.mean);
            let points =
                self.xs().filter_map(|(place, x)| Some((place, value(x, Series::IdentityEarly)? / value(x, *series)?)));
            Self::curve(area, chart, *series, &points.collect::<Vec<_>>())?;
        }
        let last = self.xs().count() as f64 - 1.0;
        let said =
            Paper::get().ratio.iter().filter(|ratio| ratio.figure == self.figure.number() && ratio.mtu == self.mtu);
        for (number, ratio) in said.enumerate() {
            let is_meant = |series: &&Series| series.name_in_paper() == Some(&*ratio.to);
            let Some(series) = self.figure.series().iter().find(is_meant) else { continue };
            let place = last + 0.5 + 0.4 * number as f64;
            // "At least" and "at most" are drawn as a short line away from the mark.
            let (least, most) = match (ratio.least, ratio.most) {
                (Some(least), Some(most)) => (least, most),
                (Some(least), None) => (least, least + 0.4),
                (None, Some(most)) => (most - 0.4, most),
                (None, None) => continue,
            };
            chart.draw_series([PathElement::new([(place, least), (place, most)], BLACK.stroke_width(2))])?;
            for end in [ratio.least, ratio.most].into_iter().flatten() {
                mark(area, *series, on_area(chart, (place, end)), marks::PAPER, BLACK.stroke_width(2))?;
            }
        }
        Ok(())
    }
}

/// Returns the least and the greatest value of a figure, here or in the paper, with some room.
fn range(evaluation: &Evaluation, figure: Figure) -> (f64, f64) {
    let drawn = evaluation.points.iter().filter(|measured| measured.point.figure == figure && measured.point.x > 0.0);
    let values = drawn.flat_map(|measured| core::iter::once(measured.value.mean).chain(measured.paper));
    let values = values.filter(|value| *value > 0.0);
    let (least, most) = values.fold((f64::MAX, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    if least < most { (least / 1.6, most * 1.6) } else { (1.0, 10.0) }
}

fn on_area<Y: Ranged<ValueType = f64>>(chart: &Chart<'_, '_, Y>, at: (f64, f64)) -> (i32, i32) {
    chart.plotting_area().map_coordinate(&at)
}
