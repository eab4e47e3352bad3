use std::collections::BTreeSet;

use super::*;
use crate::compare::itls::{Figure, Point};

/// Whether a curve of ours is held against the paper's with this name.
fn is_known(name: &str) -> bool {
    Series::ALL.iter().any(|series| series.name_in_paper() == Some(name))
}

#[test]
fn every_number_is_there_once_and_has_a_curve() {
    let paper = Paper::get();
    assert_eq!((paper.traffic.len(), paper.latency.len(), paper.ratio.len()), (2, 8, 10));
    let mut places = BTreeSet::new();
    let mut once = |place: String| assert!(places.insert(place.clone()), "{place} is there twice");
    for table in &paper.traffic {
        once(format!("table {} {:?}", table.table, table.level));
        assert!(table.bytes.len() == 4 && table.bytes.keys().all(|name| is_known(name)), "{table:?}");
        assert!(!table.source.is_empty());
    }
    for value in &paper.latency {
        once(format!("figure {} {:?} {} {}", value.figure, value.level, value.mtu, value.x));
        assert!(value.milliseconds.len() == 4 && value.milliseconds.keys().all(|name| is_known(name)), "{value:?}");
        assert!(!value.source.is_empty());
    }
    for ratio in &paper.ratio {
        once(format!("ratio {} {:?} {} {}", ratio.figure, ratio.level, ratio.mtu, ratio.to));
        assert!(is_known(&ratio.to) && ratio.least.or(ratio.most).is_some(), "{ratio:?}");
        assert!(!ratio.source.is_empty());
    }
}

/// A number without a point would never be shown.
#[test]
fn every_value_of_a_figure_has_a_point() {
    let points: Vec<Point> = Figure::ALL.into_iter().flat_map(Figure::points).collect();
    let shown = |point: &&Point| {
        let Point { figure, level, mtu, x, series } = **point;
        Paper::get().milliseconds(figure.number(), level, mtu, x, series).is_some()
    };
    // Five curves for four: both identity algorithms are held against iTLS.
    assert_eq!(points.iter().filter(shown).count(), 8 * 5);
}

/// The totals that the paper prints itself.
#[test]
fn the_tables_add_up() {
    let total = |level, series| Paper::get().bytes(level, series).map(|[client, server]| client + server);
    let (low, high) = (SecurityLevel::Bits112, SecurityLevel::Bits128);
    for (series, totals) in [
        (Series::Rsa, [5233, 6767]),
        (Series::Ecc, [2936, 3030]),
        (Series::Psk, [384, 384]),
        (Series::Identity, [924, 1176]),
    ] {
        assert_eq!([total(low, series), total(high, series)], totals.map(Some), "{series}");
    }
    assert_eq!(total(low, Series::Compact), None);
}
