//! Maps and curves, whatever the parents and the times.

use core::time::Duration;

use crate::sim::fleet::chart::{ShareCurve, shares};
use crate::sim::fleet::layout::Layout;
use crate::sim::fleet::made_up;

/// Whether a walk from mote to mote passes this pair, one way or the other.
fn passes(walks: &[Vec<usize>], pair: (usize, usize)) -> bool {
    let pairs = walks.iter().flat_map(|walk| walk.windows(2));
    pairs.map(|ends| (ends[0], ends[1])).any(|ends| ends == pair || ends == (pair.1, pair.0))
}

#[test]
fn every_mote_has_a_place_and_a_line_to_its_parent() {
    for devices in [1, 10, 300] {
        let (fleet, metres) = made_up::fleet(devices, 5, 1.0, None);
        for places in [None, Some(&metres[..])] {
            let layout = Layout::new(&fleet, places);
            assert_eq!(layout.places.len(), usize::from(devices) + 1);
            let is_inside = |(x, y): &(f64, f64)| (-1e-9..=1.0 + 1e-9).contains(x) && (-1e-9..=1.0 + 1e-9).contains(y);
            assert!(layout.places.iter().all(is_inside), "{:?}", layout.places);
            let walks = layout.walks();
            for device in &fleet.devices {
                let pair = (device.mote.into(), device.parent.expect("a parent").into());
                assert!(passes(&walks, pair), "{pair:?}");
            }
            let steps: usize = walks.iter().map(Vec::len).sum();
            assert!(steps <= 2 * layout.places.len(), "each line is passed twice at most");
        }
    }
}

#[test]
fn places_keep_their_proportions_and_north_is_up() {
    let (fleet, _) = made_up::fleet(2, 5, 1.0, None);
    let layout = Layout::new(&fleet, Some(&[(0.0, 0.0), (100.0, 0.0), (50.0, 50.0)]));
    assert_eq!((layout.places, layout.side), (vec![(0.0, 0.75), (1.0, 0.75), (0.5, 0.25)], Some(100.0)));
    let too_few = Layout::new(&fleet, Some(&[(0.0, 0.0)]));
    assert_eq!(too_few.side, None, "the tree instead");
}

#[test]
fn motes_without_a_way_to_the_root_stand_apart() {
    let (mut fleet, _) = made_up::fleet(20, 5, 1.0, None);
    // Two that say to be each other's parent, one whose parent does not exist, and one without any.
    for (place, parent) in [(0, Some(2)), (1, Some(1)), (2, Some(999)), (3, None)] {
        fleet.devices[place].parent = parent;
    }
    let layout = Layout::new(&fleet, None);
    assert!((1..=4).all(|mote| layout.parents[mote].is_none()), "{:?}", layout.parents);
    let lowest = layout.places.iter().enumerate().filter(|(mote, _)| layout.parents[*mote].is_some());
    let lowest = lowest.map(|(_, place)| place.1).fold(0.0, f64::max);
    assert!((1..=4).all(|mote| layout.places[mote].1 > lowest), "{:?}", layout.places);
    assert!(!passes(&layout.walks(), (1, 2)));
}

#[test]
fn a_curve_is_one_line_and_ends_where_it_stays() {
    let times = (0..1_000).map(|number| Duration::from_millis(100 * number)).collect();
    let curve = ShareCurve { name: "a curve".into(), times, devices: 2_000 };
    let lines = |svg: &str| svg.matches("stroke-width=\"2\"").count();
    let svg = shares(core::slice::from_ref(&curve), 1_000).expect("it can be drawn");
    // The curve, and its sample in the legend.
    assert_eq!(lines(&svg), 2, "{svg}");
    let five: Vec<ShareCurve> = (0..5).map(|_| curve.clone()).collect();
    assert!(lines(&shares(&five, 1_000).expect("it can be drawn")) > 30, "the fifth has dashes");
    let none = ShareCurve { times: Vec::new(), devices: 0, ..curve };
    assert!(!shares(&[none], 440).expect("it can be drawn").contains("NaN"));
}
