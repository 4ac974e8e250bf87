//! Which requests are shed, and which never are.

use std::time::Duration;

use dlock_testkit::faults::{Fault, Op};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{ACQUIRE, Api, RELEASE, acquire, limits, uuid};

#[tokio::test(start_paused = true)]
async fn renewals_and_releases_pass_when_the_store_is_slow_for_all_others() {
    let limits = limits(|limits| limits.calls = 8);
    let api = Api::limited(limits);
    assert_eq!(api.post(ACQUIRE, acquire("kept", 1)).await.status, 200);
    api.store.always(Op::Acquire, Fault::LoseRequest);
    let crowd = (2..40).map(|number| api.post(ACQUIRE, acquire("door", number)));
    let crowd = futures_util::future::join_all(crowd);
    let holder = async {
        // The crowd's first calls are in flight.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let renew = json!({"name": "kept", "uuid": uuid(1), "n": 1});
        let renewed = api.post("/v1/default/leases/renew", renew).await;
        let list = api.get("/v1/default/leases").await;
        let released = api
            .post(RELEASE, json!({"name": "kept", "uuid": uuid(1)}))
            .await;
        (renewed.status, list, released.status)
    };
    let (crowd, (renewed, list, released)) = tokio::join!(crowd, holder);
    assert_eq!((renewed, released), (200, 200));
    assert_eq!((list.status, list.code()), (503, "overloaded"));
    assert_eq!(list.headers["retry-after"], "1");
    let shed = crowd.iter().filter(|answer| answer.code() == "overloaded");
    let unanswered = crowd.iter().filter(|answer| answer.code() == "unknown");
    assert_eq!((shed.count(), unanswered.count()), (30, 8));
}

#[tokio::test(start_paused = true)]
async fn only_so_many_wait() {
    let limits = limits(|limits| limits.waits = 2);
    let api = Api::limited(limits);
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let waiting = |number| {
        let mut body = acquire("door", number);
        body["wait_ms"] = json!(200);
        api.post(ACQUIRE, body)
    };
    let (one, two, three) = tokio::join!(waiting(2), waiting(3), waiting(4));
    assert_eq!(
        [one.code(), two.code(), three.code()],
        ["held", "held", "overloaded"]
    );
    assert_eq!(waiting(5).await.code(), "held");
}

#[tokio::test]
async fn rate_holds_back_new_leases_and_no_renewal() {
    let limits = limits(|limits| limits.rate = Some(3));
    let mut api = Api::limited(limits);
    // printf %s secret | sha256sum
    api.restrict(
        "[[token]]\nname = \"somebody\"\nrights = { default = [\"hold\"] }\n\
         sha256 = \"2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"",
    );
    api.token = Some("secret".to_owned());
    let began = Instant::now();
    let mut admitted = 0;
    for number in 0..200 {
        let answer = api.post(ACQUIRE, acquire(&number.to_string(), number));
        admitted += u32::from(answer.await.status != 429);
    }
    // Those of one second at once, and then as many as the elapsed time allows.
    let most = 3.0 + 3.0 * began.elapsed().as_secs_f64();
    assert!(f64::from(admitted) <= most, "{admitted} of {most}");
    for n in 1..20 {
        let renew = json!({"name": "0", "uuid": uuid(0), "n": n});
        assert_eq!(
            api.post("/v1/default/leases/renew", renew).await.status,
            200
        );
    }
}
