//! Figure 11 of the paper on TLS over 6TiSCH: the slots of the motes on the client's way to the root, those of a tunnel among them.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use terse_sim::scenario::{Outcome, ScheduledCell};
use terse_sim::tsch::{CellKind, NEGOTIATED};

use super::figure::style;
use crate::compare::report::Drawn;

/// Draws the slotframe of each mote, from the client down to the root: a cell for sending fills the upper half of its slot, one for
/// receiving the lower half.
pub(super) fn drawn(outcome: &Outcome, slots: u16) -> Drawn {
    let mut motes: Vec<u16> = outcome.schedule.iter().map(|cell| cell.mote).collect();
    motes.dedup(); // the cells of a mote stand together
    let (left, top, line) = (96, 34, 46);
    let height = top + line * motes.len() as i32 + 52;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (1000, height as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        let place = |slot: u16| left + (i32::from(slot) * 890) / i32::from(slots.max(1));
        for (row, mote) in motes.iter().enumerate() {
            let (y, grey) = (top + line * row as i32, RGBColor(190, 190, 190));
            let name = match (row, *mote) {
                (_, 0) => "root".to_owned(),
                (0, mote) => format!("client ({mote})"),
                (_, mote) => format!("mote {mote}"),
            };
            area.draw_text(&name, &style(13, HPos::Right), (left - 8, y + 16))?;
            area.draw(&Rectangle::new([(left, y), (place(slots), y + 32)], grey.stroke_width(1)))?;
            for ScheduledCell { cell, is_of_tunnel, .. } in outcome.schedule.iter().filter(|cell| cell.mote == *mote) {
                let (from, to) = match cell.kind {
                    CellKind::Tx => (y + 1, y + 16),
                    CellKind::Rx => (y + 16, y + 31),
                    CellKind::Shared => (y + 1, y + 31),
                };
                let colour = match (is_of_tunnel, cell.slotframe) {
                    (true, _) => TUNNEL,
                    (false, NEGOTIATED) => OWN,
                    (false, _) => OTHER,
                };
                let ends = [(place(cell.slot), from), (place(cell.slot + 1) - 1, to)];
                area.draw(&Rectangle::new(ends, colour.filled()))?;
            }
        }
        let below = top + line * motes.len() as i32;
        for slot in (0..slots).step_by(10) {
            area.draw_text(&slot.to_string(), &style(12, HPos::Center), (place(slot) + 4, below - 2))?;
        }
        let legend =
            [(TUNNEL, "of the tunnel"), (OWN, "other negotiated cells"), (OTHER, "minimal and autonomous cells")];
        for (number, (colour, text)) in legend.into_iter().enumerate() {
            let x = left + 230 * number as i32;
            area.draw(&Rectangle::new([(x, below + 22), (x + 14, below + 36)], colour.filled()))?;
            area.draw_text(text, &style(13, HPos::Left), (x + 22, below + 29))?;
        }
        area.draw_text("slot", &style(13, HPos::Right), (left - 8, below - 2))?;
        area.draw_text("upper half: sends; lower half: receives", &style(12, HPos::Left), (left, 16))?;
        area.present()?;
    }
    Ok(svg)
}

const TUNNEL: RGBColor = RGBColor(20, 40, 70);
const OWN: RGBColor = RGBColor(91, 155, 213);
const OTHER: RGBColor = RGBColor(205, 205, 205);
