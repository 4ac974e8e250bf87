//! The cost of calls to the server: indexes, updates in place, nothing written where nothing changes.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use dlock_core::{Name, provider::Renew};
use dlock_postgres::{
    deadpool_postgres::tokio_postgres::{AsyncMessage, Client, Config, NoTls, SimpleQueryMessage},
    tasks::PostgresTasks,
};
use dlock_tasks::{ClaimedTask, Ending, How, NewTask, TaskStore};
use dlock_test_servers::{Service, postgres::postgres};
use dlock_testkit::tasks::TaskFixture;
use serde_json::Value;
use uuid::Uuid;

use tokio::time::Instant;

use crate::{LONG, Postgres, claim, connect, finish, pool, server, take, task};

/// A server on which no transaction of another test keeps old versions of rows from being cleaned up. Before version 14 a
/// session in another database does, too, while it begins.
async fn own_server(settings: &[&str]) -> (Service, Config) {
    let service = postgres(settings).await.unwrap();
    let mut config = Config::new();
    config.host("127.0.0.1").port(service.place().port());
    config.user("postgres").dbname("postgres");
    (service, config)
}

/// A queue of some thousand tasks, with statistics.
pub(super) async fn filled() -> (Postgres, Client) {
    let queue = Postgres::start().await;
    let tasks = queue.tasks(1).await;
    for priority in [1, 5] {
        let task = NewTask::builder().kind("a").priority(priority).build();
        tasks.enqueue(&vec![task; 5000]).await.unwrap();
    }
    let client = queue.client().await;
    client
        .batch_execute("VACUUM ANALYZE dlock_task")
        .await
        .unwrap();
    (queue, client)
}

const CLAIM: &str = "SELECT c.id, c.token \
     FROM dlock_task_claim_1('{default,other}', md5(random()::text)::uuid, 5, 60000, 'x', false, NULL, NULL, true, '{x,a}') AS c";

/// The plans that the server really uses inside of the functions.
#[tokio::test]
async fn claims_heartbeats_and_endings_go_by_index() {
    let (queue, _) = filled().await;
    let (client, mut connection) = server().await.connect(NoTls).await.unwrap();
    let plans = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&plans);
    tokio::spawn(async move {
        while let Some(message) =
            std::future::poll_fn(|context| connection.poll_message(context)).await
        {
            if let Ok(AsyncMessage::Notice(notice)) = message {
                heard.lock().unwrap().push_str(notice.message());
            }
        }
    });
    let explain = format!(
        "SET search_path = \"{}\"; LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; \
         SET auto_explain.log_nested_statements = on; SET auto_explain.log_analyze = on; \
         SET auto_explain.log_level = notice",
        queue.schema
    );
    client.batch_execute(&explain).await.unwrap();
    let plan = async |sql: &str| {
        plans.lock().unwrap().clear();
        client.batch_execute(sql).await.unwrap();
        // The answer comes after all notices.
        plans.lock().unwrap().clone()
    };
    let claims = plan(CLAIM).await;
    assert!(
        claims.contains("Index Scan using dlock_task_due"),
        "{claims}"
    );
    assert!(claims.contains("using dlock_task_at_once"), "{claims}");
    assert!(
        claims.contains("Index Scan using dlock_task_pkey"),
        "{claims}"
    );
    let beat = "WITH c AS MATERIALIZED (SELECT * FROM dlock_task WHERE uuid IS NOT NULL OFFSET 0)
        SELECT FROM (SELECT array_agg(id) AS i, array_agg(uuid) AS u, array_agg(token) AS t FROM c) AS c,
            dlock_task_renew_1(i, u, t, array_fill(1::bigint, ARRAY[cardinality(i)]))";
    let beats = plan(beat).await;
    assert!(
        beats.contains("Index Scan using dlock_task_pkey"),
        "{beats}"
    );
    let end = "WITH c AS MATERIALIZED (SELECT * FROM dlock_task WHERE uuid IS NOT NULL OFFSET 0)
        SELECT FROM (SELECT array_agg(id) AS i, array_agg(uuid) AS u, array_agg(token) AS t FROM c) AS c,
            dlock_task_finish_1(i, u, t, ARRAY['complete', 'discard', 'fail', 'snooze', 'give back'],
                array_fill('1'::text, ARRAY[cardinality(i)]), array_fill('x'::text, ARRAY[cardinality(i)]),
                array_fill(0::bigint, ARRAY[cardinality(i)]))";
    let ends = plan(end).await;
    assert!(ends.contains("Index Scan using dlock_task_pkey"), "{ends}");
    let enqueue = plan("SELECT dlock_enqueue('default', 'a', key => 'k')").await;
    assert!(
        enqueue.contains("Index Scan using dlock_task_key"),
        "{enqueue}"
    );
    for (what, plan) in [("claim", claims), ("enqueue", enqueue)] {
        assert!(!plan.contains("Seq Scan"), "{what}: {plan}");
    }
    // Of those two only the part that finds the claims, which is the test's own.
    for (what, plan) in [("heartbeat", beats), ("ending", ends)] {
        let own = plan.matches("Seq Scan on dlock_task").count();
        assert!(own <= 1, "{what}: {plan}");
    }
}

/// A claim reads as many tasks as it gives out, however many there are.
#[tokio::test]
async fn claim_locks_no_more_than_it_gives_out() {
    let client = filled().await.0.client().await;
    client.batch_execute("BEGIN").await.unwrap();
    client.query(CLAIM, &[]).await.unwrap();
    let seen =
        "SELECT seq_scan, idx_tup_fetch, n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables
        WHERE relid = 'dlock_task'::regclass";
    let row = client.query_one(seen, &[]).await.unwrap();
    let (walks, read, updated, in_place): (i64, i64, i64, i64) =
        (row.get(0), row.get(1), row.get(2), row.get(3));
    assert_eq!((walks, updated), (0, 5));
    assert!(read <= 20, "{read} rows were looked at");
    assert_eq!(in_place, 5, "a claim has changed an index");
}

/// However many wait in a lane, whether it is busy or free, and however its earlier tasks ended.
#[tokio::test]
async fn claim_costs_the_same_however_many_wait() {
    let few = blocks_of_a_full_lane(10).await;
    let many = blocks_of_a_full_lane(5000).await;
    let bearable = few.iter().map(|blocks| blocks * 3 / 2 + 50);
    let same = many.iter().zip(bearable).all(|(many, most)| *many <= most);
    assert!(same, "blocks with few and with many: {few:?}, {many:?}");
}

fn text(message: &SimpleQueryMessage) -> Option<&str> {
    match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    }
}

/// How many blocks claims read: when only a busy lane has tasks, for the next task of a free lane, for one of a lane
/// whose tasks have all failed once, and for the tasks that a repeated claim holds.
async fn blocks_of_a_full_lane(waiting: usize) -> [u64; 4] {
    let (_server, config) = own_server(&["autovacuum=off"]).await;
    let tasks = PostgresTasks::builder().pool(pool(config.clone(), 1));
    // A busy machine takes long to enqueue 5,000 tasks.
    let tasks = tasks.call_timeout(LONG / 10).build().unwrap();
    tasks.create_schema().await.unwrap();
    let client = connect(&config).await;
    client
        .batch_execute("SET search_path = dlock")
        .await
        .unwrap();
    let task = NewTask::builder().kind("a").lane("l").build();
    tasks.enqueue(&vec![task; waiting + 1]).await.unwrap();
    let running = take(&tasks, LONG).await.key;
    let blocks_of = async |sql: &str| -> u64 {
        client
            .batch_execute("VACUUM ANALYZE dlock_task")
            .await
            .unwrap();
        let explain = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}");
        let mut least = u64::MAX;
        // Plans are made at first, and sometimes once more, which reads a few hundred blocks of the catalog.
        for _ in 0..4 {
            client.batch_execute("BEGIN").await.unwrap();
            let answer = client.simple_query(&explain).await.unwrap();
            let plan: String = answer.iter().filter_map(text).collect();
            let plan: Value = serde_json::from_str(&plan).unwrap();
            client.batch_execute("ROLLBACK").await.unwrap();
            let of = |kind: &str| plan[0]["Plan"][kind].as_u64().unwrap();
            least = least.min(of("Shared Hit Blocks") + of("Shared Read Blocks"));
        }
        least
    };
    let blocks = || blocks_of(CLAIM);
    let busy = blocks().await;
    finish(&tasks, running, How::Complete(Value::Null)).await;
    let free = blocks().await;
    let fail = || How::Fail {
        error: "x".to_owned(),
        retry_in: Duration::ZERO,
    };
    for _ in 0..waiting.min(200) {
        let key = take(&tasks, LONG).await.key;
        finish(&tasks, key, fail()).await;
    }
    take(&tasks, LONG).await;
    let failed = blocks().await;
    let repeated = CLAIM.replace("false", "true");
    [busy, free, failed, blocks_of(&repeated).await]
}

/// The server keeps the plans of a session. A plan made while the queue was empty is still used when it is full.
#[tokio::test]
async fn plans_that_were_made_on_an_empty_queue_take_each_row_by_its_number() {
    by_numbers("VACUUM ANALYZE dlock_task, dlock_task_slot").await;
}

/// For the planner one index is as good as another if there are hardly any live rows among the ended ones.
#[tokio::test]
async fn plans_that_were_made_among_ended_tasks_take_each_row_by_its_number() {
    let tasks = |number, run_at| {
        format!(
            "INSERT INTO dlock_task (queue, priority, run_at, max_attempts, kind, payload, created, errors, attempt,
                 checkpoints, token)
             SELECT 'default', 5, {run_at}, 3, 'a', '{{}}', now(), '[]', 0, 0, 0 FROM generate_series(1, {number})"
        )
    };
    let (ended, later) = (tasks(8000, "now()"), tasks(8, "now() + interval '1 day'"));
    let ended = format!("{ended}; DELETE FROM dlock_task; {later}; ANALYZE dlock_task");
    by_numbers(&ended).await;
}

async fn by_numbers(prepare: &str) {
    const MOST: usize = 100;
    let queue = Postgres::start().await;
    let client = queue.client().await;
    client.batch_execute(prepare).await.unwrap();
    let claim = format!(
        "WITH c AS MATERIALIZED (
             SELECT c.id, c.token, u.uuid
             FROM (SELECT md5(random()::text)::uuid AS uuid OFFSET 0) AS u, dlock_task_claim_1(
                 '{{default}}', u.uuid, {MOST}, 60000, 'x', false, NULL, NULL, true, NULL) AS c
             WHERE c.id IS NOT NULL)
         SELECT coalesce(array_agg(c.id), '{{}}'), coalesce(array_agg(c.uuid), '{{}}'),
             coalesce(array_agg(c.token), '{{}}') FROM c"
    );
    let beat = "SELECT count(*) FROM dlock_task_renew_1($1, $2, $3, array_fill(1::bigint, ARRAY[cardinality($1::bigint[])]))
        WHERE verdict = 'renewed'";
    let end = "SELECT coalesce(sum(cardinality(places)), 0) FROM dlock_task_finish_1($1, $2, $3, array_fill('complete'::text, ARRAY[cardinality($1::bigint[])]),
            array_fill('1'::text, ARRAY[cardinality($1::bigint[])]), array_fill(NULL::text, ARRAY[cardinality($1::bigint[])]),
            array_fill(NULL::bigint, ARRAY[cardinality($1::bigint[])])) WHERE own";
    let claims = async || {
        let row = client.query_one(&claim, &[]).await.unwrap();
        let (ids, uuids, tokens): (Vec<i64>, Vec<Uuid>, Vec<i64>) =
            (row.get(0), row.get(1), row.get(2));
        (ids, uuids, tokens)
    };
    // More often than the server makes a new plan for the parameters at hand.
    for _ in 0..10 {
        let (ids, uuids, tokens) = claims().await;
        assert_eq!(ids.len(), 0);
        for sql in [beat, end] {
            client.query(sql, &[&ids, &uuids, &tokens]).await.unwrap();
        }
    }
    queue
        .tasks(1)
        .await
        .enqueue(&vec![task(); 5000])
        .await
        .unwrap();
    // How many rows were read, and how often an index other than the primary key was searched: a claim does so once for
    // each priority, and once more for tasks that fall due later. A search for a number there would read the whole
    // index.
    let read = async || {
        let read = "SELECT coalesce(sum(idx_tup_fetch), 0)::bigint, (
                SELECT sum(pg_stat_get_xact_numscans(i.indexrelid))::bigint FROM pg_index AS i
                WHERE i.indrelid = 'dlock_task'::regclass AND NOT i.indisprimary)
            FROM pg_stat_xact_user_tables WHERE relid = 'dlock_task'::regclass";
        let row = client.query_one(read, &[]).await.unwrap();
        [row.get::<_, i64>(0), row.get(1)]
    };
    client.batch_execute("BEGIN").await.unwrap();
    // The session's counts may still include work from before this transaction.
    let mut before = read().await;
    let (ids, uuids, tokens) = claims().await;
    assert_eq!(ids.len(), MOST);
    for (sql, most) in [("", [300, 20]), (beat, [300, 0]), (end, [300, 0])] {
        if !sql.is_empty() {
            let row = client.query_one(sql, &[&ids, &uuids, &tokens]).await;
            assert_eq!(row.unwrap().get::<_, i64>(0), 100);
        }
        let after = read().await;
        let done = [after[0] - before[0], after[1] - before[1]];
        assert!(
            done[0] <= most[0] && done[1] <= most[1],
            "{done:?} rows read and walks begun: {sql}"
        );
        before = after;
    }
}

/// Over 95 % of the changes by claims and heartbeats stay on their page, and add no entry to an index.
#[tokio::test]
async fn claims_and_heartbeats_change_rows_in_place() {
    const TASKS: usize = 1000;
    const BEATS: u64 = 2;
    let (_server, config) = own_server(&[]).await;
    let tasks = PostgresTasks::builder()
        .pool(pool(config.clone(), 1))
        .build()
        .unwrap();
    tasks.create_schema().await.unwrap();
    tasks.enqueue(&vec![task(); TASKS]).await.unwrap();
    for _ in 0..TASKS / 10 {
        let claimed = tasks.claim(&claim(LONG).max(10)).await.unwrap().tasks;
        for n in 1..=BEATS {
            let beat = |task: &ClaimedTask| {
                let name = Name::new(task.key.name().to_string()).unwrap();
                Renew::new(name, task.key.uuid, n)
            };
            let beats: Vec<_> = claimed.iter().map(beat).collect();
            let renewed = tasks.claims().renew_many(&beats).await;
            assert!(renewed.iter().all(Result::is_ok), "{renewed:?}");
        }
        let end = |task: &ClaimedTask| Ending::new(task.key, How::Complete(Value::Null));
        let endings: Vec<_> = claimed.iter().map(end).collect();
        tasks.finish(&endings).await.unwrap();
    }
    // The server counts a session's work a while later, at its end at the latest.
    drop(tasks);
    let client = connect(&config).await;
    let seen = "SELECT pg_stat_clear_snapshot(), n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
        WHERE relname = 'dlock_task'";
    let began = Instant::now();
    loop {
        let row = client.query_one(seen, &[]).await.unwrap();
        let (updated, in_place): (i64, i64) = (row.get(1), row.get(2));
        if updated == i64::try_from(TASKS).unwrap() * 3 {
            assert!(in_place * 100 >= updated * 95, "{in_place} of {updated}");
            break;
        }
        assert!(began.elapsed() < LONG / 10, "{updated} updates are counted");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// One claim in 32 looks for them: it is impossible that none of 1,900 does.
#[tokio::test]
async fn claims_that_hold_nothing_are_forgotten() {
    let queue = Postgres::start().await;
    let (tasks, client) = (queue.tasks(1).await, queue.client().await);
    tasks.enqueue(&vec![task(); 1900]).await.unwrap();
    let kept = claim(LONG);
    let holds = tasks.claim(&kept).await.unwrap().tasks;
    let mut claims = 0;
    loop {
        let count = "SELECT count(*) FROM dlock_task_held";
        let now: i64 = client.query_one(count, &[]).await.unwrap().get(0);
        if now < claims {
            break;
        }
        claims = now;
        let key = take(&tasks, LONG).await.key;
        finish(&tasks, key, How::Complete(Value::Null)).await;
    }
    let again = tasks.claim(&kept.repeated()).await.unwrap();
    assert_eq!(again.tasks, holds);
}

#[tokio::test]
async fn claim_that_finds_nothing_writes_nothing() {
    let queue = Postgres::start().await;
    let client = queue.client().await;
    client.batch_execute("BEGIN").await.unwrap();
    client.query(CLAIM, &[]).await.unwrap();
    let assigned = "SELECT txid_current_if_assigned() IS NULL";
    let nothing: bool = client.query_one(assigned, &[]).await.unwrap().get(0);
    assert!(nothing, "an empty claim has a transaction id");
}
