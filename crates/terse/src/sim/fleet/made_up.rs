//! Made-up networks for tests: what a run might come to, without running it.

use core::time::Duration;

use terse_sim::Random;
use terse_sim::scenario::fleet::{Device, Fleet, Observed, Reports};
use terse_sim::scenario::{Outcome, ScenarioFile};

use crate::sim::measure::Measured;

/// Returns a row about a whole network with these fleets.
pub(super) fn row(name: &str, fleets: Vec<Fleet>) -> Measured {
    let source = format!(
        "peers = \"engine\"\ntopology.clients = \"all\"\ntopology.motes = 9\nforming.function = \"msf\"\n\
         radio.model = \"pister-hack\"\nschedule.slot_ms = 10\n[[row]]\nname = \"{name}\"\n",
    );
    let mut file = ScenarioFile::parse("scenario.toml", &source).expect("a scenario");
    let outcome = |(seed, fleet): (u64, Fleet)| {
        let all = fleet.connected() == fleet.devices.len();
        let latency = if all { fleet.time_until(1.0) } else { None };
        let failure = (!all).then(|| "not all devices were connected within the limit".to_owned());
        Outcome { seed, latency, failure, fleet: Some(fleet), ..Outcome::default() }
    };
    Measured {
        row: file.rows.remove(0),
        outcomes: (0..).zip(fleets).map(outcome).collect(),
        failure: None,
        captured: None,
    }
}

/// Returns a network after a power cut, and the places of its motes. Everything takes `pace` times as long as usual; every so many
/// devices one is never connected.
pub(super) fn fleet(devices: u16, seed: u64, pace: f64, missing: Option<u16>) -> (Fleet, Vec<(f64, f64)>) {
    let mut random = Random::new(seed, 1);
    let mut draw = || f64::from(random.next_u32()) / f64::from(u32::MAX);
    let side = 60.0 * f64::from(devices).sqrt();
    let mut places = vec![(side / 2.0, side / 2.0)];
    places.extend((0..devices).map(|_| (side * draw(), side * draw())));
    let from_root = |mote: usize| (places[mote].0 - places[0].0).hypot(places[mote].1 - places[0].1);
    let mut order: Vec<usize> = (1..places.len()).collect();
    order.sort_by(|a, b| from_root(*a).total_cmp(&from_root(*b)));
    let mut hops = vec![0_u8; places.len()];
    let mut joined: Vec<usize> = vec![0];
    let mut fleet = Fleet { network_bytes: 90_000 * u64::from(devices), charge: Some(0.0), ..Fleet::default() };
    for mote in order {
        let far = |other: usize| (places[mote].0 - places[other].0).hypot(places[mote].1 - places[other].1);
        let reached = joined.iter().copied().filter(|other| far(*other) < 110.0);
        let parent = reached.min_by_key(|other| hops[*other]).unwrap_or(0);
        hops[mote] = hops[parent] + 1;
        joined.push(mote);
        let is_missing = missing.is_some_and(|every| (mote as u16).is_multiple_of(every));
        let seconds = |seconds: f64| Some(Duration::from_secs_f64(pace * seconds));
        let synchronised = 20.0 * f64::from(hops[mote]) + 30.0 * draw();
        let joining = synchronised + 10.0 + 60.0 * draw();
        let handshake = 4.0 * f64::from(hops[mote]) + 15.0 * draw() * draw();
        let bytes = (pace * (1_500.0 * f64::from(hops[mote]) + 2_000.0 * draw())) as u64;
        let charge = 800.0 + 300.0 * f64::from(hops[mote]) * draw();
        fleet.bytes += bytes;
        fleet.frames += bytes / 90;
        fleet.charge = fleet.charge.map(|all| all + charge);
        let latencies: Vec<f64> = (0..9).map(|_| 0.4 * f64::from(hops[mote]) + draw()).collect();
        fleet.reports.sent += 10;
        fleet.reports.received += 9;
        fleet.reports.latencies.extend(&latencies);
        fleet.devices.push(Device {
            mote: mote as u16,
            parent: Some(parent as u16),
            hops: Some(hops[mote]),
            synchronised: seconds(synchronised),
            joined: seconds(joining).filter(|_| mote % 97 != 50),
            connected: seconds(joining + handshake + 20.0 * draw()).filter(|_| !is_missing),
            handshake: seconds(handshake).filter(|_| !is_missing),
            attempts: 1 + u32::from(draw() > 0.9),
            bytes,
            charge: Some(charge),
            computing: Some(3.0),
            observed: Some(Observed {
                microamperes: 60.0 + 200.0 * draw(),
                duty_cycle: 0.01,
                days: 300.0 + 900.0 * draw(),
            }),
            reports: Reports { sent: 10, received: 9, latencies },
        });
    }
    fleet.devices.sort_by_key(|device| device.mote);
    fleet.measured = fleet.curve(|device| device.connected).last().copied().unwrap_or_default();
    fleet.connections = fleet.connected() as u64;
    fleet.pools = hops.iter().map(|hops| 3 + (9 / hops.max(&1)) + (4.0 * draw()) as u8).collect();
    (fleet, places)
}
