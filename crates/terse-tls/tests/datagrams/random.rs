//! Networks that lose, double, delay and reorder at random.

use terse_testkit::datagrams::DELAY;
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::Rng;

use crate::modes::SCENARIOS;
use crate::outcome::Outcome;

/// A number below `end`.
fn below(rng: &mut SeededRng, end: u64) -> u64 {
    let mut bytes = [0; 8];
    rng.fill(&mut bytes).expect("it never fails");
    u64::from_le_bytes(bytes) % end
}

/// Each scenario, with other seeds for each rate.
fn runs(percent: u64, seeds: u64, others: bool) -> [usize; 3] {
    let mut outcomes = [0; 3];
    for (number, scenario) in SCENARIOS.iter().enumerate() {
        for seed in 0..seeds {
            let seed = (percent << 32) + ((number as u64) << 16) + seed;
            let mut rng = SeededRng::new(seed);
            let outcome = scenario.run(&format!("{percent} % are lost, others {others}"), seed, |datagram| {
                let lost = below(&mut rng, 100) < percent;
                if !others {
                    return if lost { Vec::new() } else { datagram.arrives() };
                }
                // Some are late, some come twice, some both.
                let delay = match below(&mut rng, 10) {
                    0 => below(&mut rng, 5_000),
                    1..4 => below(&mut rng, 100),
                    _ => 0,
                };
                let mut fate = if lost { Vec::new() } else { datagram.arrives_after(DELAY + delay) };
                if below(&mut rng, 10) == 0 {
                    fate.extend(datagram.arrives_after(DELAY + below(&mut rng, 2_000)));
                }
                fate
            });
            outcomes[outcome as usize] += 1;
        }
    }
    println!("{percent} % lost: {outcomes:?} connected, failed, half connected");
    outcomes
}

/// A flight is tried eight times. The last one needs two datagrams each time, the question and the answer: of eight attempts
/// at 20 % loss all fail once in 3,500 handshakes, at 40 % once in 35.
#[test]
fn random_losses() {
    for (percent, least) in [(5, 150), (10, 150), (20, 100), (30, 10), (40, 10)] {
        let [connected, failed, half] = runs(percent, 2, false);
        assert!(connected >= least * (failed + half) && connected >= least, "{percent} %");
    }
}

#[test]
fn random_losses_delays_and_duplicates() {
    for percent in [5, 25] {
        let [connected, failed, half] = runs(percent, 2, true);
        assert!(connected > 50 * (failed + half), "{percent} %");
    }
    let outcome = runs(100, 1, false);
    assert_eq!(outcome[Outcome::Failed as usize], SCENARIOS.len());
}
