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
