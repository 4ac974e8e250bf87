//! Tasks before the place where claims begin cost them nothing, and are nevertheless found.

use std::time::Duration;

use dlock_postgres::{deadpool_postgres::tokio_postgres::Config, tasks::PostgresTasks};
use dlock_tasks::{Ended, How, NewTask, State, TaskStore};
use dlock_test_servers::postgres::postgres;
use dlock_testkit::tasks::TaskFixture;
use serde_json::Value;
use tokio::time::Instant;

use crate::{LONG, Postgres, connect, cost::filled, finish, pool, take, task};

/// Tasks before the last claimed one cost the next claim nothing.
#[tokio::test]
async fn claim_passes_over_what_lies_before_its_start() {
    let (queue, client) = filled().await;
    // Tasks that other workers have.
    let others = "SELECT count(*) FROM dlock_task_claim_1('{default}', md5(random()::text)::uuid, 9000, 60000, 'x', false,
        NULL, NULL, true, NULL)";
    client.query(others, &[]).await.unwrap();
    let start = "SELECT array_agg((extract(epoch FROM t.run_at) * 1000000)::bigint ORDER BY p), array_agg(t.id ORDER BY p)
        FROM generate_series(0, 9) AS p LEFT JOIN LATERAL (
            SELECT * FROM dlock_task AS t WHERE t.priority = p AND t.uuid IS NOT NULL
            ORDER BY t.run_at DESC, t.id DESC LIMIT 1) AS t ON true";
    let row = client.query_one(start, &[]).await.unwrap();
    let (instants, numbers): (Vec<Option<i64>>, Vec<Option<i64>>) = (row.get(0), row.get(1));
    for (instants, numbers, least, most) in [
        (None, None, 9000, i64::MAX),
        (Some(instants), Some(numbers), 0, 20),
    ] {
        // A separate session: its counts would otherwise include work that others have not reported yet.
        let client = queue.client().await;
        client.batch_execute("BEGIN").await.unwrap();
        let claim = "SELECT c.id FROM dlock_task_claim_1('{default}', md5(random()::text)::uuid, 5, 60000, 'x', false,
            $1, $2, false, NULL) AS c";
        let claimed = client.query(claim, &[&instants, &numbers]).await.unwrap();
        assert_eq!(claimed.len(), 6);
        let read = "SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'dlock_task'::regclass";
        let read: i64 = client.query_one(read, &[]).await.unwrap().get(0);
        assert!(
            (least..=most).contains(&read),
            "{read} rows were looked at, not {least} to {most}"
        );
        client.batch_execute("ROLLBACK").await.unwrap();
    }
}

/// A claim that finds too few tasks after its start looks before it: at the tasks that fell due in the last second, or
/// from the beginning.
#[tokio::test]
async fn claim_that_finds_too_few_after_its_start_looks_before_it() {
    let queue = Postgres::start().await;
    let tasks = queue.tasks(1).await;
    let of = |kind: &str| NewTask::builder().kind(kind).build();
    let kinds = ["early", "late", "last"];
    tasks.enqueue(&kinds.map(of)).await.unwrap();
    let client = queue.client().await;
    // The start; how many tasks it wants; whether it may look from the beginning.
    for (after, most, sweeps, expected) in [
        ("late", 5, true, vec!["early", "last", "late"]),
        ("late", 5, false, vec!["last", "late"]),
        ("last", 5, true, vec!["early", "last", "late"]),
        ("last", 5, false, vec!["last", "late"]),
        ("late", 1, true, vec!["last"]),
        ("early", 2, false, vec!["last", "late"]),
    ] {
        let claimed = loop {
            client
                .batch_execute(
                    "BEGIN;
                    UPDATE dlock_task SET run_at = clock_timestamp() - CASE kind
                        WHEN 'early' THEN interval '1 hour' WHEN 'late' THEN interval '0.1 s' ELSE interval '0' END",
                )
                .await
                .unwrap();
            let claim = "SELECT c.kind, clock_timestamp() - s.run_at < interval '0.5 s' FROM (
                    SELECT array_fill((extract(epoch FROM run_at) * 1000000)::bigint, ARRAY[10]) AS instants,
                        array_fill(id, ARRAY[10]) AS numbers,
                        (SELECT max(run_at) FROM dlock_task) AS run_at
                    FROM dlock_task WHERE kind = $1
                ) AS s, dlock_task_claim_1('{default}', md5(random()::text)::uuid, $2, 60000, 'x', false, s.instants, s.numbers,
                    $3, NULL) AS c
                WHERE c.id IS NOT NULL";
            let rows = client
                .query(claim, &[&after, &most, &sweeps])
                .await
                .unwrap();
            client.batch_execute("ROLLBACK").await.unwrap();
            // On a busy machine the second may have passed.
            if rows.iter().all(|row| row.get(1)) {
                let mut claimed: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
                claimed.sort_unstable();
                break claimed;
            }
        };
        assert_eq!(claimed, expected, "{most} after {after}, {sweeps}");
    }
}

/// A task that comes to lie before the start is found while later ones keep all claims full.
#[tokio::test]
async fn task_that_was_given_back_is_found_behind_the_start() {
    let queue = Postgres::start().await;
    let tasks = queue.tasks(2).await;
    tasks.enqueue(&vec![task(); 5000]).await.unwrap();
    let first = take(&tasks, LONG).await.key;
    take(&tasks, LONG).await;
    finish(&tasks, first, How::GiveBack).await;
    let began = Instant::now();
    loop {
        let key = take(&tasks, LONG).await.key;
        if key.id == first.id {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "nobody looks there"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Behind many dead entries a walk from the beginning takes longer than a claim. A busy process has it made
/// concurrently with its claims, and gets the tasks it finds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_before_is_looked_for_beside_the_claims_of_a_busy_process() {
    const PATIENCE: Duration = Duration::from_secs(60);
    // On a separate server: other tests' transactions come and go.
    let service = postgres(&["track_functions=all"]).await.unwrap();
    let mut config = Config::new();
    config.host("127.0.0.1").port(service.place().port());
    config.user("postgres").dbname("postgres");
    let open = || {
        let pool = pool(config.clone(), 2);
        let tasks = PostgresTasks::builder().pool(pool).call_timeout(PATIENCE);
        tasks.build().unwrap()
    };
    let (busy, other) = (open(), open());
    busy.create_schema().await.unwrap();
    let (old, client) = (connect(&config).await, connect(&config).await);
    old.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class")
        .await
        .unwrap();
    client
        .batch_execute(
            "INSERT INTO dlock.dlock_task (queue, priority, run_at, attempt, max_attempts, kind, payload, errors,
                created, checkpoints, token)
            SELECT 'default', 5, now() - interval '2 hours', 0, 1, 'dead', 'null', '[]', now(), 0, 0 FROM generate_series(1, 100000);
            DELETE FROM dlock.dlock_task WHERE kind = 'dead'",
        )
        .await
        .unwrap();
    // Behind those, so that it takes long to find it, and not of the last second.
    client
        .batch_execute(
            "SELECT dlock.dlock_enqueue('default', 'invoice', run_at => now() - interval '1 hour')",
        )
        .await
        .unwrap();
    let early = take(&other, LONG).await.key;
    // A worker that always has something to do. Returns whether it got the early task.
    let work = async || {
        busy.enqueue(&[task()]).await.unwrap();
        let key = take(&busy, LONG).await.key;
        finish(&busy, key, How::Complete(Value::Null)).await;
        key.id == early.id
    };
    let looks = async || -> i64 {
        let sql = "SELECT coalesce(max(calls), 0) FROM pg_stat_user_functions
            WHERE funcname = 'dlock_task_before_1'";
        client.query_one(sql, &[]).await.unwrap().get(0)
    };
    let began = Instant::now();
    while looks().await == 0 {
        assert!(!work().await, "somebody else has it");
        assert!(began.elapsed() < PATIENCE, "no look beside the claims");
    }
    let given_back = finish(&other, early, How::GiveBack).await;
    assert_eq!(given_back, Ended::Own(State::Ready));
    let began = Instant::now();
    while !work().await {
        assert!(began.elapsed() < PATIENCE, "it is not found");
    }
    drop(old);
}
