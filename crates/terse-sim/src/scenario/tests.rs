//! Tests of scenario files: mistakes word by word, rows and matrices, the round trip, and the documentation.

use proptest::prelude::*;

use super::print::Printer;
use super::*;
use crate::compare::{Mode, Version};

mod topology;

fn parse(source: &str) -> ScenarioFile {
    ScenarioFile::parse("scenario.toml", source).unwrap_or_else(|mistakes| panic!("{mistakes}\nin {source}"))
}

fn mistakes(source: &str) -> String {
    match ScenarioFile::parse("scenario.toml", source) {
        Ok(_) => "none".into(),
        Err(mistakes) => mistakes.to_string(),
    }
}

#[test]
fn mistakes_name_the_line_the_key_and_what_would_be_right() {
    let expected = [
        (
            "\n[schedule]\nslotframe = 0\n",
            "3: schedule.slotframe: 0 is no length of a slotframe: a number of slots from 1 to 65535",
        ),
        (
            "[schedule]\nslotframe = \"five\"\n",
            "2: schedule.slotframe: \"five\" is no length of a slotframe: a number of slots from 1 to 65535",
        ),
        ("[schedule]\nslotfame = 5\n", "2: schedule.slotfame: there is no such key; did you mean slotframe?"),
        ("schedul.slotframe = 5\n", "1: schedul: there is no such key; did you mean schedule?"),
        ("[loss]\nhumidity = 0.5\n", "2: loss.humidity: there is no such key; there are fragments, packets"),
        ("schedule.slot_ms = 12\n", "1: schedule.slot_ms: 12 is no length of a slot: 10 or 15 or 20"),
        ("loss.fragments = 1.5\n", "1: loss.fragments: 1.5 is no probability: a number from 0 to 1"),
        ("loss.fragments = nan\n", "1: loss.fragments: nan is no probability: a number from 0 to 1"),
        ("loss = 0.05\n", "1: loss: 0.05 is no table: [loss]"),
        ("repetitions = -3\n", "1: repetitions: -3 is no number of runs: a number of runs from 1 to 100000"),
        (
            "peers = \"mbedtsl\"\n",
            "1: peers: \"mbedtsl\" is no kind of peers: one of \"mbedtls\", \"engine\", \"edhoc\"; did you mean \"mbedtls\"?",
        ),
        ("tcp.drop_first_syn_ack = 1\n", "1: tcp.drop_first_syn_ack: 1 is no flag: true or false"),
        (
            "schedule.cells = [\"up\", \"sideways\"]\n",
            "1: schedule.cells: \"sideways\" is none of a list of cells: one of \"shared\", \"up\", \"down\"",
        ),
        ("schedule.cells = []\n", "1: schedule.cells: [] is no list of cells: a list of 1 to 64"),
        ("schedule.cells = [\"up\"]\n", "1: schedule.cells: the server has no cell to send in: add \"down\""),
        (
            "schedule.hopping = [11, 27]\n",
            "1: schedule.hopping: 27 is none of a list of channels: a number of channels from 11 to 26",
        ),
        (
            "[schedule]\nslotframe = 4\n",
            "2: schedule.slotframe: 4 slots are too few for the cells of all links: 5 or more",
        ),
        (
            "[schedule]\nslotframe = 10\nduty_cycle = 0.5\n",
            "3: schedule.duty_cycle: this contradicts schedule.slotframe: give one of the two",
        ),
        ("topology.parents = [0, 2]\n", "1: topology.parents: mote 2 has mote 2 as its parent: 0 to 1"),
        ("[topology]\nhops = 2\nclient = 3\n", "3: topology.client: there is no mote 3: 1 to 2"),
        ("[[radio.link]]\nfrom = 1\nto = 5\n", "1: radio.link: from 1 to 5 is no link: two of the motes 0 to 1"),
        ("radio.link = 3\n", "1: radio.link: 3 is no list of tables: [[radio.link]]"),
        (
            "[mac]\nmin_backoff_exponent = 6\n",
            "2: mac.min_backoff_exponent: 6 is more than max_backoff_exponent: 0 to 5",
        ),
        ("pool.frames = 10\n", "1: pool.limit: 16 is more than the pool has: 1 to 10"),
        (
            "sixlowpan.fragment_bytes = 95\n",
            "1: sixlowpan.fragment_bytes: 95 is no length of a fragment: a multiple of 8, up to 96",
        ),
        (
            "sixlowpan.prefix = \"bbbb::1/64\"\n",
            "1: sixlowpan.prefix: \"bbbb::1/64\" is no prefix: 64 bits, such as \"bbbb::/64\"",
        ),
        (
            "peers = \"engine\"\ntopology.clients = \"all\"\nevent.kind = \"server-restart\"\n",
            "3: event.kind: devices notice a server-restart by reports without an answer only: traffic.period_ms above 0",
        ),
        (
            "peers = \"engine\"\nengine.mode = \"psk\"\ntopology.clients = \"all\"\nevent.kind = \"renewal\"\n",
            "4: event.kind: there are no certificates to renew in mode psk: full, compact or another one with them",
        ),
        (
            "peers = \"engine\"\ntopology.clients = \"all\"\ntraffic.period_ms = 0.001\n",
            "3: traffic.period_ms: a device that reports has a period of 100 at least: 0 for none",
        ),
        (
            "topology.clients = \"all\"\n",
            "1: topology.clients: a whole network connects with the engine: peers = \"engine\"",
        ),
        (
            "peers = \"engine\"\ntopology.clients = \"all\"\nreconnect.wait_ms = 700_000\n",
            "3: reconnect.wait_ms: 700000 is more than longest_wait_ms: 100 to 600000",
        ),
        (
            "internet.server = \"10.0.0.1\"\n",
            "1: internet.server: \"10.0.0.1\" is no address: an IPv6 address, such as \"bbbb::1\"",
        ),
        (
            "mbedtls.protocol = \"DTLS 1.2\"\ngateway.proxy = true\n",
            "2: gateway.proxy: a proxy is for TCP: false, or peers that use TLS",
        ),
        (
            "peers = \"engine\"\n[engine]\nversion = \"TLS 1.2\"\nmode = \"identity\"\n",
            "4: engine.mode: TLS 1.2 has no mode identity: TLS 1.3 or DTLS 1.3",
        ),
        (
            "engine.certificates = \"rsa2048x3\"\n",
            "1: engine.certificates: \"rsa2048x3\" is no chain of certificates: p256 or ed25519, then x and how many from leaf to root (2 to 8), such as \"p256x2\"",
        ),
        (
            "engine.client_device = \"cortex-m7\"\n",
            "1: engine.client_device: \"cortex-m7\" is no device: one of cortex-m3, cortex-m4, cortex-m4-assembly, server, server-rustcrypto, none",
        ),
        (
            "tcp.client.rto_initial_ms = 70_000\n",
            "1: tcp.client.rto_initial_ms: 70000 is more than rto_maximum_ms: 1 to 60000",
        ),
        ("seed = 2026-01-01\n", "1: seed: 2026-01-01 is no seed: a whole number from 0 to 9223372036854775807"),
        ("[[row]]\nname = 5\n", "2: row.name: 5 is no name: a text"),
        ("[[row]]\n[[row]]\n", "2: row.name: there are two rows \"scenario\": give each its own"),
        (
            "[[row]]\nname = \"a\"\nloss.fragmants = 0.1\n",
            "3: loss.fragmants: there is no such key; did you mean fragments?",
        ),
        (
            "[matrix]\nloss.fragments = 0.05\n",
            "2: matrix.loss.fragments: 0.05 is no list of values: [ ... ] with one at least",
        ),
        ("row = 5\n", "1: row: 5 is no list of tables: [[row]]"),
        (
            "forming.function = \"msv\"\n",
            "1: forming.function: \"msv\" is no scheduling function: one of \"none\", \"msf\", \"pid\"; did you mean \"msf\"?",
        ),
        (
            "forming.tunnel_cells = 4\n",
            "1: forming.tunnel_cells: a tunnel is negotiated: forming.function = \"msf\" or \"pid\"",
        ),
        (
            "[forming]\nfunction = \"msf\"\nslotframe = 12\ntunnel_cells = 8\n",
            "4: forming.tunnel_cells: both ways of 8 cells do not fit into slotframe = 12: 18 at least",
        ),
        (
            "[forming]\nfunction = \"msf\"\ndio_interval_doublings = 0\ndio_interval_min = 4\n",
            "4: forming.dio_interval_min: DIOs every 16 ms at least would take all minimal cells, one in 2018 ms: raise \
             dio_interval_doublings, or shorten the slotframe",
        ),
        (
            "[forming]\nfunction = \"msf\"\nkeep_alive_ms = 20_000\n",
            "3: forming.keep_alive_ms: with two slotframes it is 24037, and motes lose the network after desynchronised_ms: 17500",
        ),
        (
            "topology.motes = 20\nradio.model = \"pister-hack\"\n",
            "1: topology.motes: without parents the network must form itself: forming.function = \"msf\" or \"pid\"",
        ),
        (
            "forming.function = \"msf\"\nradio.model = \"pister-hack\"\n",
            "2: radio.model: models of the radio are for topology.motes or grid: \"matrix\", of the links to parents",
        ),
        (
            "topology.motes = 20\nforming.function = \"msf\"\nradio.model = \"k7\"\n",
            "3: radio.trace: the name of a file belongs to model = \"k7\", and the other way round",
        ),
        (
            "topology.hops = 2\ntopology.motes = 20\n",
            "2: topology.motes: this contradicts topology.hops: give one of the two",
        ),
        (
            "energy.radio = \"cc2538\"\n",
            "1: energy.radio: \"cc2538\" is no radio: one of cc2650, sixtisch-simulator, none",
        ),
    ];
    for (source, right) in expected {
        assert_eq!(mistakes(source), format!("scenario.toml:{right}"), "in {source}");
    }
}

#[test]
fn what_is_no_toml_has_a_line() {
    let text = mistakes("repetitions = 3\nseed = = 1\n");
    assert!(text.starts_with("scenario.toml:2: this is not TOML: "), "{text}");
}

#[test]
fn all_mistakes_are_reported_each_once_in_the_order_of_lines() {
    let text =
        mistakes("seed = -1\n[loss]\npackets = 2\n[[row]]\nname = \"a\"\n[[row]]\nname = \"b\"\npool.frames = 0\n");
    let lines: Vec<&str> = text.lines().map(|line| line.split(": ").next().unwrap_or_default()).collect();
    assert_eq!(lines, ["scenario.toml:1", "scenario.toml:3", "scenario.toml:8"], "{text}");
}

#[test]
fn rows_override_the_base() {
    let file = parse(
        "tcp.client.mss_bytes = 336\ntopology.hops = 2\n[[row]]\nname = \"a\"\ntcp.client.nagle = \"off\"\n\
         [[row]]\nname = \"b\"\ntopology.parents = [0, 0]\n",
    );
    let [a, b] = &file.rows[..] else { panic!("{file:?}") };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("a", "b"));
    assert_eq!(a.scenario.tcp.client.config.maximum_segment_size, 336);
    assert_eq!(a.scenario.tcp.client.config.nagle, crate::tcp::Nagle::Off);
    assert_eq!(b.scenario.tcp.client.config.nagle, crate::tcp::Nagle::On);
    assert_eq!((a.scenario.topology.client, b.scenario.topology.client), (2, 2), "the last mote");
    assert_eq!(b.scenario.topology.shape, Shape::Tree(vec![0, 0]));
}

#[test]
fn a_profile_brings_its_constants_whatever_the_order_of_keys() {
    let file = parse("tcp.client.mss_bytes = 500\ntcp.client.profile = \"linux\"\n");
    let side = &file.rows[0].scenario.tcp.client;
    let linux = crate::tcp::Config::linux();
    assert_eq!((side.config.maximum_segment_size, side.config.rto_minimum), (500, linux.rto_minimum));
}

#[test]
fn a_matrix_has_a_row_for_each_combination_that_exists() {
    let file = parse(
        "peers = \"engine\"\n[matrix]\nengine.version = [\"TLS 1.2\", \"TLS 1.3\"]\nengine.mode = [\"full\", \"identity\"]\n\
         topology.hops = [1, 3]\n[[row]]\nname = \"engine\"\n[[row]]\nname = \"EDHOC\"\npeers = \"edhoc\"\n",
    );
    let names: Vec<&str> = file.rows.iter().map(|row| row.name.as_str()).collect();
    let engine = ["TLS 1.2, full", "TLS 1.3, full", "TLS 1.3, identity"];
    let both = |name: &str| [1, 3].map(|hops| format!("engine, {name}, topology.hops {hops}"));
    let expected: Vec<String> = engine.into_iter().flat_map(both).collect();
    assert_eq!(names[..6], expected.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(names.len(), 6 + 8, "EDHOC has no versions: all eight are the same");
    let row = file.row("engine, TLS 1.3, identity, topology.hops 3").expect("a row");
    assert_eq!(row.scenario.topology, Topology { shape: Shape::Chain(3), client: 3, ..Topology::default() });
    assert_eq!((row.scenario.engine.version, row.scenario.engine.mode), (Version::Tls13, Mode::Identity));
}

#[test]
fn a_matrix_of_a_row_is_its_own() {
    let file = parse(
        "matrix.loss.fragments = [0, 0.05]\n[[row]]\nname = \"a\"\nmatrix.topology.hops = [1, 2]\n[[row]]\nname = \"b\"\n",
    );
    let names: Vec<&str> = file.rows.iter().map(|row| row.name.as_str()).collect();
    let hops = |hops, loss| format!("a, topology.hops {hops}, loss.fragments {loss}");
    assert_eq!(names[..4], [hops(1, "0"), hops(1, "0.05"), hops(2, "0"), hops(2, "0.05")]);
    assert_eq!(names[4..], ["b, loss.fragments 0", "b, loss.fragments 0.05"]);
}

#[test]
fn the_defaults_print_and_read_back() {
    let file = parse("");
    let printed = file.to_toml();
    assert_eq!(parse(&printed), file, "{printed}");
    assert_eq!(parse(&printed).to_toml(), printed);
    for key in ["duty_cycle = 1", "max_retries = 15", "rto_initial_ms = 1000", "server = \"bbbb::1\""] {
        assert!(printed.contains(key), "{key} in {printed}");
    }
}

/// A part of a file: nothing, or some keys that go with all other parts.
fn part(keys: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select([&[""], keys].concat()).prop_map(String::from)
}

prop_compose! {
    fn keys()(
        parts in (
            part(&["topology.hops = 3", "topology.parents = [0, 1, 1, 0]", "topology.hops = 2\ntopology.client = 1", "topology.tree = 9\ntopology.branching = 2", "topology.tree = 7"]),
            part(&["schedule.slotframe = 101", "schedule.duty_cycle = 0.123", "schedule.placement = \"together\""]),
            part(&["schedule.cells = [\"up\", \"down\", \"shared\", \"up\"]", "schedule.slot_ms = 10", "schedule.hopping = [11]"]),
            part(&["peers = \"engine\"\nengine.mode = \"compact\"", "peers = \"edhoc\"\nedhoc.credentials = \"value\""]),
            part(&["tcp.client.profile = \"linux\"", "tcp.client.acknowledgements = \"immediate\"", "tcp.client.ack_delay_ms = 20.25"]),
            part(&["forming.function = \"msf\"", "topology.motes = 9\nforming.function = \"pid\"\nradio.model = \"pister-hack\"\nradio.side_m = 700.5", "topology.grid = 8\ntopology.spacing_m = 20.5\ntopology.root = \"centre\"\nforming.function = \"msf\""]),
            part(&["tcp.server.profile = \"constrained\"", "tcp.server.acknowledgements = \"delayed\"\ntcp.server.ack_segments = 3"]),
            part(&["radio.link = [{ from = 0, to = 1, channel = 15, delivery = 0.25 }, { from = 1, to = 0 }]", "radio.delivery = 0.9"]),
            part(&["internet.rate_bit_per_s = 250000", "paper.latency_ms = 4495\npaper.bytes = 3102", "internet.server = \"2001:db8::7\""]),
        ),
        seed in 0..=i64::MAX,
        loss in 0.0..1.0,
        delay in 0_u64..60_000_000_000,
        title in "[ -~]{0,20}",
    ) -> String {
        let (a, b, c, d, e, f, g, h, i) = parts;
        let milliseconds = delay as f64 / 1e6;
        let own = format!("seed = {seed}\nloss.packets = {loss}\ninternet.delay_ms = {milliseconds}\n");
        let _ = &title;
        [a, b, c, d, e, f, g, h, i, own].join("\n")
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(base in keys(), row in keys(), name in "[ -~äß\\t]{1,12}") {
        let name = print::quoted(&name);
        let source = format!("{base}\n[[row]]\nname = \"first\"\n[[row]]\nname = {name}\n{row}\n");
        // Some rows contradict themselves, for example a mote that there is no more: those are no scenarios.
        if let Ok(file) = ScenarioFile::parse("scenario.toml", &source) {
            let printed = file.to_toml();
            let read = ScenarioFile::parse("printed.toml", &printed);
            prop_assert_eq!(read.as_ref(), Ok(&file), "{}", printed);
            prop_assert_eq!(read.map(|file| file.to_toml()), Ok(printed));
        }
    }

    #[test]
    fn no_file_makes_the_reader_panic(source in "[a-z_.=\\[\\]\"0-9 \n{},-]{0,200}") {
        let _ = ScenarioFile::parse("scenario.toml", &source);
    }
}

#[test]
fn a_row_keeps_what_it_overrides_when_it_is_printed() {
    let source = "topology.hops = 2\nschedule.slotframe = 40\n[[row]]\nname = \"a \\\"quoted\\\" \\\\ name\"\n\
                  topology.parents = [0, 0]\nschedule.duty_cycle = 0.5\ntcp.server.profile = \"constrained\"\n";
    let file = parse(source);
    assert_eq!(parse(&file.to_toml()), file, "{}", file.to_toml());
    let Length::DutyCycle(share) = file.rows[0].scenario.schedule.length else { panic!("{file:?}") };
    assert_eq!(share, 0.5);
}

/// Every key.
fn all_keys() -> Vec<String> {
    let mut scenario = Scenario::default();
    scenario.internet.rate = Some(1.0);
    Printer::keys(|visitor| scenario.visit(visitor))
}

#[test]
fn every_key_is_documented_with_its_default_and_no_other() {
    let docs = include_str!("../../../../docs/scenarios.md");
    // Results have names of their own.
    let docs = docs.split("\n## Results\n").next().unwrap_or_default();
    let mut scenario = Scenario::default();
    let defaults = Printer::lines(|visitor| scenario.visit(visitor));
    let rows: Vec<&str> = docs.lines().filter(|line| line.starts_with("| `") && !line.starts_with("| `--")).collect();
    let cell =
        |row: &str, number: usize| row.split('|').nth(number).unwrap_or_default().trim().trim_matches('`').to_owned();
    let documented: Vec<String> = rows.iter().map(|row| cell(row, 1)).collect();
    for key in all_keys() {
        let place = documented.iter().position(|documented| *documented == key);
        let place = place.unwrap_or_else(|| panic!("docs/scenarios.md has no row for {key}"));
        if let Some(line) = defaults.iter().find(|line| line.path() == key) {
            assert_eq!(cell(rows[place], 2), line.value, "the default of {key} in docs/scenarios.md");
        }
    }
    for key in &documented {
        assert!(all_keys().contains(key), "docs/scenarios.md documents {key}, which there is not");
    }
}

#[test]
fn every_key_has_an_example_that_reads() {
    let docs = include_str!("../../../../docs/scenarios.md");
    let examples: Vec<&str> = docs.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() > 10, "{}", examples.len());
    let mut read = String::new();
    for example in examples {
        parse(example);
        read += example;
    }
    for key in all_keys() {
        let last = key.rsplit('.').next().unwrap_or_default();
        assert!(read.contains(&format!("{last} = ")), "docs/scenarios.md has no example of {key}");
    }
}

/// Makes no parties: scripts need none.
struct Nobody;

impl MakesParties for Nobody {
    fn parties(&self, _: &EngineOptions) -> Result<crate::compare::Parties, String> {
        Err("there are no certificates here".into())
    }

    fn begins(&self) -> u64 {
        0
    }
}

fn run(scenario: &Scenario, number: u32) -> Outcome {
    Prepared::new(scenario, &Nobody).expect("it can be run").run(number).expect("it runs")
}

#[test]
fn frames_are_those_counted_by_hand() {
    // simulator.md and the paper have 2,680 and 2,841 B; by hand 2,681 and 2,840 in 24 and 26 frames, and 27 B for each
    // acknowledgement of the MAC.
    for (length, bytes, frames, packets) in [(1_024, 2_681, 24, 6), (512, 2_840, 26, 8)] {
        let keys = format!("mbedtls.protocol = \"DTLS 1.2\"\nmbedtls.max_fragment_length_bytes = {length}\n");
        for number in 0..5 {
            let outcome = run(&parse(&keys).rows[0].scenario, number);
            let air = Air { bytes, acknowledgement_bytes: 27 * frames, frames, packets, network_bytes: 0 };
            assert_eq!((outcome.air, outcome.retransmissions), (air, 0));
            assert!(outcome.is_connected() && outcome.drops.is_empty(), "{outcome:?}");
        }
    }
}

#[test]
fn frames_of_each_hop_count_and_packets_once() {
    let keys = "mbedtls.protocol = \"DTLS 1.2\"\ntopology.hops = 2\n\
                dtls = { client_timeout_ms = 60_000, server_timeout_ms = 60_000 }\n";
    let outcome = run(&parse(keys).rows[0].scenario, 0);
    assert_eq!((outcome.air.frames, outcome.air.packets), (2 * 24, 6));
}

#[test]
fn a_run_follows_from_its_seed() {
    let lossy = parse("loss.fragments = 0.05\n").rows.remove(0).scenario;
    let first: Vec<Outcome> = (0..4).map(|number| run(&lossy, number)).collect();
    assert_eq!(first, (0..4).map(|number| run(&lossy, number)).collect::<Vec<_>>());
    assert!(first.windows(2).all(|pair| pair[0] != pair[1]), "{first:?}");
    let mut other = lossy.clone();
    other.repetitions.seed = 2;
    assert_ne!(run(&other, 0), first[0]);
}

#[test]
fn a_capture_changes_nothing() {
    for keys in [
        "",
        "mbedtls.protocol = \"DTLS 1.2\"\n",
        "peers = \"edhoc\"\ntopology.hops = 3\nloss.fragments = 0.05\n",
        // Cells and timers follow from the addresses of motes.
        "topology.hops = 2\nschedule.slot_ms = 10\nforming.function = \"msf\"\n",
    ] {
        let prepared = Prepared::new(&parse(keys).rows[0].scenario, &Nobody).expect("it can be run");
        let plain = prepared.run(3).expect("it runs");
        let [first, second] = [1, 2].map(|label| prepared.capture(3, label, None).expect("it runs"));
        assert_eq!((&first.0, &second.0), (&plain, &plain), "{keys}");
        let lengths = |captured: &crate::compare::Captured| -> Vec<usize> {
            captured.capture.entries().iter().map(|entry| entry.bytes.len()).collect()
        };
        assert_eq!(lengths(&first.1), lengths(&second.1), "{keys}");
        assert!(!lengths(&first.1).is_empty() && first.1.capture != second.1.capture, "another address");
    }
}

#[test]
fn options_reach_the_network() {
    let latency = |keys: &str| {
        let outcome = run(&parse(keys).rows[0].scenario, 0);
        outcome.latency.unwrap_or_else(|| panic!("{keys}: {outcome:?}")).as_secs_f64()
    };
    let base = latency("");
    for (keys, least, most) in [
        // The network goes on while the client computes.
        ("mbedtls.computing_ms = 0", -2.1, -1.0),
        ("internet.delay_ms = 100", 0.4, 3.0),
        ("tcp.drop_first_syn_ack = true", 0.5, 1.5),
        ("schedule.duty_cycle = 0.25", 1.0, 20.0),
        ("topology.hops = 2", 0.5, 10.0),
        ("schedule.slot_ms = 10", -2.0, -0.3),
        ("serial = { up_ms = 60, down_ms = 60 }", 0.1, 3.0),
        ("radio.delivery = 0.5", 0.3, 10.0),
    ] {
        let more = latency(keys) - base;
        assert!((least..most).contains(&more), "{keys}: {more} s more");
    }
}

#[test]
fn cells_given_one_by_one_are_those_of_the_pattern() {
    let cell = |slot: u16, from, to| format!("{{ slot = {slot}, from = {from}, to = {to} }}");
    let cells = [cell(1, 1, 0), cell(2, 0, 1), cell(3, 0, 1), cell(4, 0, 1)].join(", ");
    let explicit = format!("[schedule]\nslotframe = 5\ncell = [{{ slot = 0, kind = \"shared\" }}, {cells}]\n");
    let by_pattern = parse("").rows.remove(0).scenario;
    let explicit = parse(&explicit).rows.remove(0).scenario;
    assert_eq!(run(&explicit, 1), run(&by_pattern, 1));
    assert_ne!(explicit.schedule, by_pattern.schedule);
}

#[test]
fn a_bad_channel_costs_frames_on_its_link_only() {
    let dtls = |keys: &str| {
        let scenario = parse(&format!("mbedtls.protocol = \"DTLS 1.2\"\n{keys}")).rows.remove(0).scenario;
        let outcomes = (0..10).map(|number| run(&scenario, number));
        outcomes.map(|outcome| outcome.air.frames).sum::<u64>()
    };
    let one = "radio.link = [{ from = 1, to = 0, channel = 15, delivery = 0 }]\n";
    let all = "radio.link = [{ from = 1, to = 0, delivery = 0.5 }]\n";
    let elsewhere =
        "topology.parents = [0, 0]\ntopology.client = 1\nradio.link = [{ from = 2, to = 0, delivery = 0 }]\n";
    let alone = "topology.parents = [0, 0]\ntopology.client = 1\n";
    assert!(dtls("") < dtls(one) && dtls(one) < dtls(all), "{} {} {}", dtls(""), dtls(one), dtls(all));
    assert_eq!(dtls(elsewhere), dtls(alone), "another mote's link");
}

#[test]
fn what_never_arrives_is_no_connection() {
    let outcome = run(&parse("loss.fragments = 1\nlimit_ms = 100_000\n").rows[0].scenario, 0);
    assert!(!outcome.is_connected() && outcome.latency.is_none(), "{outcome:?}");
    assert!(outcome.failure.as_ref().is_some_and(|failure| failure.starts_with("client: ")), "{outcome:?}");
    let no_radio = run(&parse("radio.delivery = 0\nlimit_ms = 100_000\n").rows[0].scenario, 0);
    assert!(no_radio.drops.contains_key(&crate::network::Cause::RetriesExhausted), "{no_radio:?}");
}

/// The files of `scenarios`.
const FILES: [(&str, &str); 9] = [
    ("table2.toml", include_str!("../../../../scenarios/paper-001/table2.toml")),
    ("table3.toml", include_str!("../../../../scenarios/paper-001/table3.toml")),
    ("figure5.toml", include_str!("../../../../scenarios/paper-001/figure5.toml")),
    ("figure6.toml", include_str!("../../../../scenarios/paper-001/figure6.toml")),
    ("figure7.toml", include_str!("../../../../scenarios/paper-001/figure7.toml")),
    ("figure10.toml", include_str!("../../../../scenarios/paper-001/figure10.toml")),
    ("section4.toml", include_str!("../../../../scenarios/paper-001/section4.toml")),
    ("engine.toml", include_str!("../../../../scenarios/engine.toml")),
    ("forming.toml", include_str!("../../../../scenarios/forming.toml")),
];

#[test]
fn the_files_that_come_along_can_be_run() {
    for (name, source) in FILES {
        let file = ScenarioFile::parse(name, source).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert_eq!(parse(&file.to_toml()), file, "{name}");
        let uses_engine = |row: &Row| row.scenario.peers == PeerKind::Engine;
        for row in file.rows.iter().filter(|row| !uses_engine(row)) {
            let prepared =
                Prepared::new(&row.scenario, &Nobody).unwrap_or_else(|error| panic!("{}: {error}", row.name));
            let outcome = prepared.run(0).unwrap_or_else(|error| panic!("{}: {error}", row.name));
            assert!(outcome.is_connected(), "{name}, {}: {outcome:?}", row.name);
        }
    }
}

#[test]
fn a_network_that_forms_itself_is_a_network_for_a_handshake() {
    let keys = "mbedtls.protocol = \"DTLS 1.2\"\ntopology.hops = 3\ndtls = { client_timeout_ms = 60_000, server_timeout_ms = 60_000 }\n\
                [forming]\nfunction = \"msf\"\nslotframe = 23\nkeep_alive_ms = 20_000\ndesynchronised_ms = 35_000\n";
    let outcome = run(&parse(keys).rows[0].scenario, 0);
    assert!(outcome.is_connected(), "{outcome:?}");
    let forming = outcome.forming.expect("it has formed");
    assert!(
        forming.time > core::time::Duration::from_secs(20) && forming.bytes > 1_000 && forming.charge > Some(100.0)
    );
    assert_eq!(outcome.hops, Some(3));
    // The frames of the handshake are those of a network that stands, but for 3 hops, and for Ranks that take two bytes.
    assert!(outcome.air.packets == 6 && outcome.air.frames >= 3 * 24, "{:?}", outcome.air);
    assert!(outcome.air.network_bytes > 0 && outcome.charge.is_some());
    let motes: Vec<u16> = outcome.schedule.iter().map(|cell| cell.mote).collect();
    assert!(motes.first() == Some(&3) && motes.last() == Some(&0), "from the client to the root: {motes:?}");
    assert_eq!(outcome, run(&parse(keys).rows[0].scenario, 0), "a run follows from its seed");
    let hops: Vec<Option<u8>> = outcome.standing.iter().map(|mote| mote.hops).collect();
    assert_eq!(hops, [Some(0), Some(1), Some(2), Some(3)]);
    let days = outcome.standing[1..].iter().map(|mote| mote.days).fold(f64::INFINITY, f64::min);
    let charge = outcome.charge.expect("it is counted");
    assert!(charge.least_days == days && charge.days == outcome.standing[3].days && days > 100.0, "{charge:?}");
    let standing = run(&parse("").rows[0].scenario, 0);
    assert!(standing.forming.is_none() && standing.air.network_bytes == 0 && standing.hops == Some(1));
}

#[test]
fn a_network_that_cannot_form_is_a_failure_that_says_so() {
    let keys = "topology.hops = 2\nradio.delivery = 0\nforming = { function = \"msf\", limit_ms = 60_000 }\n";
    let outcome = run(&parse(keys).rows[0].scenario, 0);
    let expected = "the network was not formed within the limit: 1 of 3 motes, the root included, without 1, 2; try a longer \
                    forming.limit_ms, a lower forming.least_rssi_dbm, a shorter forming.slotframe, more pool.frames, or better links";
    assert_eq!((outcome.failure.as_deref(), outcome.latency), (Some(expected), None));
}

#[test]
fn motes_are_placed_at_random_or_as_in_a_trace() {
    let random = "topology.motes = 7\nradio = { model = \"pister-hack\", side_m = 300 }\nforming = { function = \"msf\", slotframe = 23 }\n";
    let scenario = parse(random).rows.remove(0).scenario;
    let [first, second] = [0, 1].map(|number| run(&scenario, number));
    assert!(first.is_connected() && second.is_connected() && first.forming != second.forming, "{first:?} {second:?}");

    struct Traces(&'static str);
    impl MakesParties for Traces {
        fn parties(&self, options: &EngineOptions) -> Result<crate::compare::Parties, String> {
            Nobody.parties(options)
        }

        fn begins(&self) -> u64 {
            0
        }

        fn trace(&self, name: &str) -> Result<String, String> {
            assert_eq!(name, "office.k7");
            Ok(self.0.into())
        }
    }
    let keys = "topology.motes = 1\nradio = { model = \"k7\", trace = \"office.k7\" }\nforming = { function = \"msf\", slotframe = 23 }\nlimit_ms = 60_000\n";
    let scenario = parse(keys).rows.remove(0).scenario;
    // Channels without a row deliver nothing: all are of the one that was measured. The link is gone after two days.
    let trace = "{\"tx_length\": 100, \"stop_date\": \"2018-01-13T16:21:30.0\", \"channels\": [11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26], \
                 \"location\": \"office\", \"node_count\": 2, \"start_date\": \"2018-01-11T16:21:30.0\", \"interframe_duration\": 100}\n\
                 datetime,src,dst,channel,mean_rssi,pdr,tx_count\n\
                 2018-01-11T16:21:30.0,0,1,,-60.0,1.0,100\n2018-01-11T16:21:30.0,1,0,,-60.0,1.0,100\n\
                 2018-01-13T16:21:20.0,0,1,,,0.0,100\n2018-01-13T16:21:20.0,1,0,,,0.0,100\n";
    let prepared = Prepared::new(&scenario, &Traces(trace)).expect("it can be run");
    assert!(prepared.run(0).expect("it runs").is_connected());
    let mut late = scenario.clone();
    late.radio.trace_start = core::time::Duration::from_secs(2 * 86_400 - 10);
    late.forming.limit = core::time::Duration::from_secs(60);
    let outcome = Prepared::new(&late, &Traces(trace)).expect("it can be run").run(0).expect("it runs");
    assert!(outcome.failure.is_some_and(|failure| failure.starts_with("the network was not formed")));
    let mut large = scenario.clone();
    large.topology = Topology { shape: Shape::Field(9), client: 9, ..Topology::default() };
    let error = Prepared::new(&large, &Traces(trace)).expect_err("the trace has two nodes");
    assert_eq!(error.to_string(), "office.k7: the trace has 2 nodes, and topology.motes wants 10, the root included");
    let error = Prepared::new(&scenario, &Traces("no trace")).expect_err("it is none");
    assert!(error.to_string().starts_with("office.k7: line 1: "), "{error}");
}
