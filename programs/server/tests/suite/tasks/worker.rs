//! A worker whose store is behind a server.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_http::HttpTasks;
use dlock_tasks::{
    Attempt, Context, Filter, NewTask, Payload, Periodic, Schedule, State, Stop, TaskStore, Worker,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::eventually;
use crate::support::{Served, serve, servers};

#[derive(Debug, Serialize, Deserialize)]
struct Resize {
    image: u32,
}

impl Payload for Resize {
    const KIND: &'static str = "resize";
}

async fn connect(address: SocketAddr) -> HttpTasks {
    let servers = servers(&[address], Duration::from_secs(60));
    HttpTasks::connect(servers).await.unwrap()
}

async fn add(tasks: &HttpTasks, images: u32) {
    let new = |image| {
        NewTask::builder()
            .kind(Resize::KIND)
            .payload(serde_json::json!({"image": image}))
    };
    let new: Vec<_> = (0..images).map(|image| new(image).build()).collect();
    tasks.enqueue(&new).await.unwrap();
}

async fn in_state(tasks: &HttpTasks, state: State) -> usize {
    let filter = Filter::default().state(Some(state)).limit(1_000);
    tasks.list(&filter).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_runs_what_is_enqueued_and_writes_how_it_ended() {
    let served = Served::start().await;
    let tasks = connect(served.address).await;
    add(&tasks, 150).await;
    let worker = Worker::builder()
        .store(tasks.clone())
        .concurrency(16)
        .build()
        .unwrap()
        .handle(|context: Context, Resize { image }| async move {
            match (image % 3, context.attempt()) {
                (0, _) => Ok(image),
                (1, 1) => Err(Stop::retry_in(Duration::ZERO, "once more")),
                (1, _) => Ok(image),
                _ => Err(Stop::discard("no such image")),
            }
        });
    let drained = worker.drain(Duration::from_secs(120)).await.unwrap();
    let ended = |state: State| {
        let of = |attempt: &&Attempt| attempt.state == Some(state);
        drained.attempts.iter().filter(of).count()
    };
    assert_eq!((ended(State::Succeeded), ended(State::Dead)), (100, 50));
    assert_eq!(in_state(&tasks, State::Succeeded).await, 100);
    assert_eq!(in_state(&tasks, State::Dead).await, 50);
}

/// A cancellation arrives with a heartbeat.
#[tokio::test(flavor = "multi_thread")]
async fn worker_hears_that_its_task_is_to_stop() {
    let served = Served::start().await;
    let tasks = connect(served.address).await;
    let runs = Arc::new(AtomicUsize::new(0));
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = {
        let (runs, is_cancelled) = (Arc::clone(&runs), Arc::clone(&is_cancelled));
        let each_second = Schedule::every(Duration::from_secs(1)).unwrap();
        let other = NewTask::builder().kind("nobody's").build();
        Worker::builder()
            .store(tasks.clone())
            .lease(Duration::from_secs(20))
            .build()
            .unwrap()
            .periodic(Periodic::new("other", each_second, other))
            .handle(move |context: Context, Resize { image }| {
                let (runs, is_cancelled) = (Arc::clone(&runs), Arc::clone(&is_cancelled));
                async move {
                    runs.fetch_add(1, Ordering::SeqCst);
                    context.keep(&image).await?;
                    context.cancelled().await;
                    is_cancelled.store(true, Ordering::SeqCst);
                    Err::<(), _>(Stop::from("cancelled"))
                }
            })
    };
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    add(&tasks, 1).await;
    let has_run = async || runs.load(Ordering::SeqCst) == 1;
    eventually("the task does not run", has_run).await;
    let is_kept = async || {
        let filter = Filter::default().state(Some(State::Running));
        let listed = tasks.list(&filter).await.unwrap();
        listed.iter().any(|task| task.checkpoint.is_some())
    };
    eventually("no checkpoint is kept", is_kept).await;
    let filter = Filter::default().state(Some(State::Running));
    let running_one = tasks.list(&filter).await.unwrap().remove(0);
    assert_eq!(running_one.checkpoint, Some(serde_json::json!(0)));
    let was = tasks.cancel(running_one.id, false).await.unwrap();
    assert_eq!(was, Some(State::Running));
    let is_over = async || is_cancelled.load(Ordering::SeqCst);
    eventually("the handler does not hear of it", is_over).await;
    let has_ended = async || in_state(&tasks, State::Cancelled).await == 1;
    eventually("the task is not cancelled", has_ended).await;
    let is_periodic = async || in_state(&tasks, State::Ready).await > 0;
    eventually("no periodic task is added", is_periodic).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

/// A worker whose server is away for a while continues at another.
#[tokio::test(flavor = "multi_thread")]
async fn worker_goes_on_at_the_next_server() {
    let served = Served::start().await;
    let second = serve(&served.file).await;
    let proxy = dlock_testkit::proxy::Proxy::start(served.address)
        .await
        .unwrap();
    let servers = servers(&[proxy.address(), second], Duration::from_secs(60));
    let tasks = HttpTasks::connect(servers).await.unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let (go, gone) = tokio::sync::watch::channel(false);
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = {
        let runs = Arc::clone(&runs);
        Worker::builder()
            .store(tasks.clone())
            .concurrency(4)
            .build()
            .unwrap()
            .handle(move |_: Context, Resize { image }| {
                let (runs, mut gone) = (Arc::clone(&runs), gone.clone());
                async move {
                    runs.fetch_add(1, Ordering::SeqCst);
                    gone.wait_for(|gone| *gone).await?;
                    Ok::<_, Stop>(image)
                }
            })
    };
    let running = tokio::spawn(worker.run(async { drop(stopped.await) }));
    add(&tasks, 8).await;
    let is_full = async || runs.load(Ordering::SeqCst) == 4;
    eventually("no task runs", is_full).await;
    proxy.refuse().await;
    proxy.reset();
    go.send_replace(true);
    let direct = connect(second).await;
    let all = async || in_state(&direct, State::Succeeded).await == 8;
    eventually("not all tasks end", all).await;
    assert_eq!(runs.load(Ordering::SeqCst), 8, "each once");
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}
