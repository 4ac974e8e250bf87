//! The search for planted bugs that no case catches.

use std::{
    panic,
    sync::atomic::{AtomicUsize, Ordering},
    thread::{ScopedJoinHandle, available_parallelism, scope},
};

/// The elements for which `caught` returns false, evaluated on every processor. Meanwhile, expected panics are not
/// reported.
///
/// # Panics
/// If a thread panics.
pub fn survivors<T: Copy + Send + Sync>(all: &[T], caught: impl Fn(&T) -> bool + Sync) -> Vec<T> {
    panic::set_hook(Box::new(|_| {}));
    let next = AtomicUsize::new(0);
    let search = || {
        let one = || all.get(next.fetch_add(1, Ordering::SeqCst));
        let mine = std::iter::from_fn(one).filter(|one| !caught(one));
        mine.copied().collect::<Vec<T>>()
    };
    let survivors = scope(|scope| {
        let threads = available_parallelism().map_or(2, usize::from);
        let searches: Vec<_> = (0..threads).map(|_| scope.spawn(search)).collect();
        let ended = searches.into_iter().map(ScopedJoinHandle::join);
        ended
            .flat_map(|found| found.unwrap_or_else(|panic| panic::resume_unwind(panic)))
            .collect()
    });
    drop(panic::take_hook());
    survivors
}
