//! `with`: the work runs while the lock is held, is gone before the lock is released, and learns of a loss; the lock
//! never hides its result.

use std::{
    future::{Future, Ready, pending},
    panic::resume_unwind,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use dlock_core::{EndCause, Error, FencingToken};
use dlock_testkit::{
    Bench,
    faults::{Fault, Faulty, Op},
};
use tokio::{sync::Notify, time::sleep};

use super::{
    harness::{Harness, eventually, joined, lock, ok, rounds, settle, soon},
    interceptor::Interceptor,
};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn with_acquires_renews_and_releases(bench: Bench) {
    rounds(bench, |round| async move {
        let harness = round.harness().await;
        let work = harness.lease * 3 / 2;
        let lock = lock!(harness, "", owner = "worker-7");
        let token = ok(lock
            .with(async |token| {
                sleep(work).await;
                token
            })
            .await);
        assert!(harness.renewals().len() >= 3, "{:?}", harness.renewals());
        let record = harness.subject().await.record(&harness.name("")).await;
        assert!(record.released, "{record:?}");
        assert_eq!((record.token, &*record.owner), (token, "worker-7"));
        assert_eq!(harness.releases().len(), 1);
    })
    .await;
}

pub(crate) async fn lost_lease_ends_the_work(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        // The store refuses a renewal.
        let (task, dropped) = working(&harness, "refused", End::Never);
        harness.sent(Op::Acquire, 1).await;
        settle().await;
        harness
            .subject()
            .await
            .releases(&harness.acquires()[0], None)
            .await;
        hand.advance(20 * SECOND).await;
        match joined(task).await {
            Err(Error::Lost(loss)) => assert!(
                matches!(loss.cause, EndCause::Refused { .. }) && !loss.work_finished,
                "{loss:?}"
            ),
            other => panic!("{other:?}"),
        }
        assert_eq!(dropped.load(Ordering::SeqCst), 1, "the work goes on");

        // The time ends.
        harness.store.always(Op::Renew, Fault::LoseRequest);
        let (task, dropped) = working(&harness, "expired", End::Never);
        harness.sent(Op::Acquire, 2).await;
        for _ in 0..8 {
            hand.advance(6 * SECOND).await;
        }
        match joined(task).await {
            Err(Error::Lost(loss)) => assert!(
                matches!(loss.cause, EndCause::Expired { .. }) && !loss.work_finished,
                "{loss:?}"
            ),
            other => panic!("{other:?}"),
        }
        assert_eq!(dropped.load(Ordering::SeqCst), 1, "the work goes on");
    })
    .await;
}

pub(crate) async fn work_is_gone_before_the_release_is_sent(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.always(Op::Renew, Fault::LoseRequest);
        for (done, (label, end)) in [
            ("finished", End::Value),
            ("panicked", End::Panic),
            ("expired", End::Never),
            ("cancelled", End::Never),
        ]
        .into_iter()
        .enumerate()
        {
            harness.store.forget_calls();
            let (task, dropped) = working(&harness, label, end);
            harness.sent(Op::Acquire, 1).await;
            settle().await;
            match label {
                "expired" => {
                    for _ in 0..8 {
                        hand.advance(6 * SECOND).await;
                    }
                }
                "cancelled" => task.abort(),
                _ => {}
            }
            // The work counts the releases that it sees when it is dropped, beginning at 1.
            eventually(&format!("{done}: the release of {label}"), || {
                !harness.releases().is_empty()
            })
            .await;
            assert_eq!(dropped.load(Ordering::SeqCst), 1, "{label}");
        }
    })
    .await;
}

pub(crate) async fn panic_of_the_work_goes_on_after_the_release(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.always(Op::Release, Fault::HoldRequest);
        let (task, _) = working(&harness, "work", End::Panic);
        let closure = crate::spawn({
            let lock = lock!(harness, "closure");
            async move {
                lock.with(|_token| -> Ready<()> { resume_unwind(Box::new("on purpose")) })
                    .await
            }
        });
        harness.sent(Op::Release, 2).await;
        settle().await;
        assert!(
            !task.is_finished() && !closure.is_finished(),
            "the panic overtook the release"
        );
        // A store that does not answer delays it for a sixth of the lease.
        hand.advance(10 * SECOND).await;
        for failed in [task.await.map(drop), closure.await.map(drop)] {
            let Err(failed) = failed else {
                panic!("the panic was swallowed")
            };
            assert_eq!(
                failed.into_panic().downcast_ref::<&str>(),
                Some(&"on purpose")
            );
        }
    })
    .await;
}

pub(crate) async fn work_that_ended_too_late_is_reported(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let answer: Result<u32, Error> = lock
            .with_result(async |_token| {
                hand.jump(48 * SECOND);
                Ok(7)
            })
            .await;
        match answer {
            Err(Error::Lost(loss)) => assert!(
                matches!(loss.cause, EndCause::Expired { .. }) && loss.work_finished,
                "{loss:?}"
            ),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

pub(crate) async fn failing_release_does_not_hide_the_result(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.next(Op::Release, Fault::FATAL);
        let (task, _) = working(&harness, "fatal", End::Value);
        assert_eq!(ok(joined(task).await), 7);

        harness.store.always(Op::Release, Fault::LoseRequest);
        let (task, _) = working(&harness, "hanging", End::Value);
        harness.sent(Op::Release, 2).await;
        hand.advance(10 * SECOND).await;
        assert_eq!(ok(joined(task).await), 7);
    })
    .await;
}

pub(crate) async fn hung_release_delays_the_result_to_the_end_of_the_lease_at_most(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        harness.store.always(Op::Renew, Fault::LoseRequest);
        harness.store.always(Op::Release, Fault::LoseRequest);
        let done = Arc::new(Notify::new());
        let task = crate::spawn({
            let (lock, done) = (lock!(harness, "finished", margin = 0.01), Arc::clone(&done));
            async move { lock.with(async |_token| done.notified().await).await }
        });
        harness.sent(Op::Acquire, 1).await;
        for _ in 0..9 {
            hand.advance(6 * SECOND).await;
        }
        done.notify_one();
        harness.sent(Op::Release, 1).await;
        hand.advance(5 * SECOND).await;
        assert!(!task.is_finished(), "the release gets what is left");
        hand.advance(Duration::from_millis(400)).await;
        assert!(task.is_finished(), "it returns when another may hold");
        ok(joined(task).await);

        // No time remains to wait in.
        let (task, _) = working(&harness, "lost", End::Never);
        harness.sent(Op::Acquire, 2).await;
        for _ in 0..8 {
            hand.advance(6 * SECOND).await;
        }
        assert!(task.is_finished(), "the loss is reported late");
        assert!(matches!(joined(task).await, Err(Error::Lost(_))));
    })
    .await;
}

pub(crate) async fn error_of_the_work_comes_through_one_question_mark(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let answer = lock!(harness, "")
            .with_result(async |_token| {
                Err::<u32, Box<dyn std::error::Error + Send + Sync>>("no paper".into())
            })
            .await;
        assert_eq!(
            answer.map_err(|error| error.to_string()),
            Err("no paper".into())
        );
        let answer = lock!(harness, "")
            .with_result(async |token| Ok::<_, Error>(token))
            .await;
        let record = harness.subject().await.record(&harness.name("")).await;
        assert_eq!(record.token, ok(answer));
        assert!(record.released, "{record:?}");
    })
    .await;
}

pub(crate) async fn work_of_a_lease_is_kept_alive_or_not_begun(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, hand) = round.by_hand().await;
        let limit = Duration::from_secs(1);
        let lease = ok(lock!(harness, "in time").acquire_timeout(limit).await);
        let token = lease.token();
        let task = crate::spawn({
            let hand = hand.clone();
            lease.with(async move |token| {
                for _ in 0..20 {
                    hand.advance(6 * SECOND).await;
                }
                token
            })
        });
        assert_eq!(ok(joined(task).await), token);
        assert_eq!(harness.releases().len(), 1);

        let lease = ok(lock!(harness, "late").acquire().await);
        hand.jump(48 * SECOND);
        let mut begun = false;
        let answer = lease
            .with_result(async |_token| {
                begun = true;
                Ok::<_, Error>(())
            })
            .await;
        match answer {
            Err(Error::Lost(loss)) => assert!(!begun && !loss.work_finished, "{loss:?}"),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

/// How a piece of work ends.
#[derive(Clone, Copy)]
enum End {
    Value,
    Panic,
    Never,
}

/// Work that records, when it is dropped, how many releases it has seen sent, plus one.
struct Work {
    end: End,
    store: Faulty<Interceptor>,
    dropped: Arc<AtomicUsize>,
}

impl Future for Work {
    type Output = u32;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        match self.end {
            End::Value => Poll::Ready(7),
            End::Panic => resume_unwind(Box::new("on purpose")),
            End::Never => std::pin::pin!(pending()).poll(context),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let released = self.store.count(Op::Release);
        self.dropped.store(1 + released, Ordering::SeqCst);
    }
}

type Task = tokio::task::JoinHandle<Result<u32, Error>>;

fn working(harness: &Harness, label: &str, end: End) -> (Task, Arc<AtomicUsize>) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let work = Work {
        end,
        store: harness.store.clone(),
        dropped: Arc::clone(&dropped),
    };
    let lock = lock!(harness, label);
    let task = crate::spawn(async move { lock.with(move |_: FencingToken| work).await });
    (task, dropped)
}

pub(crate) async fn dropped_with_gives_the_lock_back(bench: Bench) {
    rounds(bench, |round| async move {
        let (harness, _hand) = round.by_hand().await;
        let lock = lock!(harness, "");
        let mut with = Box::pin(lock.with(async |_token| pending::<()>().await));
        let began = tokio::time::timeout(Duration::from_millis(50), with.as_mut()).await;
        assert!(began.is_err());
        harness.sent(Op::Acquire, 1).await;
        drop(with);
        harness.sent(Op::Release, 1).await;
        soon("the lock", async {
            while !harness
                .subject()
                .await
                .record(&harness.name(""))
                .await
                .released
            {
                sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    })
    .await;
}
