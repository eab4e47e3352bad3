//! Marks of curves: shape and colour of each way to connect.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use terse_sim::compare::itls::{Figure, Series};

use super::{Drawn, Outcome};

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The radius of a mark in pixels: of ours, and of the paper's.
pub(super) const OURS: i32 = 4;
pub(super) const PAPER: i32 = 7;

const SIZE: (u32, u32) = (1000, 30);

#[derive(Clone, Copy)]
enum Shape {
    Circle,
    Ring,
    Triangle,
    Plus,
    Square,
    Diamond,
}

/// Draws the marks of a figure's curves, with their names, and a mark of the paper.
pub(in crate::compare::itls) fn legend(figure: Figure) -> Drawn {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut left = 20;
        // Ratios are those of this curve to the others.
        let is_drawn = |series: &&Series| **series != Series::IdentityEarly;
        for series in figure.series().iter().filter(is_drawn) {
            area.draw(&PathElement::new([(left, 15), (left + 36, 15)], colour(*series).stroke_width(2)))?;
            mark(&area, *series, (left + 18, 15), OURS, colour(*series).filled())?;
            area.draw_text(series.name(), &text(14, HPos::Left), (left + 44, 15))?;
            left += 66 + 7 * series.name().len() as i32;
        }
        mark(&area, Series::Identity, (left + 18, 15), PAPER, BLACK.stroke_width(2))?;
        area.draw_text("the paper: hollow", &text(14, HPos::Left), (left + 34, 15))?;
        area.present()?;
    }
    Ok(svg)
}

/// Draws the mark of a curve around a place, with `radius` in pixels; filled or hollow, as `style` says.
pub(super) fn mark(area: &Area<'_>, series: Series, (x, y): (i32, i32), radius: i32, style: ShapeStyle) -> Outcome {
    let corners = |corners: &[(i32, i32)]| -> Vec<(i32, i32)> {
        corners.iter().map(|(right, down)| (x + right * radius, y + down * radius)).collect()
    };
    let outline = match shape(series) {
        Shape::Circle => return Ok(area.draw(&Circle::new((x, y), radius, style))?),
        Shape::Ring => {
            return Ok(area.draw(&Circle::new(
                (x, y),
                radius,
                ShapeStyle { filled: false, ..style }.stroke_width(2),
            ))?);
        }
        Shape::Plus => {
            area.draw(&PathElement::new([(x - radius, y), (x + radius, y)], style.stroke_width(2)))?;
            return Ok(area.draw(&PathElement::new([(x, y - radius), (x, y + radius)], style.stroke_width(2)))?);
        }
        Shape::Triangle => corners(&[(-1, 1), (1, 1), (0, -1), (-1, 1)]),
        Shape::Square => corners(&[(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]),
        Shape::Diamond => corners(&[(0, -1), (1, 0), (0, 1), (-1, 0), (0, -1)]),
    };
    match style.filled {
        true => area.draw(&Polygon::new(outline, style))?,
        false => area.draw(&PathElement::new(outline, style))?,
    }
    Ok(())
}

const fn shape(series: Series) -> Shape {
    match series {
        Series::Identity | Series::IdentityFirst | Series::IdentityEarly => Shape::Circle,
        Series::IdentityBls12381 | Series::IdentityBls12381Early => Shape::Ring,
        Series::Psk | Series::ResumedEarly => Shape::Triangle,
        Series::Compact => Shape::Plus,
        Series::Ecc => Shape::Square,
        Series::Rsa => Shape::Diamond,
    }
}

/// Returns the colour of a curve.
pub(super) const fn colour(series: Series) -> RGBColor {
    match series {
        Series::Identity | Series::IdentityFirst | Series::IdentityEarly => RGBColor(31, 78, 121),
        Series::IdentityBls12381 | Series::IdentityBls12381Early => RGBColor(91, 155, 213),
        Series::Psk | Series::ResumedEarly => RGBColor(84, 130, 53),
        Series::Compact => RGBColor(127, 96, 0),
        Series::Ecc => RGBColor(237, 125, 49),
        Series::Rsa => RGBColor(192, 0, 0),
    }
}

/// Returns the style of a text that stands around, or to the right of, its place.
pub(super) fn text(size: u32, horizontal: HPos) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&BLACK).pos(Pos::new(horizontal, VPos::Center))
}
