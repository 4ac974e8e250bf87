use std::sync::atomic::{AtomicUsize, Ordering};

use super::{super::tests::Bench, *};

/// Work that its caller is driving when it is to be taken over for the first time.
#[derive(Default)]
struct Busy {
    asked: AtomicUsize,
}

impl Watched for Busy {
    fn take_over(&self) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst) > 0
    }
}

impl Busy {
    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn begins(self: &Arc<Self>, bench: &Bench) -> Watching {
        let watched: Arc<dyn Watched> = Arc::clone(self) as Arc<dyn Watched>;
        let (home, work) = (bench.runtime.handle(), Arc::downgrade(&watched));
        bench.watchdogs.watch(home, work)
    }
}

#[test]
fn work_that_is_found_twice_is_taken_over_unless_its_caller_drives_it() {
    let (bench, busy) = (Bench::new(), Arc::<Busy>::default());
    let _watching = busy.begins(&bench);
    for asked in [0, 1, 1, 2, 2] {
        bench.passes(PATIENCE);
        assert_eq!(busy.asked(), asked);
    }
}

#[test]
fn work_that_is_over_is_left_alone() {
    let bench = Bench::new();
    let [first, second, over] = [(); 3].map(|()| Arc::<Busy>::default());
    let _first = first.begins(&bench);
    bench.passes(PATIENCE);
    let _second = second.begins(&bench);
    drop(over.begins(&bench));
    let asked = || [&first, &second, &over].map(|work| work.asked());
    bench.passes(PATIENCE);
    assert_eq!(asked(), [1, 0, 0]);
    bench.passes(PATIENCE);
    assert_eq!(asked(), [1, 1, 0]);
}

#[test]
fn watchdog_ends_a_second_after_the_last_work() {
    let (bench, work) = (Bench::new(), Arc::<Busy>::default());
    for _ in 0..2 {
        drop(work.begins(&bench));
        for _ in 0..IDLE_LOOKS {
            bench.passes(PATIENCE);
            assert_eq!(bench.tasks(), 1);
        }
        bench.passes(PATIENCE);
        assert_eq!(bench.tasks(), 0);
        assert!(bench.watchdogs.runtimes().is_empty());
    }
}

#[test]
fn each_runtime_has_a_watchdog_of_its_own() {
    let (bench, other) = (Bench::new(), Bench::new());
    let [first, second] = [(); 2].map(|()| Arc::<Busy>::default());
    let _first = first.begins(&bench);
    let watched: Arc<dyn Watched> = Arc::<Busy>::clone(&second);
    let (home, work) = (other.runtime.handle(), Arc::downgrade(&watched));
    let _second = bench.watchdogs.watch(home, work);
    other.passes(PATIENCE);
    other.passes(PATIENCE);
    assert_eq!((first.asked(), second.asked()), (0, 1));
}

/// The number of a runtime that is gone may be used again.
#[test]
fn watchdog_ends_with_its_runtime() {
    let (mut bench, work) = (Bench::new(), Arc::<Busy>::default());
    let home = bench.runtime.handle().clone();
    let _watching = work.begins(&bench);
    assert_eq!(bench.watchdogs.runtimes().len(), 1);
    bench.restart();
    assert!(bench.watchdogs.runtimes().is_empty());
    let watched: Arc<dyn Watched> = Arc::clone(&work) as Arc<dyn Watched>;
    drop(bench.watchdogs.watch(&home, Arc::downgrade(&watched)));
    assert!(bench.watchdogs.runtimes().is_empty(), "it had ended before");
}
