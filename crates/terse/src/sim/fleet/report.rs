//! Whole networks in the report: the table, how devices came back, what it took of them, and maps.
//!
//! What must always hold: the table is about all runs, every figure about the first run of its row, and the page says so.

use maud::{Markup, html};
use terse_sim::scenario::EventKind;
use terse_sim::scenario::fleet::{Device, Fleet};

use super::chart::{self, ShareCurve};
use super::{Places, days, handshake, map, table};
use crate::compare::report::drawn;
use crate::sim::figure::{self, Axes, Boxed};
use crate::sim::measure::Measured;
use crate::sim::report::described;

/// Returns the part of the report that is about these rows.
pub(in crate::sim) fn section(measured: &[&Measured], places: &Places<'_>) -> Markup {
    let first: Vec<(&Measured, &Fleet)> =
        measured.iter().filter_map(|measured| Some((*measured, measured.fleets().next()?))).collect();
    html! {
        h2 { "Whole networks" }
        p class="lead" {
            "Every mote is a device that connects to a server. This part shows how long it took until all of them were connected \
             after " (events(&first)) ", and what it took of the air and of batteries."
        }
        (numbers(measured))
        @if !first.is_empty() {
            h2 { "How devices came back" }
            p { "In the first run of each row: the share of devices that were connected, over the time since the event." }
            @for rows in first.chunks(MOST_CURVES) { (connected(rows)) }
            h2 { "What a device took" }
            p {
                "Over the devices in the first run of each row: how long the handshake took that connected them, and the frames \
                 with their packets until then, each hop and repetition."
            }
            @for rows in first.chunks(MOST_BOXES) {
                (over_devices(rows, "seconds of the handshake", handshake))
                (over_devices(rows, "kB on the air", |device| Some(device.bytes as f64 / 1e3)))
            }
            p class="note" {
                "A box has half of the devices; the thick line is the median. Whiskers reach to the outermost devices within one \
                 and a half times the height of the box, and circles are devices beyond."
            }
            @for (measured, fleet) in &first { (row(measured, fleet, places(measured).as_deref())) }
        }
    }
}

/// Returns what happened to these networks, in words.
fn events(rows: &[(&Measured, &Fleet)]) -> String {
    let name = |kind| match kind {
        EventKind::PowerCut => "power returned to everything at the same time",
        EventKind::ServerRestart => "the server began anew and had lost all connections",
        EventKind::Renewal => "every device had to get a new certificate",
        EventKind::LinkFade => "links got worse for a while",
    };
    let mut names: Vec<&str> = rows.iter().map(|(_, fleet)| name(fleet.event)).collect();
    names.dedup();
    if names.is_empty() { "the event of the row".into() } else { names.join(", or ") }
}

/// Returns the table, as the terminal has it.
fn numbers(measured: &[&Measured]) -> Markup {
    let columns = table::columns(measured);
    html! {
        table class="numbers fleets" {
            tr { th scope="col" { "" } @for column in &columns { th scope="col" { (column.name) } } }
            @for measured in measured {
                tr {
                    th scope="row" { (measured.row.name) }
                    @if measured.fleets().next().is_some() {
                        @for column in &columns { td { (column.cell(measured)) } }
                    } @else {
                        td colspan=(columns.len()) { (measured.failure.as_deref().unwrap_or("could not be run")) }
                    }
                }
            }
        }
        p class="note" { (table::NOTE) }
    }
}

/// Returns the curves of connected devices of all these rows.
fn connected(rows: &[(&Measured, &Fleet)]) -> Markup {
    let curves: Vec<ShareCurve> = rows
        .iter()
        .map(|(measured, fleet)| {
            let (connected, devices) = (fleet.connected(), fleet.devices.len());
            let missing = if connected < devices { format!(" ({connected} of {devices})") } else { String::new() };
            let name = format!("{}{missing}", measured.row.name);
            ShareCurve { name, times: fleet.curve(|device| device.connected), devices }
        })
        .collect();
    html! { figure { (drawn(chart::shares(&curves, WIDE), &of_curves(&curves))) } }
}

/// Describes curves by when they reach their half and their end.
fn of_curves(curves: &[ShareCurve]) -> String {
    let of_curve = |curve: &ShareCurve| {
        let at = |time: Option<&core::time::Duration>| {
            time.map_or("never".to_owned(), |time| format!("after {:.0} s", time.as_secs_f64()))
        };
        let half = curve.devices.div_ceil(2).checked_sub(1).and_then(|place| curve.times.get(place));
        let (number, last) = (curve.times.len(), curve.times.last());
        format!("{}: half {}, {number} of {} {}", curve.name, at(half), curve.devices, at(last))
    };
    let curves: Vec<String> = curves.iter().map(of_curve).collect();
    format!("Curves of the share of devices over time: {}", curves.join("; "))
}

/// Returns boxes of a quantity over the devices of each row.
fn over_devices(rows: &[(&Measured, &Fleet)], unit: &str, of: impl Fn(&Device) -> Option<f64> + Copy) -> Markup {
    let boxed = |(measured, fleet): &(&Measured, &Fleet)| Boxed {
        names: measured.row.name.split(", ").map(str::to_owned).collect(),
        values: fleet.devices.iter().filter_map(of).collect(),
        paper: None,
        is_dark: true,
    };
    // After links have faded, devices whose connection has outlived it have no handshake.
    let boxes: Vec<Boxed> = rows.iter().map(boxed).filter(|boxed| !boxed.values.is_empty()).collect();
    html! { (box_plot("", &boxes, Axes { unit, across: "", counted: "devices", width: WIDE })) }
}

/// Returns the figures of a row: curves, what devices took by hop, and the map.
fn row(measured: &Measured, fleet: &Fleet, places: Option<&[(f64, f64)]>) -> Markup {
    let name = &measured.row.name;
    let curve = |name: &str, of: fn(&Device) -> Option<core::time::Duration>| ShareCurve {
        name: name.into(),
        times: fleet.curve(of),
        devices: fleet.devices.len(),
    };
    let curves = [
        curve("synchronised", |device| device.synchronised),
        curve("joined", |device| device.joined),
        curve("connected", |device| device.connected),
    ];
    let curves: Vec<ShareCurve> = curves.into_iter().filter(|curve| !curve.times.is_empty()).collect();
    let charge = by_hop(fleet, |device| device.charge);
    let (peaks, batteries) = (peaks(fleet), by_hop(fleet, days));
    let frames = measured.row.scenario.pool.frames;
    let of_root = match measured.row.scenario.pool.root_frames {
        0 => frames,
        own => own,
    };
    let buffers =
        format!("The most packet buffers that motes had in use, of {frames}; 0 hops: the root, of its {of_root}");
    let axes = |unit, counted| Axes { unit, across: "hops to the root", counted, width: NARROW };
    html! {
        h2 { (name) }
        p {
            "The first run: " (fleet.connected()) " of " (fleet.devices.len()) " devices were connected "
            (format!("within {:.0} s.", fleet.measured.as_secs_f64()))
        }
        div class="grid" {
            figure {
                figcaption { "Devices that were synchronised, joined and connected" }
                (drawn(chart::shares(&curves, NARROW), &format!("{name}: {}", of_curves(&curves))))
            }
            (box_plot("The charge of a device until it was connected", &charge, axes("mC", "devices")))
            (box_plot(&buffers, &peaks, axes("buffers", "motes")))
            (box_plot("How long batteries last while the network is observed", &batteries, axes("days", "devices")))
        }
        figure {
            figcaption { "The network, and how long each device took until it was connected" }
            (drawn(map::drawn(fleet, places), &of_map(name, fleet)))
        }
    }
}

/// Describes a map.
fn of_map(name: &str, fleet: &Fleet) -> String {
    let hops = fleet.statistics(|device| device.hops.map(f64::from));
    format!(
        "Map of the network, {name}: {} devices up to {:.0} hops from the root; {} were never connected",
        fleet.devices.len(),
        hops.greatest,
        fleet.devices.len() - fleet.connected(),
    )
}

/// Returns a box for each number of hops to the root.
fn by_hop(fleet: &Fleet, of: impl Fn(&Device) -> Option<f64>) -> Vec<Boxed> {
    let most = fleet.devices.iter().filter_map(|device| device.hops).max().unwrap_or(0);
    let values = |hops| {
        let there = fleet.devices.iter().filter(move |device| device.hops == Some(hops));
        there.filter_map(&of).collect::<Vec<f64>>()
    };
    let boxes = (1..=most).map(|hops| boxed(hops, values(hops)));
    boxes.collect::<Vec<_>>().into_iter().filter(|boxed| !boxed.values.is_empty()).collect()
}

/// Returns the peaks of packet buffers by hop; the root is at zero hops.
fn peaks(fleet: &Fleet) -> Vec<Boxed> {
    let peak = |mote: u16| fleet.pools.get(usize::from(mote)).map(|peak| f64::from(*peak));
    let mut boxes: Vec<Boxed> = peak(0).map(|peak| boxed(0, vec![peak])).into_iter().collect();
    boxes.extend(by_hop(fleet, |device| peak(device.mote)));
    boxes
}

fn boxed(hops: u8, values: Vec<f64>) -> Boxed {
    Boxed { names: vec![hops.to_string()], values, paper: None, is_dark: true }
}

/// Returns a figure of boxes, or nothing if there are none.
fn box_plot(caption: &str, boxes: &[Boxed], axes: Axes<'_>) -> Markup {
    let unit = if axes.across.is_empty() { axes.unit.to_owned() } else { format!("{} by {}", axes.unit, axes.across) };
    html! {
        @if !boxes.is_empty() {
            figure {
                @if !caption.is_empty() { figcaption { (caption) } }
                (drawn(figure::boxes_on(boxes, axes), &described(boxes, &unit)))
            }
        }
    }
}

/// The widths of figures over the whole page, and of two beside each other.
const WIDE: u32 = 1000;
const NARROW: u32 = 440;

/// The most curves in a figure: four colours, without dashes and with them.
const MOST_CURVES: usize = 8;

/// The most boxes in a figure.
const MOST_BOXES: usize = 8;
