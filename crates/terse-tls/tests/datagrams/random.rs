//! Networks lose, double, delay and reorder datagrams at random.

use std::collections::BTreeMap;

use terse_testkit::datagrams::DELAY;
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::Rng;
use terse_tls::{ContentType, ProtocolVersion};

use super::modes::SCENARIOS;
use super::outcome::Outcome;
use super::wire::{Record, listen, records};

/// Returns a random number below `end`.
fn below(rng: &mut SeededRng, end: u64) -> u64 {
    let mut bytes = [0; 8];
    rng.fill(&mut bytes).expect("it never fails");
    u64::from_le_bytes(bytes) % end
}

/// Runs each scenario, with other seeds for each rate.
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
                // Some datagrams are late, some come twice, some both.
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

/// Opens what goes over the wire in DTLS 1.3 on bad networks.
#[test]
fn records_and_acknowledgements_are_as_they_should_be() {
    let (mut acks, mut again) = (0, 0);
    for (number, scenario) in
        SCENARIOS.iter().filter(|scenario| scenario.version == ProtocolVersion::TLS_1_3).enumerate()
    {
        let mut setup = scenario.setup.clone();
        let log = listen(&mut setup);
        let (mut rng, mut arrivals) = (SeededRng::new(number as u64), BTreeMap::new());
        let mut pair = setup.datagram_pair(number as u64);
        let _ = pair.run(|datagram| {
            let delay = [0, 0, 0, 30, 300][below(&mut rng, 5) as usize];
            let fate = if below(&mut rng, 100) < 15 { Vec::new() } else { datagram.arrives_after(DELAY + delay) };
            if let [(delay, _)] = fate[..] {
                arrivals.insert(datagram.number, datagram.sent + delay);
            }
            fate
        });
        let counts = check(&records(&pair, &log), &arrivals).unwrap_or_else(|what| panic!("{}: {what}", scenario.name));
        acks += counts.0;
        again += counts.1;
    }
    println!("{acks} ACKs, {again} bytes of messages sent again");
    assert!(acks > 200 && again > 1_000);
}

/// Checks all records of a connection, of whose datagrams these arrived, at these times. Returns the number of ACKs, and how
/// many bytes of messages were sent more than once.
fn check(records: &[Record], arrivals: &BTreeMap<usize, u64>) -> Result<(usize, usize), String> {
    let (mut numbers, mut bytes) = (BTreeMap::new(), BTreeMap::new());
    // Which bytes the sender knows to have arrived, and since when.
    let mut known = BTreeMap::<_, u64>::new();
    let (mut acks, mut again) = (0, 0);
    for record in records {
        let (from, (epoch, number)) = (record.from, record.number);
        let ensure = |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("{what}: {record:?}")) };
        ensure(
            numbers.insert((from as usize, epoch), number).is_none_or(|last| last < number),
            "a number that is not new",
        )?;
        let is_data = record.content_type == ContentType::APPLICATION_DATA;
        ensure(!is_data || epoch == 1 || epoch >= 3, "data under keys that are for messages")?;
        for part in record.parts() {
            ensure(epoch != 1, "a message under the key of early data")?;
            let content = &record.content[part.at..];
            for (at, byte) in (part.start..part.end).zip(content) {
                let place = (from as usize, part.message_seq, at);
                let before = bytes.insert(place, (epoch, *byte));
                again += usize::from(before.is_some());
                ensure(before.is_none_or(|before| before.0 == epoch), "a message in another epoch")?;
                ensure(before.is_none_or(|before| before.1 == *byte), "a message that changed")?;
                ensure(known.get(&place).is_none_or(|since| *since >= record.sent), "what the peer has")?;
            }
        }
        let Some(acknowledged) = record.acknowledges() else { continue };
        acks += 1;
        ensure(acknowledged.is_sorted_by(|one, other| one < other), "numbers that do not go up")?;
        ensure(acknowledged.iter().all(|(of, _)| *of <= epoch), "an ACK under an older key")?;
        for number in acknowledged {
            let of = records.iter().find(|of| of.from != from && of.number == number);
            let of = of.ok_or_else(|| format!("{number:?} was never sent: {record:?}"))?;
            ensure(of.content_type == ContentType::HANDSHAKE, "not a message")?;
            ensure(arrivals.get(&of.datagram).is_some_and(|time| *time <= record.sent), "what did not arrive")?;
            if let Some(time) = arrivals.get(&record.datagram).filter(|_| epoch > 0) {
                for part in of.parts() {
                    for at in part.start..part.end {
                        let since = known.entry((of.from as usize, part.message_seq, at)).or_insert(*time);
                        *since = (*since).min(*time);
                    }
                }
            }
        }
    }
    Ok((acks, again))
}
