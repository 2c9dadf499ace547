//! Runs that have nothing to do with each other, on the host's processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many runs go on at once by default.
pub(crate) fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What `work` makes of each job, in the jobs' order, with at most this many at once.
pub(crate) fn side_by_side<J: Sync, R: Send>(threads: usize, jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            let (next, results, work) = (&next, &results, &work);
            scope.spawn(move || {
                while let Some((index, job)) = take(next, jobs) {
                    let result = work(job);
                    *results[index].lock().expect("no thread panics with a result in hand") = Some(result);
                }
            });
        }
    });
    results
        .into_iter()
        .map(|result| result.into_inner().expect("no thread panicked").expect("every job was taken"))
        .collect()
}

/// The next job and its index.
fn take<'j, T>(next: &AtomicUsize, jobs: &'j [T]) -> Option<(usize, &'j T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).map(|job| (index, job))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        for threads in [0, 1, 3, 100] {
            assert_eq!(side_by_side(threads, &[3, 1, 2], |job| job * 10), [30, 10, 20]);
        }
        assert!(side_by_side(2, &[], |job: &u8| *job).is_empty());
    }
}
