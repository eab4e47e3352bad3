//! Tests of the shapes of a network: their keys, where motes stand, who hears whom, and a run of each.

use super::*;
use crate::radio::{Position, RootPlace};

const FORMS: &str = "forming = { function = \"msf\", slotframe = 23 }\n";

fn scenario(source: &str) -> Scenario {
    parse(source).rows.remove(0).scenario
}

/// Returns where motes stand in a run with this seed.
fn places(scenario: &Scenario, seed: u64) -> Vec<(f64, f64)> {
    let places = scenario.places(seed).expect("there is room").expect("they are known");
    places.iter().map(|place| (place.x, place.y)).collect()
}

/// Returns the pairs of motes that hear each other, each once.
fn pairs(scenario: &Scenario) -> Vec<(u16, u16)> {
    let radio = scenario.mesh(None).radio;
    let links: Vec<(u16, u16)> = radio.links().map(|(from, to, _)| (from, to)).collect();
    assert!(links.iter().all(|(from, to)| links.contains(&(*to, *from))), "one way: {links:?}");
    links.into_iter().filter(|(from, to)| from < to).collect()
}

#[test]
fn shapes_are_read_with_their_defaults() {
    let default = Topology::default();
    let tree = |motes, branching| Shape::CompleteTree { motes, branching };
    let grid = |motes, spacing| Shape::Grid { motes, spacing };
    let read = |keys: &str| scenario(keys).topology;
    assert_eq!(read("topology.tree = 20\n"), Topology { shape: tree(20, 4), client: 20, ..default.clone() });
    let keys = "topology = { tree = 20, branching = 100, client = 3 }\n";
    assert_eq!(read(keys), Topology { shape: tree(20, 100), client: 3, ..default.clone() });
    let keys = format!("topology.grid = 1000\n{FORMS}");
    assert_eq!(read(&keys), Topology { shape: grid(1_000, 50.0), client: 1_000, ..default });
    let keys = format!("topology = {{ grid = 8, spacing_m = 12.5, root = \"centre\" }}\n{FORMS}");
    assert_eq!(
        read(&keys),
        Topology { shape: grid(8, 12.5), root: RootPlace::Centre, client: 8, ..Topology::default() }
    );
    let keys = format!("topology = {{ motes = 8, root = \"centre\" }}\nradio.model = \"pister-hack\"\n{FORMS}");
    assert_eq!(
        read(&keys),
        Topology { shape: Shape::Field(8), root: RootPlace::Centre, client: 8, ..Topology::default() }
    );
}

#[test]
fn shapes_print_and_read_back_also_as_rows_of_another_shape() {
    let shapes = [
        "topology.hops = 2",
        "topology.parents = [0, 0]",
        "topology.tree = 9\ntopology.branching = 2",
        "topology.tree = 9\ntopology.branching = 4",
        "topology.grid = 8\ntopology.spacing_m = 20\nforming.function = \"msf\"",
        "topology.grid = 8\ntopology.spacing_m = 50\ntopology.root = \"centre\"\nforming.function = \"msf\"",
        "topology.motes = 8\nforming.function = \"msf\"\nradio = { model = \"pister-hack\", field_seed = 7 }",
    ];
    for base in shapes {
        for row in shapes {
            // What the base says of its own shape has to be taken back by rows of another one.
            let [forming, model, root] = ["forming.function", "model", "topology.root"].map(|key| !row.contains(key));
            let undone = [
                ("forming.function = \"none\"\n", forming),
                ("radio.model = \"matrix\"\n", model),
                ("topology.root = \"corner\"\n", root),
            ];
            let undone: String = undone.into_iter().filter(|(_, is_missing)| *is_missing).map(|(key, _)| key).collect();
            let file = parse(&format!("{base}\n[[row]]\nname = \"own\"\n[[row]]\nname = \"other\"\n{row}\n{undone}"));
            let printed = file.to_toml();
            assert_eq!(parse(&printed), file, "{printed}");
            assert_eq!(file.rows[1].scenario.topology, scenario(row).topology, "{base}\n{row}");
        }
    }
    let printed = parse("topology.tree = 9\n").to_toml();
    assert!(
        printed.contains("\ntree = 9\nbranching = 4\nroot = \"corner\"\nclients = \"one\"\nclient = 9\n"),
        "{printed}"
    );
    assert!(!parse("").to_toml().contains("branching"));
}

#[test]
fn a_key_of_another_shape_has_no_meaning() {
    let of_tree = "topology.branching = 2\n[[row]]\nname = \"a\"\ntopology.tree = 7\n[[row]]\nname = \"b\"\n";
    let [a, b] = &parse(of_tree).rows[..] else { panic!("two rows") };
    assert_eq!(a.scenario.topology.shape, Shape::CompleteTree { motes: 7, branching: 2 });
    assert_eq!(b.scenario, Scenario::default());
}

#[test]
fn mistakes_about_shapes_say_what_would_be_right() {
    let expected = [
        ("topology.tree = 0\n", "1: topology.tree: 0 is no number of motes: a number of motes from 1 to 1000"),
        (
            "forming.function = \"msf\"\ntopology.grid = 1001\n",
            "2: topology.grid: 1001 is no number of motes: a number of motes from 1 to 1000",
        ),
        (
            "topology.tree = 5\ntopology.branching = 101\n",
            "2: topology.branching: 101 is no number of children: a number of children from 1 to 100",
        ),
        (
            "topology.grid = 8\ntopology.spacing_m = 0\nforming.function = \"msf\"\n",
            "2: topology.spacing_m: 0 is no distance: a number of metres from 1 to 100000",
        ),
        (
            "topology.root = \"edge\"\n",
            "1: topology.root: \"edge\" is no place of the root: one of \"corner\", \"centre\"",
        ),
        ("radio.field_seed = -1\n", "1: radio.field_seed: -1 is no seed: a whole number from 0 to 9223372036854775807"),
        (
            "topology.tree = 5\ntopology.grid = 8\n",
            "2: topology.grid: this contradicts topology.tree: give one of the two",
        ),
        ("topology.tree = 5\ntopology.client = 6\n", "2: topology.client: there is no mote 6: 1 to 5"),
        (
            "topology.grid = 8\n",
            "1: topology.grid: without parents the network must form itself: forming.function = \"msf\" or \"pid\"",
        ),
        (
            "forming.function = \"msf\"\ntopology.grid = 1\nradio = { model = \"k7\", trace = \"a.k7\" }\n",
            "3: radio.model: a trace knows nothing of a grid: \"matrix\" or \"pister-hack\"",
        ),
        (
            "forming.function = \"msf\"\ntopology.motes = 8\nradio.model = \"matrix\"\n",
            "3: radio.model: motes without an order have no links: \"pister-hack\" or \"k7\"",
        ),
        (
            "forming.function = \"msf\"\ntopology.tree = 8\nradio.model = \"pister-hack\"\n",
            "3: radio.model: models of the radio are for topology.motes or grid: \"matrix\", of the links to parents",
        ),
        (
            "topology.tree = 17\ntopology.branching = 1\n",
            "1: topology.tree: the client is 17 hops away: 16 at most, by another client or tree",
        ),
        (
            "topology.hops = 2\ntopology.root = \"centre\"\n",
            "2: topology.root: only topology.motes and topology.grid have a centre: \"corner\"",
        ),
        (
            "topology.tree = 2\ntopology.root = \"centre\"\nforming.function = \"msf\"\n",
            "2: topology.root: only topology.motes and topology.grid have a centre: \"corner\"",
        ),
        (
            "forming.function = \"msf\"\ntopology = { motes = 1, root = \"centre\" }\nradio = { model = \"k7\", trace = \"a.k7\" }\n",
            "2: topology.root: a trace has a root of its own: \"corner\"",
        ),
    ];
    for (source, right) in expected {
        assert_eq!(mistakes(source), format!("scenario.toml:{right}"), "in {source}");
    }
    assert_eq!(mistakes("topology = { tree = 1000, branching = 1, client = 16 }\n"), "none", "16 hops");
}

#[test]
fn a_complete_tree_is_one_made_by_hand() {
    //          0
    //     1    2    3
    //   4 5 6  7 8
    let by_hand = [0, 0, 0, 1, 1, 1, 2, 2];
    let tree = scenario("topology = { tree = 8, branching = 3 }\n");
    assert_eq!(tree.topology.parents(), by_hand);
    let listed = scenario(&format!("topology.parents = {by_hand:?}\n"));
    assert_eq!(pairs(&tree), [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (1, 6), (2, 7), (2, 8)]);
    assert_eq!(tree.mesh(None), listed.mesh(None));
    let depths: Vec<u64> = (0..=8).map(|mote| tree.topology.depth(mote)).collect();
    assert_eq!(depths, [0, 1, 1, 1, 2, 2, 2, 2, 2]);
    let large = Topology { shape: Shape::CompleteTree { motes: 1_000, branching: 2 }, ..Topology::default() };
    assert_eq!(large.depth(1_000), 9);
    assert_eq!(tree.places(1), Ok(None), "a tree has no places");
}

#[test]
fn motes_of_a_grid_hear_those_next_to_them() {
    // 6 7 8
    // 3 4 5
    // 0 1 2
    let corner = scenario(&format!("topology.grid = 8\nradio.delivery = 0.75\n{FORMS}"));
    let by_hand = [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 6), (4, 5), (4, 7), (5, 8), (6, 7), (7, 8)];
    assert_eq!(pairs(&corner), by_hand);
    assert!(corner.mesh(None).radio.links().all(|(.., delivery)| delivery == 0.75));
    let at = |column: u8, row: u8| (50.0 * f64::from(column), 50.0 * f64::from(row));
    let rows: Vec<(f64, f64)> = (0..3).flat_map(|row| (0..3).map(move |column| at(column, row))).collect();
    assert_eq!(places(&corner, 1), rows);
    // 6 7 8
    // 4 0 5
    // 1 2 3
    let centre = scenario(&format!("topology.grid = 8\ntopology.root = \"centre\"\n{FORMS}"));
    let by_hand = [(0, 2), (0, 4), (0, 5), (0, 7), (1, 2), (1, 4), (2, 3), (3, 5), (4, 6), (5, 8), (6, 7), (7, 8)];
    assert_eq!(pairs(&centre), by_hand);
    assert_eq!(places(&centre, 1)[..3], [at(1, 1), at(0, 0), at(1, 0)]);
    // Exceptions override the links of a grid, too.
    let link = "radio.link = [{ from = 0, to = 8, delivery = 1 }, { from = 8, to = 0 }]\n";
    let more = scenario(&format!("topology.grid = 8\n{link}{FORMS}"));
    assert_eq!(pairs(&more).len(), 13);
}

#[test]
fn every_grid_hangs_together_whatever_its_size() {
    for motes in 1..=60 {
        for root in [RootPlace::Corner, RootPlace::Centre] {
            let shape = Shape::Grid { motes, spacing: 1.0 };
            let topology = Topology { shape, root, client: motes, ..Topology::default() };
            let scenario = Scenario { topology, ..Scenario::default() };
            let places = places(&scenario, 1);
            let width = (motes as f64 + 1.0).sqrt().ceil();
            assert!(places.iter().all(|(x, y)| *x < width && *y < width), "{motes}: {places:?}");
            assert!((1..places.len()).all(|mote| !places[..mote].contains(&places[mote])), "{motes}: {places:?}");
            let pairs = pairs(&scenario);
            let distance = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() + (a.1 - b.1).abs();
            assert!(pairs.iter().all(|(a, b)| distance(places[usize::from(*a)], places[usize::from(*b)]) == 1.0));
            let mut reached = vec![0];
            while let Some((a, b)) = pairs.iter().find(|(a, b)| reached.contains(a) != reached.contains(b)) {
                reached.push(if reached.contains(a) { *b } else { *a });
            }
            assert_eq!(reached.len() as u64, motes + 1, "{motes}, {root:?}");
        }
    }
}

#[test]
fn strengths_in_a_grid_follow_from_distances_and_losses_from_the_seed() {
    let keys = "topology = { grid = 8, spacing_m = 10 }\nradio.model = \"pister-hack\"\nradio.field_seed = 7\n";
    let scenario = scenario(&format!("{keys}{FORMS}"));
    let radio =
        |scenario: &Scenario, seed| scenario.connectivity_of_places(seed).expect("it is no draw").expect("places");
    // Free space takes 60.1 dB from 10 m, and the model up to 40 dB more.
    let [first, other] = [7, 8].map(|seed| radio(&scenario, seed).rssi(0, 1, 11).expect("it is heard"));
    assert!((-100.1..=-60.0).contains(&first) && first == other, "{first} {other}");
    let mut drawn = scenario.clone();
    drawn.radio.field_seed = 0;
    assert_eq!(radio(&drawn, 7), radio(&scenario, 1));
    assert_ne!(radio(&drawn, 8), radio(&drawn, 7));
    assert_eq!(drawn.places(8), drawn.places(7), "places are given");
}

#[test]
fn a_seed_of_the_field_makes_it_the_same_for_all_runs() {
    let keys = "topology.motes = 7\nradio = { model = \"pister-hack\", side_m = 300 }\n";
    let mut scenario = scenario(&format!("{keys}{FORMS}"));
    let field = |scenario: &Scenario, seed| (scenario.places(seed), scenario.connectivity_of_places(seed));
    assert_ne!(field(&scenario, 1), field(&scenario, 2), "each run has a field of its own");
    let own = field(&scenario, 7);
    scenario.radio.field_seed = 7;
    assert_eq!((field(&scenario, 1), field(&scenario, 2)), (own.clone(), own));
    let [first, second] = [0, 1].map(|number| run(&scenario, number));
    assert!(first.is_connected() && second.is_connected(), "{first:?} {second:?}");
    assert_ne!(first.forming, second.forming, "only the field is the same");
}

#[test]
fn the_root_of_a_field_may_stand_in_its_centre() {
    let keys = "topology.motes = 20\nradio = { model = \"pister-hack\", side_m = 600 }\n";
    let mut scenario = scenario(&format!("{keys}{FORMS}"));
    let origin = Position::default();
    assert_eq!(places(&scenario, 3)[0], (origin.x, origin.y));
    scenario.topology.root = RootPlace::Centre;
    let centre = places(&scenario, 3);
    assert_eq!(centre[0], (300.0, 300.0));
    assert!(centre.iter().all(|(x, y)| (0.0..600.0).contains(x) && (0.0..600.0).contains(y)), "{centre:?}");
    let radio = scenario.connectivity_of_places(3).expect("there is room").expect("they are known");
    assert!((1..4_u16).all(|mote| radio.delivery(0, mote, 11) >= 0.5), "the first three hear the root");
}

#[test]
fn each_shape_connects() {
    let dtls = "mbedtls.protocol = \"DTLS 1.2\"\ndtls = { client_timeout_ms = 60_000, server_timeout_ms = 60_000 }\n";
    for (keys, hops) in [
        ("topology.tree = 20\n", Some(2)),
        ("topology = { tree = 6, branching = 2 }\n[forming]\nfunction = \"msf\"\nslotframe = 23\n", Some(2)),
        ("topology.grid = 8\nforming.function = \"msf\"\nforming.slotframe = 23\n", None),
        (
            "topology = { grid = 8, root = \"centre\", spacing_m = 10 }\nradio.model = \"pister-hack\"\n\
             forming = { function = \"msf\", slotframe = 23 }\n",
            None,
        ),
        (
            "topology = { motes = 8, root = \"centre\" }\nradio = { model = \"pister-hack\", side_m = 300 }\n\
             forming = { function = \"msf\", slotframe = 23 }\n",
            None,
        ),
    ] {
        let outcome = run(&scenario(keys), 0);
        assert!(outcome.is_connected(), "{keys}: {outcome:?}");
        assert!(hops.is_none() || outcome.hops == hops, "{keys}: {outcome:?}");
        // 24 frames are those of one hop.
        let outcome = run(&scenario(&format!("{dtls}{keys}")), 0);
        assert!(outcome.is_connected() && outcome.air.frames >= 24, "{keys}: {outcome:?}");
    }
}

#[test]
fn a_mote_of_a_large_tree_connects() {
    let outcome = run(&scenario("topology.tree = 1000\n"), 0);
    assert!(outcome.is_connected() && outcome.hops == Some(5), "{outcome:?}");
}
