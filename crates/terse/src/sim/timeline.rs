//! The slots of one handshake: each frame that the motes on the client's way sent, over time.
//!
//! What must always hold: the way of a frame, a repetition and a loss can be told in a print without colours.

use maud::{Markup, html};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use terse_sim::ledger::Kind;
use terse_sim::link::Direction;
use terse_sim::scenario::{MOST_FRAMES, Timeline, TimelineFrame};

use super::figure::{Area, style};
use super::measure::Measured;
use crate::compare::report::{Drawn, drawn as figure};

/// Returns the timelines of the first runs.
pub(super) fn section(measured: &[&Measured]) -> Markup {
    let first = |measured: &&Measured| Some((measured.row.name.clone(), measured.outcomes.first()?.timeline.clone()));
    let has_frames = |(_, timeline): &(String, Timeline)| timeline.frames.iter().any(|frame| frame.is_of_handshake);
    let shown: Vec<(String, Timeline)> = measured.iter().filter_map(first).filter(has_frames).take(MOST_ROWS).collect();
    html! {
        @if !shown.is_empty() {
            h2 { "Frame by frame" }
            p {
                "The first run of each row" @if measured.len() > shown.len() { ", of the first " (shown.len()) " rows" }
                ": every frame of the handshake on its way between the client and the root, without acknowledgements of the MAC."
            }
            @for (name, timeline) in &shown {
                figure {
                    figcaption { b { (name) } }
                    (figure(drawn(timeline), &described(name, timeline)))
                    @if timeline.frames.len() == MOST_FRAMES {
                        figcaption { "Only the first " (MOST_FRAMES) " frames are shown." }
                    }
                }
            }
        }
    }
}

/// Describes a timeline by its numbers.
fn described(name: &str, timeline: &Timeline) -> String {
    let count = |is_counted: &dyn Fn(&TimelineFrame) -> bool| {
        timeline.frames.iter().filter(|frame| frame.is_of_handshake && is_counted(frame)).count()
    };
    format!(
        "Timeline of a handshake, {name}: {} frames to the root and {} from it, of which {} are repetitions by the MAC and {} were \
         lost",
        count(&|frame| frame.direction == Direction::Up),
        count(&|frame| frame.direction == Direction::Down),
        count(&|frame| frame.attempt > 0),
        count(&|frame| !frame.has_arrived),
    )
}

/// Draws a lane for each mote, the root at the top: frames to the root stand above the line of the mote that sent them, frames from
/// it below, and those of the network itself on it.
fn drawn(timeline: &Timeline) -> Drawn {
    let mut motes: Vec<u16> = timeline.motes.iter().rev().copied().collect();
    // A mote that became a part of the way later has a lane, too.
    for frame in &timeline.frames {
        if !motes.contains(&frame.sender) {
            motes.push(frame.sender);
        }
    }
    let client = timeline.motes.first();
    let last = timeline.frames.iter().map(|frame| frame.at.as_secs_f64()).fold(0.001, f64::max) * 1.02;
    let below = TOP + LANE * motes.len() as i32;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (1000, (below + 92) as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        let x = |seconds: f64| LEFT + (seconds / last * f64::from(RIGHT - LEFT)).round() as i32;
        let step = step(last);
        for number in 0..=(last / step) as usize {
            let seconds = number as f64 * step;
            area.draw(&PathElement::new([(x(seconds), TOP), (x(seconds), below)], GRID.stroke_width(1)))?;
            let text = if step < 1.0 { format!("{seconds:.1}") } else { format!("{seconds:.0}") };
            area.draw_text(&text, &style(13, HPos::Center), (x(seconds), below + 12))?;
        }
        area.draw_text("seconds", &style(13, HPos::Right), (LEFT - 22, below + 12))?;
        for (row, mote) in motes.iter().enumerate() {
            let y = TOP + LANE * row as i32 + LANE / 2;
            let name = match *mote {
                0 => "root".to_owned(),
                mote if Some(&mote) == client => format!("client ({mote})"),
                mote => format!("mote {mote}"),
            };
            area.draw_text(&name, &style(13, HPos::Right), (LEFT - 8, y))?;
            area.draw(&PathElement::new([(LEFT, y), (RIGHT, y)], LINE.stroke_width(1)))?;
        }
        // Those of the network are behind the others.
        for is_of_handshake in [false, true] {
            for frame in timeline.frames.iter().filter(|frame| frame.is_of_handshake == is_of_handshake) {
                let row = motes.iter().position(|mote| *mote == frame.sender).unwrap_or(0) as i32;
                draw_frame(&area, (x(frame.at.as_secs_f64()), TOP + LANE * row + LANE / 2), frame)?;
            }
        }
        legend(&area, below + 44)?;
        area.present()?;
    }
    Ok(svg)
}

/// Draws a frame on the line of its mote: long if it was sent for the first time, short if the MAC sent it again, and with a cross
/// at its end if it was lost.
fn draw_frame(area: &Area<'_>, (x, y): (i32, i32), frame: &TimelineFrame) -> Result<(), Box<dyn core::error::Error>> {
    if !frame.is_of_handshake {
        area.draw(&PathElement::new([(x, y - 5), (x, y + 5)], NETWORK.stroke_width(2)))?;
        return Ok(());
    }
    let (colour, up) = match frame.direction {
        Direction::Up => (UP, -1),
        Direction::Down => (DOWN, 1),
    };
    let end = y + up * if frame.attempt == 0 { LONG } else { SHORT };
    area.draw(&PathElement::new([(x, y + up), (x, end)], colour.stroke_width(2)))?;
    if !frame.has_arrived {
        let cross = [[(x - 3, end - 3), (x + 3, end + 3)], [(x - 3, end + 3), (x + 3, end - 3)]];
        for line in cross {
            area.draw(&PathElement::new(line, LOST.stroke_width(2)))?;
        }
    }
    Ok(())
}

fn legend(area: &Area<'_>, y: i32) -> Result<(), Box<dyn core::error::Error>> {
    let frame = |direction, attempt, has_arrived, is_of_handshake| TimelineFrame {
        at: core::time::Duration::ZERO,
        sender: 0,
        direction,
        kind: Kind::Data,
        attempt,
        has_arrived,
        bytes: 0,
        is_of_handshake,
    };
    let entries = [
        (frame(Direction::Up, 0, true, true), "to the root", 0),
        (frame(Direction::Down, 0, true, true), "from the root", 120),
        (frame(Direction::Up, 1, true, true), "short: sent again by the MAC", 256),
        (frame(Direction::Up, 0, false, true), "cross: lost", 484),
        (frame(Direction::Up, 0, true, false), "of the network itself", 600),
    ];
    for (frame, text, along) in entries {
        let x = LEFT + along;
        area.draw(&PathElement::new([(x - 8, y), (x + 8, y)], LINE.stroke_width(1)))?;
        draw_frame(area, (x, y), &frame)?;
        area.draw_text(text, &style(13, HPos::Left), (x + 16, y))?;
    }
    Ok(())
}

/// Returns the distance of the marks of an axis that ends here: ten of them or fewer.
fn step(last: f64) -> f64 {
    let mut power = 0.1;
    loop {
        for factor in [1.0, 2.0, 5.0] {
            if last / (power * factor) <= MOST_MARKS {
                return power * factor;
            }
        }
        power *= 10.0;
    }
}

/// The most rows whose timelines are drawn.
const MOST_ROWS: usize = 6;

/// The most marks of the axis of times.
const MOST_MARKS: f64 = 12.0;

/// Where the lanes begin and end, and how high each is.
const LEFT: i32 = 96;
const RIGHT: i32 = 985;
const TOP: i32 = 8;
const LANE: i32 = 54;

/// The lengths of a frame, and of one that was sent again.
const LONG: i32 = 20;
const SHORT: i32 = 10;

const UP: RGBColor = RGBColor(31, 78, 121);
const DOWN: RGBColor = RGBColor(217, 95, 2);
const LOST: RGBColor = RGBColor(192, 0, 0);
const NETWORK: RGBColor = RGBColor(120, 120, 120);
const LINE: RGBColor = RGBColor(190, 190, 190);
const GRID: RGBColor = RGBColor(228, 228, 228);

#[cfg(test)]
mod tests;
