//! Links have one quality for all channels, and others for some of them.

use super::*;

#[test]
fn a_channel_may_have_a_quality_of_its_own() {
    let mut radio = Connectivity::new().both_ways(0, 1, 0.9);
    radio.set(0, 1, Some(17), 0.2);
    radio.set(2, 0, Some(20), 0.5);
    assert_eq!([17, 18].map(|channel| radio.delivery(0, 1, channel)), [0.2, 0.9]);
    assert_eq!([17, 18].map(|channel| radio.delivery(1, 0, channel)), [0.9, 0.9], "the other way is another link");
    assert!(radio.hears(2, 0, 20) && !radio.hears(2, 0, 21), "the first word on a link was about one channel");
    assert!(!radio.hears(1, 2, 17), "nobody said that they hear each other");
    radio.set(0, 1, None, 0.7);
    assert_eq!([17, 18].map(|channel| radio.delivery(0, 1, channel)), [0.2, 0.7]);
}

#[test]
fn the_strength_of_a_signal_may_be_known() {
    let mut radio = Connectivity::new().link(1, 2, 0.9);
    radio.set_with_rssi(1, 2, Some(16), 0.5, Some(-90.0));
    assert_eq!([15, 16].map(|channel| radio.delivery(1, 2, channel)), [0.9, 0.5]);
    assert_eq!([15, 16].map(|channel| radio.rssi(1, 2, channel)), [None, Some(-90.0)]);
}

#[test]
fn of_two_frames_none_arrives_or_the_stronger_one() {
    let radio = Connectivity::new().link(1, 0, 0.9).link(2, 0, 0.1);
    assert_eq!(radio.delivery_among(1, 0, 11, []), 0.9);
    assert_eq!(radio.delivery_among(1, 0, 11, [1, 0, 3]), 0.9, "itself, the receiver, and one that is not heard");
    assert_eq!(radio.delivery_among(1, 0, 11, [2]), 0.0);
    // With known strengths: 30 dB and more above the other one.
    let mut radio = Connectivity::new();
    for (from, rssi) in [(1, -50.0), (2, -80.0), (3, -51.0)] {
        radio.set_with_rssi(from, 0, None, 1.0, Some(rssi));
    }
    assert_eq!(radio.delivery_among(1, 0, 11, [2]), 1.0);
    assert_eq!(radio.delivery_among(2, 0, 11, [1]), 0.0);
    assert_eq!(radio.delivery_among(1, 0, 11, [3]), 0.0);
    // The strength of one of them is not known.
    radio.set(4, 0, None, 0.1);
    assert_eq!(radio.delivery_among(1, 0, 11, [4]), 0.0);
    assert_eq!(radio.delivery_among(4, 0, 11, [2]), 0.0);
}
