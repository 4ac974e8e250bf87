//! Renewals of many clients at a time.

use std::time::Duration;

use dlock_core::ErrorKind;
use dlock_testkit::faults::{Fault, Op, Request};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{ACQUIRE, Answer, Api, acquire, uuid};

const RENEW: &str = "/v1/default/leases/renew";
const CLIENTS: u32 = 200;

/// All clients renew at the same time. Every third one names a term that never existed.
async fn renew_all(api: &Api, n: u64) -> Vec<Answer> {
    let renew = |client: u32| async move {
        let term = uuid(if client.is_multiple_of(3) {
            9_999
        } else {
            client
        });
        api.post(
            RENEW,
            json!({"name": format!("{client}"), "uuid": term, "n": n}),
        )
        .await
    };
    join_all((0..CLIENTS).map(renew)).await
}

#[tokio::test]
async fn each_renewal_of_a_trip_has_its_own_answer() {
    let api = Api::new();
    for client in 0..CLIENTS {
        let taken = api
            .post(ACQUIRE, acquire(&client.to_string(), client))
            .await;
        assert_eq!(taken.status, 200);
    }
    let answers = renew_all(&api, 1).await;
    for (client, answer) in (0..CLIENTS).zip(&answers) {
        let expected = if client.is_multiple_of(3) { 409 } else { 200 };
        assert_eq!(answer.status, expected, "{client}: {answer:?}");
    }
    // A trip that fails is answered to all who travelled.
    api.store
        .always(Op::Renew, Fault::FailBefore(ErrorKind::NotApplied));
    for answer in renew_all(&api, 2).await {
        assert_eq!((answer.status, answer.code()), (503, "not-applied"));
    }
    api.store.clear();
    let codes = |answers: &[Answer]| {
        answers
            .iter()
            .map(|answer| answer.status)
            .collect::<Vec<_>>()
    };
    let next = renew_all(&api, 3).await;
    assert_eq!(codes(&next), codes(&answers), "and the next ones go");
}

/// Clients that come one after the other, a millisecond apart; returns each one's answer and how long it
/// took.
async fn renew_in_turn(api: &Api, clients: u32) -> Vec<(Answer, Duration)> {
    let renew = |client: u32| async move {
        sleep(Duration::from_millis(client.into())).await;
        let began = Instant::now();
        let renewal = json!({"name": client.to_string(), "uuid": uuid(client), "n": 1});
        (api.post(RENEW, renewal).await, began.elapsed())
    };
    join_all((0..clients).map(renew)).await
}

#[tokio::test(start_paused = true)]
async fn the_more_renewals_come_the_more_travel_in_one_trip() {
    let api = Api::new();
    for client in 0..40 {
        let taken = api
            .post(ACQUIRE, acquire(&client.to_string(), client))
            .await;
        assert_eq!(taken.status, 200);
    }
    api.store.forget_calls();
    let slow = Fault::DelayReply(Duration::from_millis(10));
    api.store.always(Op::Renew, slow);
    for (answer, _) in renew_in_turn(&api, 40).await {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let calls = api.store.calls();
    let together = calls.iter().filter_map(|call| match &call.request {
        Request::RenewMany(renewals) => Some(renewals.len()),
        _ => None,
    });
    let together: Vec<_> = together.collect();
    let alone = 40 - together.iter().sum::<usize>();
    assert!(
        together.len() + alone <= 15,
        "{together:?} and {alone} alone"
    );
}

/// A renewal that waits for a trip is answered as soon as one that travels.
#[tokio::test(start_paused = true)]
async fn silent_store_keeps_no_renewal_for_longer_than_a_call() {
    let api = Api::new();
    api.store.always(Op::Renew, Fault::LoseRequest);
    for (answer, took) in renew_in_turn(&api, 100).await {
        assert_eq!((answer.status, answer.code()), (504, "unknown"));
        assert!(took <= Duration::from_secs(5), "{took:?}");
    }
}
