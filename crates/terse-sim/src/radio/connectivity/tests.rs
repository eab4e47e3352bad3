use super::*;

#[test]
fn channels_may_have_a_quality_of_their_own() {
    let mut radio = Connectivity::new().link(1, 2, 0.9);
    radio.set(1, 2, Some(15), 0.3);
    radio.set_with_rssi(1, 2, Some(16), 0.5, Some(-90.0));
    assert_eq!([11, 15, 16].map(|channel| radio.delivery(1, 2, channel)), [0.9, 0.3, 0.5]);
    assert_eq!([11, 15, 16].map(|channel| radio.rssi(1, 2, channel)), [None, None, Some(-90.0)]);
    assert_eq!((radio.delivery(2, 1, 11), radio.hears(2, 1, 11)), (0.0, false));
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
