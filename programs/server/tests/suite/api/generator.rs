//! The generator, on several servers.

use std::{sync::Arc, time::Duration};

use dlock_server::api::{generate, keep_on};
use dlock_tasks::{Filter, TaskStore};
use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

use super::api_before;
use crate::tasks::store::Watched;

const START: &str = "POST /api/generator/start";
const STATUS: &str = "GET /api/generator/status";
const STOP: &str = "DELETE /api/generator/stop";

/// A server's work for the generator, until it is killed.
fn server(tasks: &Arc<dyn TaskStore>) -> JoinHandle<()> {
    let tasks = Arc::clone(tasks);
    tokio::spawn(async move { generate(tasks, std::future::pending()).await.unwrap() })
}

async fn generated(tasks: &Arc<dyn TaskStore>) -> usize {
    let filter = Filter::default()
        .queue(Some("default/api".to_owned()))
        .limit(1_000);
    tasks.list(&filter).await.unwrap().len()
}

/// Any server starts the generator, shows its state and stops it.
#[tokio::test(start_paused = true)]
async fn every_server_starts_tells_and_stops() {
    let tasks: Arc<dyn TaskStore> = Arc::new(MemoryTasks::new());
    let servers = [(); 3].map(|()| api_before(&tasks));
    let [first, second, third] = &servers;
    let stopped = second.gets(STATUS, Value::Null, 200).await;
    assert_eq!(
        (&stopped["isRunning"], &stopped["status"]),
        (&json!(false), &json!("STOPPED"))
    );
    second.gets(STOP, Value::Null, 409).await;
    assert_eq!(
        first.gets(START, Value::Null, 200).await["status"],
        "STARTED"
    );
    for server in &servers {
        let started = server.gets(STATUS, Value::Null, 200).await;
        assert_eq!(
            (&started["isRunning"], &started["status"]),
            (&json!(true), &json!("STARTED"))
        );
        server.gets(START, Value::Null, 409).await;
    }
    assert_eq!(
        third.gets(STOP, Value::Null, 200).await["status"],
        "STOPPED"
    );
    for server in &servers {
        assert_eq!(
            server.gets(STATUS, Value::Null, 200).await["isRunning"],
            false
        );
        server.gets(STOP, Value::Null, 409).await;
    }
    second.gets(START, Value::Null, 200).await;
    first.gets(STOP, Value::Null, 200).await;
}

/// As the demo does. A generator that was switched on elsewhere stays on.
#[tokio::test(start_paused = true)]
async fn generator_is_kept_on_and_switched_off_by_the_one_who_switched_it_on() {
    let tasks: Arc<dyn TaskStore> = Arc::new(MemoryTasks::new());
    let api = api_before(&tasks);
    let is_on = async || api.gets(STATUS, Value::Null, 200).await["isRunning"] == true;
    let keep_on = |stop: oneshot::Receiver<()>| {
        let tasks = Arc::clone(&tasks);
        tokio::spawn(async move { keep_on(tasks, async { drop(stop.await) }).await.unwrap() })
    };
    let (_stop, stopped) = oneshot::channel();
    let kept = keep_on(stopped);
    sleep(Duration::from_secs(1)).await;
    assert!(is_on().await);
    // A second one has nothing to switch on or off.
    let (_, at_once) = oneshot::channel();
    keep_on(at_once).await.unwrap();
    assert!(is_on().await);
    // It stays on, a minute at a time, and stops a while after its process was killed.
    let server = server(&tasks);
    sleep(Duration::from_mins(5)).await;
    let before = generated(&tasks).await;
    assert!((120..=150).contains(&before), "{before} in five minutes");
    kept.abort();
    sleep(Duration::from_mins(2)).await;
    assert!(!is_on().await);
    server.abort();
    let (stop, stopped) = oneshot::channel();
    let kept = keep_on(stopped);
    sleep(Duration::from_secs(1)).await;
    assert!(is_on().await);
    // A user switches it off and on again: that is another one.
    api.gets(STOP, Value::Null, 200).await;
    api.gets(START, Value::Null, 200).await;
    drop(stop);
    kept.await.unwrap();
    assert!(is_on().await);

    api.gets(STOP, Value::Null, 200).await;
    let (_, at_once) = oneshot::channel();
    keep_on(at_once).await.unwrap();
    assert!(!is_on().await);
}

/// One task comes every two seconds, however many servers there are, and whichever die.
#[tokio::test(start_paused = true)]
async fn tasks_come_every_two_seconds_whichever_servers_die() {
    let tasks: Arc<dyn TaskStore> = Arc::new(MemoryTasks::new());
    let api = api_before(&tasks);
    let mut servers: Vec<_> = [(); 3].map(|()| server(&tasks)).into();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(generated(&tasks).await, 0, "it is off");

    api.gets(START, Value::Null, 200).await;
    sleep(Duration::from_secs(60)).await;
    let one_minute = generated(&tasks).await;
    assert!((25..=30).contains(&one_minute), "{one_minute}");

    while let Some(server) = servers.pop() {
        server.abort();
        let before = generated(&tasks).await;
        sleep(Duration::from_secs(60)).await;
        let more = generated(&tasks).await - before;
        if servers.is_empty() {
            assert!(more <= 1, "{more} by nobody");
        } else {
            // The lease of the killed one is 10 s.
            assert!(
                (18..=30).contains(&more),
                "{more} with {} servers",
                servers.len()
            );
        }
    }

    servers.push(server(&tasks));
    sleep(Duration::from_secs(20)).await;
    api.gets(STOP, Value::Null, 200).await;
    let before = generated(&tasks).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(generated(&tasks).await, before, "it is off");
}

/// A server that dies between the two has added the task of its turn, and not ended the turn.
#[tokio::test(start_paused = true)]
async fn turn_that_is_repeated_adds_no_second_task() {
    let store = MemoryTasks::new();
    let tasks: Arc<dyn TaskStore> = Arc::new(store.clone());
    let api = api_before(&tasks);
    let first = server(&tasks);
    api.gets(START, Value::Null, 200).await;
    sleep(Duration::from_secs(20)).await;
    first.abort();
    let before = generated(&tasks).await;
    for _ in 0..3 {
        let dies = Watched::new(store.clone());
        dies.let_endings_hang();
        let dies = server(&dies.shared());
        sleep(Duration::from_secs(10)).await;
        dies.abort();
        sleep(Duration::from_secs(10)).await;
    }
    // The first of them had its own turn, and the others repeated it.
    assert_eq!(generated(&tasks).await, before + 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_generated_is_a_task_of_the_sample() {
    let tasks: Arc<dyn TaskStore> = Arc::new(MemoryTasks::new());
    let api = api_before(&tasks);
    let _server = server(&tasks);
    api.gets(START, Value::Null, 200).await;
    sleep(Duration::from_secs(10)).await;
    let task = api
        .gets("POST /api/tasks/next", json!({"processor": "anna"}), 202)
        .await;
    let seconds = task["task_data"]["sleep_duration_seconds"]
        .as_u64()
        .unwrap();
    assert!((1..=60).contains(&seconds), "{task}");
}
