//! A worker that waits for tasks receives hints about them.

use dlock_core::provider::Wakeups;
use tokio::time::timeout;

use super::*;

/// After this long without a hint, none is in flight any more. A later one is taken for the next one.
const QUIET: Duration = Duration::from_millis(120);

impl Stage {
    /// A stream from each of two handles to the store. `None`: the fixture declares that the store sends none, and that
    /// holds.
    async fn streams(&self) -> Option<[Wakeups; 2]> {
        let other = self.fixture.store().await;
        let wanted = claim(LONG).kinds(["a"]);
        let (here, there) = (self.store.watch(&wanted).await, other.watch(&wanted).await);
        match (here, there) {
            (Ok(Some(here)), Ok(Some(there))) => {
                assert!(
                    self.fixture.hints(),
                    "the store sends hints, and its fixture says that it has none"
                );
                Some([here, there])
            }
            (Ok(None), Ok(None)) => {
                assert!(
                    !self.fixture.hints(),
                    "the store sends no hints: TaskFixture::HINTS can say so"
                );
                None
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn hears(stream: &mut Wakeups, what: &str) {
    let heard = within(PATIENCE, format!("the hint of {what}"), stream.next()).await;
    assert!(
        heard.is_some(),
        "{what}: the stream ended, with the store in good health"
    );
}

/// Takes the hints that have arrived, and returns how many there were.
async fn drain(stream: &mut Wakeups) -> usize {
    let mut heard = 0;
    while let Ok(hint) = timeout(QUIET, stream.next()).await {
        assert!(
            hint.is_some(),
            "the stream ended, with the store in good health"
        );
        heard += 1;
    }
    heard
}

pub(crate) async fn what_is_enqueued_is_hinted_to_everyone(stage: Stage) {
    for _ in 0..2 {
        let Some(mut streams) = stage.streams().await else {
            return;
        };
        // Due at once, later, and at once again.
        for when in [When::Now, When::In(LONG), When::Now] {
            let id = stage
                .add(NewTask::builder().kind("a").when(when).build())
                .await;
            for stream in &mut streams {
                hears(stream, &format!("{when:?}")).await;
            }
            // A task that is due later is hinted only if it is the next.
            stage.cancel(id, true).await;
            for stream in &mut streams {
                drain(stream).await;
            }
        }
    }
}

pub(crate) async fn what_comes_back_is_hinted(stage: Stage) {
    let fail = |retry_in| How::Fail {
        error: "x".into(),
        retry_in,
    };
    for how in [
        How::GiveBack,
        fail(Duration::ZERO),
        How::Snooze(Duration::ZERO),
        fail(LONG),
        How::Snooze(LONG),
    ] {
        let Some([mut stream, _]) = stage.streams().await else {
            return;
        };
        let id = stage.add(task("a")).await;
        let key = stage.take(LONG).await.key;
        assert_eq!(key.id, id);
        drain(&mut stream).await;
        stage.finish(key, how.clone()).await;
        hears(&mut stream, &format!("{how:?}")).await;
        stage.cancel(id, true).await;
    }

    let Some([mut stream, _]) = stage.streams().await else {
        return;
    };
    stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    drain(&mut stream).await;
    let released = stage.store.claims().release(&release(key)).await;
    assert_eq!(
        released.ok(),
        Some(ReleaseOutcome::Released { wanted: false })
    );
    hears(&mut stream, "release").await;

    for how in [
        How::Discard { error: "x".into() },
        How::Complete(Value::Null),
    ] {
        let key = stage.take(LONG).await.key;
        stage.finish(key, how.clone()).await;
        drain(&mut stream).await;
        let retried = stage.store.retry(key.id).await;
        assert!(matches!(retried, Ok(Some(Enqueued::New(_)))), "{retried:?}");
        hears(&mut stream, &format!("retry after {how:?}")).await;
    }

    stage.take(LONG).await;
    drain(&mut stream).await;
    for before in [2, 1] {
        let served = stage
            .store
            .enqueue_periodic("s", stage.ago(before), &task("a"))
            .await;
        assert!(served.is_ok(), "{served:?}");
    }
    hears(&mut stream, "periodic").await;
}

/// A false hint now and then is allowed.
pub(crate) async fn heartbeats_claims_and_other_queues_are_not_hinted(stage: Stage) {
    const TIMES: u64 = 60;
    let Some([mut stream, _]) = stage.streams().await else {
        return;
    };
    stage.add(task("a")).await;
    let key = stage.take(LONG).await.key;
    drain(&mut stream).await;
    // No worker takes this one, and no worker should claim again and again because of it.
    stage.add(task("other")).await;
    drain(&mut stream).await;
    let elsewhere = NewTask::builder().kind("a").queue("elsewhere").build();
    let mut heard = 0;
    for n in 1..=TIMES {
        stage.renew(key, n).await;
        let claimed = stage.claimed(&claim(LONG).kinds(["a"])).await;
        assert!(claimed.tasks.is_empty(), "{claimed:?}");
        stage.add(elsewhere.clone()).await;
        let mut claim = claim(LONG);
        claim.queues = vec![elsewhere.queue.clone()];
        stage.claimed(&claim).await;
        // Time for the store to look at each of them, and for the hints to be read.
        while timeout(Duration::from_millis(8), stream.next())
            .await
            .is_ok()
        {
            heard += 1;
            assert!(heard <= TIMES / 4, "{heard} hints of nothing in {n} rounds");
        }
    }
    stage.add(task("a")).await;
    hears(&mut stream, "after many of nothing").await;
}

pub(crate) async fn hint_that_was_not_read_stands_for_all(stage: Stage) {
    let Some([mut stream, _]) = stage.streams().await else {
        return;
    };
    for _ in 0..300 {
        stage.add(task("a")).await;
    }
    hears(&mut stream, "the first").await;
    drain(&mut stream).await;
    let most = 1000;
    let claimed = stage.claimed(&claim(LONG).max(most)).await;
    assert_eq!(claimed.tasks.len(), 300);
    drain(&mut stream).await;
    stage.add(task("a")).await;
    hears(&mut stream, "the last").await;
}

pub(crate) async fn resumed_queue_is_hinted(stage: Stage) {
    let Some([mut stream, _]) = stage.streams().await else {
        return;
    };
    let pause = async |paused| {
        let set = stage.store.set_paused(NewTask::QUEUE, paused).await;
        set.unwrap_or_else(|error| panic!("{error:?}"));
    };
    stage.add(task("a")).await;
    pause(true).await;
    drain(&mut stream).await;
    pause(false).await;
    hears(&mut stream, "the queue is resumed").await;
    stage.take(LONG).await;
}

/// Workers that wait for a lane are notified that its task has ended.
pub(crate) async fn end_of_a_task_of_a_lane_is_hinted(stage: Stage) {
    let Some([mut stream, _]) = stage.streams().await else {
        return;
    };
    let in_lane = || NewTask::builder().kind("a").lane("l").build();
    stage.add(in_lane()).await;
    for how in [
        How::Complete(Value::Null),
        How::Discard { error: "x".into() },
    ] {
        stage.add(in_lane()).await;
        let key = stage.take(LONG).await.key;
        drain(&mut stream).await;
        stage.finish(key, how.clone()).await;
        hears(&mut stream, &format!("{how:?}")).await;
    }
    stage.add(in_lane()).await;
    let key = stage.take(LONG).await.key;
    drain(&mut stream).await;
    stage.cancel(key.id, true).await;
    hears(&mut stream, "cancelled by force").await;
}

/// Workers that wait for a place are notified that a task has ended, and that the limit was raised.
pub(crate) async fn place_of_a_limited_queue_is_hinted(stage: Stage) {
    let Some([mut stream, _]) = stage.streams().await else {
        return;
    };
    let limit = async |limit| {
        let set = stage.store.set_limit(NewTask::QUEUE, limit).await;
        set.unwrap_or_else(|error| panic!("{error:?}"));
    };
    limit(Some(1)).await;
    for _ in 0..5 {
        stage.add(task("a")).await;
    }
    for how in [
        How::Complete(Value::Null),
        How::Discard { error: "x".into() },
    ] {
        let key = stage.take(LONG).await.key;
        drain(&mut stream).await;
        stage.finish(key, how.clone()).await;
        hears(&mut stream, &format!("{how:?}")).await;
    }
    for more in [Some(2), None] {
        stage.take(LONG).await;
        drain(&mut stream).await;
        limit(more).await;
        hears(&mut stream, &format!("a limit of {more:?}")).await;
    }
}
