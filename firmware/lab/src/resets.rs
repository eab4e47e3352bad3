//! Resets at any time: the power of a device is cut after some byte of a connection, or of a slot that it writes, and the next time it
//! must connect.

use std::collections::BTreeMap;

use crate::Failed;
use crate::device::{Device, End, forget, limit_writes, slot_len};
use crate::measure::connect;
use crate::plant::Plant;
use crate::relay::Relay;
use crate::scenario::Scenario;

/// How many resets, and which.
pub(crate) struct Options {
    pub(crate) count: u64,
    pub(crate) seed: u64,
}

impl Options {
    /// Reads the options, which may leave out how many resets there are.
    pub(crate) fn parse(options: &[&str], count: u64) -> Result<Self, Failed> {
        let mut parsed = Self { count, seed: 1 };
        for pair in options.chunks(2) {
            match pair {
                ["--count", count] => parsed.count = count.parse().map_err(|_| format!("{count} is no number"))?,
                ["--seed", seed] => parsed.seed = seed.parse().map_err(|_| format!("{seed} is no number"))?,
                _ => return Err(format!("unknown option: {}", pair.join(" ")).into()),
            }
        }
        Ok(parsed)
    }
}

/// A device with what is between it and its server.
struct Bench {
    scenario: Scenario,
    device: Device,
    relay: Relay,
    /// The bytes of a connection of each mode.
    lengths: BTreeMap<String, u64>,
    /// The bytes of the longest slot.
    slot_len: u64,
}

/// When the power is cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// After so many bytes of the connection.
    Connection(u64),
    /// After so many bytes of a slot, if one is written.
    Write(u32),
}

/// One cut of so many is for the write of a slot.
const WRITES: u64 = 5;

/// Of so many resets some must be in the write of a slot.
const MANY: u64 = 100;

/// Resets devices in each way to connect in turn, and prints what they did next.
pub(crate) fn run(image: &str, options: Options) -> Result<(), Failed> {
    let Options { count, seed } = options;
    let mut rng = SplitMix64(seed);
    let mut plant = Plant::new()?;
    let mut benches = Vec::new();
    for scenario in Scenario::ALL {
        let relay = Relay::start(scenario.link, plant.serve(scenario)?)?;
        let device = Device::new(&plant, image, scenario, relay.port, seed)?;
        let mut bench = Bench { scenario, device, relay, lengths: BTreeMap::new(), slot_len: 0 };
        bench.connects()?;
        bench.connects()?;
        benches.push(bench);
    }
    let (mut resets, mut in_writes) = (0, 0);
    while resets < count {
        for bench in &mut benches {
            // Half of the devices know nothing, so that their handshakes are full.
            if rng.below(2) == 0 {
                forget(&bench.device);
            }
            let longest = bench.lengths.values().max().copied().unwrap_or_default();
            let cut = match rng.below(WRITES) {
                0 => Cut::Write(rng.below(bench.slot_len + 1) as u32),
                _ => Cut::Connection(rng.below(longest)),
            };
            let was_reset = bench.is_reset_after(cut);
            let after = was_reset.and_then(|was_reset| bench.connects().map(|_| was_reset));
            let was_reset = after
                .map_err(|error| format!("seed {seed}, reset {resets}, {:?}, {cut:?}: {error}", bench.scenario))?;
            resets += u64::from(was_reset);
            in_writes += u64::from(was_reset && matches!(cut, Cut::Write(_)));
        }
        eprintln!("{resets} of {count} resets");
    }
    if resets >= MANY && in_writes == 0 {
        return Err("no reset was in a write of a slot".into());
    }
    println!("{resets} resets, {in_writes} of them in the write of a slot, seed {seed}");
    println!("each device connected again, at the first try");
    println!("| way | modes, and bytes of both directions |");
    println!("|---|---|");
    for Bench { scenario, lengths, .. } in &benches {
        let lengths: Vec<String> = lengths.iter().map(|(mode, bytes)| format!("{mode} {bytes}")).collect();
        println!("| {}, {} | {} |", scenario.link.name(), scenario.proof.name(), lengths.join(", "));
    }
    Ok(())
}

impl Bench {
    /// Starts the device, which must connect in one of its modes.
    fn connects(&mut self) -> Result<(), Failed> {
        self.relay.arm(None);
        let report = connect(&mut self.device, self.relay.port)?;
        let mode = report["mode"].as_str().unwrap_or_default().to_owned();
        if !self.scenario.modes().contains(&&*mode) {
            return Err(format!("the mode is {mode}").into());
        }
        self.lengths.insert(mode, self.relay.passed());
        self.slot_len = self.slot_len.max(slot_len(&self.device));
        Ok(())
    }

    /// Starts the device, whose power is cut. Returns whether it came to that.
    fn is_reset_after(&mut self, cut: Cut) -> Result<bool, Failed> {
        self.relay.arm(None);
        if let Cut::Write(bytes) = cut {
            limit_writes(&self.device, Some(bytes))?;
        }
        let (power, running) = self.device.start(self.relay.port)?;
        if let Cut::Connection(bytes) = cut {
            self.relay.arm(Some((bytes, power)));
        }
        let end = running.wait()?;
        if let Cut::Write(_) = cut {
            limit_writes(&self.device, None)?;
        }
        match end {
            End::Killed => Ok(true),
            End::Connected(_) => Ok(false),
            End::Failed(text) => Err(text.into()),
        }
    }
}

/// A generator of numbers to repeat a run with (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    /// Returns a number below `end`, or 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(end).unwrap_or_default()
    }
}
