//! An answer that a crash can undo is none: whatever the session says, claims, heartbeats and endings wait for the
//! log.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Name,
    provider::{Release, Renew},
};
use dlock_postgres::{deadpool_postgres::tokio_postgres::Config, tasks::PostgresTasks};
use dlock_tasks::{Ending, How, TaskStore};
use dlock_test_servers::postgres::postgres;
use serde_json::Value;
use tokio::time::Instant;

use crate::{LONG, claim, connect, pool, task};

/// Every commit that waits for durability waits here for a replica that does not exist; one that does not wait is
/// answered.
#[tokio::test]
async fn answers_to_claims_heartbeats_and_endings_wait_for_the_log() {
    let service = postgres(&["synchronous_commit=off"]).await.unwrap();
    let mut config = Config::new();
    config.host("127.0.0.1").port(service.place().port());
    config.user("postgres").dbname("postgres");
    let within = |limit| {
        let tasks = PostgresTasks::builder().pool(pool(config.clone(), 20));
        tasks.call_timeout(limit).build().unwrap()
    };
    // What is to be answered has the time of a busy machine.
    let (tasks, patient) = (
        within(Duration::from_millis(1500)),
        within(Duration::from_secs(30)),
    );
    patient.create_schema().await.unwrap();
    let new: Vec<_> = (0..50).map(|_| task()).collect();
    patient.enqueue(&new).await.unwrap();
    let claimed = patient.claim(&claim(LONG).max(3)).await.unwrap().tasks;
    let client = connect(&config).await;
    let wait = "ALTER SYSTEM SET synchronous_standby_names = 'nobody'";
    client.batch_execute(wait).await.unwrap();
    client
        .batch_execute("SELECT pg_reload_conf()")
        .await
        .unwrap();
    let is_unknown = |kind: Option<ErrorKind>, what: &str| {
        assert_eq!(kind, Some(ErrorKind::Unknown), "{what}");
    };
    // The sessions hear of it one after the other, so ask until it holds.
    let began = Instant::now();
    while tasks.claim(&claim(LONG)).await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20), "no claim waits");
    }
    let name = |at: usize| Name::new(claimed[at].key.name().to_string()).unwrap();
    let renewed = tasks
        .claims()
        .renew(&Renew::new(name(0), claimed[0].key.uuid, 1))
        .await;
    is_unknown(renewed.err().map(|error| error.kind()), "a heartbeat");
    for how in [How::Complete(Value::Null), How::GiveBack] {
        let ended = tasks.finish(&[Ending::new(claimed[1].key, how)]).await;
        is_unknown(ended.err().map(|error| error.kind()), "an ending");
    }
    let release = Release::new(name(2), claimed[2].key.uuid, None);
    patient.claims().release(&release).await.unwrap();
    // Nothing is promised about what was enqueued beyond what the session says.
    patient.enqueue(&[task()]).await.unwrap();
}
