//! Whole networks, as a scenario file describes them.

use super::run;

#[test]
#[ignore]
fn look() {
    let source = std::fs::read_to_string(std::env::var("SCENARIO").unwrap()).unwrap();
    for row in run(&source, |_| true) {
        for outcome in &row.outcomes {
            let Some(fleet) = &outcome.fleet else {
                println!("{} {:?}", row.row.name, outcome.failure);
                continue;
            };
            let t = |share| fleet.time_until(share).map(|t| t.as_secs_f64());
            println!(
                "{}: 50% {:?} 95% {:?} 100% {:?}; {} of {}; bytes {} frames {} net {} charge {:?}; conns {} fallbacks {} failures {}; reports {} {}",
                row.row.name,
                t(0.5),
                t(0.95),
                t(1.0),
                fleet.connected(),
                fleet.devices.len(),
                fleet.bytes,
                fleet.frames,
                fleet.network_bytes,
                fleet.charge,
                fleet.connections,
                fleet.fallbacks,
                fleet.failures,
                fleet.reports.sent,
                fleet.reports.received
            );
            println!("   handshake {:?}", fleet.statistics(|d| d.handshake.map(|t| t.as_secs_f64())));
            println!("   joined {:?}", fleet.statistics(|d| d.joined.map(|t| t.as_secs_f64())));
            println!("   bytes {:?}", fleet.statistics(|d| d.connected.map(|_| d.bytes as f64)));
            println!(
                "   attempts {:?} drops {:?} failure {:?}",
                fleet.statistics(|d| Some(f64::from(d.attempts))),
                outcome.drops,
                outcome.failure
            );
            let mut worst: Vec<(u64, usize)> = fleet.refused.iter().copied().zip(0..).collect();
            worst.sort();
            worst.reverse();
            let hop = |mote: usize| mote.checked_sub(1).and_then(|place| fleet.devices[place].hops);
            println!("   refused {:?}", worst.iter().take(8).map(|(n, m)| (*m, hop(*m), *n)).collect::<Vec<_>>());
            println!("   hops {:?}", fleet.statistics(|d| d.hops.map(f64::from)));
            println!("   days {:?}", fleet.statistics(|d| d.observed.map(|o| o.days)));
            if std::env::var("DEVICES").is_ok() {
                for device in &fleet.devices {
                    println!("  {device:?}");
                }
            }
        }
    }
}
