//! The answers: what a scenario of a whole network follows from.
//!
//! What must always hold: an answer that was read is one that the scenario can have, beside those before it.

use core::ops::RangeInclusive;

use terse_sim::compare::{Mode, Version};
use terse_sim::scenario::EventKind;

/// All answers.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    /// The number of devices.
    pub(super) devices: u64,
    /// How the devices stand.
    pub(super) place: Place,
    /// The length of a slot in milliseconds.
    pub(super) slot_ms: u64,
    /// The percentage of frames that a link loses, or `None` if it follows from distances.
    pub(super) loss: Option<f64>,
    /// Who makes the schedule.
    pub(super) schedule: Schedule,
    /// What happens.
    pub(super) event: EventKind,
    /// The seconds between two reports of a device; 0 for none.
    pub(super) report_every: u64,
    /// The bytes of a report.
    pub(super) report_bytes: u64,
    /// The handshakes to compare, a row each.
    pub(super) handshakes: Vec<Handshake>,
    /// The number of runs of each row.
    pub(super) repetitions: u64,
    /// The seconds over which devices spread their handshakes.
    pub(super) spread: u64,
}

/// How devices stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// In a tree that is filled level by level.
    Tree {
        /// The most hops from a device to the root.
        hops: u64,
        /// The number of children of each mote.
        branching: u64,
    },
    /// At random in a square.
    Field {
        /// The side of the square in metres.
        side: f64,
    },
    /// On the points of a square grid.
    Grid {
        /// The distance between neighbours in metres.
        spacing: f64,
    },
}

/// Who makes the schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Schedule {
    /// MSF: the network forms itself.
    Msf,
    /// It is fixed, and the mote with the most cells is awake for this percentage of slots.
    Fixed {
        /// The duty cycle in percent.
        duty_cycle: f64,
    },
}

/// A handshake to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handshake {
    pub(super) version: Version,
    pub(super) mode: Mode,
}

impl Handshake {
    /// Returns the name of its row.
    pub(super) fn name(self) -> String {
        format!("{} {}", self.version, self.mode)
    }
}

/// Reads a whole number.
pub(super) fn integer(text: &str, what: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let number = text.replace('_', "").parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("{text:?} is no {what}: a whole number from {} to {}", range.start(), range.end()))
}

/// Reads a number that may have a fraction. A percent sign or a unit is not wanted.
pub(super) fn number(text: &str, what: &str, range: RangeInclusive<f64>) -> Result<f64, String> {
    let number = text.replace('_', "").parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("{text:?} is no {what}: a number from {} to {}", range.start(), range.end()))
}

/// Reads one of some names.
pub(super) fn one_of<T: Copy>(text: &str, what: &str, names: &[(&str, T)]) -> Result<T, String> {
    let found = names.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    let all = || names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.map(|(_, value)| *value).ok_or_else(|| format!("{text:?} is no {what}: one of {}", all()))
}

/// Reads how many percent of the frames are lost; `None` stands for a loss that follows from distances.
pub(super) fn loss(text: &str, has_distances: bool) -> Result<Option<f64>, String> {
    if has_distances && text.eq_ignore_ascii_case(BY_DISTANCE) {
        return Ok(None);
    }
    let or = if has_distances { format!(", or {BY_DISTANCE}") } else { String::new() };
    number(text, "loss", 0.0..=MOST_LOSS).map(Some).map_err(|mistake| mistake + &or)
}

/// Returns the handshakes to compare by default after an event.
pub(super) const fn default_handshakes(event: EventKind) -> &'static str {
    match event {
        EventKind::Renewal => "full-1.2, full, compact, resumed",
        _ => HANDSHAKES,
    }
}

/// Reads a list of handshakes, which must have certificates if those are what is renewed.
pub(super) fn handshakes_after(event: EventKind, text: &str) -> Result<Vec<Handshake>, String> {
    let found = handshakes(text)?;
    match found.iter().find(|handshake| event == EventKind::Renewal && !handshake.mode.has_certificates()) {
        Some(Handshake { mode, .. }) => Err(format!(
            "{mode} has no certificates that could be renewed: a list such as {:?}",
            default_handshakes(event)
        )),
        None => Ok(found),
    }
}

/// Reads a list of handshakes, such as `full, full-1.2`: modes of DTLS 1.3, and with `-1.2` of DTLS 1.2.
pub(super) fn handshakes(text: &str) -> Result<Vec<Handshake>, String> {
    let mut found: Vec<Handshake> = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let (mode, version) = match name.strip_suffix("-1.2") {
            Some(mode) => (mode, Version::Dtls12),
            None => (name, Version::Dtls13),
        };
        let known = Mode::ALL.into_iter().find(|known| known.name() == mode && known.exists_in(version));
        let Some(mode) = known else {
            let names = |version| {
                Mode::ALL.into_iter().filter(move |mode| mode.exists_in(version)).map(Mode::name).collect::<Vec<_>>()
            };
            let (newer, older) = (names(Version::Dtls13).join(", "), names(Version::Dtls12).join("-1.2, "));
            return Err(format!("{name:?} is no handshake: one of {newer}; and of DTLS 1.2 {older}-1.2"));
        };
        let handshake = Handshake { version, mode };
        if found.contains(&handshake) {
            return Err(format!("{name:?} is there twice: each handshake once"));
        }
        found.push(handshake);
    }
    if found.is_empty() {
        return Err(format!("there is nothing to compare: a list such as {HANDSHAKES:?}"));
    }
    Ok(found)
}

/// Returns the tree with the least number of children of each mote that has this depth.
pub(super) fn tree(devices: u64, hops: u64) -> Result<Place, String> {
    let branching = (1..=MOST_CHILDREN).find(|branching| depth(devices, *branching) <= hops);
    match branching {
        Some(branching) if depth(devices, branching) == hops => Ok(Place::Tree { hops, branching }),
        _ => {
            let there_are = depths(devices).iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            Err(format!(
                "{devices} devices make no full tree of {hops} hops with {MOST_CHILDREN} children at most: {there_are}"
            ))
        }
    }
}

/// Returns the depths that trees of so many devices can have, in rising order.
pub(super) fn depths(devices: u64) -> Vec<u64> {
    let mut depths: Vec<u64> = (1..=MOST_CHILDREN).map(|branching| depth(devices, branching)).collect();
    depths.retain(|hops| *hops <= MOST_HOPS);
    depths.dedup();
    depths.reverse();
    depths
}

/// Returns how many hops the last device of a tree is from the root.
fn depth(devices: u64, branching: u64) -> u64 {
    let (mut level, mut room, mut hops) = (1, 0, 0);
    while room < devices {
        level *= branching;
        (room, hops) = (room + level, hops + 1);
    }
    hops
}

/// The events and their names.
pub(super) const EVENTS: [(&str, EventKind); 4] = [
    ("power-cut", EventKind::PowerCut),
    ("server-restart", EventKind::ServerRestart),
    ("renewal", EventKind::Renewal),
    ("link-fade", EventKind::LinkFade),
];

/// The handshakes to compare by default.
pub(super) const HANDSHAKES: &str = "full-1.2, full, compact, identity, resumed";

/// What stands for a loss that follows from distances.
pub(super) const BY_DISTANCE: &str = "distance";

/// The most devices.
pub(super) const MOST_DEVICES: u64 = 1_000;

/// The most that a link loses, in percent: with more the MAC gives frames up.
const MOST_LOSS: f64 = 50.0;

/// The most hops.
pub(super) const MOST_HOPS: u64 = 16;

/// The most children of a mote.
const MOST_CHILDREN: u64 = 100;
