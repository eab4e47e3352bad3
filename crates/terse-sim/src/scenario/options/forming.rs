//! How a network forms itself, and what its nodes use.

use core::time::Duration;

use super::Contradiction;
use crate::energy::Models;
use crate::rpl::{DodagConfiguration, RplOptions, TrickleParameters};
use crate::scenario::visit::{Named, Visitor, choice, field, milliseconds, small};
use crate::sixtop::{MsfOptions, PidOptions};
use crate::synchronization::KeepAliveOptions;
use crate::tsch::{BeaconOptions, FormationOptions, Function};

/// How a network forms itself.
#[derive(Clone, Debug, PartialEq)]
pub struct FormingOptions {
    /// The scheduling function; [`FormingFunction::None`] is a network with a static schedule.
    pub function: FormingFunction,
    /// Where MSF's constants come from.
    pub profile: MsfProfile,
    /// Whether MSF adds and deletes cells as the traffic wants.
    pub adapts: bool,
    /// The slots of each of the three slotframes.
    pub slotframe: u16,
    /// Of so many cells on each hop, each way, is the tunnel that the client opens before it connects; 0 for none.
    pub tunnel_cells: u8,
    /// When motes send beacons.
    pub beacons: BeaconOptions,
    /// After so long without a word from its time source a mote sends a keep-alive.
    pub keep_alive: Duration,
    /// After so long it has lost the network.
    pub desynchronised: Duration,
    /// By how much clocks differ from the root's at most, in parts per million.
    pub drift_ppm: u16,
    /// Beacons and DIOs that are weaker are ignored, in dBm.
    pub least_rssi: f64,
    /// RPL's Trickle timer.
    pub trickle: TrickleParameters,
    /// For so long the network stands, once it is formed, before the client may begin.
    pub standing: Duration,
    /// The virtual time after which a network that is not formed has failed.
    pub limit: Duration,
}

/// A scheduling function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormingFunction {
    /// None: the schedule and the routes of the scenario.
    None,
    /// MSF (RFC 9033).
    Msf,
    /// A PID controller for the number of cells to the parent.
    Pid,
}

/// Where MSF's constants come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MsfProfile {
    /// RFC 9033, 14.
    Rfc9033,
    /// OpenWSN.
    OpenWsn,
}

/// What motes use of their batteries.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyOptions {
    /// The radio, of `energy.toml`; `none` if energy is not counted.
    pub radio: String,
    /// The processor, of `energy.toml`; `none` if its computing is not counted.
    pub processor: String,
    /// The capacity of a battery.
    pub battery_mah: f64,
}

impl Named for FormingFunction {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::None, "none"), (Self::Msf, "msf"), (Self::Pid, "pid")];
}

impl Named for MsfProfile {
    const NAMES: &'static [(Self, &'static str)] = &[(Self::Rfc9033, "rfc9033"), (Self::OpenWsn, "openwsn")];
}

impl MsfProfile {
    const fn options(self) -> MsfOptions {
        match self {
            Self::Rfc9033 => MsfOptions::RFC_9033,
            Self::OpenWsn => MsfOptions::OPENWSN,
        }
    }
}

impl Default for FormingOptions {
    fn default() -> Self {
        let standard = FormationOptions::rfc_9033();
        Self {
            function: FormingFunction::None,
            profile: MsfProfile::Rfc9033,
            adapts: true,
            slotframe: 101,
            tunnel_cells: 0,
            beacons: standard.beacons,
            keep_alive: Duration::from_secs(10),
            desynchronised: Duration::from_millis(17_500),
            drift_ppm: 0,
            least_rssi: -90.0,
            trickle: TrickleParameters::SIXTISCH_SIMULATOR,
            standing: Duration::from_secs(60),
            limit: Duration::from_secs(4 * 3_600),
        }
    }
}

impl FormingOptions {
    /// Whether the network forms itself.
    pub fn is_on(&self) -> bool {
        self.function != FormingFunction::None
    }

    /// Returns the options of the mesh, whose slots are so long; none for a static schedule.
    pub(in crate::scenario) fn formation(&self, slot: Duration) -> Option<FormationOptions> {
        let msf = MsfOptions { adapts: self.adapts, ..self.profile.options() };
        let function = match self.function {
            FormingFunction::None => return None,
            FormingFunction::Msf => Function::Msf(msf),
            FormingFunction::Pid => Function::Pid(PidOptions { msf, ..PidOptions::DEFAULT }),
        };
        let slots = |time: Duration| u64::try_from(time.as_nanos() / slot.as_nanos().max(1)).unwrap_or(u64::MAX).max(1);
        let (period, timeout) = (slots(self.keep_alive), slots(self.desynchronised));
        let standard = FormationOptions::rfc_9033();
        let dodag = DodagConfiguration { trickle: self.trickle, ..RplOptions::SIXTISCH.dodag };
        Some(FormationOptions {
            function,
            beacons: self.beacons,
            keep_alive: KeepAliveOptions { period, timeout, retry: slots(Duration::from_secs(1)) },
            greatest_drift_ppm: self.drift_ppm,
            least_rssi: Some(self.least_rssi),
            rpl: RplOptions { dodag, ..standard.rpl },
            ..standard
        })
    }

    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        choice(visitor, field("function", "scheduling function", ""), &mut self.function);
        if choice(visitor, field("profile", "profile of MSF", ""), &mut self.profile) {
            self.adapts = self.profile.options().adapts;
        }
        visitor.flag(field("adapts", "flag", ""), &mut self.adapts);
        small(visitor, field("slotframe", "length of a slotframe", "slots"), &mut self.slotframe, 8..=10_007);
        small(visitor, field("tunnel_cells", "number of cells", "cells"), &mut self.tunnel_cells, 0..=8);
        let minimal = |key| field(key, "number of minimal cells", "cells");
        small(visitor, minimal("beacon_one_in"), &mut self.beacons.one_in, 1..=10_000);
        small(visitor, minimal("beacon_one_in_per_mote"), &mut self.beacons.one_in_per_node, 0..=10_000);
        let time = |key| field(key, "time", "milliseconds");
        milliseconds(visitor, time("keep_alive_ms"), &mut self.keep_alive, 100.0..=3_600_000.0);
        milliseconds(visitor, time("desynchronised_ms"), &mut self.desynchronised, 200.0..=7_200_000.0);
        small(visitor, field("drift_ppm", "drift", "parts per million"), &mut self.drift_ppm, 0..=1_000);
        visitor.number(field("least_rssi_dbm", "strength", "dBm"), &mut self.least_rssi, -200.0..=0.0);
        let exponent = field("dio_interval_min", "logarithm of milliseconds", "");
        small(visitor, exponent, &mut self.trickle.interval_min, 3..=20);
        small(visitor, field("dio_interval_doublings", "number", ""), &mut self.trickle.doublings, 0..=20);
        small(visitor, field("dio_redundancy", "number", ""), &mut self.trickle.redundancy, 0..=255);
        milliseconds(visitor, time("standing_ms"), &mut self.standing, 10_000.0..=864_000_000.0);
        milliseconds(visitor, time("limit_ms"), &mut self.limit, 1_000.0..=864_000_000.0);
    }

    /// Checks what contradicts itself, with slots that are so long.
    pub(super) fn check(&self, slot: Duration, found: &mut Vec<Contradiction>) {
        let slotframe = slot * u32::from(self.slotframe);
        let longest = self.trickle.interval_min.saturating_add(self.trickle.doublings).min(32);
        if self.is_on() && u128::from(1_u64 << longest) < 4 * slotframe.as_millis() {
            let text = format!(
                "DIOs every {} ms at least would take all minimal cells, one in {} ms: raise dio_interval_doublings, or shorten the \
                 slotframe",
                1_u64 << longest,
                slotframe.as_millis(),
            );
            found.push(("forming.dio_interval_min", text));
        }
        // A keep-alive waits for a cell, and once more if it is lost.
        let answered = self.keep_alive.saturating_add(2 * slotframe);
        if answered >= self.desynchronised {
            let [answered, lost] = [answered, self.desynchronised].map(|time| time.as_millis());
            let text = format!(
                "with two slotframes it is {answered}, and motes lose the network after desynchronised_ms: {lost}"
            );
            found.push(("forming.keep_alive_ms", text));
        }
        // Both ways have cells of their own; two slots are taken before any is negotiated.
        let needed = 2 * u16::from(self.tunnel_cells) + 2;
        if self.tunnel_cells > 0 && needed > self.slotframe {
            let (cells, slotframe) = (self.tunnel_cells, self.slotframe);
            let text = format!("both ways of {cells} cells do not fit into slotframe = {slotframe}: {needed} at least");
            found.push(("forming.tunnel_cells", text));
        }
        if self.tunnel_cells > 0 && !self.is_on() {
            let text = "a tunnel is negotiated: forming.function = \"msf\" or \"pid\"".to_owned();
            found.push(("forming.tunnel_cells", text));
        }
    }
}

/// The name for energy that is not counted.
pub(in crate::scenario) const NO_ENERGY: &str = "none";

impl Default for EnergyOptions {
    fn default() -> Self {
        Self { radio: "cc2650".into(), processor: "cc2650".into(), battery_mah: 2_821.5 }
    }
}

impl EnergyOptions {
    pub(super) fn visit(&mut self, visitor: &mut dyn Visitor) {
        let models = Models::built_in();
        let check = |name: &str, known: Vec<&str>| {
            let is_known = name == NO_ENERGY || known.contains(&name);
            let names = || known.iter().copied().chain([NO_ENERGY]).collect::<Vec<_>>().join(", ");
            if is_known { Ok(()) } else { Err(format!("one of {}", names())) }
        };
        let radios = || models.radios().map(|radio| radio.name.as_str()).collect();
        let processors = || models.processors().map(|processor| processor.name.as_str()).collect();
        visitor.text(field("radio", "radio", ""), &mut self.radio, &|name| check(name, radios()));
        visitor.text(field("processor", "processor", ""), &mut self.processor, &|name| check(name, processors()));
        let capacity = field("battery_mah", "capacity", "milliampere hours");
        visitor.number(capacity, &mut self.battery_mah, 0.001..=1e9);
    }
}
