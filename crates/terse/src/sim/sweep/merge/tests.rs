//! What cannot be merged is refused, with what to do.

use super::super::plan::{Plan, result_fields};
use super::*;
use crate::sim::columns::Value;
use terse_sim::scenario::ScenarioFile;

const SOURCE: &str = "repetitions = 20\n[matrix]\ntopology.hops = [1, 2, 3]\n";

/// Returns a shard whose runs have no more than their identifiers.
fn shard(source: &str, shard: &str) -> (PathBuf, Runs) {
    let shard: Shard = shard.parse().expect("a shard");
    let plan = Plan::new(&ScenarioFile::parse("scenario.toml", source).expect("a scenario")).expect("a plan");
    let result = vec![Value::Null; result_fields().len()];
    let runs = plan.runs.iter().filter(|run| shard.has(run.id));
    let lines = runs.map(|run| plan.line(run, result.clone())).collect();
    let runs = Runs { header: plan.header(shard), fields: plan.fields(), lines };
    (format!("{}.parquet", shard.file_name()).into(), runs)
}

fn refused(shards: Vec<(PathBuf, Runs)>) -> String {
    merge(shards).expect_err("it is refused").to_string()
}

#[test]
fn shards_in_any_order_are_the_whole() {
    let whole = shard(SOURCE, "1/1").1;
    for names in [&["1/1"][..], &["2/2", "1/2"], &["3/4", "1/4", "4/4", "2/4"], &["4/4", "1/2", "2/4"]] {
        let shards = names.iter().map(|name| shard(SOURCE, name)).collect();
        assert_eq!(merge(shards).expect("it is whole"), whole, "{names:?}");
    }
}

#[test]
fn missing_shards_are_named() {
    let message = refused(vec![shard(SOURCE, "4/4"), shard(SOURCE, "2/4")]);
    assert!(message.contains("runs are missing") && message.contains("of 60"), "{message}");
    assert!(message.ends_with("for them: 1 of 4, 3 of 4"), "{message}");
    let message = refused(vec![shard(SOURCE, "1/2"), shard(SOURCE, "2/4")]);
    assert!(message.contains("name all files of the sweep"), "{message}");
}

#[test]
fn a_run_that_is_there_twice_is_refused() {
    let message = refused(vec![shard(SOURCE, "1/1"), shard(SOURCE, "2/4")]);
    assert!(message.contains("is in shard-1-of-1.parquet and again in shard-2-of-4.parquet"), "{message}");
}

#[test]
fn shards_of_other_sweeps_are_refused() {
    let renamed = "repetitions = 20\ntopology.hops = 1\n[[row]]\nname = \"one\"\n[[row]]\nname = \"two\"\ntopology.hops = 2\n\
                   [[row]]\nname = \"three\"\ntopology.hops = 3\n";
    for other in [SOURCE.replace("20", "21"), SOURCE.replace("3]", "4]"), renamed.into()] {
        let message = refused(vec![shard(SOURCE, "1/2"), shard(&other, "2/2")]);
        assert!(message.contains("shard-1-of-2.parquet and shard-2-of-2.parquet are of different sweeps"), "{message}");
    }
}

#[test]
fn a_shard_without_runs_is_a_shard() {
    let few = "repetitions = 2\n";
    let shards: Vec<_> = (1..=50).map(|number| shard(few, &format!("{number}/50"))).collect();
    assert!(shards.iter().any(|(_, runs)| runs.lines.is_empty()));
    assert_eq!(merge(shards).expect("it is whole"), shard(few, "1/1").1);
}
