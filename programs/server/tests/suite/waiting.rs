//! Waiting within a request.

use std::{sync::Arc, time::Duration};

use dlock_server::Limits;
use dlock_testkit::{
    faults::{Fault, Faulty, Op},
    memory::{MemoryProvider, MemoryStore},
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{ACQUIRE, Answer, Api, RELEASE, acquire, limits, shown, uuid};

fn waiting(name: &str, number: u32, wait: u64) -> Value {
    let mut body = acquire(name, number);
    body["wait_ms"] = json!(wait);
    body
}

async fn release(api: &Api, number: u32) -> Answer {
    api.post(RELEASE, json!({"name": "door", "uuid": uuid(number)}))
        .await
}

fn store(wakeups: bool) -> Faulty<MemoryProvider> {
    Faulty::new(MemoryProvider::new(&MemoryStore::store_clock()).wakeups(wakeups))
}

#[tokio::test(start_paused = true)]
async fn waiter_gets_the_lease_when_it_is_released_and_learns_how_long_it_waited() {
    for wakeups in [true, false] {
        let api = Api::before(store(wakeups), Limits::default());
        assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
        let start = Instant::now();
        let (waited, _) = tokio::join!(api.post(ACQUIRE, waiting("door", 2, 20_000)), async {
            sleep(Duration::from_secs(3)).await;
            release(&api, 1).await
        });
        assert_eq!(waited.status, 200, "{waited:?}");
        let passed = start.elapsed();
        let poll = Duration::from_millis(if wakeups { 50 } else { 150 });
        assert!(passed < Duration::from_secs(3) + poll, "{passed:?}");
        let told = waited.body["waited_ms"].as_u64().unwrap();
        // The last read that showed another's uuid was sent after the release.
        assert!(told <= 3_200, "{told}");
        // One call that marks, and one that gets it, however long it took.
        assert_eq!(api.store.count(Op::Acquire), 3);
    }
}

/// The wait's clock is the real one: the reported time is no more than the time waited.
#[tokio::test]
async fn waited_time_is_never_more_than_has_passed() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let start = Instant::now();
    let (waited, _) = tokio::join!(api.post(ACQUIRE, waiting("door", 2, 20_000)), async {
        sleep(Duration::from_millis(300)).await;
        release(&api, 1).await
    });
    let passed = start.elapsed();
    let told = Duration::from_millis(waited.body["waited_ms"].as_u64().unwrap());
    assert!(
        told >= Duration::from_millis(300) && told <= passed,
        "{told:?} of {passed:?}"
    );
}

/// The time between the last read that showed another's term and the answer may belong to the new term already.
#[tokio::test]
async fn time_in_which_the_lease_may_have_begun_is_not_told() {
    let slow = Duration::from_secs(1);
    for (op, name) in [(Op::Acquire, "door"), (Op::Read, "window")] {
        let api = Api::new();
        api.store.always(op, Fault::DelayReply(slow));
        let start = Instant::now();
        let waited = api.post(ACQUIRE, waiting(name, 1, 20_000)).await;
        let told = Duration::from_millis(waited.body["waited_ms"].as_u64().unwrap());
        assert!(told + slow <= start.elapsed(), "{waited:?}");
    }
}

/// Whether the store can be listened to matters only to requests that have to wait.
#[tokio::test(start_paused = true)]
async fn free_lease_is_not_waited_for_when_the_hints_hang() {
    let api = Api::new();
    api.store.always(Op::Watch, Fault::LoseRequest);
    let start = Instant::now();
    assert_eq!(
        api.post(ACQUIRE, waiting("door", 1, 20_000)).await.status,
        200
    );
    assert!(
        start.elapsed() < Duration::from_millis(100),
        "{:?}",
        start.elapsed()
    );
    let (waited, _) = tokio::join!(api.post(ACQUIRE, waiting("door", 2, 20_000)), async {
        sleep(Duration::from_secs(8)).await;
        release(&api, 1).await
    });
    assert_eq!(waited.status, 200, "{waited:?}");
    assert!(
        start.elapsed() < Duration::from_secs(9),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn release_while_the_server_begins_to_listen_is_not_missed() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let late = Fault::DelayRequest(Duration::from_secs(2));
    api.store.always(Op::Watch, late);
    let start = Instant::now();
    let (waited, _) = tokio::join!(api.post(ACQUIRE, waiting("door", 2, 20_000)), async {
        sleep(Duration::from_secs(1)).await;
        release(&api, 1).await
    });
    assert_eq!(waited.status, 200, "{waited:?}");
    assert!(
        start.elapsed() < Duration::from_millis(2_500),
        "{:?}",
        start.elapsed()
    );
}

/// A6: a client that claims the version that holds the name needs no wait.
#[tokio::test(start_paused = true)]
async fn claim_of_the_version_that_holds_it_wins_at_once() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let start = Instant::now();
    let mut body = waiting("door", 2, 20_000);
    body["prev"] = json!({"uuid": uuid(1), "renewals": 0});
    assert_eq!(api.post(ACQUIRE, body).await.status, 200);
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
    let mut other = waiting("door", 3, 2_000);
    other["prev"] = json!({"uuid": uuid(2), "renewals": 1});
    assert_eq!(api.post(ACQUIRE, other).await.code(), "held");
}

/// A try that already has its lease learns nothing of the time it waited then.
#[tokio::test]
async fn repeat_of_a_wait_is_told_of_no_time() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    sleep(Duration::from_millis(50)).await;
    let again = api.post(ACQUIRE, waiting("door", 1, 20_000)).await;
    assert_eq!((again.status, &again.body["waited_ms"]), (200, &json!(0)));
}

#[tokio::test]
async fn waiter_gets_a_lease_that_runs_out() {
    let api = Api::new();
    let mut short = acquire("door", 1);
    short["duration_ms"] = json!(300);
    assert_eq!(api.post(ACQUIRE, short).await.status, 200);
    let waited = api.post(ACQUIRE, waiting("door", 2, 20_000)).await;
    assert_eq!(waited.status, 200, "{waited:?}");
}

/// On a store whose clock decides nothing the server observes for the waiter, and claims only what it has seen.
#[tokio::test]
async fn waiter_outlasts_a_dead_holder_also_where_only_observers_can_tell() {
    // Without hints it reads several times until then.
    let store = Faulty::new(MemoryProvider::new(&MemoryStore::observer()).wakeups(false));
    let api = Api::before(store, Limits::default());
    let mut short = acquire("door", 1);
    short["duration_ms"] = json!(400);
    assert_eq!(api.post(ACQUIRE, short).await.status, 200);
    let start = Instant::now();
    let waited = api.post(ACQUIRE, waiting("door", 2, 20_000)).await;
    assert_eq!(waited.status, 200, "{waited:?}");
    assert!(start.elapsed() >= Duration::from_millis(400));
}

#[tokio::test(start_paused = true)]
async fn who_has_waited_longest_gets_it_first() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let order = std::sync::Mutex::new(Vec::new());
    let waiter = |number: u32| {
        let (api, order) = (&api, &order);
        async move {
            sleep(Duration::from_millis(10 * u64::from(number))).await;
            let answer = api.post(ACQUIRE, waiting("door", number, 20_000)).await;
            assert_eq!(answer.status, 200, "{number}: {answer:?}");
            order.lock().unwrap().push(number);
            release(api, number).await;
        }
    };
    let crowd = futures_util::future::join_all((2..10).map(waiter));
    tokio::join!(crowd, async {
        sleep(Duration::from_secs(1)).await;
        release(&api, 1).await
    });
    assert_eq!(*order.lock().unwrap(), (2..10).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn time_that_is_up_is_answered_by_who_has_the_lease() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let start = Instant::now();
    let waited = api.post(ACQUIRE, waiting("door", 2, 2_000)).await;
    assert_eq!((waited.status, waited.code()), (409, "held"));
    assert_eq!(waited.body["record"]["uuid"], shown(1));
    assert!((2_000..2_100).contains(&start.elapsed().as_millis()));
}

/// A client that hangs up must not get the lease later, without knowing it.
#[tokio::test(start_paused = true)]
async fn nothing_is_asked_for_a_waiter_that_has_gone() {
    let api = Arc::new(Api::new());
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let gone = {
        let api = Arc::clone(&api);
        tokio::spawn(async move { api.post(ACQUIRE, waiting("door", 2, 20_000)).await })
    };
    sleep(Duration::from_secs(1)).await;
    gone.abort();
    release(&api, 1).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(api.store.count(Op::Acquire), 2, "the holder's, and a mark");
    // Its turn has ended as well.
    assert_eq!(
        api.post(ACQUIRE, waiting("door", 3, 1_000)).await.status,
        200
    );
}

#[tokio::test(start_paused = true)]
async fn server_that_stops_answers_those_who_wait_and_serves_those_who_hold() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    assert_eq!(api.get("/readyz").await.status, 200);
    let (waited, ()) = tokio::join!(api.post(ACQUIRE, waiting("door", 2, 20_000)), async {
        sleep(Duration::from_secs(1)).await;
        api.service.stop();
    });
    assert_eq!((waited.status, waited.code()), (503, "stopping"));
    let ready = api.get("/readyz").await;
    assert_eq!((ready.status, ready.code()), (503, "stopping"));
    assert_eq!(api.get("/healthz").await.status, 200);
    let renew = json!({"name": "door", "uuid": uuid(1), "n": 1});
    assert_eq!(
        api.post("/v1/default/leases/renew", renew).await.status,
        200
    );
    assert_eq!(release(&api, 1).await.status, 200);
}

/// However many wait, each for its own name, and however rarely the store reports releases.
#[tokio::test(start_paused = true)]
async fn server_looks_no_more_often_for_a_thousand_than_for_some() {
    const WAITERS: u32 = 900;
    for wakeups in [true, false] {
        let api = Api::before(store(wakeups), limits(|limits| limits.calls = 10_000));
        for number in 0..WAITERS {
            let held = acquire(&number.to_string(), number);
            assert_eq!(api.post(ACQUIRE, held).await.status, 200);
        }
        api.store.forget_calls();
        let wait = |number: u32| {
            let waits = waiting(&number.to_string(), WAITERS + number, 10_000);
            api.post(ACQUIRE, waits)
        };
        let waited = join_all((0..WAITERS).map(wait)).await;
        assert!(waited.iter().all(|answer| answer.code() == "held"));
        let looks = api.store.count(Op::Read);
        // One or two when they arrive, and 500 in each of ten seconds.
        assert!(
            looks <= 2 * WAITERS as usize + 5_000,
            "{looks} looks, hints: {wakeups}"
        );
    }
}
