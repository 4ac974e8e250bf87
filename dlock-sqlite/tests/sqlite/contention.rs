//! Writers that wait, losers that do not, and futures that are dropped midway.

use std::{
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake},
    thread::{self, Thread},
    time::Duration,
};

use dlock_core::{
    Client, Clock, DLock, EndCause, ErrorKind, Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_sqlite::SqliteProvider;
use dlock_testkit::faults::Faulty;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{PATIENCE, Scratch, Worker, block_on, chain, name, refused, request, take};

/// An eighth of it is longer than any busy timeout here.
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(200);

fn with_timeout(scratch: &Scratch, busy_timeout: Duration) -> SqliteProvider {
    SqliteProvider::builder()
        .path(scratch.path())
        .busy_timeout(busy_timeout)
        .build()
        .unwrap()
}

#[test]
fn a_writer_that_stays_too_long_is_not_applied_and_then_all_is_well() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = with_timeout(&scratch, SHORT);
        let (uuid, _) = take(&provider, "held", LONG).await;
        let raw = scratch.raw();
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        let began = Instant::now();
        for error in [
            provider.acquire(&request("free", LONG)).await.unwrap_err(),
            provider
                .renew(&Renew::new(name("held"), uuid, 1))
                .await
                .unwrap_err(),
            provider
                .release(&Release::new(name("held"), uuid, None))
                .await
                .unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{}", chain(&error));
        }
        assert!(began.elapsed() >= SHORT, "it did wait");
        raw.execute_batch("ROLLBACK").unwrap();
        let record = provider.read(&name("held")).await.unwrap().unwrap();
        assert!(
            record.renewals == 0 && !record.released,
            "not applied means not applied: {record:?}"
        );
        assert!(provider.read(&name("free")).await.unwrap().is_none());
        take(&provider, "free", LONG).await;
    });
}

/// A caller waits for a sixth of its lease, and its time in the queue counts.
#[test]
fn a_short_lease_hears_of_a_locked_file_before_its_attempt_is_over() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let lease = Duration::from_secs(4);
        let (uuid, _) = take(&provider, "held", lease).await;
        let raw = scratch.raw();
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        let calls = [0, 1, 2, 3].map(|kind| {
            let calls = (0..60).map(|number| {
                let provider = provider.clone();
                let renewal = [Renew::new(name("held"), uuid, 1)];
                let release = Release::new(name("held"), uuid, None);
                let free = request(&format!("free {number}"), lease);
                tokio::spawn(async move {
                    match kind {
                        0 => provider.acquire(&free).await.map(drop),
                        1 => provider.renew(&renewal[0]).await.map(drop),
                        2 => provider.renew_many(&renewal).await.remove(0).map(drop),
                        _ => provider.release(&release).await.map(drop),
                    }
                })
            });
            calls.collect::<Vec<_>>()
        });
        // An eighth of the lease for each, one after the other, would take two minutes.
        let answers = timeout(PATIENCE, async {
            let mut answers = Vec::new();
            for call in calls.into_iter().flatten() {
                answers.push(call.await.unwrap());
            }
            answers
        });
        for answer in answers.await.expect("one waits after the other") {
            let error = answer.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{}", chain(&error));
            assert!(
                error.to_string().contains("locked by another program"),
                "{error}"
            );
        }
    });
}

#[test]
fn a_lease_that_a_locked_file_ends_names_the_lock() {
    const LEASE: Duration = Duration::from_secs(12);
    let scratch = Scratch::new();
    block_on(async {
        let (clock, hand) = Clock::manual();
        let calls = Faulty::new(with_timeout(&scratch, SHORT));
        let lock = DLock::builder()
            .name("a")
            .duration(LEASE)
            .provider(Client::with_clock(calls.clone(), clock))
            .build()
            .unwrap();
        let guard = lock.hold().await.unwrap();
        let raw = scratch.raw();
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        while guard.is_valid() {
            hand.advance(LEASE / 20);
            sleep(Duration::from_millis(5)).await;
            // The lease waits for each answer.
            while calls.calls().iter().any(|call| call.answer.is_none()) {
                sleep(Duration::from_millis(1)).await;
            }
        }
        let loss = timeout(PATIENCE, guard.ended()).await.unwrap();
        let EndCause::Expired {
            last_error: Some(error),
        } = &loss.cause
        else {
            panic!("{loss:?}")
        };
        assert!(
            error.to_string().contains("locked by another program"),
            "{error}"
        );
        raw.execute_batch("ROLLBACK").unwrap();
    });
}

#[test]
fn a_writer_within_the_busy_timeout_is_waited_for() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = with_timeout(&scratch, PATIENCE);
        let worker = Worker::of(&provider);
        let raw = scratch.raw();
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        let waiting = tokio::spawn(async move { take(&provider, "a", LONG).await });
        worker.until_it_waits().await;
        assert!(!waiting.is_finished());
        raw.execute_batch("COMMIT").unwrap();
        timeout(PATIENCE, waiting).await.unwrap().unwrap();
    });
}

#[test]
fn the_time_spent_waiting_for_the_lock_does_not_shorten_the_lease() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = with_timeout(&scratch, PATIENCE);
        let worker = Worker::of(&provider);
        let other = scratch.provider();
        let (uuid, _) = take(&provider, "renewed", LONG).await;
        let raw = scratch.raw();
        let expiry = || {
            raw.query_row("SELECT expiry FROM lock", [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        let before = expiry();
        let waiting = tokio::spawn(async move {
            let renewal = Renew::new(name("renewed"), uuid, 1);
            provider.renew(&renewal).await
        });
        worker.until_it_waits().await;
        let record = other.read(&name("renewed")).await.unwrap().unwrap();
        let remaining = record.remaining.unwrap();
        raw.execute_batch("COMMIT").unwrap();
        assert_eq!(
            timeout(PATIENCE, waiting).await.unwrap().unwrap().unwrap(),
            RenewOutcome::Renewed { asked: false }
        );
        let gained = Duration::from_nanos(u64::try_from(expiry() - before).unwrap());
        // A clock read before the wait would show an earlier time than the reader's.
        assert!(remaining + gained >= LONG, "{remaining:?} and {gained:?}");
    });
}

#[test]
fn a_refused_try_takes_no_lock_and_writes_nothing() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = with_timeout(&scratch, SHORT);
        take(&provider, "a", LONG).await;
        let raw = scratch.raw();
        let version = || {
            raw.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        let log = scratch.directory().join("locks.db-wal");
        let before = (version(), std::fs::metadata(&log).unwrap().len());
        for _ in 0..50 {
            refused(&provider, "a").await;
        }
        assert_eq!((version(), std::fs::metadata(&log).unwrap().len()), before);
        // Not even a writer is in its way.
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        refused(&provider, "a").await;
        provider.read(&name("a")).await.unwrap();
        // Nor in the way of a mark, which is left out then (N1).
        let marking = request("a", LONG).marks(7);
        let marked = async || match provider.acquire(&marking).await {
            Ok(AcquireOutcome::Held(record)) => record.wanted,
            other => panic!("{other:?}"),
        };
        assert_eq!(marked().await, 0);
        raw.execute_batch("ROLLBACK").unwrap();
        // It is written once.
        assert_eq!(marked().await, 7);
        let before = (version(), std::fs::metadata(&log).unwrap().len());
        assert_eq!(marked().await, 7);
        assert_eq!((version(), std::fs::metadata(&log).unwrap().len()), before);
    });
}

#[test]
fn a_dropped_call_leaves_the_connection_usable_and_those_behind_it_never_run() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = with_timeout(&scratch, PATIENCE);
        let worker = Worker::of(&provider);
        let raw = scratch.raw();
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        // The first is waiting for the lock in SQLite, a thousand wait for that one.
        let request = |number| request(&format!("lock {number}"), LONG);
        let requests: Vec<_> = (0..=1000).map(request).collect();
        let mut calls: Vec<_> = requests.iter().map(|one| provider.acquire(one)).collect();
        for call in &mut calls {
            let waits = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_pending()));
            assert!(waits.await);
        }
        worker.until_it_waits().await;
        let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
        drop(calls);
        raw.execute_batch("COMMIT").unwrap();
        // The next one in the queue is answered after the call that ran to its end.
        timeout(PATIENCE, take(&provider, "next", LONG))
            .await
            .unwrap();
        refused(&provider, "lock 0").await;
        assert_eq!(scratch.count(), 2, "a call in line ran");
        // Other tests of this process have threads too. A runtime has at most 512 that may block.
        assert!(
            threads < 500,
            "{threads} threads: those in line must not have one each"
        );
    });
}

/// So no other work of a runtime's blocking threads can delay a renewal, and the end of a runtime cannot cut one off.
#[test]
fn calls_need_no_runtime() {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let scratch = Scratch::new();
    let provider = scratch.provider();
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut taking = pin!(take(&provider, "a", LONG));
    while taking
        .as_mut()
        .poll(&mut Context::from_waker(&waker))
        .is_pending()
    {
        thread::park_timeout(PATIENCE);
    }
    assert_eq!(scratch.count(), 1);
}

#[test]
fn a_future_dropped_at_any_point_disturbs_nobody() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let mut undone = 0;
        // Then longer pauses, until a call was not dropped in time: on a busy machine its thread may run late.
        let short = (0..300).map(Duration::from_micros);
        let long = (0..17).map(|power| Duration::from_millis(1 << power));
        for (number, pause) in short.chain(long).enumerate() {
            if number >= 300 && undone < number {
                break;
            }
            let text = format!("lock {number}");
            let request = request(&text, LONG);
            let mut call = provider.acquire(&request);
            // One poll hands the call to its thread, which may even be done by then. Timers are too coarse for the next
            // step.
            let _done =
                poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_ready())).await;
            let handed_over = Instant::now();
            while handed_over.elapsed() < pause {
                std::hint::spin_loop();
            }
            drop(call);
            // Applied or not: the release of the same uuid reveals which, and the connection answers the right request.
            match provider
                .release(&Release::new(name(&text), request.new, None))
                .await
                .unwrap()
            {
                ReleaseOutcome::Released { .. } => {}
                ReleaseOutcome::NotHeld(None) => undone += 1,
                ReleaseOutcome::NotHeld(Some(record)) => panic!("{record:?}"),
            }
            take(&provider, &text, LONG).await;
        }
        assert!(undone < 317, "no call ran: this shows nothing");
    });
}

#[test]
fn calls_of_many_tasks_and_providers_grant_each_lock_once() {
    let scratch = Scratch::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let providers: Vec<_> = (0..4).map(|_| Arc::new(scratch.provider())).collect();
        for round in 0..20 {
            let tries: Vec<_> = (0..32)
                .map(|number: usize| {
                    let provider = Arc::clone(&providers[number % 4]);
                    tokio::spawn(async move {
                        let answer = provider
                            .acquire(&request(&format!("round {round}"), LONG))
                            .await
                            .unwrap();
                        matches!(answer, dlock_core::provider::AcquireOutcome::Acquired(_))
                    })
                })
                .collect();
            let mut granted = 0;
            for one in tries {
                granted += usize::from(one.await.unwrap());
            }
            assert_eq!(granted, 1);
        }
    });
}
