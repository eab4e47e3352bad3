//! The formulas, on samples that are made up.

use crate::paper::{
    Check, DutyCyclePoint, Kind, Measured, PoolTrace, Quantity, RowKey, Runs, Sample, Samples, Targets,
    check_duty_cycles, check_loss, check_pool, check_tables,
};

fn samples(values: &[(f64, u64)]) -> Samples {
    Samples(values.iter().map(|(seconds, bytes)| Sample { seconds: *seconds, bytes: *bytes }).collect())
}

/// Returns runs in which each row has the paper's means times these factors.
fn runs(factors: impl Fn(RowKey) -> [f64; 2]) -> Runs {
    let run = |row: &crate::paper::Row| {
        let [seconds, bytes] = factors(row.key());
        let sample = (row.seconds.mean * seconds, (row.bytes.mean * bytes).round() as u64);
        (row.key(), samples(&[sample]))
    };
    Targets::of_paper().rows.iter().map(run).collect()
}

fn failed(checks: &[Check]) -> Vec<&str> {
    checks.iter().filter(|check| check.holds == Some(false)).map(|check| check.formula.as_str()).collect()
}

#[test]
fn samples_are_summed_up() {
    let some = samples(&[(2.0, 10), (4.0, 40), (9.0, 20), (5.0, 30)]);
    assert_eq!(some.measured(Quantity::Bytes).expect("runs").mean, 25.0);
    let Measured { mean, deviation } = some.measured(Quantity::Seconds).expect("runs");
    // Squares of -3, -1, 4 and 0: 26 / 3.
    assert!(mean == 5.0 && (deviation - (26.0_f64 / 3.0).sqrt()).abs() < 1e-12, "{mean} {deviation}");
    assert_eq!((some.median(Quantity::Seconds), some.median(Quantity::Bytes)), (Some(4.5), Some(25.0)));
    assert_eq!((some.minimum(Quantity::Seconds), some.minimum(Quantity::Bytes)), (Some(2.0), Some(10.0)));
    assert_eq!(samples(&[(1.0, 1), (7.0, 7), (3.0, 3)]).median(Quantity::Seconds), Some(3.0));
    assert_eq!(samples(&[(1.0, 1)]).measured(Quantity::Seconds), Some(Measured { mean: 1.0, deviation: 0.0 }));
    assert_eq!(some.growth_over(&samples(&[(3.0, 20), (9.0, 90)]), Quantity::Seconds), Some(1.5));
    let none = Samples::default();
    assert_eq!(none.measured(Quantity::Seconds), None);
    assert_eq!((none.median(Quantity::Seconds), none.minimum(Quantity::Bytes)), (None, None));
    assert_eq!((some.growth_over(&none, Quantity::Bytes), none.growth_over(&some, Quantity::Bytes)), (None, None));
}

#[test]
fn tables_are_compared_with_the_paper() {
    let checks = check_tables(&runs(|_| [1.0, 1.0]));
    assert_eq!(failed(&checks), [""; 0]);
    // Two for each of eight rows, and the orders that the paper's deviations leave no doubt about.
    let orders = checks.iter().filter(|check| check.formula.contains(" < ")).count();
    assert!(checks.len() == 16 + orders && (40..=56).contains(&orders), "{orders}");
    // 44 ms between two rows whose deviations are 89 and 96 ms: no order is asked for.
    assert!(!checks.iter().any(|check| check.formula == "mean seconds: table 2, row 1 < table 2, row 3"));
    assert!(checks.iter().any(|check| check.formula == "mean seconds: table 2, row 5 < table 2, row 6"));

    let checks = check_tables(&runs(|key| if key == RowKey::dtls(512) { [1.09, 1.0] } else { [1.0, 1.0] }));
    let formula = "mean latency, over the paper's: within 0.92 and 1.08 (table 2, row 6)";
    assert!(failed(&checks).contains(&formula), "{:?}", failed(&checks));
    let checks = check_tables(&runs(|key| if key == RowKey::dtls(1024) { [1.04, 1.011] } else { [1.0, 1.0] }));
    assert_eq!(
        failed(&checks),
        [
            "mean bytes of DTLS, over the paper's: within 0.99 and 1.01 (table 2, row 5)",
            "mean seconds: table 2, row 5 < table 2, row 6",
        ]
    );
    // Two percent are too much for DTLS only.
    assert_eq!(failed(&check_tables(&runs(|key| [1.0, if key.peers == Kind::Dtls { 1.0 } else { 1.039 }]))), [""; 0]);
    // Missing rows do not hold.
    let checks = check_tables(&Runs::new());
    assert_eq!(failed(&checks).len(), checks.len());
}

#[test]
fn growth_under_loss_is_compared() {
    let ideal = runs(|_| [1.0, 1.0]);
    let of_paper = |key: RowKey| match key.peers {
        Kind::Dtls => [2.0, 1.45],
        _ => [1.11, 1.15],
    };
    let checks = check_loss(&ideal, &runs(of_paper));
    assert_eq!(failed(&checks), [""; 0]);
    let printed: Vec<&Check> = checks.iter().filter(|check| check.holds.is_none()).collect();
    // With Nagle's algorithm seconds and bytes of two rows, and bytes of two rows of DTLS.
    assert_eq!(printed.len(), 6);
    assert!(printed.iter().all(|check| check.values[1].1 > 1.0), "{printed:?}");
    assert_eq!(checks.len(), 2 * 6 + 2);

    // With Nagle's algorithm TLS takes twice as long: nothing bounds that but DTLS.
    let slow = |key: RowKey| if key == RowKey::tls(844, true) { [2.1, 1.0] } else { of_paper(key) };
    let formula = "the seconds of each row of DTLS grow more under loss than those of any row of TLS";
    assert_eq!(failed(&check_loss(&ideal, &runs(slow))), [formula]);
    let quick = |key: RowKey| if key == RowKey::dtls(512) { [1.7, 1.45] } else { of_paper(key) };
    let formula = "growth of the latency of DTLS under loss: at least 1.8 (table 2, row 6)";
    assert_eq!(failed(&check_loss(&ideal, &runs(quick))), [formula]);
    let checks = check_loss(&ideal, &Runs::new());
    assert!(checks.iter().all(|check| check.holds != Some(true)), "{checks:?}");
}

#[test]
fn duty_cycles_are_compared() {
    let point =
        |hops, percent, ratio| DutyCyclePoint { hops, percent, tls_seconds: 1.0 + 4.0 * ratio, dtls_seconds: 4.0 };
    let good = [point(1, 100, 0.9), point(1, 25, 1.1), point(1, 10, 1.2), point(2, 100, 1.0), point(2, 10, 1.3)];
    let checks = check_duty_cycles(&good);
    assert_eq!((checks.len(), failed(&checks)), (6, vec![]));
    let bad = [point(1, 50, 1.2), point(1, 10, 1.1), point(2, 10, 1.1)];
    assert_eq!(failed(&check_duty_cycles(&bad)).len(), 4);
    assert_eq!(failed(&check_duty_cycles(&[])).len(), 1);
}

#[test]
fn humps_of_the_pool_are_counted() {
    let trace = |taken: &[u8], own_flight| PoolTrace { taken: taken.to_vec(), own_flight };
    // Up to 8 fragments of a segment are reassembled, then the own flight is queued.
    let two = trace(&[0, 1, 2, 5, 8, 1, 0, 1, 4, 7, 7, 9, 3, 0], 7);
    assert_eq!(two.humps(), (1, 1));
    let small = trace(&[1, 4, 0, 1, 4, 0, 1, 4, 1, 6, 9, 8, 9, 2], 8);
    assert_eq!(small.humps(), (0, 1), "what a segment of 336 bytes takes is no hump");
    // A curve that ends at its maximum, equal maxima with and without a valley between them, and none.
    assert_eq!(trace(&[0, 8], 9).humps(), (1, 0));
    assert_eq!(trace(&[8, 7, 8, 2, 8], 4).humps(), (1, 1));
    assert_eq!(trace(&[8, 5, 7, 5, 9], 9).humps(), (1, 0));
    assert_eq!((trace(&[], 0).humps(), trace(&[4; 20], 0).humps()), ((0, 0), (0, 0)));

    let checks = check_pool(&two, &small, &two);
    assert_eq!((checks.len(), failed(&checks)), (3, vec![]));
    assert_eq!(failed(&check_pool(&small, &two, &small)).len(), 3);
}
