//! The Pister-hack model: a signal is as strong as in free space (Friis) or weaker by up to 40 dB, all losses alike.
//!
//! Numbers and procedure are the 6TiSCH Simulator's (SimEngine/Connectivity.py: `PisterHackModel`, `ConnectivityMatrixRandom`;
//! SimEngine/Mote/radio.py; bin/config.json): 2.4 GHz, 0 dBm, no antenna gain; nodes are placed at random in a square of 2 km,
//! the first one, the root, in its corner, again until three placed ones hear them half of the time.
//!
//! What must always hold: a loss is a function of the seed, the two nodes and the number of the draw that placed the second one
//! (each draw is of a place and of new losses, as there), the same both ways and on all channels.

use core::fmt;

use super::Connectivity;
use super::interference::{NOISE, rounded, rssi_to_delivery};
use crate::chance::{Chance, Purpose};

/// The options of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PisterHack {
    /// The side of the square, in metres.
    pub side: f64,
    /// The power of a transmitter and the gain of both antennas, in dBm.
    pub power: f64,
    /// The greatest loss beyond that of free space, in dB.
    pub greatest_loss: f64,
    /// So many neighbours must a node have when it is placed; fewer if there are not so many nodes yet.
    pub least_neighbours: usize,
    /// A neighbour hears at least this share of frames.
    pub least_delivery: f64,
    /// And it hears them at least with this strength, in dBm.
    pub least_rssi: f64,
    /// Where the first node stands.
    pub root: RootPlace,
}

/// Where the root of a network stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RootPlace {
    /// In the lower left corner.
    #[default]
    Corner,
    /// In the middle.
    Centre,
}

/// A place in the square, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// To the right.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// The number of the draw that placed the node; 0 for a place that somebody chose. The losses to nodes of lower numbers depend
    /// on it.
    pub draw: u64,
}

/// No place was found for a node: the square is too large for so many neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPlace {
    /// The number of the node.
    pub node: u16,
}

impl PisterHack {
    /// The 6TiSCH Simulator's options.
    pub const SIXTISCH_SIMULATOR: Self = Self {
        side: 2_000.0,
        power: 0.0,
        greatest_loss: 40.0,
        least_neighbours: 3,
        least_delivery: 0.5,
        least_rssi: NOISE,
        root: RootPlace::Corner,
    };

    /// Places nodes, of which the first one is the root.
    pub fn place(&self, nodes: u16, seed: u64) -> Result<Vec<Position>, NoPlace> {
        let chance = Chance::new(seed);
        let mut placed = Vec::with_capacity(nodes.into());
        for node in 0..nodes {
            let tried = (1..=MOST_TRIES).map(|draw| {
                let share = |axis| chance.share(Purpose::Position, node.into(), 2 * draw + axis);
                Position { x: self.side * share(0), y: self.side * share(1), draw }
            });
            let root = (node == 0).then(|| self.root_position());
            let found = root.or_else(|| tried.into_iter().find(|place| self.fits(&placed, node, *place, seed)));
            placed.push(found.ok_or(NoPlace { node })?);
        }
        Ok(placed)
    }

    /// Returns the strength in dBm with which two nodes at these places hear each other.
    pub fn rssi(&self, (a, at): (u16, Position), (b, place): (u16, Position), seed: u64) -> f64 {
        let distance = ((at.x - place.x).powi(2) + (at.y - place.y).powi(2)).sqrt();
        let friis = 20.0 * (SPEED_OF_LIGHT / (4.0 * core::f64::consts::PI * distance.max(NEAREST) * FREQUENCY)).log10();
        let pair = u64::from(a.min(b)) << 16 | u64::from(a.max(b));
        let draw = if a < b { place.draw } else { at.draw };
        let loss = self.greatest_loss * Chance::new(seed).share(Purpose::PathLoss, pair, draw);
        rounded(self.power + friis - loss)
    }

    /// Returns who hears whom. Signals below the noise are left out.
    pub fn connectivity(&self, places: &[Position], seed: u64) -> Connectivity {
        let mut radio = Connectivity::new();
        for (b, at_b) in (0..).zip(places) {
            for (a, at_a) in (0..b).zip(places) {
                let rssi = self.rssi((a, *at_a), (b, *at_b), seed);
                if rssi > NOISE {
                    let delivery = rssi_to_delivery(rssi);
                    radio.set_with_rssi(a, b, None, delivery, Some(rssi));
                    radio.set_with_rssi(b, a, None, delivery, Some(rssi));
                }
            }
        }
        radio
    }

    fn root_position(&self) -> Position {
        match self.root {
            RootPlace::Corner => Position::default(),
            RootPlace::Centre => Position { x: self.side / 2.0, y: self.side / 2.0, draw: 0 },
        }
    }

    fn fits(&self, placed: &[Position], node: u16, place: Position, seed: u64) -> bool {
        let wanted = self.least_neighbours.min(placed.len());
        let hears = |(other, at): (u16, &Position)| {
            let rssi = self.rssi((other, *at), (node, place), seed);
            rssi >= self.least_rssi && rssi_to_delivery(rssi) >= self.least_delivery
        };
        (0..).zip(placed).filter(|other| hears(*other)).take(wanted).count() == wanted
    }
}

impl fmt::Display for NoPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no place was found for node {} in {MOST_TRIES} tries", self.node)
    }
}

impl core::error::Error for NoPlace {}

/// In m/s.
const SPEED_OF_LIGHT: f64 = 299_792_458.0;
/// In Hz.
const FREQUENCY: f64 = 2.4e9;
/// In metres: two nodes at one place are as if they were so far from each other, rather than infinitely loud.
const NEAREST: f64 = 0.1;
/// The first few nodes need all placed ones as neighbours, which in a square of 2 km is one draw in some 100,000.
const MOST_TRIES: u64 = 1_000_000;

#[cfg(test)]
mod tests;
