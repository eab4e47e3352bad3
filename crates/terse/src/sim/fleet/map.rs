//! The map of a network: its motes, who is whose parent, and how long each took until it was connected.
//!
//! What must always hold: darker is later, so that the map can be read in grey; a mote that never was connected has a mark of its
//! own, and so has the root.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use terse_sim::scenario::fleet::{Device, Fleet};

use super::layout::Layout;
use crate::compare::report::Drawn;
use crate::sim::figure::{Area, style};

/// Draws the map of a network, at these places in metres from the root on, or as a tree around the root.
pub(super) fn drawn(fleet: &Fleet, places: Option<&[(f64, f64)]>) -> Drawn {
    let layout = Layout::new(fleet, places);
    let at = |mote: usize| {
        let (x, y) = layout.places.get(mote).copied().unwrap_or((0.5, 0.5));
        let on_map = |share: f64| MARGIN + (share * f64::from(SIDE)).round() as i32;
        (on_map(x), on_map(y))
    };
    let limits = limits(fleet);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (1000, (SIDE + 2 * MARGIN) as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        if layout.side.is_some() {
            let corners = [(MARGIN - 12, MARGIN - 12), (MARGIN + SIDE + 12, MARGIN + SIDE + 12)];
            area.draw(&Rectangle::new(corners, LINE.stroke_width(1)))?;
        }
        for walk in layout.walks() {
            let places: Vec<(i32, i32)> = walk.into_iter().map(at).collect();
            area.draw(&PathElement::new(places, LINE.stroke_width(1)))?;
        }
        let radius = radius(fleet.devices.len());
        for device in &fleet.devices {
            let place = at(device.mote.into());
            match device.connected {
                Some(_) => dot(&area, place, radius, COLOURS[colour(&limits, device)])?,
                None => cross(&area, place, radius.max(4))?,
            }
        }
        root(&area, at(0), radius + 3)?;
        if fleet.devices.len() <= MOST_LABELS {
            for mote in (0..layout.places.len()).skip(1) {
                let (x, y) = at(mote);
                area.draw_text(&mote.to_string(), &style(12, HPos::Left), (x + radius + 3, y - 6))?;
            }
        }
        legend(&area, fleet, &limits, &layout)?;
        area.present()?;
    }
    Ok(svg)
}

/// Returns the last second of each fifth of the devices that were connected.
fn limits(fleet: &Fleet) -> Vec<f64> {
    let times = fleet.curve(|device| device.connected);
    let fifths = COLOURS.len();
    let last = |number: usize| Some(times.get((times.len() * number).div_ceil(fifths).checked_sub(1)?)?.as_secs_f64());
    let mut limits: Vec<f64> = (1..=fifths).filter_map(last).collect();
    limits.dedup();
    limits
}

/// Returns the number of the colour of a device that was connected.
fn colour(limits: &[f64], device: &Device) -> usize {
    let seconds = device.connected.unwrap_or_default().as_secs_f64();
    let fifth = limits.iter().position(|limit| seconds <= *limit).unwrap_or(0);
    // Fewer limits than colours take the darkest ones too, so that the last devices always are dark.
    fifth * (COLOURS.len() - 1) / limits.len().saturating_sub(1).max(1)
}

fn legend(area: &Area<'_>, fleet: &Fleet, limits: &[f64], layout: &Layout) -> Result<(), Box<dyn core::error::Error>> {
    let (x, mut y) = (2 * MARGIN + SIDE + 24, MARGIN + 10);
    let text = |y: i32, text: &str| area.draw_text(text, &style(14, HPos::Left), (x + 18, y));
    root(area, (x, y), 7)?;
    text(y, "the root")?;
    y += STEP;
    area.draw(&PathElement::new([(x - 8, y), (x + 8, y)], LINE.stroke_width(2)))?;
    text(y, "from a mote to its parent")?;
    y += STEP + 10;
    area.draw_text("connected after, in seconds:", &style(14, HPos::Left), (x - 8, y))?;
    let mut from = None;
    for (number, limit) in limits.iter().enumerate() {
        y += STEP;
        let shade = number * (COLOURS.len() - 1) / (limits.len() - 1).max(1);
        dot(area, (x, y), 6, COLOURS[shade])?;
        let words = from.map_or_else(|| format!("to {limit:.0}"), |from| format!("{from:.0} to {limit:.0}"));
        text(y, &words)?;
        from = Some(limit);
    }
    y += STEP + 10;
    cross(area, (x, y), 5)?;
    text(y, &format!("never connected: {}", fleet.devices.len() - fleet.connected()))?;
    if let Some(side) = layout.side {
        y += STEP + 10;
        area.draw_text(&format!("{side:.0} m from side to side"), &style(14, HPos::Left), (x - 8, y))?;
    } else {
        y += STEP + 10;
        area.draw_text("rings: hops to the root", &style(14, HPos::Left), (x - 8, y))?;
    }
    Ok(())
}

fn dot(area: &Area<'_>, place: (i32, i32), radius: i32, colour: RGBColor) -> Result<(), Box<dyn core::error::Error>> {
    area.draw(&Circle::new(place, radius, colour.filled()))?;
    if radius > SMALL {
        area.draw(&Circle::new(place, radius, BLACK.stroke_width(1)))?;
    }
    Ok(())
}

fn cross(area: &Area<'_>, (x, y): (i32, i32), reach: i32) -> Result<(), Box<dyn core::error::Error>> {
    let style = NEVER.stroke_width(2);
    area.draw(&PathElement::new([(x - reach, y - reach), (x + reach, y + reach)], style))?;
    area.draw(&PathElement::new([(x - reach, y + reach), (x + reach, y - reach)], style))?;
    Ok(())
}

fn root(area: &Area<'_>, (x, y): (i32, i32), reach: i32) -> Result<(), Box<dyn core::error::Error>> {
    area.draw(&Rectangle::new([(x - reach, y - reach), (x + reach, y + reach)], WHITE.filled()))?;
    area.draw(&Rectangle::new([(x - reach, y - reach), (x + reach, y + reach)], BLACK.stroke_width(2)))?;
    area.draw(&Rectangle::new([(x - reach + 3, y - reach + 3), (x + reach - 3, y + reach - 3)], BLACK.filled()))?;
    Ok(())
}

/// Returns the radius of the dots of so many devices.
const fn radius(devices: usize) -> i32 {
    match devices {
        0..=50 => 7,
        51..=200 => 5,
        _ => SMALL,
    }
}

/// The radius of dots that have no outline: with one they would be dark all over, and the file large.
const SMALL: i32 = 3;

/// The most devices whose numbers stand beside them.
const MOST_LABELS: usize = 50;

/// The side of the map, and what is left free around it.
const SIDE: i32 = 680;
const MARGIN: i32 = 24;

/// The distance of the legend's lines.
const STEP: i32 = 26;

/// From the first devices to the last ones.
const COLOURS: [RGBColor; 5] = [
    RGBColor(161, 218, 180),
    RGBColor(65, 182, 196),
    RGBColor(44, 127, 184),
    RGBColor(37, 52, 148),
    RGBColor(10, 10, 50),
];
const LINE: RGBColor = RGBColor(190, 190, 190);
const NEVER: RGBColor = RGBColor(192, 0, 0);
