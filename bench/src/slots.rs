//! `terse-bench slots` measures how many slots of a 6TiSCH network the simulator works off in a second of CPU time: networks that
//! form themselves, with MSF, RPL, beacons, drift and energy, in which every node sends a packet of 90 bytes every ten seconds.
//!
//! The scenario is that of the 6TiSCH Simulator's defaults: the Pister-hack model in a square of 2 km, 16 channels, slotframes of 101
//! slots of 10 ms. A slot counts once for the whole network, however many nodes there are.

use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::fs;

use terse_sim::Time;
use terse_sim::network::{Network, Node, Verdict};
use terse_sim::packet::Packet;
use terse_sim::radio::PisterHack;
use terse_sim::tsch::MeshConfig;

use crate::measure::cpu_seconds;
use crate::probe::counted;
use crate::table::lay_out;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Slots {
    /// For so many minutes of virtual time.
    pub minutes: u64,
    /// The time between two packets of a node, in milliseconds; 0 for none.
    pub period: u64,
    /// The side of the square, in metres.
    pub side: f64,
    /// So many times, each with a seed of its own.
    pub rounds: u16,
}

/// Returns the table of networks of these sizes, the root included.
pub fn measure(sizes: &[u16], slots: &Slots) -> Result<String, String> {
    let header = ["nodes", "slots", "slots/CPU s", "second half", "frames/CPU s", "settled", "packets", "memory MB"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for size in sizes {
        let runs = (0..slots.rounds).map(|round| {
            eprintln!("{size} nodes, round {} of {}", round + 1, slots.rounds);
            run(*size, slots, u64::from(round) + 1)
        });
        let runs = runs.collect::<Result<Vec<Run>, String>>()?;
        let median = |of: &dyn Fn(&Run) -> f64| median(runs.iter().map(of));
        rows.push(vec![
            size.to_string(),
            format!("{:.0}", median(&|run| run.slots)),
            format!("{:.0}", median(&|run| run.slots / run.seconds)),
            format!("{:.0}", median(&|run| run.slots / 2.0 / run.second_half)),
            format!("{:.0}", median(&|run| run.frames / run.seconds)),
            format!("{:.0}", median(&|run| run.settled)),
            format!("{:.0}", median(&|run| run.packets)),
            // Later rounds use the memory of earlier ones again.
            format!("{:.0}", runs.iter().map(|run| run.memory).fold(0.0, f64::max)),
        ]);
    }
    Ok(lay_out(&rows))
}

struct Run {
    slots: f64,
    seconds: f64,
    second_half: f64,
    /// Frames on the air, without acknowledgements.
    frames: f64,
    settled: f64,
    /// Packets that came to the gateway.
    packets: f64,
    /// What the process has added to its memory.
    memory: f64,
}

fn run(nodes: u16, slots: &Slots, seed: u64) -> Result<Run, String> {
    let before = resident();
    let mut config = MeshConfig::forming(PREFIX);
    for _ in 1..nodes {
        config.add_node();
    }
    if let Some(formation) = &mut config.formation {
        formation.greatest_drift_ppm = 30;
    }
    let model = PisterHack { side: slots.side, ..PisterHack::SIXTISCH_SIMULATOR };
    let places = model.place(nodes, seed).map_err(|error| format!("{error}: try a smaller --side"))?;
    config.radio = model.connectivity(&places, seed);
    let server = IpAddr::V6(Ipv6Addr::new(0xBBBB, 0, 0, 0, 0, 0, 0, 1));
    let mut network = Network::new(seed);
    let mut hosts = Vec::new();
    for (number, mote) in (0..).zip(&config.motes) {
        let ends = (SocketAddr::new(mote.address.into(), 0xF0B1), SocketAddr::new(server, 0xF0B2));
        let packet = Packet::udp(ends.0, ends.1, &[0; PACKET - 48]).filter(|_| number > 0 && slots.period > 0);
        let next = Time::from_millis(60_000 + u64::from(number) * 97 % slots.period.max(1));
        let host = network.add(Sensor { packet, next, period: Duration::from_millis(slots.period), got: 0 });
        hosts.push((number, host));
    }
    let mesh = network.connect_mesh(&hosts, config).map_err(|error| error.to_string())?;
    network.ledger_mut(mesh).keep_records(false);
    let half = Time::from_millis(slots.minutes * 30_000);
    let begun = cpu_seconds();
    counted(|| network.run_until(half));
    let middle = cpu_seconds();
    counted(|| network.run_until(Time::from_millis(slots.minutes * 60_000)));
    let end = cpu_seconds();
    if !network.conservation().holds() {
        return Err(format!("the simulator lost count: {}", network.conservation()));
    }
    let of_mesh = network.mesh(mesh).ok_or("there is no mesh")?;
    let now = network.now();
    let frames: u64 = (0..nodes).filter_map(|node| of_mesh.statistics(node)).map(|of| of.transmissions).sum();
    Ok(Run {
        slots: of_mesh.slots(now) as f64,
        seconds: end - begun,
        second_half: end - middle,
        frames: frames as f64,
        settled: of_mesh.settled(now) as f64,
        packets: network.node(hosts[0].1).got as f64,
        memory: (resident() - before).max(0.0),
    })
}

/// A node that sends the same packet again and again, or counts what it gets.
struct Sensor {
    packet: Option<Packet>,
    next: Time,
    period: Duration,
    got: u64,
}

impl Node for Sensor {
    fn handle_packet(&mut self, _: Time, _: usize, _: Packet) -> Verdict {
        self.got += 1;
        Verdict::Delivered
    }

    fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        let packet = self.packet.as_ref().filter(|_| self.next <= now)?;
        self.next += self.period;
        Some((0, packet.clone()))
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.packet.as_ref().map(|_| self.next)
    }

    fn handle_timeout(&mut self, _: Time) {}
}

/// Returns the median of the values of one round or more.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the memory of the process in MB, as Linux says it; 0 elsewhere.
pub(crate) fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0);
    pages * 4_096.0 / 1e6
}

const PREFIX: [u8; 8] = [0xBB, 0xBB, 0, 0, 0, 0, 0, 0];
/// The bytes of an IPv6 packet, its headers included.
const PACKET: usize = 90;
