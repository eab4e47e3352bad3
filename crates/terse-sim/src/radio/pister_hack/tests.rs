use super::*;

const MODEL: PisterHack = PisterHack::SIXTISCH_SIMULATOR;
const FREE_SPACE: PisterHack = PisterHack { greatest_loss: 0.0, ..MODEL };

fn at(x: f64) -> Position {
    Position { x, ..Position::default() }
}

#[test]
fn free_space_is_friis() {
    // 20 log10(c / (4 pi d f)): at 2.4 GHz -40.052 dB at 1 m, 20 dB less for each factor of ten.
    for (distance, expected) in [(1.0, -40.052), (10.0, -60.052), (100.0, -80.052), (1_000.0, -100.052)] {
        let rssi = FREE_SPACE.rssi((0, at(0.0)), (1, at(distance)), 1);
        assert!((rssi - expected).abs() < 0.001, "{rssi} at {distance} m");
    }
    assert!(FREE_SPACE.rssi((0, at(0.0)), (1, at(0.0)), 1).is_finite());
}

#[test]
fn losses_are_uniform_and_belong_to_pairs() {
    let mut tenths = [0; 10];
    for node in 1..5_000_u16 {
        let rssi = MODEL.rssi((0, at(0.0)), (node, at(100.0)), 7);
        assert_eq!(MODEL.rssi((node, at(100.0)), (0, at(0.0)), 7), rssi, "both ways");
        let loss = -80.052 - rssi;
        assert!((-0.001..40.001).contains(&loss), "{loss}");
        tenths[((loss / 4.0).max(0.0) as usize).min(9)] += 1;
    }
    assert!(tenths.iter().all(|count| (420..580).contains(count)), "{tenths:?}");
    assert_ne!(MODEL.rssi((0, at(0.0)), (1, at(9.0)), 1), MODEL.rssi((0, at(0.0)), (1, at(9.0)), 2));
}

#[test]
fn each_node_has_neighbours_when_it_is_placed() {
    let places = MODEL.place(50, 3).unwrap();
    assert_eq!(places[0], Position::default());
    assert!(places.iter().all(|place| (0.0..2_000.0).contains(&place.x) && (0.0..2_000.0).contains(&place.y)));
    let radio = MODEL.connectivity(&places, 3);
    for node in 1..50_u16 {
        let good = (0..node).filter(|other| radio.delivery(*other, node, 11) >= 0.5).count();
        assert!(good >= usize::from(node.min(3)), "{node} has {good}");
        assert_eq!(radio.rssi(0, node, 11), radio.rssi(node, 0, 26));
    }
    assert_eq!(MODEL.place(50, 3), Ok(places));
    assert_ne!(MODEL.place(50, 4), MODEL.place(50, 3));
}

#[test]
fn the_root_stands_in_the_corner_or_in_the_centre() {
    let model = PisterHack { root: RootPlace::Centre, ..MODEL };
    let places = model.place(50, 3).unwrap();
    assert_eq!(places[0], Position { x: 1_000.0, y: 1_000.0, draw: 0 });
    let is_right = |place: &Position| place.x > 1_000.0;
    let right = places[1..].iter().filter(|place| is_right(place)).count();
    assert!((1..49).contains(&right), "nodes are on both sides of the root: {right} to the right");
    assert_ne!(places[1..], MODEL.place(50, 3).unwrap()[1..]);
}

#[test]
fn a_square_may_be_too_large() {
    let far = PisterHack { side: 1e8, ..MODEL };
    assert_eq!(far.place(3, 1), Err(NoPlace { node: 1 }));
}
