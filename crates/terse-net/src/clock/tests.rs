//! Readings of the clock and of its last tick have the right order.

use super::*;

#[test]
fn the_last_tick_is_never_in_the_future_nor_before_the_last_time() {
    let clock = Clock::new();
    let mut last = Now::new(Instant(0), None);
    for turn in 0..10_000 {
        let tick = clock.last_tick_after(last);
        let now = clock.now_after(tick);
        assert!(last.monotonic <= tick.monotonic && tick.monotonic <= clock.now().monotonic);
        last = if turn % 2 == 0 { tick } else { now };
    }
}
