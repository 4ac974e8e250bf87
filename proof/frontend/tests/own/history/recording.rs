//! A history of a run agrees with its events: on one axis, complete, and readable again.

use std::time::Duration;

use dlock_core::{Clock, DLock, Name, TryAcquire, provider::Discipline};
use dlock_proof::history::{
    Header, Invariant, Line, Log, What,
    checker::{Report, check},
    line::{Cause, Commit, CommitKind, Outcome},
    log_commits,
};
use dlock_testkit::{
    faults::{Fault, Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
};

const LEASE: Duration = Duration::from_secs(10);
const SECOND: u64 = 1_000_000;

fn builder(client: dlock_core::Client) -> DLock {
    DLock::builder()
        .name("door")
        .duration(LEASE)
        .provider(client)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn clocks_of_all_rates_meet_on_one_axis() {
    let log = Log::memory();
    tokio::time::advance(Duration::from_secs(100)).await;
    let fast = Clock::tokio(1.1);
    tokio::time::advance(Duration::from_secs(10)).await;
    let process = log.process_with("fast", &fast, 1.1);
    let lock = builder(process.client(MemoryProvider::new(&MemoryStore::store_clock())));
    let lease = lock.acquire().await.unwrap();
    let granted = log.lines().into_iter().find_map(|line| match line.what {
        What::Grant {
            sent, valid_until, ..
        } => Some((line.t, sent, valid_until)),
        _ => None,
    });
    let (t, sent, valid_until) = granted.unwrap();
    assert!(t.abs_diff(110 * SECOND) <= 1 && sent.abs_diff(110 * SECOND) <= 1);
    // Eight seconds of a clock that gains 10 %.
    assert!(
        (valid_until - sent).abs_diff(7_272_727) <= 2,
        "{valid_until}"
    );
    drop(lease);
}

#[tokio::test(start_paused = true)]
async fn every_call_has_its_outcome_also_one_that_was_given_up() {
    let log = Log::memory();
    let faulty = Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()));
    let process = log.process_with("worker", log.clock(), 1.0);
    let lock = builder(process.client(faulty.clone()));
    let mut lease = lock.acquire().await.unwrap();
    faulty.next(Op::Renew, Fault::LoseReply);
    assert!(lease.renew().await.is_err());
    faulty.next(Op::Renew, Fault::THROTTLED);
    assert!(lease.renew().await.is_err());
    assert!(matches!(lock.try_acquire().await, Ok(TryAcquire::Held(_))));
    lock.read().await.unwrap();
    lease.release().await.unwrap();

    let mut outcomes: Vec<(&str, Option<Outcome>)> = Vec::new();
    for line in log.lines() {
        match line.what {
            What::Acquire { outcome, .. } => outcomes.push(("acquire", outcome)),
            What::Renew { outcome, .. } => outcomes.push(("renew", outcome)),
            What::Release { outcome, .. } => outcomes.push(("release", outcome)),
            What::Read { outcome, .. } => outcomes.push(("read", outcome)),
            _ => {}
        }
    }
    let pair = |op, outcome| [(op, None), (op, Some(outcome))];
    let expected = [
        pair("acquire", Outcome::Ok),
        pair("renew", Outcome::Unknown),
        pair("renew", Outcome::Error),
        pair("acquire", Outcome::Held),
        pair("read", Outcome::Ok),
        pair("release", Outcome::Ok),
    ];
    assert_eq!(outcomes, expected.concat());
}

#[tokio::test(start_paused = true)]
async fn store_tells_what_it_really_wrote() {
    let log = Log::memory();
    let store = MemoryStore::store_clock();
    log_commits(&store, &log);
    let lock = builder(log.process("worker").client(MemoryProvider::new(&store)));
    let mut lease = lock.acquire().await.unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    lease.renew().await.unwrap();
    lease.release().await.unwrap();
    store.rollback(1);
    store.wipe();

    let commits: Vec<_> = log
        .lines()
        .into_iter()
        .filter_map(|line| match line.what {
            What::Commit(Commit {
                kind, n, expiry, ..
            }) => Some((kind, n, expiry.map(|expiry| expiry / SECOND))),
            _ => None,
        })
        .collect();
    let expected = [
        (CommitKind::Take, 0, Some(10)),
        (CommitKind::Renew, 1, Some(11)),
        (CommitKind::Release, 1, Some(11)),
        (CommitKind::Undo, 1, Some(11)),
        (CommitKind::Forget, 1, Some(11)),
    ];
    assert_eq!(commits, expected);
}

#[tokio::test(start_paused = true)]
async fn lines_are_read_as_they_were_written() {
    let log = Log::memory();
    let mut header = Header::new("a test", Discipline::Observer, LEASE);
    header.seed = Some(u64::MAX);
    log.header(header);
    let store = MemoryStore::observer();
    log_commits(&store, &log);
    let process = log.process("worker");
    let lock = builder(process.client(MemoryProvider::new(&store)));
    log.fault("partition", "worker").end();
    let guard = lock.hold().await.unwrap();
    process.look(
        &Name::new("door").unwrap(),
        (guard.uuid(), guard.token()),
        || guard.is_valid(),
    );
    guard.release().await.unwrap();
    log.killed("worker");
    for line in log.lines() {
        let text = line.to_string();
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line, "{text}");
        assert!(!text.contains('\n'));
    }
    let mut lines = log.lines();
    lines.retain(|line| matches!(line.what, What::End { cause, .. } if cause == Cause::Released));
    assert_eq!(lines.len(), 1);
}

/// Two clients with clocks that are 10 % wrong in opposite directions; one dies holding, faults
/// strike the other.
async fn real_run(store: MemoryStore, seeds: [u64; 2]) -> Report {
    let log = Log::memory();
    let mut header = Header::new("a real run", store.discipline(), LEASE);
    header.commits = true;
    log.header(header);
    log_commits(&store, &log);
    let client = |name: &str, rate: f64, seed: u64| {
        let clock = Clock::tokio(rate);
        let faulty = Faulty::new(MemoryProvider::new(&store).wakeups(false));
        let process = log.process_with(name, &clock, rate);
        (
            process.simulated_client(faulty.clone(), seed),
            faulty,
            process,
        )
    };
    let (slow, slow_faults, process) = client("slow", 0.9, seeds[0]);
    let (fast, fast_faults, _) = client("fast", 1.1, seeds[1]);
    let (slow, fast) = (builder(slow), builder(fast));

    let dying = slow.hold().await.unwrap();
    let next = tokio::spawn({
        let fast = fast.clone();
        async move { fast.hold().await }
    });
    tokio::time::sleep(2 * LEASE).await;
    let partition = log.fault("partition", "slow");
    slow_faults.everything(Fault::LoseRequest);
    dying.ended().await;
    process.look(slow.name(), (dying.uuid(), dying.token()), || {
        dying.is_valid()
    });
    drop(dying);
    let guard = next.await.unwrap().unwrap();
    partition.end();

    let lost_reply = log.fault("lose reply", "fast");
    fast_faults.next(Op::Renew, Fault::LoseReply);
    tokio::time::sleep(LEASE).await;
    lost_reply.end();
    assert!(guard.is_valid());
    guard.release().await.unwrap();
    slow.client().close().await;
    fast.client().close().await;
    check(&log.lines())
}

#[tokio::test(start_paused = true)]
async fn real_run_keeps_every_invariant() {
    for store in [MemoryStore::store_clock(), MemoryStore::observer()] {
        let discipline = store.discipline();
        let report = real_run(store, [1, 2]).await;
        assert!(report.is_clean(), "{discipline:?}: {report}");
        let counts = &report.counts;
        assert_eq!((counts.grants, counts.takeovers), (2, 1), "{report}");
        assert_eq!(counts.losses, 1, "{report}");
        assert!(
            counts.bounds(Invariant::I15) >= 1
                && counts.bounds(Invariant::I8) >= 1
                && counts.unknown > 1,
            "{report}"
        );
    }
}

/// The effect of a seedable generator of uuids in two clones of one machine.
#[tokio::test(start_paused = true)]
async fn two_clients_with_one_identity_are_found_out() {
    let report = real_run(MemoryStore::store_clock(), [7, 7]).await;
    assert!(report.breaks(Invariant::I11), "{report}");
}
