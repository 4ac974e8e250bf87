//! Large tasks are read off the runtime, which has the renewals of others to send meanwhile.

use std::{pin::pin, time::Duration};

use dlock_tasks::{Filter, NewTask, TaskStore};
use dlock_testkit::tasks::TaskFixture;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::{LONG, Postgres, claim};

const TASKS: usize = 16;

/// The processor time of this thread. A busy machine hardly changes it.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

/// An answer, and the longest processor time of one poll of its call.
async fn longest_poll<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let (mut call, mut longest) = (pin!(call), Duration::ZERO);
    let answer = std::future::poll_fn(|context| {
        let before = computed();
        let poll = call.as_mut().poll(context);
        longest = longest.max(computed() - before);
        poll
    });
    (answer.await, longest)
}

#[tokio::test]
async fn large_tasks_keep_no_thread_of_the_runtime() {
    let queue = Postgres::start().await;
    let tasks = queue.tasks(1).await;
    let payload = Value::from(vec![1; 100_000]);
    let text = payload.to_string();
    for _ in 0..TASKS {
        let task = NewTask::builder().kind("large").payload(payload.clone());
        tasks.enqueue(&[task.build()]).await.unwrap();
    }
    let before = computed();
    for _ in 0..TASKS {
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, payload);
    }
    let bound = (computed() - before) / 4;

    let (listed, list) = longest_poll(tasks.list(&Filter::default())).await;
    assert_eq!(listed.unwrap().len(), TASKS);
    let wanted = claim(LONG).max(TASKS);
    let (claimed, claim) = longest_poll(tasks.claim(&wanted)).await;
    assert_eq!(claimed.unwrap().tasks.len(), TASKS);
    assert!(
        list < bound && claim < bound,
        "polls that compute for {list:?} and {claim:?}, and {bound:?} are a quarter of reading"
    );
}
