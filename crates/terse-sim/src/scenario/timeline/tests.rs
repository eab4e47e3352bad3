//! Timelines have the frames that are counted, and no others.

use super::*;
use crate::scenario::{MakesParties, Outcome, Prepared, ScenarioFile};

/// Makes no parties: scripts need none.
struct Nobody;

impl MakesParties for Nobody {
    fn parties(&self, _: &crate::scenario::EngineOptions) -> Result<crate::compare::Parties, String> {
        Err("there are no certificates here".into())
    }

    fn begins(&self) -> u64 {
        0
    }
}

fn run(keys: &str) -> Outcome {
    let file = ScenarioFile::parse("scenario.toml", keys).expect("a scenario");
    Prepared::new(&file.rows[0].scenario, &Nobody).expect("it can be run").run(0).expect("it runs")
}

#[test]
fn frames_of_the_handshake_add_up_to_those_on_the_air() {
    for keys in [
        "",
        "topology.hops = 3\nloss.fragments = 0.05\n",
        "topology.parents = [0, 0, 2]\ntopology.client = 3\nradio.delivery = 0.7\n",
        "peers = \"edhoc\"\ntopology.hops = 3\nschedule.slot_ms = 10\nforming.function = \"msf\"\n",
    ] {
        let outcome = run(keys);
        let frames = || outcome.timeline.frames.iter();
        let of_handshake = || frames().filter(|frame| frame.is_of_handshake);
        assert!(outcome.is_connected(), "{keys}: {outcome:?}");
        assert_eq!(of_handshake().count() as u64, outcome.air.frames, "{keys}");
        assert_eq!(of_handshake().map(|frame| u64::from(frame.bytes)).sum::<u64>(), outcome.air.bytes, "{keys}");
        assert!(frames().map(|frame| frame.at).is_sorted(), "{keys}");
        assert!(frames().all(|frame| frame.kind != Kind::LinkAcknowledgement), "{keys}");
    }
}

#[test]
fn lanes_lead_from_the_client_to_the_root() {
    let outcome = run("topology.parents = [0, 0, 2]\ntopology.client = 3\nradio.delivery = 0.7\n");
    let timeline = outcome.timeline;
    assert_eq!(timeline.motes, [3, 2, 0], "mote 1 is not on the way");
    assert!(timeline.frames.iter().all(|frame| timeline.motes.contains(&frame.sender)));
    let has = |wanted: &dyn Fn(&TimelineFrame) -> bool| timeline.frames.iter().any(wanted);
    assert!(has(&|frame| frame.direction == Direction::Up) && has(&|frame| frame.direction == Direction::Down));
    assert!(has(&|frame| frame.attempt > 0) && has(&|frame| !frame.has_arrived), "some are lost, and sent again");
}

#[test]
fn what_the_network_sends_for_itself_is_told_apart() {
    let keys = "topology.hops = 2\nschedule.slot_ms = 10\nforming.function = \"msf\"\n";
    let frames = run(keys).timeline.frames;
    assert!(frames.iter().any(|frame| !frame.is_of_handshake), "beacons go on");
    let is_one_or_the_other = |frame: &TimelineFrame| frame.kind.is_of_network() != frame.is_of_handshake;
    assert!(frames.iter().all(is_one_or_the_other));
}

#[test]
fn long_runs_are_cut() {
    let keys = "topology.hops = 10\nlimit_ms = 3_600_000\nschedule.slot_ms = 10\nmbedtls.computing_ms = 600_000\n\
                forming.function = \"msf\"\nforming.keep_alive_ms = 1_000\n";
    let outcome = run(keys);
    assert_eq!(outcome.timeline.frames.len(), MOST_FRAMES, "{:?}", outcome.failure);
}
