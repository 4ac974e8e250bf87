//! When an idle worker asks because of a hint, and how it ends what it got, on a store that answers as a test says, in
//! virtual time.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::{
    collections::VecDeque,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{
    FencingToken, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Release, ReleaseOutcome, Renew,
        RenewOutcome, Wakeup, WakeupSender, Wakeups,
    },
};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, ClaimedTask, Context, Count, Ended, Ending, Enqueued, Filter,
    Kept, LimitedQueue, NewTask, PausedQueue, Payload, Served, State, Task, TaskId, TaskStore,
    Worker,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    sync::oneshot,
    task::{JoinHandle, yield_now},
    time::{Instant, advance, sleep, timeout},
};

/// Before the next poll, and after everything that a hint brings about.
const SOON: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);

#[derive(Serialize, Deserialize)]
struct Nothing;

impl Payload for Nothing {
    const KIND: &'static str = "nothing";
}

/// Has no tasks but those that a test gives it.
#[derive(Clone, Default)]
struct Fake(Arc<Inner>);

#[derive(Default)]
struct Inner {
    claims: AtomicUsize,
    /// How many tasks the next claims find.
    tasks: AtomicUsize,
    numbers: AtomicUsize,
    /// What the next calls of `watch` answer; then none ever does.
    streams: Mutex<VecDeque<Result<Option<Wakeups>, ProviderError>>>,
    watched: AtomicUsize,
    /// How many endings each call of `finish` brought.
    finished: Mutex<Vec<usize>>,
}

impl Fake {
    /// The next call of `watch` gets this stream.
    fn stream(&self) -> WakeupSender {
        let (sender, stream) = Wakeups::channel(1);
        self.answer(Ok(Some(stream)));
        sender
    }

    fn answer(&self, answer: Result<Option<Wakeups>, ProviderError>) {
        self.0.streams.lock().unwrap().push_back(answer);
    }

    fn claims(&self) -> usize {
        self.0.claims.load(Ordering::SeqCst)
    }

    fn watched(&self) -> usize {
        self.0.watched.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl TaskStore for Fake {
    async fn enqueue(&self, _: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        Err(ProviderError::fatal("not here"))
    }
    async fn enqueue_periodic(
        &self,
        _: &str,
        _: SystemTime,
        _: &NewTask,
    ) -> Result<Served, ProviderError> {
        Err(ProviderError::fatal("not here"))
    }
    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        self.0.claims.fetch_add(1, Ordering::SeqCst);
        let mut tasks = Vec::new();
        let one = |tasks: usize| tasks.checked_sub(1);
        let take = || {
            self.0
                .tasks
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one)
        };
        while tasks.len() < claim.max && take().is_ok() {
            let number = 1 + self.0.numbers.fetch_add(1, Ordering::SeqCst);
            let id = TaskId::new(number.try_into().unwrap()).unwrap();
            let key = ClaimKey::new(id, claim.uuid, FencingToken::new(1).unwrap());
            let kind = Nothing::KIND.to_owned();
            tasks.push(ClaimedTask::new(
                key,
                claim.queues[0].clone(),
                kind,
                json!(null),
            ));
        }
        Ok(Claimed::new(tasks, None))
    }
    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        self.0.finished.lock().unwrap().push(endings.len());
        Ok(endings
            .iter()
            .map(|_| Ended::Own(State::Succeeded))
            .collect())
    }
    async fn checkpoint(&self, _: &ClaimKey, _: u64, _: &Value) -> Result<Kept, ProviderError> {
        Err(ProviderError::fatal("not here"))
    }
    fn claims(&self) -> Arc<dyn Provider> {
        Arc::new(Beats)
    }
    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        assert_eq!(claim.queues, ["default"]);
        let kinds = claim.kinds.as_deref().unwrap();
        assert_eq!(kinds, [Nothing::KIND]);
        self.0.watched.fetch_add(1, Ordering::SeqCst);
        let answer = self.0.streams.lock().unwrap().pop_front();
        match answer {
            Some(answer) => answer,
            None => pending().await,
        }
    }
    async fn cancel(&self, _: TaskId, _: bool) -> Result<Option<State>, ProviderError> {
        Ok(None)
    }
    async fn retry(&self, _: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        Ok(None)
    }
    async fn task(&self, _: TaskId) -> Result<Option<Task>, ProviderError> {
        Ok(None)
    }
    async fn list(&self, _: &Filter) -> Result<Vec<Task>, ProviderError> {
        Ok(Vec::new())
    }
    async fn set_paused(&self, _: &str, _: bool) -> Result<(), ProviderError> {
        Ok(())
    }
    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        Ok(Vec::new())
    }
    async fn set_limit(&self, _: &str, _: Option<u32>) -> Result<(), ProviderError> {
        Ok(())
    }
    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        Ok(Vec::new())
    }
    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        Ok(Vec::new())
    }
    async fn prune(&self, _: Ages, _: usize) -> Result<usize, ProviderError> {
        Ok(0)
    }
}

struct Beats;

#[async_trait]
impl Provider for Beats {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new("fake", Discipline::StoreClock)
    }
    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        Err(ProviderError::fatal("not here"))
    }
    async fn renew(&self, _: &Renew) -> Result<RenewOutcome, ProviderError> {
        Ok(RenewOutcome::Renewed { asked: false })
    }
    async fn release(&self, _: &Release) -> Result<ReleaseOutcome, ProviderError> {
        Ok(ReleaseOutcome::Released)
    }
    async fn read(&self, _: &Name) -> Result<Option<Record>, ProviderError> {
        Ok(None)
    }
}

struct Run {
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), ProviderError>>,
}

impl Run {
    /// A worker that has just found nothing, and whether or not there was a stream to open.
    async fn idle(store: &Fake, concurrency: usize, work: Duration) -> Self {
        let worker = Worker::builder()
            .store(store.clone())
            .poll(POLL)
            .concurrency(concurrency)
            .build();
        Self::of(worker.unwrap(), work).await
    }

    /// A worker whose poll interval nobody has set.
    async fn unset(store: &Fake, lease: Duration) -> Self {
        let worker = Worker::builder().store(store.clone()).lease(lease).build();
        Self::of(worker.unwrap(), Duration::ZERO).await
    }

    async fn of(worker: Worker, work: Duration) -> Self {
        let worker = worker.handle(move |_: Context, _: Nothing| async move {
            sleep(work).await;
            Ok(())
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(worker.run(async move { drop(stopped.await) }));
        let run = Self { stop, running };
        sleep(SOON).await;
        run
    }

    /// At once, whatever it waits for.
    async fn stop(self) {
        drop(self.stop);
        let ended = timeout(Duration::from_millis(100), self.running).await;
        ended.expect("it does not stop").unwrap().unwrap();
    }
}

/// J2: also the first of them waits for the others, so there is no second transaction.
#[tokio::test(start_paused = true)]
async fn tasks_that_end_within_a_millisecond_are_ended_in_one_call() {
    const TASKS: usize = 8;
    let store = Fake::default();
    store.0.tasks.store(TASKS, Ordering::SeqCst);
    let worker = Worker::builder()
        .store(store.clone())
        .poll(POLL)
        .concurrency(TASKS);
    let worker = worker.build().unwrap();
    let worker = worker.handle(|context: Context, _: Nothing| async move {
        // One after the other, while the time stands still.
        for _ in 0..context.id().get() * 10 {
            yield_now().await;
        }
        Ok(())
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async move { drop(stopped.await) }));
    let run = Run { stop, running };
    sleep(SOON).await;
    assert_eq!(*store.0.finished.lock().unwrap(), [TASKS]);
    run.stop().await;
}

/// K6: the sleep ends, and no other claim follows.
#[tokio::test(start_paused = true)]
async fn hint_ends_the_sleep_of_an_idle_worker() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    // One at the start, and one for what the stream may have missed.
    assert_eq!(store.claims(), 2);
    for claims in [3, 4] {
        assert!(hints.send(Wakeup::Everyone));
        sleep(SOON).await;
        assert_eq!(store.claims(), claims);
    }
    run.stop().await;
}

/// A hint that nobody reads tells the store that nobody waits.
#[tokio::test(start_paused = true)]
async fn hint_is_not_read_while_all_places_are_taken() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::idle(&store, 1, Duration::from_secs(3)).await;
    assert_eq!(store.claims(), 2);
    store.0.tasks.store(2, Ordering::SeqCst);
    for _ in 0..2 {
        assert!(hints.send(Wakeup::Everyone));
        sleep(SOON).await;
    }
    assert_eq!((store.claims(), hints.is_full()), (3, true));
    // The second task, for which no hint is needed; then the hint.
    sleep(Duration::from_secs(7)).await;
    assert!(!hints.is_full());
    run.stop().await;
}

/// A store without hints is polled, and asked for its stream once.
#[tokio::test(start_paused = true)]
async fn store_without_hints_is_polled() {
    let store = Fake::default();
    store.answer(Ok(None));
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    assert_eq!(store.claims(), 1);
    sleep(10 * POLL).await;
    assert_eq!(store.claims(), 11);
    assert_eq!(store.watched(), 1);
    run.stop().await;
}

/// How often it asks in this time, in which nobody tells it anything.
async fn asks_in(store: &Fake, time: Duration) -> usize {
    let before = store.claims();
    sleep(time).await;
    store.claims() - before
}

/// Once a second without a stream; with one at most 0.3 times a second.
#[tokio::test(start_paused = true)]
async fn worker_that_is_told_of_tasks_hardly_asks() {
    let (told, untold) = (Fake::default(), Fake::default());
    let hints = told.stream();
    untold.answer(Ok(None));
    let lease = Duration::from_secs(30);
    let runs = [
        Run::unset(&told, lease).await,
        Run::unset(&untold, lease).await,
    ];
    sleep(10 * SECOND).await;
    assert_eq!(asks_in(&told, 100 * SECOND).await, 20);
    assert_eq!(asks_in(&untold, 100 * SECOND).await, 100);
    // A stream that ended tells it nothing; another one is not to be had.
    drop(hints);
    sleep(SECOND).await;
    assert_eq!(asks_in(&told, 100 * SECOND).await, 100);
    for run in runs {
        run.stop().await;
    }
}

/// What a store leaves out it leaves out beside another hint: the polls after one are as close as without hints, and
/// become rarer with the silence.
#[tokio::test(start_paused = true)]
async fn polls_follow_a_hint_closely() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::unset(&store, Duration::from_secs(30)).await;
    for found in [0, 1] {
        sleep(30 * SECOND).await;
        store.0.tasks.store(found, Ordering::SeqCst);
        assert!(hints.send(Wakeup::Everyone));
        // Past the claim that follows the hint, and what it does with the task.
        sleep(SOON / 5).await;
        assert_eq!(store.0.tasks.load(Ordering::SeqCst), 0);
        let mut waits = Vec::new();
        for _ in 0..4 {
            let (began, before) = (Instant::now(), store.claims());
            while store.claims() == before {
                sleep(Duration::from_millis(10)).await;
            }
            waits.push(began.elapsed().as_secs_f64().round());
        }
        assert_eq!(waits, [1.0, 1.0, 2.0, 4.0]);
    }
    run.stop().await;
}

/// A task that is found without a hint says that hints are left out, or that its worker died.
#[tokio::test(start_paused = true)]
async fn polls_follow_a_task_that_no_hint_told_of_closely() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::unset(&store, Duration::from_secs(30)).await;
    sleep(30 * SECOND).await;
    store.0.tasks.store(1, Ordering::SeqCst);
    while store.0.tasks.load(Ordering::SeqCst) > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(asks_in(&store, SECOND * 3 / 2).await, 1);
    drop(hints);
    run.stop().await;
}

/// A lease that began after the last poll is seen by the next one before it can run out, so that its end is not missed.
#[tokio::test(start_paused = true)]
async fn poll_comes_within_a_lease() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::unset(&store, 2 * SECOND).await;
    sleep(10 * SECOND).await;
    assert_eq!(asks_in(&store, 100 * SECOND).await, 50);
    drop(hints);
    run.stop().await;
}

/// Also beside hints, and 5 s at most.
#[tokio::test(start_paused = true)]
async fn poll_that_is_set_is_kept() {
    for (poll, asks) in [(SECOND / 5, 500), (60 * SECOND, 20)] {
        let store = Fake::default();
        let hints = store.stream();
        let worker = Worker::builder().store(store.clone()).poll(poll).build();
        let run = Run::of(worker.unwrap(), Duration::ZERO).await;
        sleep(10 * SECOND).await;
        assert_eq!(asks_in(&store, 100 * SECOND).await, asks, "{poll:?}");
        drop(hints);
        run.stop().await;
    }
}

/// What was missed between two streams costs no poll, and a store whose streams end at once is not asked all the time.
#[tokio::test(start_paused = true)]
async fn stream_that_ends_is_opened_anew_and_is_a_hint() {
    let store = Fake::default();
    let hints = store.stream();
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    assert_eq!(store.claims(), 2);
    let second = store.stream();
    drop(hints);
    sleep(SOON).await;
    assert_eq!((store.watched(), store.claims()), (2, 4));
    assert!(second.send(Wakeup::Everyone));
    sleep(SOON).await;
    assert_eq!(store.claims(), 5);

    drop(second);
    for _ in 0..1000 {
        drop(store.stream());
        store.answer(Err(ProviderError::not_applied("no channel")));
    }
    let before = store.watched();
    sleep(Duration::from_secs(600)).await;
    let tries = store.watched() - before;
    assert!((80..300).contains(&tries), "{tries} in ten minutes");
    run.stop().await;
}

/// A channel that cannot be opened keeps no worker from its polls, nor from stopping.
#[tokio::test(start_paused = true)]
async fn channel_that_never_opens_is_given_up_and_tried_again() {
    let store = Fake::default();
    let run = Run::idle(&store, 4, Duration::ZERO).await;
    sleep(Duration::from_secs(60)).await;
    assert!((4..=6).contains(&store.watched()), "{}", store.watched());
    assert!(store.claims() >= 12, "{}", store.claims());
    run.stop().await;
}

/// Of many workers that hear of one task only few ask while it is there, once they have competed for a while.
#[tokio::test(start_paused = true)]
async fn those_who_ask_in_vain_take_their_time_with_the_next_hint() {
    let lucky = Fake::default();
    let unlucky = Fake::default();
    let hints = [lucky.stream(), unlucky.stream()];
    let runs = [
        Run::idle(&lucky, 4, Duration::ZERO).await,
        Run::idle(&unlucky, 4, Duration::ZERO).await,
    ];
    let mut late = Duration::ZERO;
    for _ in 0..30 {
        let before = [lucky.claims(), unlucky.claims()];
        lucky.0.tasks.store(1, Ordering::SeqCst);
        let began = Instant::now();
        for hints in &hints {
            assert!(hints.send(Wakeup::Everyone));
        }
        while lucky.claims() == before[0] || unlucky.claims() == before[1] {
            advance(Duration::from_millis(1)).await;
            if lucky.claims() == before[0] {
                assert!(
                    began.elapsed() < Duration::from_millis(4),
                    "it has no competitor"
                );
            }
        }
        late += began.elapsed();
        sleep(SOON / 5).await;
    }
    // On average half of the longest delay, after the first few.
    assert!(
        (Duration::from_millis(300)..Duration::from_millis(2100)).contains(&late),
        "{late:?} in all"
    );
    for run in runs {
        run.stop().await;
    }
}
