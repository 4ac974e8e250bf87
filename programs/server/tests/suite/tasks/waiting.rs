//! Waiting for a task within a request.

use std::{sync::Arc, time::Duration};

use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{CLAIM, TASKS, Watched, add, api, claim, store::Fault, take, waiting};
use crate::support::{Api, limits};

#[tokio::test(start_paused = true)]
async fn waiter_gets_a_task_as_soon_as_it_is_enqueued() {
    for (has_hints, within) in [(true, 20), (false, 220)] {
        let mut store = Watched::new(MemoryTasks::new());
        if !has_hints {
            store = store.without_hints();
        }
        let api = Api::new().with_tasks(store.shared());
        let start = Instant::now();
        let (waited, id) = tokio::join!(api.post(CLAIM, waiting(1, 20_000)), async {
            sleep(Duration::from_millis(3_050)).await;
            add(&api).await
        });
        let passed = start.elapsed().as_millis();
        assert_eq!(waited.body["tasks"][0]["id"], id, "{waited:?}");
        assert!((3_050..3_050 + within).contains(&passed), "{passed}");
    }
}

#[tokio::test(start_paused = true)]
async fn waiter_gets_a_task_when_it_falls_due_and_when_a_lease_runs_out() {
    let (api, store) = api();
    let later = json!({"tasks": [{"kind": "a", "run_in_ms": 700}]});
    assert_eq!(api.post(TASKS, later).await.status, 200);
    let start = Instant::now();
    let mut short = waiting(1, 20_000);
    short["lease_ms"] = json!(400);
    let first = api.post(CLAIM, short).await;
    assert_eq!(first.status, 200, "{first:?}");
    assert!((700..720).contains(&start.elapsed().as_millis()));
    let second = api.post(CLAIM, waiting(2, 20_000)).await;
    assert_eq!(second.body["tasks"][0]["attempt"], 2, "{second:?}");
    assert!((1_100..1_130).contains(&start.elapsed().as_millis()));
    assert!(store.claims() <= 8, "{}", store.claims());
}

#[tokio::test(start_paused = true)]
async fn time_that_is_up_has_no_task() {
    let (api, _) = api();
    let start = Instant::now();
    let nothing = api.post(CLAIM, waiting(1, 2_000)).await;
    assert_eq!(nothing.status, 204);
    assert!(!nothing.headers.contains_key("dlock-next-ms"));
    assert!((2_000..2_100).contains(&start.elapsed().as_millis()));
    // The answer says when a task is due.
    let later = json!({"tasks": [{"kind": "a", "run_in_ms": 90_000}]});
    assert_eq!(api.post(TASKS, later).await.status, 200);
    let nothing = api.post(CLAIM, claim(2)).await;
    let next: u64 = nothing.headers["dlock-next-ms"]
        .to_str()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!((nothing.status, next), (204, 90_000));
}

/// Requests for the same tasks stand in line: a hint does not cost the store a claim for each of them.
#[tokio::test(start_paused = true)]
async fn who_has_waited_longest_gets_the_task_and_the_others_cost_nothing() {
    const CROWD: u32 = 20;
    let (api, store) = api();
    let order = std::sync::Mutex::new(Vec::new());
    let waiter = |number: u32| {
        let (api, order) = (&api, &order);
        async move {
            sleep(Duration::from_millis(10 * u64::from(number))).await;
            let answer = api.post(CLAIM, waiting(number, 25_000)).await;
            assert_eq!(answer.status, 200, "{number}: {answer:?}");
            order.lock().unwrap().push(number);
        }
    };
    let crowd = futures_util::future::join_all((1..=CROWD).map(waiter));
    let busy = async {
        sleep(Duration::from_millis(500)).await;
        let before = store.claims();
        for _ in 1..=CROWD {
            add(&api).await;
            sleep(Duration::from_millis(20)).await;
        }
        store.claims() - before
    };
    let (_, claims) = tokio::join!(crowd, busy);
    assert_eq!(*order.lock().unwrap(), (1..=CROWD).collect::<Vec<_>>());
    assert!(
        claims <= 2 * CROWD as usize + 2,
        "{claims} claims for {CROWD} tasks"
    );
}

/// The wait's clock is the real one: the lease may count from there, and not from later than its claim.
#[tokio::test]
async fn waited_time_is_never_more_than_has_passed() {
    let (api, _) = api();
    let start = Instant::now();
    let (waited, _) = tokio::join!(api.post(CLAIM, waiting(1, 20_000)), async {
        sleep(Duration::from_millis(300)).await;
        add(&api).await
    });
    let passed = start.elapsed();
    let told = Duration::from_millis(waited.body["waited_ms"].as_u64().unwrap());
    assert!(
        told >= Duration::from_millis(300) && told <= passed,
        "{told:?} of {passed:?}"
    );
    add(&api).await;
    let at_once = api.post(CLAIM, waiting(2, 20_000)).await;
    assert_eq!(at_once.body["waited_ms"], 0);
}

/// A task that the first copy got would be answered as if it had been claimed after the wait.
#[tokio::test]
async fn repeat_does_not_wait() {
    let (api, store) = api();
    let mut again = waiting(1, 1_000);
    again["again"] = json!(true);
    let refused = api.post(CLAIM, again).await;
    assert_eq!(
        (refused.status, &refused.body["pointer"]),
        (400, &json!("/wait_ms"))
    );
    assert_eq!(store.claims(), 0);
}

/// A claim without an answer may hold tasks: only its client can ask for them.
#[tokio::test(start_paused = true)]
async fn claim_of_a_wait_that_has_no_answer_ends_the_wait() {
    let (api, store) = api();
    let (waited, ()) = tokio::join!(api.post(CLAIM, waiting(1, 20_000)), async {
        sleep(Duration::from_millis(100)).await;
        let id = add(&api).await;
        // The hint is in flight, and the claim is not sent yet.
        store.next(Fault::LoseReply);
        assert_eq!(id, 1);
    });
    assert_eq!((waited.status, waited.code()), (504, "unknown"));
    let mut again = claim(1);
    again["again"] = json!(true);
    let held = api.post(CLAIM, again).await;
    assert_eq!(held.body["tasks"][0]["id"], 1, "{held:?}");
}

#[tokio::test(start_paused = true)]
async fn server_that_stops_answers_those_who_wait_and_serves_those_who_work() {
    let (api, _) = api();
    add(&api).await;
    let (id, key) = take(&api, 1).await;
    // The second one waits for its turn.
    let (first, second, ()) = tokio::join!(
        api.post(CLAIM, waiting(2, 20_000)),
        api.post(CLAIM, waiting(3, 20_000)),
        async {
            sleep(Duration::from_secs(1)).await;
            api.service.stop();
        }
    );
    for waited in [first, second, api.post(CLAIM, waiting(4, 20_000)).await] {
        assert_eq!((waited.status, waited.code()), (503, "stopping"));
    }
    let done = api.post(&format!("{TASKS}/{id}/complete"), key).await;
    assert_eq!(
        (done.status, &done.body["became"]),
        (200, &json!("succeeded"))
    );
}

#[tokio::test(start_paused = true)]
async fn only_so_many_wait_and_each_leaves_its_place() {
    let limits = limits(|limits| limits.waits = 2);
    let store = Watched::new(MemoryTasks::new());
    let api = Arc::new(Api::limited(limits).with_tasks(store.shared()));
    for _ in 0..2 {
        let waits = [1, 2, 3].map(|number| api.post(CLAIM, waiting(number, 200)));
        let answers = futures_util::future::join_all(waits).await;
        let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(statuses, [204, 204, 503]);
    }
}
