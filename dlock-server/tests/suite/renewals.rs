//! Renewals of many clients at a time.

use dlock_core::ErrorKind;
use dlock_testkit::faults::{Fault, Op, Request};
use futures_util::future::join_all;
use serde_json::json;

use crate::support::{ACQUIRE, Answer, Api, acquire, uuid};

const RENEW: &str = "/v1/default/leases/renew";
const CLIENTS: u32 = 200;

/// All clients renew at the same time. Every third one names a term that never was.
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
async fn renewals_that_come_together_travel_together_and_each_has_its_own_answer() {
    let api = Api::new();
    for client in 0..CLIENTS {
        let taken = api
            .post(ACQUIRE, acquire(&client.to_string(), client))
            .await;
        assert_eq!(taken.status, 200);
    }
    api.store.forget_calls();
    let answers = renew_all(&api, 1).await;
    for (client, answer) in (0..CLIENTS).zip(&answers) {
        let expected = if client.is_multiple_of(3) { 409 } else { 200 };
        assert_eq!(answer.status, expected, "{client}: {answer:?}");
    }
    let calls = api.store.calls();
    let together = calls.iter().filter_map(|call| match &call.request {
        Request::RenewMany(renewals) => Some(renewals.len()),
        _ => None,
    });
    let together: Vec<_> = together.collect();
    let alone = CLIENTS as usize - together.iter().sum::<usize>();
    assert!(
        together.len() + alone <= 10,
        "{together:?} and {alone} alone"
    );

    // A trip that fails says so to all who travelled.
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
