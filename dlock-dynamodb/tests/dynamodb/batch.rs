//! Renewals of many locks at once: concurrent, a bounded number of them, and none delayed by
//! another that hangs.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use crate::common::{
    PATIENCE,
    canned::{Answer, Canned, refusal},
    client_of, provider, provider_on, term,
};
use dlock_core::{
    ErrorKind, Name, Provider,
    provider::{Renew, RenewOutcome},
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

const RENEWED: RenewOutcome = RenewOutcome::Renewed { asked: false };
/// As many as the documentation says.
const AT_ONCE: usize = 32;

fn batch(names: usize) -> Vec<Renew> {
    (0..names)
        .map(|number| {
            let name = Name::new(format!("lock-{number}.")).unwrap();
            Renew::new(name, Uuid::new_v4(), 1)
        })
        .collect()
}

/// The answer to a renewal that was made.
fn renewed() -> Answer {
    let body = format!(
        r#"{{"Attributes":{{"uuid":{{"S":"{}"}},"renewals":{{"N":"1"}},"owner":{{"S":"a"}},
        "since":{{"N":"1790000000000000"}},"token":{{"N":"1790000000000000"}},
        "duration":{{"N":"600000"}},"released":{{"BOOL":false}},"asked":{{"BOOL":false}}}}}}"#,
        Uuid::new_v4()
    );
    (200, body)
}

/// Waits until a number is reached.
async fn reaches(what: &str, number: usize, mut count: impl FnMut() -> usize) {
    let began = Instant::now();
    while count() != number {
        assert!(
            began.elapsed() < PATIENCE,
            "{what}: {} of {number}",
            count()
        );
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn one_that_hangs_and_one_that_is_refused_delay_no_other() {
    const NAMES: usize = 4 * AT_ONCE;
    let store = Canned::scripted(|request| {
        if request.contains("/lock-0.") {
            None
        } else if request.contains("/lock-7.") {
            Some(refusal(400, "ThrottlingException"))
        } else {
            Some(renewed())
        }
    })
    .await;
    let provider = provider_on(client_of(store.url()), "locks");
    let batch = batch(NAMES);
    let answering = tokio::spawn(async move { provider.renew_many(&batch).await });
    // Behind the first of all, which is still in flight.
    reaches("requests", NAMES, || store.requests()).await;
    assert!(!answering.is_finished() && store.unanswered() == 1);
    store.hang_up();
    let answers = answering.await.unwrap();
    assert_eq!(answers.len(), NAMES);
    for (number, answer) in answers.into_iter().enumerate() {
        match (number, answer.map_err(|error| error.kind())) {
            (0, Err(ErrorKind::Unknown)) | (7, Err(ErrorKind::NotApplied)) => {}
            (1.., Ok(RENEWED)) => {}
            (_, other) => panic!("the answer to renewal {number} is {other:?}"),
        }
    }
}

#[tokio::test]
async fn only_so_many_are_under_way_and_dropping_the_batch_ends_them() {
    let store = Canned::scripted(|_| None).await;
    let provider = provider_on(client_of(store.url()), "locks");
    let batch = batch(3 * AT_ONCE);
    let answering = tokio::spawn(async move { provider.renew_many(&batch).await });
    reaches("under way", AT_ONCE, || store.unanswered()).await;
    // One more would arrive at once.
    sleep(Duration::from_millis(200)).await;
    assert_eq!(store.requests(), AT_ONCE);
    answering.abort();
    reaches("still under way", 0, || store.unanswered()).await;
    sleep(Duration::from_millis(200)).await;
    assert_eq!(
        store.requests(),
        AT_ONCE,
        "sent after the batch was dropped"
    );
}

#[tokio::test]
async fn answers_come_in_the_order_of_the_questions() {
    let provider = provider().await;
    let mut batch = Vec::new();
    for number in 0..3 * AT_ONCE {
        let a = term(&format!("lock {number}"));
        provider.acquire(&a).await.unwrap();
        let uuid = if number % 3 == 0 {
            Uuid::new_v4()
        } else {
            a.new
        };
        batch.push(Renew::new(a.name, uuid, 1));
    }
    let answers = provider.renew_many(&batch).await;
    assert_eq!(answers.len(), batch.len());
    for (number, answer) in answers.into_iter().enumerate() {
        let lost = matches!(answer.unwrap(), RenewOutcome::Lost(Some(_)));
        assert_eq!(lost, number % 3 == 0, "renewal {number}");
    }
}
