use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    super::tests::{Bench, LIMIT},
    *,
};

/// A call that its caller drives at the moment when it is due.
#[derive(Default)]
struct Busy {
    asked: AtomicUsize,
}

impl Watched for Busy {
    fn take_over(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst) > 0
    }
}

#[test]
fn caller_that_drives_its_call_keeps_it_for_as_long_again() {
    let bench = Bench::new();
    let busy = Arc::<Busy>::default();
    let watched: Arc<dyn Watched> = Arc::clone(&busy) as Arc<dyn Watched>;
    let home = bench.runtime.handle();
    let _watching = bench.watchdogs.watch(home, Arc::downgrade(&watched), LIMIT);
    for asked in [1, 2, 2] {
        bench.settle();
        bench.hand.advance(LIMIT);
        bench.settle();
        assert_eq!(busy.asked.load(Ordering::SeqCst), asked);
    }
    assert!(bench.watchdogs.runtimes().is_empty());
}

#[test]
fn call_that_is_due_first_is_taken_over_first() {
    let bench = Bench::new();
    let [late, early] = [2, 1].map(|times| {
        let busy = Arc::new(Busy {
            asked: AtomicUsize::new(1),
        });
        let watched: Arc<dyn Watched> = Arc::clone(&busy) as Arc<dyn Watched>;
        let home = bench.runtime.handle();
        let watching = bench
            .watchdogs
            .watch(home, Arc::downgrade(&watched), times * LIMIT);
        bench.settle();
        (busy, watching)
    });
    let asked = |of: &(Arc<Busy>, Watching)| of.0.asked.load(Ordering::SeqCst) - 1;
    bench.hand.advance(LIMIT);
    bench.settle();
    assert_eq!((asked(&late), asked(&early)), (0, 1));
    drop(late.1);
    bench.hand.advance(LIMIT);
    bench.settle();
    assert_eq!(late.0.asked.load(Ordering::SeqCst), 1, "watched no more");
    assert_eq!(bench.tasks(), 0);
}

/// The number of a runtime that is gone may come again.
#[test]
fn watchdog_ends_with_its_runtime() {
    let mut bench = Bench::new();
    let watched: Arc<dyn Watched> = Arc::<Busy>::default();
    let home = bench.runtime.handle().clone();
    let _watching = bench
        .watchdogs
        .watch(&home, Arc::downgrade(&watched), LIMIT);
    assert_eq!(bench.watchdogs.runtimes().len(), 1);
    bench.restart();
    assert!(bench.watchdogs.runtimes().is_empty());
}
