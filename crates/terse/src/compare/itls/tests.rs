//! The evaluation follows from its seed alone, has the orderings of the paper, and is what its sentences and its page say.

use std::sync::LazyLock;

use terse_sim::compare::itls::DIFFERENCES;

use super::*;

const RUNS_OF_TESTS: usize = 100;

/// Both sides, made once: keys for RSA take a while. Computing takes no time.
fn contestants() -> &'static Contestants {
    static CONTESTANTS: LazyLock<Contestants> =
        LazyLock::new(|| contestants::made(&provider::PROVIDER, None).expect("certificates can be made"));
    &CONTESTANTS
}

fn point(figure: Figure, mtu: usize, x: f64, series: Series) -> Point {
    Point { figure, level: SecurityLevel::Bits128, mtu, x, series }
}

fn value(point: Point) -> Value {
    contestants().measure(&point, RUNS_OF_TESTS, 1).expect("it can be measured")
}

/// The paper, figure 6, and more: under heavy loss in short packets every packet less counts.
#[test]
fn loss_hurts_long_handshakes_most() {
    let at = |series| value(point(Figure::Loss, 127, 17.5, series));
    let [rsa, ecc, identity] = [Series::Rsa, Series::Ecc, Series::Identity].map(at);
    assert!(rsa.mean > ecc.mean && ecc.mean > identity.mean, "{rsa:?} {ecc:?} {identity:?}");
    assert!(rsa.median > ecc.median && ecc.median > identity.median, "{rsa:?} {ecc:?} {identity:?}");
    assert!(rsa.standard_error.is_some_and(|error| error > 0.0));
}

/// Certificates and keys are new each time, and so is all randomness of handshakes: only lengths and losses count.
#[test]
fn the_same_seed_gives_the_same_numbers() {
    let others = contestants::made(&provider::PROVIDER, None).unwrap();
    let points = [
        point(Figure::Loss, 127, 17.5, Series::Ecc),
        point(Figure::Loss, 127, 17.5, Series::Rsa),
        point(Figure::Rate, 127, 16.0, Series::Ecc),
        point(Figure::Rate, 1500, 16.0, Series::Compact),
        point(Figure::Exchanges, 127, 16.0, Series::ResumedEarly),
    ];
    let in_order: Vec<_> = points.iter().map(|point| contestants().measure(point, 10, 7).unwrap()).collect();
    let on_threads = in_parallel(&points, 0, |point| others.measure(point, 10, 7).unwrap());
    assert_eq!(in_order, on_threads);
    let of_another_seed = contestants().measure(&points[1], 10, 8).unwrap();
    assert_ne!(in_order[1], of_another_seed);
}

/// So that one run is enough for a value without loss.
#[test]
fn without_loss_all_handshakes_take_the_same_time() {
    for series in Figure::Rate.series() {
        let setting = point(Figure::Rate, 127, 16.0, *series).setting();
        let comparison = terse_sim::compare::Comparison {
            parties: if *series == Series::Rsa { &contestants().rsa.bits128 } else { &contestants().ecc.bits128 }
                .clone(),
            certificates: String::new(),
            begins: contestants().begins,
            runs: 5,
            seed: 1,
            captures: false,
        };
        let all = comparison.each(&setting).unwrap();
        let times: Vec<_> = all.iter().map(|single| single.times.server_connected).collect();
        assert!(times.len() == 5 && times.iter().all(|time| *time == times[0]), "{series}: {times:?}");
    }
}

/// Figures 5 and 8, in round trips of 512 ms: as the sentences on their differences say.
#[test]
fn certificates_take_more_round_trips_in_short_packets() {
    for (series, mtu, of_handshake, of_exchange) in [
        (Series::Identity, 1500, 1.0, 3.0),
        (Series::IdentityEarly, 1500, 1.0, 2.0),
        (Series::IdentityBls12381Early, 1500, 1.0, 2.0),
        (Series::ResumedEarly, 1500, 1.0, 2.0),
        (Series::Rsa, 1500, 1.0, 3.0),
        (Series::Identity, 127, 1.0, 3.0),
        (Series::IdentityEarly, 127, 1.0, 2.0),
        (Series::Ecc, 127, 3.0, 5.0),
        (Series::Rsa, 127, 5.0, 7.0),
    ] {
        let exchanges = value(point(Figure::Exchanges, mtu, 256.0, series)).mean;
        assert!((60_000.0 / exchanges / 512.0 - of_exchange).abs() < 1e-6, "{series} {mtu}: {exchanges} exchanges");
        if !series.has_early_data() {
            assert_eq!(value(point(Figure::Delay, mtu, 256.0, series)).mean / 512.0, of_handshake, "{series} {mtu}");
        }
    }
}

/// What is left of the difference to the paper's totals once the key shares of DHE are taken off: the sizes of certificates
/// are read as the paper meant them.
#[test]
fn the_tables_fit_the_paper() {
    let rows = table_rows(contestants(), 1).unwrap();
    for (level, series, key_shares) in [
        (SecurityLevel::Bits112, Series::Rsa, 2 * (2048 / 8 - 65)),
        (SecurityLevel::Bits128, Series::Rsa, 2 * (3072 / 8 - 65)),
        (SecurityLevel::Bits112, Series::Ecc, 0),
        (SecurityLevel::Bits128, Series::Ecc, 0),
    ] {
        let row = rows.iter().find(|row| (row.level, row.series) == (level, series)).unwrap();
        let paper: u64 = row.paper.unwrap().iter().sum();
        let left = paper - row.bytes.client - row.bytes.server - key_shares;
        assert!((83..=126).contains(&left), "{series} {level:?}: {left}");
    }
}

/// The page says what the command says.
#[test]
fn the_page_has_the_sentences_and_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/itls-paper.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let of_page = words(&page).replace('`', "");
    for difference in DIFFERENCES {
        assert!(of_page.contains(&words(difference.text)), "not on the page: {}", difference.text);
    }
    for row in table_rows(contestants(), 1).unwrap() {
        let Sides { client, server } = row.bytes;
        let start = format!("| {} | `{}` | {client} + {server} = {} |", row.level.bits(), row.series, client + server);
        assert!(page.contains(&start), "not on the page: {start}");
    }
}
