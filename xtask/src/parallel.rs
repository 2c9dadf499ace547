//! Work that chores do two pieces at a time.

use crate::failure::Failure;
use std::sync::Mutex;

/// Pieces of work that are done at the same time.
const AT_ONCE: usize = 2;

/// Does `work` with each of `items`, [some at once](AT_ONCE) and the first ones first; what it returned in the order of the items, and how it
/// failed.
pub(crate) fn on_all<I: Sync, R: Send>(
    items: &[I],
    work: impl Fn(&I) -> Result<R, Failure> + Sync,
) -> (Vec<(&I, R)>, Vec<Failure>) {
    let waiting = Mutex::new(items.iter().enumerate());
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no thread panics while it holds the lock").next();
                    let Some((index, item)) = next else { return };
                    let result = work(item);
                    results.lock().expect("no thread panics while it holds the lock").push((index, item, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panics while it holds the lock");
    results.sort_by_key(|(index, ..)| *index);
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for (_, item, result) in results {
        match result {
            Ok(result) => done.push((item, result)),
            Err(failure) => failures.push(failure),
        }
    }
    (done, failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_and_failures_apart() {
        let (done, failures) =
            on_all(&["a", "b", "c", "d"], |item| if *item == "c" { Err("c fails".to_owned()) } else { Ok(()) });
        assert_eq!(done.iter().map(|(item, ())| **item).collect::<Vec<_>>(), ["a", "b", "d"]);
        assert_eq!(failures, ["c fails"]);
    }
}
