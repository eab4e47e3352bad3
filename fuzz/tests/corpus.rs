//! The corpus that is checked in, replayed without libFuzzer: nothing in it panics, and it begins deep enough. Where it
//! no longer does, `tools/fuzz.sh seed` makes it so again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use terse_fuzz::input::Input;
use terse_fuzz::machine::Machine;
use terse_fuzz::{cache_file, certificates, client, messages, pair, records, seeds, server};
use terse_tls::ProtocolVersion;
use terse_tls::summary::{EarlyDataStatus, Mode};

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let files = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

/// What a side that said that it is connected had agreed on.
fn agreed(side: &Machine) -> Option<(ProtocolVersion, &'static str, bool)> {
    let summary = side.connection.summary();
    let is_early = summary.early_data == EarlyDataStatus::Accepted;
    side.connected.then(|| (summary.version.unwrap(), summary.mode.name(), is_early))
}

/// Every mode in every version that has it; `is_early`, too.
fn assert_deep(sides: &[Machine]) {
    let reached: BTreeSet<_> =
        sides.iter().filter_map(agreed).map(|(version, mode, early)| (version.0, mode, early)).collect();
    for version in [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3] {
        for mode in [Mode::Full, Mode::Rfc7924, Mode::Bithac, Mode::Resumed, Mode::Psk] {
            assert!(reached.contains(&(version.0, mode.name(), false)), "{version:?} {mode}: only {reached:?}");
        }
    }
    assert!(reached.contains(&(ProtocolVersion::TLS_1_3.0, Mode::Resumed.name(), true)));
    assert!(sides.iter().any(|side| side.connected && !side.received.is_empty()), "no data");
    assert!(sides.iter().any(|side| side.connected && side.failure().is_none()), "nobody said goodbye");
}

#[test]
fn clients_reach_every_mode() {
    let clients: Vec<_> = corpus("client").iter().map(|bytes| client::replay(&Input::parse(bytes))).collect();
    assert_deep(&clients);
}

#[test]
fn servers_reach_every_mode() {
    let servers: Vec<_> = corpus("server").iter().map(|bytes| server::replay(&Input::parse(bytes))).collect();
    assert_deep(&servers);
}

#[test]
fn pairs_reach_every_mode() {
    let pairs = corpus("pair").into_iter().filter_map(|bytes| {
        let (who, bytes) = bytes.split_first()?;
        Some(pair::replay(*who, &Input::parse(bytes)))
    });
    let (clients, servers): (Vec<_>, Vec<_>) = pairs.map(<(Machine, Machine)>::from).unzip();
    assert_deep(&clients);
    assert_deep(&servers);
}

#[test]
fn the_other_targets_hold() {
    let replay = |target, run: fn(&[u8])| {
        let corpus = corpus(target);
        assert!(corpus.len() > 10, "{target}");
        corpus.iter().for_each(|bytes| run(bytes));
    };
    replay("records", records::run);
    replay("messages", messages::run);
    replay("cache_file", cache_file::run);
    replay("certificates", certificates::run);
}

#[test]
fn seeds_reach_as_far_as_what_was_recorded() {
    for (target, seeds) in seeds::all() {
        assert!(seeds.len() > 10, "{target}");
        for (name, bytes) in seeds {
            let side = match target {
                "client" => client::replay(&Input::parse(&bytes)),
                "server" => server::replay(&Input::parse(&bytes)),
                _ => continue,
            };
            let is_plain = name.ends_with("-0000");
            assert!(side.connected || !is_plain, "{target} {name}: {:?}", side.failure());
        }
    }
}

#[test]
fn any_bytes_are_an_input() {
    for (_, seeds) in seeds::all() {
        for (_, bytes) in seeds.iter().take(50) {
            let input = Input::parse(bytes);
            assert_eq!(Input::parse(&input.to_bytes()), input);
        }
    }
    assert_eq!(Input::parse(&[]), Input::default());
}
