//! Pauses after errors grow, and errors of a single connection cost none.

use super::*;

#[test]
fn pauses_double_up_to_a_second() {
    let mut back_off = BackOff::new();
    let used_up = io::Error::other("no descriptors are left");
    let pauses = (0..10).map(|_| back_off.after(&used_up).unwrap().as_millis());
    assert_eq!(pauses.collect::<Vec<_>>(), [5, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
}

#[test]
fn an_error_of_one_connection_costs_no_pause() {
    let mut back_off = BackOff::new();
    for kind in [ErrorKind::ConnectionAborted, ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset] {
        assert_eq!(back_off.after(&kind.into()), None);
    }
    assert_eq!(back_off.after(&io::Error::other("")), Some(BackOff::FIRST), "nor does it count");
}
