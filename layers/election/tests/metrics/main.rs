//! The metrics that elections report, in virtual time.
#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod service;
mod traces;

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use dlock_election::{AlwaysLeader, Coordinator, Next, Transition, metrics};
use dlock_proof::metrics::TestRecorder;
use dlock_testkit::{
    faults::{Fault, Op},
    memory::MemoryStore,
};
use service::{Instance, NAME, SECOND, until};
use tokio::time::sleep;

const LEADS: &str = "dlock_election_is_leader";
const UNTIL: &str = "dlock_election_leader_until_timestamp_seconds";
const RENEWED: &str = "dlock_election_renewed_timestamp_seconds";
const TRANSITIONS: &str = "dlock_election_transitions_total";
const TASK: &str = "dlock_election_task_seconds";
const FINISHED: &str = "dlock_election_task_finished_timestamp_seconds";
const PERIOD: &str = "dlock_election_task_period_seconds";
const LEASE: &str = "dlock_election_lease_seconds";
const ELECTION: (&str, &str) = ("election", NAME);
const GROUP: (&str, &str) = ("group", NAME);

/// The reported metrics, by name.
struct Told(TestRecorder);

impl Told {
    fn gauge(&self, name: &str) -> Option<f64> {
        self.0.gauge(name, &[ELECTION])
    }

    /// The distance from now, in seconds of the wall clock, which hardly advances here.
    fn seconds_ahead(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        #[expect(
            clippy::disallowed_methods,
            reason = "compared with what was told of it"
        )]
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        self.0.gauge(name, labels).unwrap() - now.as_secs_f64()
    }

    fn transitions(&self, transition: &str, reason: &str) -> u64 {
        let labels = [ELECTION, ("transition", transition), ("reason", reason)];
        self.0.count(TRANSITIONS, &labels)
    }
}

fn about(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 5.0
}

/// A story that uses every name, those of the underlying locks included.
#[tokio::test(start_paused = true)]
async fn every_name_of_the_table_is_told_and_no_other() {
    let recorder = TestRecorder::new();
    let _listening = recorder.listen();
    metrics::describe();
    let names: Vec<&str> = metrics::ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(recorder.described(), names);
    let store = MemoryStore::store_clock();
    let mut leader = Instance::new(&store, "leader");
    leader.election.every("task", 30 * SECOND, |_| async {});
    leader = leader.start();
    until(SECOND, || leader.election.is_leader()).await;
    sleep(100 * SECOND).await;
    leader.stop().await;
    assert_eq!(recorder.missing(&[metrics::ALL]), [""; 0]);
    let tables = [metrics::ALL, dlock_core::metrics::ALL];
    assert_eq!(recorder.undocumented(&tables), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_leadership_is_told_with_the_instant_at_which_it_ends_by_itself() {
    let told = Told(TestRecorder::new());
    let _listening = told.0.listen();
    let store = MemoryStore::store_clock();
    let mut leader = Instance::new(&store, "leader").start();
    until(SECOND, || leader.election.is_leader()).await;
    assert_eq!(told.gauge(LEADS), Some(1.0));
    assert_eq!(told.gauge(LEASE), Some(60.0));
    assert!(about(told.seconds_ahead(UNTIL, &[ELECTION]), 48.0));
    assert!(about(told.seconds_ahead(RENEWED, &[ELECTION]), 0.0));
    // A slow renewal counts from when it left.
    leader
        .provider
        .next(Op::Renew, Fault::DelayReply(9 * SECOND));
    sleep(30 * SECOND).await;
    assert!(about(told.seconds_ahead(UNTIL, &[ELECTION]), 48.0 - 9.0));
    assert!(about(told.seconds_ahead(RENEWED, &[ELECTION]), -9.0));
    // A failed renewal moves neither instant, so a later reader finds them in the past.
    let before = told.gauge(UNTIL);
    leader.provider.everything(Fault::UNKNOWN_BEFORE);
    sleep(30 * SECOND).await;
    assert!(leader.election.is_leader());
    assert_eq!(told.gauge(UNTIL), before);
    until(30 * SECOND, || !leader.election.is_leader()).await;
    until(SECOND, || told.gauge(LEADS) == Some(0.0)).await;
    assert_eq!(told.gauge(UNTIL), Some(0.0));
    assert_eq!(told.transitions("lost", "expired"), 1);
    assert_eq!(told.transitions("unsure", "none"), 1);
    leader.stop().await;
}

/// An elector that is not polled cannot report that it no longer leads: the flag stays set, wrongly. The deadline next
/// to it is right.
#[tokio::test(start_paused = true)]
async fn an_instance_that_stands_still_is_not_told_to_lead_past_its_deadline() {
    let told = Told(TestRecorder::new());
    let _listening = told.0.listen();
    let store = MemoryStore::store_clock();
    let instance = Instance::new(&store, "leader");
    let mut running = instance.election.run(Box::pin(std::future::pending()));
    tokio::select! {
        biased;
        _ = &mut running => panic!("it runs on"),
        () = sleep(SECOND) => {}
    }
    let ends = told.gauge(UNTIL).unwrap();
    instance.provider.everything(Fault::LoseRequest);
    sleep(600 * SECOND).await;
    assert!(!instance.election.is_leader());
    assert_eq!(told.gauge(LEADS), Some(1.0), "nobody could set it");
    assert_eq!(told.gauge(UNTIL), Some(ends), "and nobody has moved it");
    drop(running);
    assert_eq!(told.gauge(LEADS), Some(0.0));
    assert_eq!(told.gauge(UNTIL), Some(0.0));
}

/// A listener that learns of the loss finds it in the metrics, though the work is still being dropped.
#[tokio::test(start_paused = true)]
async fn a_loss_is_told_before_the_work_is_gone() {
    let recorder = TestRecorder::new();
    let _listening = recorder.listen();
    let store = MemoryStore::store_clock();
    let instance = Instance::new(&store, "leader");
    instance.election.lead(|_| std::future::pending());
    let mut transitions = instance.election.transitions();
    let hearing = tokio::spawn({
        let recorder = recorder.clone();
        async move {
            while let Some(Next::Transition(transition)) = transitions.next().await {
                if matches!(transition, Transition::Lost { .. }) {
                    return recorder.gauge(LEADS, &[ELECTION]);
                }
            }
            None
        }
    });
    let instance = instance.start();
    until(SECOND, || instance.election.is_leader()).await;
    store.wipe();
    assert_eq!(hearing.await.unwrap(), Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn renewals_of_a_leader_that_resigns_are_told_until_its_work_has_ended() {
    let told = Told(TestRecorder::new());
    let _listening = told.0.listen();
    let store = MemoryStore::store_clock();
    let leader = Instance::new(&store, "leader");
    leader.election.lead(|leadership| async move {
        leadership.ending().await;
        sleep(8 * SECOND).await;
    });
    let leader = leader.start();
    sleep(15 * SECOND).await;
    let before = told.gauge(UNTIL).unwrap();
    leader.election.resign();
    sleep(7 * SECOND).await;
    assert_eq!(leader.provider.count(Op::Renew), 1);
    assert!(told.gauge(UNTIL).unwrap() > before);
    assert_eq!(told.gauge(LEADS), Some(1.0));
    until(10 * SECOND, || {
        told.transitions("resigned", "requested") == 1
    })
    .await;
    assert_eq!(told.gauge(LEADS), Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn transitions_are_told_with_their_reasons() {
    let told = Told(TestRecorder::new());
    let _listening = told.0.listen();
    let store = MemoryStore::store_clock();
    let leader = Instance::new(&store, "leader");
    leader.provider.next(Op::Acquire, Fault::FATAL);
    let mut leader = leader.start();
    until(SECOND, || told.transitions("ineligible", "none") == 1).await;
    until(60 * SECOND, || leader.election.is_leader()).await;
    leader.election.resign();
    until(60 * SECOND, || {
        told.transitions("resigned", "requested") == 1
    })
    .await;
    until(120 * SECOND, || leader.election.is_leader()).await;
    let asked = leader
        .election
        .ask_leader_to_resign(leader.provider.inner());
    assert!(asked.await.unwrap());
    until(60 * SECOND, || told.transitions("resigned", "asked") == 1).await;
    assert_eq!(told.gauge(LEADS), Some(0.0));
    until(120 * SECOND, || leader.election.is_leader()).await;
    store.wipe();
    until(60 * SECOND, || told.transitions("lost", "refused") == 1).await;
    until(120 * SECOND, || leader.election.is_leader()).await;
    leader.stop().await;
    assert_eq!(told.transitions("resigned", "shutdown"), 1);
    assert_eq!(told.transitions("gained", "none"), 4);
    assert_eq!(told.gauge(LEADS), Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn a_follower_tells_that_it_follows_and_what_it_would_do() {
    let told = Told(TestRecorder::new());
    let store = MemoryStore::store_clock();
    let follower = Instance::never_leads(&store);
    follower.election.every("task", 30 * SECOND, |_| async {});
    // The recorder is installed late, but before the election runs.
    let _listening = told.0.listen();
    let _follower = follower.start();
    sleep(SECOND).await;
    assert_eq!(told.gauge(LEADS), Some(0.0));
    assert_eq!(told.gauge(UNTIL), Some(0.0));
    let task = [ELECTION, ("task", "task")];
    assert_eq!(told.0.gauge(PERIOD, &task), Some(30.0));
    assert_eq!(told.0.gauge(FINISHED, &task), Some(0.0));
    // Reported before it happens.
    for transition in ["gained", "unsure", "lost", "ineligible"] {
        let series = [ELECTION, ("transition", transition)];
        assert!(told.0.knows(TRANSITIONS, &series), "{transition}");
        assert_eq!(told.0.count(TRANSITIONS, &series), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn runs_of_tasks_are_told_with_how_they_ended_and_when() {
    let told = Told(TestRecorder::new());
    let _listening = told.0.listen();
    let store = MemoryStore::store_clock();
    let leader = Instance::new(&store, "leader");
    leader
        .election
        .every("good", 30 * SECOND, |_| sleep(5 * SECOND));
    leader.election.every("broken", 30 * SECOND, |_| async {
        panic!("a run that panics on purpose")
    });
    leader
        .election
        .every("hanging", 30 * SECOND, |_| std::future::pending());
    let mut leader = leader.start();
    sleep(100 * SECOND).await;
    let runs = |task: &'static str, outcome: &'static str| {
        told.0
            .values(TASK, &[ELECTION, ("task", task), ("outcome", outcome)])
    };
    assert_eq!(runs("good", "finished"), [5.0, 5.0, 5.0, 5.0]);
    assert_eq!(runs("broken", "panicked").len(), 4);
    assert!(runs("hanging", "finished").is_empty());
    let finished = |task: &'static str| [ELECTION, ("task", task)];
    assert!(about(told.seconds_ahead(FINISHED, &finished("good")), 0.0));
    assert_eq!(told.0.gauge(FINISHED, &finished("broken")), Some(0.0));
    assert_eq!(told.0.gauge(FINISHED, &finished("hanging")), Some(0.0));
    leader.stop().await;
    let [cancelled] = runs("hanging", "cancelled")[..] else {
        panic!("{:?}", told.0);
    };
    // The work had its grace time.
    assert!((cancelled - 110.0).abs() < 1.0, "{cancelled}");
}

/// Attempts, failures, latency, and the remaining lease at a renewal, under the election's name.
#[tokio::test(start_paused = true)]
async fn attempts_failures_and_latency_are_told_for_the_election() {
    let told = Told(TestRecorder::new());
    let _listening = told.0.listen();
    let store = MemoryStore::store_clock();
    let leader = Instance::new(&store, "leader").start();
    until(SECOND, || leader.election.is_leader()).await;
    let follower = Instance::new(&store, "follower").start();
    leader.provider.next(Op::Renew, Fault::THROTTLED);
    leader
        .provider
        .next(Op::Renew, Fault::DelayReply(3 * SECOND));
    sleep(Duration::from_millis(1000 * 100)).await;
    let tries = told
        .0
        .count("dlock_tries_total", &[GROUP, ("outcome", "held")]);
    assert_eq!(tries, follower.provider.count(Op::Acquire) as u64);
    assert!(tries >= 3, "{tries}");
    let renewals = |outcome| {
        told.0
            .count("dlock_renewals_total", &[GROUP, ("outcome", outcome)])
    };
    assert_eq!(renewals("not_applied"), 1);
    let renewed = renewals("renewed");
    assert!((4..=5).contains(&renewed), "{renewed}");
    let calls = [GROUP, ("operation", "renew"), ("outcome", "answered")];
    let latency = told.0.values("dlock_store_call_seconds", &calls);
    assert_eq!(latency.len() as u64, renewed);
    assert!(latency.iter().any(|took| (took - 3.0).abs() < 0.1));
    let margins = told.0.values("dlock_renewal_margin_ratio", &[GROUP]);
    assert!(
        margins
            .iter()
            .all(|margin| *margin > 0.35 && *margin < 0.47)
    );
}

/// The transitions of all instances show a leadership that changes hands too often.
#[tokio::test(start_paused = true)]
async fn frequent_failover_is_alertable() {
    let told = Told(TestRecorder::new());
    let _listening = told.0.listen();
    let store = MemoryStore::store_clock();
    let instances = ["a", "b"].map(|id| Instance::new(&store, id).start());
    until(SECOND, || {
        instances.iter().any(|one| one.election.is_leader())
    })
    .await;
    // The rule next to the example: more than this many in a quarter of an hour.
    let gained = || told.transitions("gained", "none");
    sleep(15 * 60 * SECOND).await;
    assert_eq!(
        gained(),
        1,
        "a leadership that lasts is no reason for an alert"
    );
    for _ in 0..6 {
        let leader = instances.iter().find(|one| one.election.is_leader());
        leader.unwrap().provider.everything(Fault::LoseRequest);
        let lost = told.transitions("lost", "expired");
        until(60 * SECOND, || told.transitions("lost", "expired") > lost).await;
        instances.iter().for_each(|one| one.provider.clear());
        until(120 * SECOND, || {
            instances.iter().any(|one| one.election.is_leader())
        })
        .await;
    }
    assert_eq!(gained(), 7);
    // Six renewals in a row failed, and each loss has its reason.
    assert_eq!(told.transitions("lost", "expired"), 6);
}

#[tokio::test(start_paused = true)]
async fn the_coordinator_without_a_store_tells_the_same() {
    let told = Told(TestRecorder::new());
    let _listening = told.0.listen();
    let always = Arc::new(AlwaysLeader::new());
    always.every("task", 30 * SECOND, |_| async {});
    let labels = [("election", "always")];
    let coordinator: Arc<dyn Coordinator> = always.clone();
    let running = tokio::spawn(async move {
        let shutdown = Box::pin(sleep(95 * SECOND));
        coordinator.run(shutdown).await
    });
    sleep(SECOND).await;
    assert_eq!(told.0.gauge(LEADS, &labels), Some(1.0));
    assert_eq!(told.0.gauge(UNTIL, &labels), Some(f64::INFINITY));
    running.await.unwrap().unwrap();
    assert_eq!(told.0.gauge(LEADS, &labels), Some(0.0));
    assert_eq!(told.0.gauge(UNTIL, &labels), Some(0.0));
    assert_eq!(told.0.values(TASK, &labels).len(), 4);
    assert_eq!(told.0.undocumented(&[metrics::ALL]), [""; 0]);
}
