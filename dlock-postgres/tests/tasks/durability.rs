//! An answer that a crash can undo does not count: whatever the session's setting, claims, heartbeats and endings wait
//! for the log.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Name, ProviderError,
    provider::{Release, Renew},
};
use dlock_postgres::{
    deadpool_postgres::tokio_postgres::{Client, Config},
    tasks::PostgresTasks,
};
use dlock_tasks::{Ending, How, TaskStore};
use dlock_test_servers::postgres::postgres;
use serde_json::Value;
use tokio::time::sleep;

use crate::{LONG, claim, connect, pool, task};

/// Every commit that waits for durability waits here for a replica that does not exist; one that does not wait is
/// answered.
#[tokio::test]
async fn answers_to_claims_heartbeats_and_endings_wait_for_the_log() {
    let service = postgres(&["synchronous_commit=off"]).await.unwrap();
    let mut config = Config::new();
    config.host("127.0.0.1").port(service.place().port());
    config.user("postgres").dbname("postgres");
    let tasks = PostgresTasks::builder().pool(pool(config.clone(), 20));
    // A call that is to be answered gets the time of a busy machine.
    let tasks = tasks.call_timeout(Duration::from_secs(60)).build().unwrap();
    tasks.create_schema().await.unwrap();
    let new: Vec<_> = (0..50).map(|_| task()).collect();
    tasks.enqueue(&new).await.unwrap();
    let claimed = tasks.claim(&claim(LONG).max(4)).await.unwrap().tasks;
    let client = connect(&config).await;
    let wait = "ALTER SYSTEM SET synchronous_standby_names = 'nobody'";
    client.batch_execute(wait).await.unwrap();
    client
        .batch_execute("SELECT pg_reload_conf()")
        .await
        .unwrap();
    // The sessions notice it one after the other, so try until it holds.
    loop {
        let claiming = tasks.clone();
        let claiming = async move { claiming.claim(&claim(LONG)).await.map(drop) };
        if waits_for_the_log(&client, claiming).await {
            break;
        }
    }
    let name = |at: usize| Name::new(claimed[at].key.name().to_string()).unwrap();
    let renew = Renew::new(name(0), claimed[0].key.uuid, 1);
    let claims = tasks.claims();
    let renewing = async move { claims.renew(&renew).await.map(drop) };
    assert!(waits_for_the_log(&client, renewing).await, "a heartbeat");
    for (at, how) in [(1, How::Complete(Value::Null)), (2, How::GiveBack)] {
        let (tasks, ending) = (tasks.clone(), Ending::new(claimed[at].key, how));
        let ending = async move { tasks.finish(&[ending]).await.map(drop) };
        assert!(waits_for_the_log(&client, ending).await, "an ending");
    }
    let release = Release::new(name(3), claimed[3].key.uuid, None);
    tasks.claims().release(&release).await.unwrap();
    // For enqueued tasks nothing is promised beyond the session's setting.
    tasks.enqueue(&[task()]).await.unwrap();
}

/// Whether the call has no answer before its commit is on the disk. It then gets none: its session is ended.
async fn waits_for_the_log(
    client: &Client,
    call: impl Future<Output = Result<(), ProviderError>> + Send + 'static,
) -> bool {
    const END: &str =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let call = tokio::spawn(call);
    while !call.is_finished() {
        client.query(END, &[]).await.unwrap();
        sleep(Duration::from_millis(5)).await;
    }
    match call.await.unwrap() {
        Ok(()) => false,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
            true
        }
    }
}
