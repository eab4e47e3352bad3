//! What is written reads back, whatever the answers are.

use std::io::Cursor;

use clap::Parser;
use proptest::prelude::*;
use terse_sim::scenario::ScenarioFile;

use super::question::Asker;
use super::*;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    new: NewArgs,
}

/// Returns the text of a scenario, or what is wrong with the answers.
fn scenario(words: &[String], lines: &str, is_terminal: bool) -> (Result<String, String>, String) {
    let new = Command::parse_from(["new".to_owned()].iter().chain(words)).new;
    let (mut input, mut output) = (Cursor::new(lines.to_owned()), Vec::new());
    let mut asker = Asker { input: &mut input, output: &mut output, is_terminal, takes_defaults: new.yes };
    let asked = new.ask(&mut asker).map(|(answers, fixed)| text::of(&answers, fixed.as_ref()));
    (asked.map_err(|failure| failure.to_string()), String::from_utf8(output).expect("text"))
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn option(name: &'static str, values: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<String>> {
    proptest::option::of(values)
        .prop_map(move |value| value.map_or_else(Vec::new, |value| vec![format!("--{name}={value}")]))
}

fn choice(name: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    option(name, proptest::sample::select(values).prop_map(str::to_owned))
}

prop_compose! {
    fn options()(
        devices in 1_u64..=1_000,
        place in prop_oneof![
            choice("place", &["tree", "field", "grid"]),
            option("hops", (1_u64..=16).prop_map(|hops| hops.to_string())),
            option("side", (10.0..=2_000.0).prop_map(|side: f64| side.to_string())),
            option("spacing", (1.0..=100.0).prop_map(|spacing: f64| spacing.to_string())),
        ],
        schedule in prop_oneof![
            Just(Vec::new()),
            choice("schedule", &["msf"]),
            (0.1..=100.0).prop_map(|duty_cycle: f64| vec!["--schedule=fixed".into(), format!("--duty-cycle={duty_cycle}")]),
        ],
        loss in option("loss", (0.0..=50.0).prop_map(|loss: f64| loss.to_string())),
        rest in (
            choice("slot", &["10", "15", "20"]),
            choice("event", &["power-cut", "server-restart", "renewal", "link-fade"]),
            option("report-every", (0_u64..=864_000).prop_map(|seconds| seconds.to_string())),
            option("report-bytes", (16_u64..=900).prop_map(|bytes| bytes.to_string())),
            choice("handshakes", &["full", "resumed-1.2,psk, identity", "rfc7924-1.2,rfc7924,bithac,identity-first,identity-bls12381"]),
            option("repetitions", (1_u64..=100_000).prop_map(|runs| runs.to_string())),
            option("spread", (0_u64..=43_200).prop_map(|seconds| seconds.to_string())),
        ),
    ) -> Vec<String> {
        let (a, b, c, d, e, f, g) = rest;
        let all = [vec!["--yes".into(), format!("--devices={devices}")], place, schedule, loss, a, b, c, d, e, f, g];
        all.concat()
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(options in options()) {
        // Some answers contradict each other; those are refused, and say by which option.
        match scenario(&options, "", false).0 {
            Ok(text) => {
                let read = ScenarioFile::parse("network.toml", &text);
                prop_assert!(read.is_ok(), "{:?}\n{}", read, text);
                let read = read.expect("it was read");
                prop_assert!(read.rows.iter().all(|row| row.scenario.is_whole()));
                prop_assert!(text.lines().all(|line| line.len() <= 135), "{}", text);
            }
            Err(mistake) => prop_assert!(mistake.starts_with("--"), "{mistake}"),
        }
    }

    #[test]
    fn a_tree_of_each_depth_that_is_offered_is_there(devices in 1_u64..=1_000) {
        let depths = answers::depths(devices);
        prop_assert!(!depths.is_empty() || devices > 100);
        for hops in depths {
            let tree = scenario(&words(&format!("--yes --devices {devices} --hops {hops}")), "", false).0;
            let tree = ScenarioFile::parse("network.toml", &tree.expect("a tree")).expect("a scenario");
            let topology = &tree.rows[0].scenario.topology;
            prop_assert_eq!((topology.motes(), topology.depth(devices)), (devices, hops));
        }
    }
}

#[test]
fn the_defaults_are_right_for_any_number_of_devices() {
    for devices in 1..=1_000 {
        for rest in ["", "--schedule fixed", "--place field", "--place grid"] {
            let (text, _) = scenario(&words(&format!("--yes --devices {devices} {rest}")), "", false);
            assert!(text.is_ok(), "{devices} {rest}: {text:?}");
        }
    }
}

#[test]
fn a_terminal_asks_again() {
    let lines = "many\n2000\n20\n\nfour\n2\nfixed\n\n3\n200\n20\n".to_owned() + &"\n".repeat(6);
    let (text, asked) = scenario(&[], &lines, true);
    let text = text.unwrap_or_else(|mistake| panic!("{mistake}: {asked}"));
    for line in ["tree = 20\nbranching = 4", "delivery = 0.97", "duty_cycle = 0.2"] {
        assert!(text.contains(line), "{line} in {text}");
    }
    for mistake in [
        "\"many\" is no number of devices: a whole number from 1 to 1000\n",
        "\"2000\" is no number of devices: a whole number from 1 to 1000\n",
        "\"four\" is no number of hops: a whole number from 1 to 16\n",
        "\"200\" is no duty cycle: a number from 0.1 to 100\n",
    ] {
        assert!(asked.contains(mistake), "{mistake} in {asked}");
    }
    assert!(asked.contains("How many devices [100]: "), "{asked}");
}

#[test]
fn a_pipe_is_not_asked_again() {
    let (text, _) = scenario(&[], "many\n20\n", false);
    assert_eq!(text, Err("--devices: \"many\" is no number of devices: a whole number from 1 to 1000".into()));
    let (text, _) = scenario(&[], "20\n", false);
    assert_eq!(text, Err("there is no answer for --place: give it, or --yes for all defaults".into()));
}
