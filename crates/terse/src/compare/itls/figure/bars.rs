//! Figure 4: a bar for each way to connect, and one for each level where the levels differ.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use terse_sim::compare::itls::Figure;

use super::Drawn;
use super::marks::{colour, text};
use crate::compare::itls::Evaluation;
use crate::compare::itls::table::number;

const SIZE: (u32, u32) = (1000, 300);

/// Draws figure 4.
pub(in crate::compare::itls) fn bars(evaluation: &Evaluation) -> Drawn {
    let is_own = |point: terse_sim::compare::itls::Point| point.measured_as() == point;
    let of_figure = evaluation.points.iter().filter(|measured| measured.point.figure == Figure::Ideal);
    let bars: Vec<_> = of_figure.filter(|measured| is_own(measured.point)).collect();
    let highest = bars.iter().map(|bar| bar.value.mean).fold(0.001, f64::max);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(46)
            .y_label_area_size(66)
            .build_cartesian_2d(-0.2..bars.len() as f64, 0.0..highest * 1.15)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .y_desc(Figure::Ideal.unit())
            .axis_desc_style(text(14, HPos::Center))
            .label_style(text(13, HPos::Center))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .draw()?;
        for (place, bar) in bars.iter().enumerate() {
            let (left, value) = (place as f64, bar.value.mean);
            let rectangle = Rectangle::new([(left, 0.0), (left + 0.7, value)], colour(bar.point.series).filled());
            chart.draw_series([rectangle])?;
            let (x, top) = chart.plotting_area().map_coordinate(&(left + 0.35, value));
            let (_, bottom) = chart.plotting_area().map_coordinate(&(left, 0.0));
            area.draw_text(&number(value), &text(13, HPos::Center), (x, top - 9))?;
            area.draw_text(bar.point.series.name(), &text(13, HPos::Center), (x, bottom + 14))?;
            if bar.point.series.has_levels() {
                let level = format!("{} bit", bar.point.level.bits());
                area.draw_text(&level, &text(13, HPos::Center), (x, bottom + 32))?;
            }
        }
        area.present()?;
    }
    Ok(svg)
}
