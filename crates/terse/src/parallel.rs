//! Jobs are done on several threads, with the progress and the time that is left on a terminal.
//!
//! What must always hold: results are in the order of the jobs, whatever the number of threads.

use core::convert::Infallible;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Does `work` for each of `jobs` on so many threads, 0 for one for each processor.
pub(crate) fn in_parallel<T: Sync, R: Send>(jobs: &[T], threads: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let Ok(results) = try_in_parallel(jobs, threads, |job| Ok::<R, Infallible>(work(job)));
    results
}

/// Does `work` for each of `jobs`, as [`in_parallel`] does. After a failure no other job is begun, and the failure of the
/// first job among those that failed is returned.
pub(crate) fn try_in_parallel<T: Sync, R: Send, E: Send>(
    jobs: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if threads == 0 { processors() } else { threads }.min(jobs.len().max(1));
    let (next, finished) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let progress = Progress::new(jobs.len());
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(number) else { return done };
            let result = work(job);
            if result.is_err() {
                next.store(jobs.len(), Ordering::Relaxed);
            }
            done.push((number, result));
            progress.show(finished.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    let mut results: Vec<(usize, Result<R, E>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    progress.clear();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Shows on a terminal how many jobs are done, and about how long the others will take.
struct Progress {
    total: usize,
    began: Instant,
    is_shown: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self { total, began: Instant::now(), is_shown: std::io::stderr().is_terminal() }
    }

    fn show(&self, done: usize) {
        if self.is_shown {
            let left = left(self.began.elapsed(), done, self.total);
            eprint!("\r\x1b[2K{done} of {}, {} left", self.total, left);
        }
    }

    fn clear(&self) {
        if self.is_shown {
            eprint!("\r\x1b[2K");
        }
    }
}

/// Returns the time that is left if the other jobs take as long as those that are done.
fn left(elapsed: Duration, done: usize, total: usize) -> String {
    let seconds = elapsed.as_secs_f64() * (total.saturating_sub(done)) as f64 / done.max(1) as f64;
    match seconds.ceil() as u64 {
        seconds if seconds >= 120 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_jobs_on_any_number_of_threads() {
        let jobs: Vec<u64> = (0..200).collect();
        let expected: Vec<u64> = jobs.iter().map(|job| job * job).collect();
        for threads in [0, 1, 3, 500] {
            assert_eq!(in_parallel(&jobs, threads, |job| job * job), expected, "{threads}");
        }
        assert!(in_parallel(&[], 4, |job: &u64| *job).is_empty());
    }

    #[test]
    fn a_failure_ends_the_work() {
        let jobs: Vec<u64> = (0..200).collect();
        for threads in [1, 3] {
            let begun = AtomicUsize::new(0);
            let failing = |job: &u64| {
                begun.fetch_add(1, Ordering::Relaxed);
                if *job >= 10 { Err(*job) } else { Ok(*job) }
            };
            assert_eq!(try_in_parallel(&jobs, threads, failing), Err(10), "{threads}");
            assert!(begun.into_inner() <= 10 + threads, "{threads}");
        }
    }

    #[test]
    fn what_is_left_takes_as_long_as_what_is_done() {
        assert_eq!(left(Duration::from_secs(10), 1, 4), "30 s");
        assert_eq!(left(Duration::from_secs(100), 10, 100), "15 min");
        assert_eq!(left(Duration::ZERO, 0, 5), "0 s");
    }
}
