//! Renewals of one batch: in order, as many answers as requests, and none affected by the failure
//! of another.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider,
    provider::{Renew, RenewOutcome},
};
use uuid::Uuid;

use crate::support::{PATIENCE, Scratch, block_on, name, take};

const LONG: Duration = Duration::from_secs(60);
const RENEWED: RenewOutcome = RenewOutcome::Renewed { asked: false };

#[test]
fn answers_come_in_the_order_of_the_questions() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let mut batch = Vec::new();
        for text in ["z", "a", "m"] {
            let (uuid, _) = take(&provider, text, LONG).await;
            batch.push(Renew::new(name(text), uuid, 1));
            batch.push(Renew::new(name(text), Uuid::new_v4(), 1));
            batch.push(Renew::new(name("absent"), uuid, 1));
            // The same term twice in one batch: each in its turn.
            batch.push(Renew::new(name(text), uuid, 2));
        }
        let answers = provider.renew_many(&batch).await;
        assert_eq!(answers.len(), batch.len());
        for (answers, questions) in answers.chunks(4).zip(batch.chunks(4)) {
            assert_eq!(answers[0].as_ref().unwrap(), &RENEWED);
            let Ok(RenewOutcome::Lost(Some(record))) = &answers[1] else {
                panic!("{answers:?}")
            };
            assert_eq!(
                record.uuid, questions[0].uuid,
                "the record of this very lock"
            );
            assert_eq!(answers[2].as_ref().unwrap(), &RenewOutcome::Lost(None));
            assert_eq!(answers[3].as_ref().unwrap(), &RENEWED);
        }
        assert_eq!(
            provider.read(&name("m")).await.unwrap().unwrap().renewals,
            2
        );
        assert!(provider.renew_many(&[]).await.is_empty());
    });
}

#[test]
fn a_batch_is_one_commit() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let mut batch = Vec::new();
        for number in 0..50 {
            let text = format!("lock {number}");
            let (uuid, _) = take(&provider, &text, LONG).await;
            batch.push(Renew::new(name(&text), uuid, 1));
        }
        // Each commit ends a frame of the log: 50 of them would not fit into the pages of one.
        let log = scratch.directory().join("locks.db-wal");
        let before = std::fs::metadata(&log).unwrap().len();
        assert!(provider.renew_many(&batch).await.iter().all(Result::is_ok));
        let pages = (std::fs::metadata(&log).unwrap().len() - before) / 4096;
        assert!(pages < 20, "{pages} pages for one commit");
    });
}

#[test]
fn what_cannot_be_renewed_costs_the_others_nothing() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider().with_prefix("p").unwrap();
        let mut batch = Vec::new();
        for text in ["a", "spoilt", "b", "broken", "c"] {
            let (uuid, _) = take(&provider, text, LONG).await;
            batch.push(Renew::new(name(text), uuid, 1));
        }
        batch.insert(3, Renew::new(name(&"x".repeat(1024)), Uuid::new_v4(), 1));
        let raw = scratch.raw();
        raw.execute_batch(
            "PRAGMA ignore_check_constraints = 1;
             UPDATE lock SET renewals = -1 WHERE name = 'spoilt';
             CREATE TRIGGER broken BEFORE UPDATE ON lock WHEN NEW.name = 'broken'
                 BEGIN SELECT RAISE(ROLLBACK, 'broken by hand'); END;",
        )
        .unwrap();
        let answers = provider.renew_many(&batch).await;
        let good: Vec<_> = answers
            .iter()
            .map(|answer| matches!(answer, Ok(RENEWED)))
            .collect();
        assert_eq!(good, [true, false, true, false, false, true], "{answers:?}");
        for answer in answers.into_iter().filter_map(Result::err) {
            assert_eq!(answer.kind(), ErrorKind::Fatal);
        }
        for (text, renewals) in [("a", 1), ("b", 1), ("c", 1), ("broken", 0)] {
            assert_eq!(
                provider.read(&name(text)).await.unwrap().unwrap().renewals,
                renewals,
                "{text}"
            );
        }
    });
}

#[test]
fn a_batch_that_cannot_begin_waits_once() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = dlock_sqlite::SqliteProvider::builder()
            .path(scratch.path())
            .busy_timeout(Duration::from_millis(200))
            .build()
            .unwrap();
        let (uuid, _) = take(&provider, "a", LONG).await;
        let raw = scratch.raw();
        raw.execute_batch("BEGIN IMMEDIATE").unwrap();
        let batch: Vec<_> = (0..1000)
            .map(|n| Renew::new(name("a"), uuid, n + 1))
            .collect();
        let answers = tokio::time::timeout(PATIENCE, provider.renew_many(&batch))
            .await
            .expect("it waits for each");
        assert_eq!(answers.len(), batch.len());
        for answer in answers {
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::NotApplied);
        }
    });
}
