//! The congestion window follows the formulas of RFC 5681 and RFC 6582.

use super::Congestion;
use crate::tcp::Config;

const SMSS: u32 = 1000;

fn congestion() -> Congestion {
    Congestion::new(&Config { slow_start_limit: 1, ..Config::linux() }, SMSS, 0)
}

/// RFC 6928, 2: the window is ten segments; RFC 5681, 3.1: it is one after a SYN was lost.
#[test]
fn the_initial_window() {
    assert_eq!(congestion().window(), 10 * SMSS);
    let strict = Config { lost_syns_forgiven: 0, ..Config::linux() };
    assert_eq!(Congestion::new(&strict, SMSS, 1).window(), SMSS);
    // RFC 6928, 2: a single lost SYN may have been no loss.
    assert_eq!(Congestion::new(&Config::linux(), SMSS, 1).window(), 10 * SMSS);
    assert_eq!(Congestion::new(&Config::linux(), SMSS, 2).window(), SMSS);
    assert_eq!(Congestion::new(&Config::constrained(), SMSS, 0).window(), u32::MAX);
}

/// RFC 5681, 3.1: the window grows by at most SMSS for each acknowledgement in slow start, and by SMSS for each window
/// after it.
#[test]
fn growth() {
    let mut congestion = congestion();
    congestion.acknowledged(3 * SMSS, 10 * SMSS);
    assert_eq!(congestion.window(), 11 * SMSS);
    congestion.acknowledged(400, 11 * SMSS);
    assert_eq!(congestion.window(), 11 * SMSS + 400);

    congestion.enter_recovery(20 * SMSS, false);
    congestion.leave_recovery(10 * SMSS, false);
    assert_eq!(congestion.window(), 10 * SMSS);
    for _ in 0..9 {
        congestion.acknowledged(SMSS, 10 * SMSS);
        assert_eq!(congestion.window(), 10 * SMSS);
    }
    congestion.acknowledged(SMSS, 10 * SMSS);
    assert_eq!(congestion.window(), 11 * SMSS);
}

/// RFC 3465, 2.3: an acknowledgement may count for more than one segment.
#[test]
fn the_limit_of_slow_start_can_be_higher() {
    let mut congestion = Congestion::new(&Config { slow_start_limit: 2, ..Config::linux() }, SMSS, 0);
    congestion.acknowledged(3 * SMSS, 10 * SMSS);
    assert_eq!(congestion.window(), 12 * SMSS);
    // Slow start ends at ssthresh, whatever a single acknowledgement says.
    congestion.timed_out(5 * SMSS, false);
    congestion.acknowledged(SMSS, SMSS);
    congestion.acknowledged(2 * SMSS, 2 * SMSS);
    assert_eq!(congestion.window(), 5 * SMSS / 2);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut congestion = congestion();
    congestion.acknowledged(SMSS, 4 * SMSS);
    assert_eq!(congestion.window(), 10 * SMSS);
}

/// Recovery follows RFC 5681, 3.2, steps 2 to 6, and RFC 6582, 3.2.
#[test]
fn recovery_without_sack_inflates_and_deflates() {
    let mut congestion = congestion();
    congestion.enter_recovery(10 * SMSS, true);
    assert_eq!(congestion.threshold(), 5 * SMSS);
    assert_eq!(congestion.window(), 8 * SMSS);
    congestion.inflate();
    assert_eq!(congestion.window(), 9 * SMSS);
    congestion.deflate(2 * SMSS);
    assert_eq!(congestion.window(), 8 * SMSS);
    congestion.leave_recovery(0, true);
    assert_eq!(congestion.window(), 2 * SMSS);
}

/// RFC 5681, 3.1, equation 4: a second expiry for the same data leaves ssthresh alone.
#[test]
fn a_timeout_leaves_one_segment() {
    let mut congestion = congestion();
    congestion.timed_out(8 * SMSS, false);
    assert_eq!((congestion.window(), congestion.threshold()), (SMSS, 4 * SMSS));
    congestion.timed_out(SMSS, true);
    assert_eq!((congestion.window(), congestion.threshold()), (SMSS, 4 * SMSS));
    congestion.timed_out(SMSS, false);
    assert_eq!(congestion.threshold(), 2 * SMSS);
}

/// Marks follow RFC 3168, 6.1.2, and idleness RFC 5681, 4.1.
#[test]
fn marks_and_idleness() {
    let mut marked = congestion();
    marked.marked(10 * SMSS);
    assert_eq!(marked.window(), 5 * SMSS);
    let mut idle = congestion();
    for _ in 0..20 {
        idle.acknowledged(SMSS, 40 * SMSS);
    }
    assert_eq!(idle.window(), 30 * SMSS);
    idle.restart_after_idle();
    assert_eq!(idle.window(), 10 * SMSS);
}
