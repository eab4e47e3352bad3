//! Identifiers are stable, and shards are parts of a whole.

use std::collections::BTreeSet;

use super::*;

fn plan(source: &str) -> Plan {
    Plan::new(&ScenarioFile::parse("scenario.toml", source).expect("a scenario")).expect("a plan")
}

fn ids(plan: &Plan, row: usize) -> Vec<RunId> {
    plan.runs.iter().filter(|run| run.row == row).map(|run| run.id).collect()
}

/// Whoever changes this number makes every sweep that was begun start anew.
#[test]
fn an_identifier_is_the_beginning_of_a_digest() {
    // printf 'topology.hops = 1\nrun_seed = 5\n' | sha256sum
    assert_eq!(RunId::new("topology.hops = 1\n", 5).to_string(), "2eba3ceae1b709ef");
    assert_eq!(RunId::parse("00000000000000ff"), Some(RunId(255)));
    for text in ["", "ff", "00000000000000FF", "+0000000000000ff", "00000000000000fff"] {
        assert_eq!(RunId::parse(text), None, "{text}");
    }
}

#[test]
fn identifiers_depend_on_the_scenario_and_the_seed_alone() {
    let first =
        plan("title = \"one\"\nrepetitions = 3\n[[row]]\nname = \"a\"\ntopology.hops = 2\n[[row]]\nname = \"b\"\n");
    let other = plan("repetitions = 5\n[[row]]\nname = \"c\"\n[[row]]\nname = \"d\"\ntopology.hops = 2\n");
    assert_eq!(ids(&first, 0), ids(&other, 1)[..3], "another name, another place, more runs");
    assert_eq!(ids(&first, 1), ids(&other, 0)[..3]);
    let seeds = plan("seed = 2\nrepetitions = 3\n");
    assert!(ids(&seeds, 0).iter().all(|id| !ids(&first, 1).contains(id)), "other seeds");
}

#[test]
fn shards_partition_the_runs() {
    let plan = plan("repetitions = 40\n[matrix]\ntopology.hops = [1, 2, 3]\n");
    for of in [1, 2, 3, 4, 7, 200] {
        let shards = (1..=of).map(|number| Shard { number, of });
        let parts: Vec<BTreeSet<RunId>> =
            shards.map(|shard| plan.runs.iter().map(|run| run.id).filter(|id| shard.has(*id)).collect()).collect();
        assert_eq!(parts.iter().map(BTreeSet::len).sum::<usize>(), 120, "{of}: no run is in two shards");
        assert_eq!(parts.into_iter().flatten().collect::<BTreeSet<_>>().len(), 120, "{of}: each run is in one");
    }
}

#[test]
fn shards_are_one_of_several() {
    assert_eq!("2/4".parse(), Ok(Shard { number: 2, of: 4 }));
    for text in ["0/4", "5/4", "x", "", "1", "/", "1/0", "-1/4", "1/4/2", "1.5/4"] {
        assert!(text.parse::<Shard>().is_err(), "{text}");
    }
    assert_eq!("5/4".parse::<Shard>().expect_err("there are four"), "there is no such shard: 1/4 to 4/4");
}

#[test]
fn rows_with_a_run_in_common_are_refused() {
    let of = |source| Plan::new(&ScenarioFile::parse("scenario.toml", source).expect("a scenario"));
    let same = of("[[row]]\nname = \"a\"\n[[row]]\nname = \"b\"\n[[row]]\nname = \"c\"\ntopology.hops = 1\n");
    let message = same.expect_err("all three are the same").to_string();
    assert!(message.contains("\"a\" and \"b\" are the same scenario"), "{message}");
    assert!(of("[[row]]\nname = \"a\"\n[[row]]\nname = \"b\"\nseed = 2\n").is_ok(), "other seeds, other runs");
}

#[test]
fn lines_have_the_keys_that_differ() {
    let plan = plan(
        "repetitions = 1\n[[row]]\nname = \"a\"\n[[row]]\nname = \"b\"\npeers = \"engine\"\nengine.version = \"DTLS 1.3\"\n\
         repetitions = 2\n[[row]]\nname = \"c\"\ntopology.parents = [0, 0]\n",
    );
    let fields = plan.fields();
    let place = |name: &str| fields.iter().position(|field| field.name == name);
    let value = |run: usize, name: &str| {
        let result = vec![Value::Null; result_fields().len()];
        let line = plan.line(&plan.runs[run], result);
        assert_eq!(line.len(), fields.len());
        line[place(name).unwrap_or_else(|| panic!("no column {name}"))].clone()
    };
    let text = |text: &str| Value::Text(text.into());
    assert_eq!((value(0, "peers"), value(1, "peers")), (text("mbedtls"), text("engine")));
    assert_eq!((value(0, "topology.hops"), value(3, "topology.hops")), (text("1"), Value::Null));
    assert_eq!(value(3, "topology.parents"), text("[0, 0]"));
    assert_eq!((value(2, "row"), value(2, "run")), (text("b"), Value::Unsigned(1)));
    for name in ["repetitions", "seed_of", "loss.packets", "limit_ms"] {
        assert_eq!(place(name), None, "{name} is the same in all rows, or no key of theirs");
    }
}
