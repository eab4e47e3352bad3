//! What the tests that run other programs have in common.

use core::time::Duration;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Instant;

/// The time after which a program is taken to hang. No test asserts how long anything takes.
pub(crate) const SAFETY_LIMIT: Duration = Duration::from_secs(300);

/// Says that a test is skipped, or fails if nothing may be missing. Returns false.
pub(crate) fn skipped(what: &str, remedy: &str) -> bool {
    let required = std::env::var("TERSE_REQUIRE_ALL").as_deref() == Ok("1");
    assert!(!required, "{what} is required: {remedy}");
    eprintln!("skipped: {what} is not here ({remedy})");
    false
}

/// Waits until a program has ended, and kills it after `limit`: then there is no status.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
