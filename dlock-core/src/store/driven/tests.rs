//! Where work runs, and what becomes of it: when its caller drives it, drops it, forgets it, or is elsewhere.

use std::{
    future::{pending, poll_fn},
    mem,
    sync::atomic::{AtomicUsize, Ordering},
    task::Wake,
    time::Duration,
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::yield_now,
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    watchdog::{IDLE_LOOKS, PATIENCE},
    *,
};
use crate::Clock;

/// A runtime in paused time, and a client's watchdogs.
pub(super) struct Bench {
    pub(super) runtime: Runtime,
    pub(super) watchdogs: Arc<Watchdogs>,
    closing: CancellationToken,
}

/// Work that awaits one answer.
struct Asked {
    driven: Driven<u32>,
    answer: oneshot::Sender<u32>,
}

/// Counts how often a caller was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        let closing = CancellationToken::new();
        let (clock, _hand) = Clock::manual();
        Self {
            runtime: runtime(),
            watchdogs: Watchdogs::new(clock, closing.clone()),
            closing,
        }
    }

    fn driven(&self, work: impl Future<Output = u32> + Send + 'static) -> Driven<u32> {
        let _here = self.runtime.enter();
        Driven::new(&self.watchdogs, Box::pin(work))
    }

    fn asked(&self) -> Asked {
        let (answer, answered) = oneshot::channel();
        Asked {
            driven: self.driven(async move { answered.await.unwrap_or(0) }),
            answer,
        }
    }

    /// Polls once, as its caller on this runtime.
    fn poll(&self, driven: &mut Driven<u32>) -> Poll<Result<u32, Unfinished>> {
        let _here = self.runtime.enter();
        poll_with(driven, Waker::noop())
    }

    /// Lets the tasks run.
    fn settle(&self) {
        self.passes(Duration::ZERO);
    }

    pub(super) fn passes(&self, span: Duration) {
        self.runtime.block_on(async {
            sleep(span).await;
            for _ in 0..20 {
                yield_now().await;
            }
        });
    }

    pub(super) fn tasks(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }

    /// Ends the runtime; a new one replaces it.
    pub(super) fn restart(&mut self) {
        self.runtime = runtime();
    }
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap()
}

fn poll_with(driven: &mut Driven<u32>, waker: &Waker) -> Poll<Result<u32, Unfinished>> {
    Pin::new(driven).poll(&mut Context::from_waker(waker))
}

fn is_here(driven: &Driven<u32>) -> bool {
    matches!(*driven.slot.phase(), Phase::Here(..))
}

#[test]
fn work_that_its_caller_drives_needs_no_task_but_the_watchdog() {
    let bench = Bench::new();
    let mut at_once = bench.driven(async { 7 });
    assert!(matches!(bench.poll(&mut at_once), Poll::Ready(Ok(7))));
    assert_eq!(bench.tasks(), 0);
    let Asked { mut driven, answer } = bench.asked();
    assert!(bench.poll(&mut driven).is_pending());
    assert!(bench.poll(&mut driven).is_pending());
    assert!(is_here(&driven));
    assert_eq!(bench.tasks(), 1);
    answer.send(7).unwrap();
    assert!(matches!(bench.poll(&mut driven), Poll::Ready(Ok(7))));
    assert!(bench.poll(&mut driven).is_pending(), "it is over");
}

/// Also if the caller goes away before its first poll.
#[test]
fn work_whose_caller_goes_away_runs_to_its_end() {
    let bench = Bench::new();
    for polls in 0..2 {
        let (done, mut is_done) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let mut driven = bench.driven(async move {
            let answer: u32 = answered.await.unwrap();
            done.send(answer).unwrap();
            answer
        });
        for _ in 0..polls {
            assert!(bench.poll(&mut driven).is_pending());
        }
        drop(driven);
        bench.settle();
        answer.send(7).unwrap();
        bench.settle();
        assert_eq!(is_done.try_recv(), Ok(7), "after {polls} polls");
    }
}

/// From then on the task gets the wakes of the work, so the caller is woken to wait for the task.
#[test]
fn work_that_takes_long_goes_on_in_a_task() {
    let bench = Bench::new();
    let Asked { mut driven, answer } = bench.asked();
    let woken = Arc::<Woken>::default();
    let waker = Waker::from(Arc::clone(&woken));
    let poll = |driven: &mut Driven<u32>| {
        let _here = bench.runtime.enter();
        poll_with(driven, &waker)
    };
    assert!(poll(&mut driven).is_pending());
    bench.passes(PATIENCE);
    assert!(is_here(&driven));
    assert_eq!(woken.0.load(Ordering::SeqCst), 0);
    bench.passes(PATIENCE);
    assert!(!is_here(&driven));
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    assert!(poll(&mut driven).is_pending());
    answer.send(7).unwrap();
    bench.settle();
    assert_eq!(woken.0.load(Ordering::SeqCst), 2);
    assert!(matches!(poll(&mut driven), Poll::Ready(Ok(7))));
    assert_eq!(bench.tasks(), 1, "the watchdog waits for others");
    bench.passes(PATIENCE * (IDLE_LOOKS + 2));
    assert_eq!(bench.tasks(), 0);
}

#[test]
fn panic_of_the_work_is_its_own_end_only() {
    let bench = Bench::new();
    let mut here = bench.driven(async { panic!("on purpose") });
    assert!(matches!(
        bench.poll(&mut here),
        Poll::Ready(Err(Unfinished(_)))
    ));
    let mut away = bench.driven(async {
        yield_now().await;
        panic!("on purpose")
    });
    assert!(bench.poll(&mut away).is_pending());
    bench.passes(3 * PATIENCE);
    assert!(matches!(
        bench.poll(&mut away),
        Poll::Ready(Err(Unfinished(_)))
    ));
}

/// The connections that it opens live where it began.
#[test]
fn work_polled_elsewhere_goes_on_where_it_began() {
    let (bench, elsewhere) = (Bench::new(), runtime());
    let Asked { mut driven, answer } = bench.asked();
    assert!(bench.poll(&mut driven).is_pending());
    let poll = |driven: &mut Driven<u32>| {
        let _there = elsewhere.enter();
        poll_with(driven, Waker::noop())
    };
    assert!(poll(&mut driven).is_pending());
    assert!(!is_here(&driven));
    answer.send(7).unwrap();
    bench.settle();
    assert!(matches!(poll(&mut driven), Poll::Ready(Ok(7))));
}

/// Even if its caller keeps the future and no longer polls it: another caller may wait behind it.
#[test]
fn work_whose_runtime_has_ended_is_dropped() {
    let mut bench = Bench::new();
    let Asked { mut driven, answer } = bench.asked();
    assert!(bench.poll(&mut driven).is_pending());
    bench.settle();
    bench.restart();
    assert!(answer.is_closed());
    let result = bench.poll(&mut driven);
    assert!(matches!(result, Poll::Ready(Err(Unfinished(_)))));
}

/// The watchdog that ended meanwhile could not take it: its caller was driving it.
#[test]
fn work_that_ends_its_runtime_is_dropped() {
    let mut bench = Bench::new();
    let ends = Arc::<Mutex<Option<Runtime>>>::default();
    let mut driven = bench.driven({
        let ends = Arc::clone(&ends);
        poll_fn(move |_| {
            if let Some(ended) = ends.lock().unwrap().take() {
                ended.shutdown_background();
            }
            Poll::Pending
        })
    });
    assert!(bench.poll(&mut driven).is_pending());
    bench.settle();
    let home = bench.runtime.handle().clone();
    *ends.lock().unwrap() = Some(mem::replace(&mut bench.runtime, runtime()));
    let _here = home.enter();
    let mut poll = || poll_with(&mut driven, Waker::noop());
    assert!(poll().is_pending());
    assert!(matches!(poll(), Poll::Ready(Err(Unfinished(_)))));
}

/// `close` waits for all work, whether its callers are polled or not.
#[test]
fn nothing_stays_with_its_caller_once_the_client_closes() {
    let bench = Bench::new();
    let Asked { mut driven, answer } = bench.asked();
    assert!(bench.poll(&mut driven).is_pending());
    bench.settle();
    bench.closing.cancel();
    bench.settle();
    assert!(!is_here(&driven));
    let mut later = bench.asked();
    assert!(bench.poll(&mut later.driven).is_pending());
    assert!(!is_here(&later.driven));
    drop((answer, later.answer));
    bench.settle();
    assert_eq!(bench.tasks(), 0);
}

#[test]
fn what_is_left_when_the_answer_is_there_goes_on() {
    let bench = Bench::new();
    let (offer, offered) = oneshot::channel();
    let (taken, mut is_taken) = oneshot::channel();
    let driven = bench.driven(async move {
        offer.send(7).unwrap();
        yield_now().await;
        taken.send(()).unwrap();
        pending().await
    });
    let answer = bench.runtime.block_on(driven.until(offered));
    assert_eq!(answer, Ok(7));
    assert_eq!(is_taken.try_recv(), Ok(()), "in the same poll");
    assert_eq!(bench.tasks(), 1, "what is left, and nobody waited");
}

/// Otherwise the runtime polls it once more, and wakes another of its threads for that.
#[test]
fn caller_is_not_woken_for_what_it_does_itself() {
    let bench = Bench::new();
    let (answer, answered) = oneshot::channel();
    let (offer, offered) = oneshot::channel();
    let (take, taken) = oneshot::channel();
    let driven = bench.driven(async move {
        let answer: u32 = answered.await.unwrap();
        offer.send(answer).unwrap();
        taken.await.unwrap()
    });
    let mut call = pin!(driven.until(async move {
        let answer: u32 = offered.await.unwrap();
        take.send(0).unwrap();
        answer
    }));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let _here = bench.runtime.enter();
    assert!(call.as_mut().poll(&mut context).is_pending());
    answer.send(7).unwrap();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1, "by another");
    assert_eq!(call.as_mut().poll(&mut context), Poll::Ready(7));
    assert_eq!(woken.0.load(Ordering::SeqCst), 1, "by itself");
}

/// Work that is ready time and again leaves the runtime to others.
#[test]
fn caller_that_wakes_itself_time_and_again_gets_its_next_turn_from_the_runtime() {
    let bench = Bench::new();
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let driven = bench.driven(poll_fn(move |context| {
        counted.fetch_add(1, Ordering::SeqCst);
        context.waker().wake_by_ref();
        Poll::Pending
    }));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut call = pin!(driven.until(pending::<()>()));
    let _here = bench.runtime.enter();
    let mut context = Context::from_waker(&waker);
    assert!(call.as_mut().poll(&mut context).is_pending());
    assert_eq!(polls.load(Ordering::SeqCst), own_wakes::ROUNDS);
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
}

/// However often its caller polls it.
#[test]
fn work_that_is_polled_often_and_takes_long_goes_on_in_a_task() {
    let bench = Bench::new();
    let Asked { mut driven, answer } = bench.asked();
    for _ in 0..8 {
        assert!(bench.poll(&mut driven).is_pending());
        bench.passes(PATIENCE / 2);
    }
    assert!(!is_here(&driven));
    drop(answer);
}

#[test]
fn work_is_not_taken_from_a_caller_that_drives_it() {
    let bench = Bench::new();
    let Asked { driven, .. } = bench.asked();
    let polled = driven.slot.phase();
    assert!(!driven.slot.take_over());
    drop(polled);
    assert!(driven.slot.take_over());
}

/// The watchdog that it was registered with has ended, and the next one numbers its work anew.
#[test]
fn work_that_is_over_ends_no_watch_over_another() {
    let bench = Bench::new();
    let mut long = bench.asked();
    assert!(bench.poll(&mut long.driven).is_pending());
    bench.passes(PATIENCE * (IDLE_LOOKS + 4));
    let mut other = bench.asked();
    assert!(bench.poll(&mut other.driven).is_pending());
    drop(long);
    bench.passes(2 * PATIENCE);
    assert!(!is_here(&other.driven));
}

/// A waker may run any code.
#[test]
fn caller_whose_waker_panics_costs_no_other_its_watchdog() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("on purpose")
        }
    }
    let bench = Bench::new();
    let mut both = [bench.asked(), bench.asked()];
    for Asked { driven, .. } in &mut both {
        let _here = bench.runtime.enter();
        assert!(poll_with(driven, &Waker::from(Arc::new(Panics))).is_pending());
    }
    bench.passes(2 * PATIENCE);
    assert!(both.iter().all(|asked| !is_here(&asked.driven)));
    assert!(bench.tasks() >= 3, "the watchdog goes on");
}
