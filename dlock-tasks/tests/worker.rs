//! What a worker does with its tasks and its store, on SQLite in real time, with answers that are lost.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

#[path = "worker/bad_input.rs"]
mod bad_input;
#[path = "worker/blocking.rs"]
mod blocking;
#[path = "worker/drain.rs"]
mod drain;

use std::{
    collections::VecDeque,
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
    },
};
use dlock_sqlite::tasks::SqliteTasks;
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Context, Count, Ended, Ending, Enqueued, Filter, Kept,
    LimitedQueue, NewTask, PausedQueue, Payload, Periodic, Schedule, Served, State, Stop, Task,
    TaskId, TaskStore, Worker,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

/// Where a test waits for the end of a lease, or for a heartbeat. A stall of the machine of four fifths of it loses
/// the task.
const LEASE: Duration = Duration::from_secs(3);
/// Where nothing may depend on it.
const LONG: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Say {
    word: String,
}

impl Payload for Say {
    const KIND: &'static str = "say";
}

fn say(word: &str) -> NewTask {
    NewTask::of(&Say { word: word.into() }).unwrap().build()
}

/// The store, in front of which some calls fail.
#[derive(Clone)]
struct Faulty(Arc<Inner>);

struct Inner {
    store: SqliteTasks,
    /// Calls that are applied and have no answer, by their name.
    lost_replies: Mutex<VecDeque<&'static str>>,
    endings: AtomicUsize,
    /// No ending arrives.
    down: AtomicBool,
    /// So many claims get nothing, whatever there is.
    empty: AtomicUsize,
    /// No claim and no ending is answered, or refused.
    silent: AtomicBool,
    /// Nothing is claimed, and no heartbeat and no release arrives.
    cut_off: Arc<AtomicBool>,
}

impl Faulty {
    fn lose(&self, call: &'static str) {
        self.0.lost_replies.lock().unwrap().push_back(call);
    }

    async fn silence(&self) {
        if self.0.silent.load(Ordering::SeqCst) {
            pending::<()>().await;
        }
    }

    fn answered<T>(
        &self,
        call: &str,
        answer: Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let mut lost = self.0.lost_replies.lock().unwrap();
        match lost.iter().position(|other| *other == call) {
            Some(at) => {
                lost.remove(at);
                Err(ProviderError::unknown("the answer is lost"))
            }
            None => answer,
        }
    }
}

#[async_trait]
impl TaskStore for Faulty {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        self.0.store.enqueue(tasks).await
    }
    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        let served = self.0.store.enqueue_periodic(schedule, instant, task);
        self.answered("enqueue_periodic", served.await)
    }
    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        self.silence().await;
        if self.0.cut_off.load(Ordering::SeqCst) {
            return Err(ProviderError::not_applied("cut off"));
        }
        let empty = &self.0.empty;
        let one_less = |left: usize| left.checked_sub(1);
        if empty
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
            .is_ok()
        {
            return Ok(Claimed::default());
        }
        self.answered("claim", self.0.store.claim(claim).await)
    }
    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        self.0.endings.fetch_add(endings.len(), Ordering::SeqCst);
        self.silence().await;
        if self.0.down.load(Ordering::SeqCst) {
            return Err(ProviderError::not_applied("down"));
        }
        self.answered("finish", self.0.store.finish(endings).await)
    }
    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        self.0.store.checkpoint(key, number, checkpoint).await
    }
    fn claims(&self) -> Arc<dyn Provider> {
        Arc::new(Beats(self.0.store.claims(), Arc::clone(&self.0.cut_off)))
    }
    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        self.0.store.cancel(id, force).await
    }
    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        self.0.store.retry(id).await
    }
    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        self.0.store.task(id).await
    }
    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        self.0.store.list(filter).await
    }
    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        self.0.store.set_paused(queue, paused).await
    }
    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        self.0.store.paused().await
    }
    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        self.0.store.set_limit(queue, limit).await
    }
    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        self.0.store.limits().await
    }
    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        self.0.store.counts().await
    }
    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        self.0.store.prune(ages, most).await
    }
}

struct Beats(Arc<dyn Provider>, Arc<AtomicBool>);

impl Beats {
    async fn cut_off(&self) {
        if self.1.load(Ordering::SeqCst) {
            pending::<()>().await;
        }
    }
}

#[async_trait]
impl Provider for Beats {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        self.0.acquire(request).await
    }
    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        self.cut_off().await;
        self.0.renew(request).await
    }
    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        self.cut_off().await;
        self.0.release(request).await
    }
    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        self.0.read(name).await
    }
    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        self.cut_off().await;
        self.0.renew_many(requests).await
    }
}

struct Shop {
    folder: TempDir,
    store: Faulty,
}

impl Shop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Self::open(&folder);
        Self { folder, store }
    }

    fn open(folder: &TempDir) -> Faulty {
        Faulty(Arc::new(Inner {
            store: SqliteTasks::open(folder.path().join("shop.db")).unwrap(),
            lost_replies: Mutex::default(),
            endings: AtomicUsize::new(0),
            down: AtomicBool::new(false),
            empty: AtomicUsize::new(0),
            silent: AtomicBool::new(false),
            cut_off: Arc::default(),
        }))
    }

    /// A way to the store of another process.
    fn other(&self) -> Faulty {
        Self::open(&self.folder)
    }

    async fn add(&self, task: NewTask) -> TaskId {
        self.store.enqueue(&[task]).await.unwrap()[0].id()
    }

    async fn task(&self, id: TaskId) -> Task {
        self.store.task(id).await.unwrap().unwrap()
    }

    /// Waits until the task is in this state.
    async fn until(&self, id: TaskId, state: State) -> Task {
        let began = Instant::now();
        loop {
            let task = self.task(id).await;
            if task.state == state {
                return task;
            }
            assert!(began.elapsed() < PATIENCE, "not {state}: {task:?}");
            sleep(Duration::from_millis(5)).await;
        }
    }
}

fn worker(store: &Faulty) -> Worker {
    worker_for(store, LONG)
}

fn worker_for(store: &Faulty, lease: Duration) -> Worker {
    Worker::builder()
        .store(store.clone())
        .lease(lease)
        .poll(Duration::from_millis(20))
        .grace(Duration::from_millis(300))
        .concurrency(4)
        .owner("worker")
        .build()
        .unwrap()
}

struct Run {
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<Result<(), ProviderError>>,
}

impl Run {
    fn of(worker: Worker) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(worker.run(async move { drop(stopped.await) }));
        Self {
            stop: Some(stop),
            running,
        }
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        let ended = timeout(PATIENCE, &mut self.running)
            .await
            .expect("it does not stop");
        ended.unwrap().unwrap();
    }
}

#[tokio::test]
async fn tasks_run_and_keep_their_output() {
    let shop = Shop::new();
    let mut ids = Vec::new();
    for word in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        ids.push(shop.add(say(word)).await);
    }
    let (now, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (counted, seen) = (Arc::clone(&now), Arc::clone(&most));
    let run = Run::of(
        worker(&shop.store).handle(move |context: Context, say: Say| {
            let (now, most) = (Arc::clone(&counted), Arc::clone(&seen));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                assert!(context.is_valid());
                sleep(Duration::from_millis(50)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(format!("{}!", say.word))
            }
        }),
    );
    for (id, word) in ids
        .into_iter()
        .zip(["a!", "b!", "c!", "d!", "e!", "f!", "g!", "h!", "i!"])
    {
        let task = shop.until(id, State::Succeeded).await;
        assert_eq!((task.output, task.attempt), (Some(json!(word)), 1));
    }
    assert_eq!(
        most.load(Ordering::SeqCst),
        4,
        "as many at a time as it may"
    );
    run.stop().await;
}

/// V6, 004-12: a handler may take longer than its lease.
#[tokio::test]
async fn long_task_is_kept_by_heartbeats() {
    let shop = Shop::new();
    let id = shop.add(say("slow")).await;
    let runs = Arc::<AtomicUsize>::default();
    let handler = |runs: &Arc<AtomicUsize>| {
        let runs = Arc::clone(runs);
        move |_: Context, _: Say| {
            runs.fetch_add(1, Ordering::SeqCst);
            async {
                sleep(LEASE * 3 / 2).await;
                Ok(())
            }
        }
    };
    let first = Run::of(worker_for(&shop.store, LEASE).handle(handler(&runs)));
    let second = Run::of(worker_for(&shop.other(), LEASE).handle(handler(&runs)));
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!((task.attempt, runs.load(Ordering::SeqCst)), (1, 1));
    first.stop().await;
    second.stop().await;
}

/// J1, 28: each answer of a handler, and what is none.
#[tokio::test]
async fn answers_decide_what_becomes_of_a_task() {
    let shop = Shop::new();
    let words = ["retry", "soon", "discard", "snooze", "panic", "slow"];
    let mut ids = Vec::new();
    for word in words {
        ids.push(shop.add(say(word)).await);
    }
    let strange = NewTask::builder()
        .kind("say")
        .payload(json!({"wort": 1}))
        .build();
    let strange = shop.add(strange).await;
    let worker = Worker::builder()
        .store(shop.store.clone())
        .lease(LONG)
        .timeout(Duration::from_millis(100))
        .build()
        .unwrap();
    let run = Run::of(worker.handle(|_, say: Say| async move {
        match say.word.as_str() {
            "retry" => Err(std::io::Error::other("no disk"))?,
            "soon" => Err(Stop::retry_in(Duration::from_secs(500), "busy"))?,
            "discard" => Err(Stop::discard("no such image"))?,
            "snooze" => Err(Stop::Snooze(Duration::from_secs(500)))?,
            "panic" => panic!("a panic on purpose"),
            _ => pending::<()>().await,
        }
        Ok(())
    }));
    let error = async |id, state| {
        let task = shop.until(id, state).await;
        let errors: Vec<_> = task
            .errors
            .iter()
            .map(|error| error.error.clone())
            .collect();
        let wait = task
            .run_at
            .duration_since(task.enqueued_at)
            .unwrap_or_default();
        (task.attempt, errors.join(", "), wait.as_secs())
    };
    let (attempt, text, wait) = error(ids[0], State::Scheduled).await;
    assert_eq!((attempt, text.as_str()), (1, "no disk"));
    assert!(
        (1..=3).contains(&wait),
        "two seconds and a quarter, not {wait}"
    );
    let (_, text, wait) = error(ids[1], State::Scheduled).await;
    assert!(
        text == "busy" && (500..=510).contains(&wait),
        "{text} {wait}"
    );
    assert_eq!(error(ids[2], State::Dead).await.1, "no such image");
    assert_eq!(error(ids[3], State::Scheduled).await.0, 0, "uncounted");
    assert_eq!(
        error(ids[4], State::Scheduled).await.1,
        "the handler panicked: a panic on purpose"
    );
    assert_eq!(
        error(ids[5], State::Scheduled).await.1,
        "the handler took longer than 100ms"
    );
    let (_, text, _) = error(strange, State::Scheduled).await;
    assert!(
        text.contains("payload of the task") && text.contains("missing field `word`"),
        "{text}"
    );
    run.stop().await;
}

/// J2, 004-2: the handler ends before another worker can begin, and nothing of it is written.
#[tokio::test]
async fn task_that_is_lost_is_dropped_before_another_worker_has_it() {
    struct Dropped(Arc<Mutex<Option<Instant>>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(Instant::now());
        }
    }
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let dropped = Arc::<Mutex<Option<Instant>>>::default();
    let begun = Arc::new(Notify::new());
    let (drops, begins) = (Arc::clone(&dropped), Arc::clone(&begun));
    let first = Run::of(worker_for(&shop.store, LEASE).handle(move |_, _: Say| {
        let (dropped, begins) = (Dropped(Arc::clone(&drops)), Arc::clone(&begins));
        async move {
            let _dropped = dropped;
            begins.notify_one();
            pending::<()>().await;
            Ok(())
        }
    }));
    begun.notified().await;
    let token = shop.task(id).await.holder.unwrap().token;
    shop.store.0.cut_off.store(true, Ordering::SeqCst);
    let (sender, other) = oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let second = Run::of(worker_for(&shop.other(), LONG).handle(
        move |context: Context, _: Say| {
            let sender = sender.lock().unwrap().take().unwrap();
            async move {
                assert!(
                    sender
                        .send((Instant::now(), context.token(), context.attempt()))
                        .is_ok()
                );
                Ok(())
            }
        },
    ));
    let (began, newer, attempt) = timeout(PATIENCE, other).await.unwrap().unwrap();
    let dropped = dropped
        .lock()
        .unwrap()
        .expect("it goes on beside the other");
    assert!(dropped < began, "{:?} beside the other", dropped - began);
    assert!(newer > token && attempt == 2);
    shop.until(id, State::Succeeded).await;
    assert_eq!(
        shop.store.0.endings.load(Ordering::SeqCst),
        0,
        "nothing is written"
    );
    shop.store.0.cut_off.store(false, Ordering::SeqCst);
    first.stop().await;
    second.stop().await;
}

/// V8: a handler learns that its lease is in doubt while the task is still its own.
#[tokio::test]
async fn handler_is_told_that_its_lease_is_unsure_before_it_is_lost() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(worker_for(&shop.store, LEASE).handle(
        |context: Context, _: Say| async move {
            context.unsure().await;
            Ok(context.is_valid())
        },
    ));
    shop.until(id, State::Running).await;
    shop.store.0.cut_off.store(true, Ordering::SeqCst);
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!((task.output, task.attempt), (Some(json!(true)), 1));
    shop.store.0.cut_off.store(false, Ordering::SeqCst);
    run.stop().await;
}

/// The first queue that has a task comes first.
#[tokio::test]
async fn queues_are_worked_off_in_their_order() {
    let shop = Shop::new();
    for queue in ["slow", "other", "fast", "slow", "fast"] {
        let task = NewTask::of(&Say { word: queue.into() }).unwrap();
        shop.add(task.queue(queue).build()).await;
    }
    let words = Arc::<Mutex<Vec<String>>>::default();
    let said = Arc::clone(&words);
    let worker = Worker::builder()
        .store(shop.store.clone())
        .queue("fast")
        .queues(["slow"])
        .concurrency(1)
        .build()
        .unwrap()
        .handle(move |_, say: Say| {
            said.lock().unwrap().push(say.word);
            async { Ok(()) }
        });
    worker.drain(PATIENCE).await.unwrap();
    assert_eq!(*words.lock().unwrap(), ["fast", "fast", "slow", "slow"]);
}

/// A2, 004-11: a claim whose answer is lost keeps no task from running.
#[tokio::test]
async fn claim_without_an_answer_is_repeated() {
    let shop = Shop::new();
    let mut ids = Vec::new();
    for word in ["a", "b", "c"] {
        ids.push(shop.add(say(word)).await);
    }
    shop.store.lose("claim");
    let began = Instant::now();
    let run = Run::of(worker(&shop.store).handle(|_, _: Say| async { Ok(()) }));
    for id in ids {
        assert_eq!(shop.until(id, State::Succeeded).await.attempt, 1);
    }
    assert!(
        began.elapsed() < LONG,
        "they waited for the end of their leases"
    );
    run.stop().await;
}

/// E2, 16: an ending whose answer is lost is repeated, and its work not.
#[tokio::test]
async fn ending_without_an_answer_is_repeated() {
    let shop = Shop::new();
    shop.store.lose("finish");
    let runs = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&runs);
    let id = shop.add(say("a")).await;
    let run = Run::of(worker(&shop.store).handle(move |_, _: Say| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    }));
    shop.until(id, State::Succeeded).await;
    run.stop().await;
    assert_eq!(shop.store.0.endings.load(Ordering::SeqCst), 2);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// 29: what can end within the grace time does, the rest is given back, uncounted.
#[tokio::test]
async fn worker_that_stops_ends_or_gives_back_all_its_tasks() {
    let shop = Shop::new();
    let quick = shop.add(say("quick")).await;
    let slow = shop.add(say("slow")).await;
    let begun = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&begun);
    let run = Run::of(
        worker(&shop.store).handle(move |context: Context, say: Say| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                context.stopping().await;
                if say.word == "slow" {
                    pending::<()>().await;
                }
                Ok(())
            }
        }),
    );
    let began = Instant::now();
    while begun.load(Ordering::SeqCst) < 2 {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(5)).await;
    }
    let later = shop.add(say("quick")).await;
    let began = Instant::now();
    run.stop().await;
    assert!(began.elapsed() >= Duration::from_millis(300), "no grace");
    assert_eq!(shop.task(quick).await.state, State::Succeeded);
    let slow = shop.task(slow).await;
    assert_eq!(
        (slow.state, slow.attempt, slow.errors.len()),
        (State::Ready, 0, 0)
    );
    let later = shop.task(later).await.state;
    assert!(matches!(later, State::Ready | State::Succeeded), "{later}");
}

/// A store that is gone keeps no process from ending.
#[tokio::test]
async fn worker_stops_although_its_store_is_down() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(worker_for(&shop.store, LEASE).handle(|_, _: Say| async { Ok(()) }));
    shop.store.0.down.store(true, Ordering::SeqCst);
    let began = Instant::now();
    while shop.store.0.endings.load(Ordering::SeqCst) == 0 {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(5)).await;
    }
    let began = Instant::now();
    run.stop().await;
    let grace = Duration::from_millis(300);
    assert!(began.elapsed() >= LEASE + grace, "it could have come back");
    shop.store.0.down.store(false, Ordering::SeqCst);
    let again = Run::of(worker_for(&shop.store, LEASE).handle(|_, _: Say| async { Ok(()) }));
    assert_eq!(shop.until(id, State::Succeeded).await.attempt, 2);
    again.stop().await;
}

/// As many endings as may wait for the store do wait, and more come.
#[tokio::test]
async fn worker_whose_endings_cannot_leave_stops_nevertheless() {
    let shop = Shop::new();
    for _ in 0..40 {
        shop.add(say("a")).await;
    }
    shop.store.0.down.store(true, Ordering::SeqCst);
    let runs = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&runs);
    let run = Run::of(worker_for(&shop.store, LEASE).handle(move |_, _: Say| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    }));
    // Four in the call that fails, four in line, and one more at least.
    let began = Instant::now();
    while runs.load(Ordering::SeqCst) < 9 {
        assert!(began.elapsed() < PATIENCE);
        sleep(Duration::from_millis(5)).await;
    }
    run.stop().await;
}

/// 26.
#[tokio::test]
async fn cancelled_task_is_told_within_a_heartbeat() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(worker_for(&shop.store, LEASE).handle(
        |context: Context, _: Say| async move {
            context.cancelled().await;
            assert!(context.is_valid());
            Err::<(), _>(Stop::from("stopped halfway"))
        },
    ));
    shop.until(id, State::Running).await;
    let asked = Instant::now();
    shop.store.cancel(id, false).await.unwrap();
    let task = shop.until(id, State::Cancelled).await;
    assert!(asked.elapsed() < LEASE, "{:?}", asked.elapsed());
    assert_eq!(task.attempt, 1);
    run.stop().await;
}

/// 27.
#[tokio::test]
async fn next_attempt_begins_where_the_last_one_has_left() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let run = Run::of(
        worker(&shop.store).handle(|context: Context, _: Say| async move {
            let done: u32 = context.checkpoint()?.unwrap_or_default();
            assert_eq!(done + 1, context.attempt());
            if done == 2 {
                return Ok(done);
            }
            context.keep(&100).await?;
            context.keep(&(done + 1)).await?;
            Err(Stop::retry_in(Duration::ZERO, "halfway"))
        }),
    );
    let task = shop.until(id, State::Succeeded).await;
    assert_eq!((task.output, task.attempt), (Some(json!(2)), 3));
    run.stop().await;
}

/// A run that is dropped gives its tasks back in the background.
#[tokio::test]
async fn tasks_of_a_run_that_is_dropped_are_given_back() {
    let shop = Shop::new();
    let id = shop.add(say("a")).await;
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let run = Run::of(worker(&shop.store).handle(move |_, _: Say| {
        begins.notify_one();
        async {
            pending::<()>().await;
            Ok(())
        }
    }));
    begun.notified().await;
    let began = Instant::now();
    run.running.abort();
    let task = shop.until(id, State::Ready).await;
    assert!(began.elapsed() < LONG / 2, "its lease ran out");
    assert_eq!(task.attempt, 0);
}

/// An output that cannot be kept does not stop the endings of others.
#[tokio::test]
async fn output_that_is_too_large_fails_alone() {
    let shop = Shop::new();
    let large = shop.add(say("large")).await;
    let small = shop.add(say("small")).await;
    let run = Run::of(worker(&shop.store).handle(|_, say: Say| async move {
        sleep(Duration::from_millis(50)).await;
        Ok(if say.word == "large" {
            "x".repeat(300_000)
        } else {
            say.word
        })
    }));
    shop.until(small, State::Succeeded).await;
    let task = shop.until(large, State::Dead).await;
    assert!(
        task.errors[0].error.contains("the output has 300002 bytes"),
        "{:?}",
        task.errors
    );
    run.stop().await;
}

/// Tables of another version: the worker says so instead of asking for ever.
#[tokio::test]
async fn store_that_cannot_be_used_ends_the_run() {
    let shop = Shop::new();
    let worker = Worker::builder()
        .store(shop.store.clone())
        .queue("q".repeat(200))
        .build()
        .unwrap()
        .handle(|_, _: Say| async { Ok(()) });
    let ended = timeout(PATIENCE, worker.run(pending())).await.unwrap();
    let error = ended.unwrap_err();
    assert!(
        error.to_string().contains("name of a queue has 200 bytes"),
        "{error}"
    );
}

/// K10: each instant has one task, though two workers have the schedule, answers are lost, and one worker ends.
#[tokio::test]
async fn periodic_task_comes_once_for_each_instant() {
    #[expect(
        clippy::disallowed_methods,
        reason = "instants are counted by the wall clock"
    )]
    fn seconds() -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.unwrap().as_secs()
    }
    let shop = Shop::new();
    let (first, second) = (&shop.store, &shop.other());
    let began = seconds();
    let runs = Arc::<AtomicUsize>::default();
    let run = |store: &Faulty| {
        let counted = Arc::clone(&runs);
        let schedule = Schedule::every(Duration::from_secs(1)).unwrap();
        let worker = worker(store).periodic(Periodic::new("say", schedule, say("again")));
        Run::of(worker.handle(move |_: Context, _: Say| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok(()) }
        }))
    };
    let until = async |number: usize| {
        let began = Instant::now();
        while runs.load(Ordering::SeqCst) < number {
            assert!(began.elapsed() < PATIENCE, "nothing is enqueued any more");
            sleep(Duration::from_millis(5)).await;
        }
    };
    let (one, other) = (run(first), run(second));
    until(1).await;
    for store in [first, second] {
        store.lose("enqueue_periodic");
    }
    until(3).await;
    one.stop().await;
    until(5).await;
    other.stop().await;
    let instants = usize::try_from(seconds() - began).unwrap();
    let tasks = shop.store.list(&Filter::default()).await.unwrap();
    assert!(tasks.len() <= instants, "{} of {instants}", tasks.len());
}

/// It says so, and leaves what runs to its handlers.
#[tokio::test]
async fn worker_with_a_periodic_task_that_cannot_be_kept_ends() {
    let shop = Shop::new();
    let id = shop.add(say("slow")).await;
    let schedule = Schedule::every(Duration::from_secs(1)).unwrap();
    let nameless = Periodic::new("", schedule, say("again"));
    let worker = worker(&shop.store).periodic(nameless);
    let run = Run::of(worker.handle(|_: Context, _: Say| async { Ok(()) }));
    let ended = timeout(PATIENCE, run.running).await.expect("it goes on");
    let error = ended.unwrap().unwrap_err().to_string();
    assert!(error.contains("name of a schedule"), "{error}");
    // Either it was too late to begin, or it was ended.
    let state = shop.task(id).await.state;
    assert!(matches!(state, State::Ready | State::Succeeded), "{state}");
}
