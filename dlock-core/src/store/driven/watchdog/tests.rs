use std::sync::atomic::{AtomicUsize, Ordering};

use super::{super::tests::Bench, *};

/// A call that its caller drives at the moment when it is due for the first time.
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
        let (home, call) = (bench.runtime.handle(), Arc::downgrade(&watched));
        bench.watchdogs.watch(home, call)
    }
}

fn pass(bench: &Bench, span: Duration) {
    bench.settle();
    bench.hand.advance(span);
    bench.settle();
}

#[test]
fn caller_that_drives_its_call_keeps_it_for_as_long_again() {
    let (bench, busy) = (Bench::new(), Arc::<Busy>::default());
    let _watching = busy.begins(&bench);
    for asked in [1, 2, 2] {
        pass(&bench, PATIENCE);
        assert_eq!(busy.asked(), asked);
    }
}

#[test]
fn call_stays_for_its_patience_and_is_missed_by_the_next_look() {
    let bench = Bench::new();
    let calls = [(); 3].map(|()| Arc::<Busy>::default());
    let [first, second, over] = &calls;
    let _first = first.begins(&bench);
    pass(&bench, PATIENCE / 2);
    let _second = second.begins(&bench);
    drop(over.begins(&bench));
    let asked = || [first, second, over].map(|call| call.asked());
    assert_eq!(asked(), [0, 0, 0]);
    pass(&bench, PATIENCE / 2);
    assert_eq!(asked(), [1, 0, 0]);
    pass(&bench, PATIENCE);
    assert_eq!(asked(), [2, 1, 0]);
}

#[test]
fn watchdog_ends_a_second_after_the_last_call() {
    let (bench, call) = (Bench::new(), Arc::<Busy>::default());
    for _ in 0..2 {
        drop(call.begins(&bench));
        for _ in 0..IDLE_LOOKS {
            pass(&bench, PATIENCE);
            assert_eq!(bench.tasks(), 1);
        }
        pass(&bench, PATIENCE);
        assert_eq!(bench.tasks(), 0);
        assert!(bench.watchdogs.runtimes().is_empty());
    }
}

/// The number of a runtime that is gone may come again.
#[test]
fn watchdog_ends_with_its_runtime() {
    let (mut bench, call) = (Bench::new(), Arc::<Busy>::default());
    let home = bench.runtime.handle().clone();
    let _watching = call.begins(&bench);
    assert_eq!(bench.watchdogs.runtimes().len(), 1);
    bench.restart();
    assert!(bench.watchdogs.runtimes().is_empty());
    let watched: Arc<dyn Watched> = Arc::clone(&call) as Arc<dyn Watched>;
    drop(bench.watchdogs.watch(&home, Arc::downgrade(&watched)));
    assert!(bench.watchdogs.runtimes().is_empty(), "it had ended before");
}
