//! Clients that hang up, servers that stop, and answers that are lost.

use std::{sync::Arc, time::Duration};

use dlock_http::HttpTasks;
use dlock_server::router;
use dlock_tasks::{Claim, Ended, Ending, How, NewTask, State, TaskStore};
use dlock_testkit::{proxy::Proxy, tasks::memory::MemoryTasks};
use serde_json::json;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

use super::{
    CLAIM, PATIENCE, TASKS, Watched, add, api, claim, eventually, store::Fault, take, waiting,
};
use crate::support::{Api, Served, limits, serve, servers};

/// The task would be leased to a client that is gone.
#[tokio::test(start_paused = true)]
async fn nothing_is_claimed_for_a_waiter_that_has_gone() {
    let (api, store) = api();
    let api = Arc::new(api);
    // The first in line, and one behind it.
    let gone = [1, 2].map(|number| {
        let api = Arc::clone(&api);
        tokio::spawn(async move { api.post(CLAIM, waiting(number, 20_000)).await })
    });
    sleep(Duration::from_millis(1_500)).await;
    for waiter in gone {
        waiter.abort();
    }
    let before = store.claims();
    let id = add(&api).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(store.claims(), before);
    let task = api.get(&format!("{TASKS}/{id}")).await;
    assert_eq!(task.body["state"], "ready");
    // Their turns have ended as well.
    assert_eq!(api.post(CLAIM, waiting(3, 1_000)).await.status, 200);
}

/// The same over a socket: the server notices that its client has gone, and gives its place to the next.
#[tokio::test(flavor = "multi_thread")]
async fn connection_that_breaks_ends_its_wait() {
    let store = Watched::new(MemoryTasks::new());
    let api = Api::limited(limits(|limits| limits.waits = 1)).with_tasks(store.shared());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = router(&api.service);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let body = waiting(1, 25_000).to_string();
    let request = format!(
        "POST {CLAIM} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let began = Instant::now();
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    // Once at once, and once in line.
    let waits = async || store.claims() >= 2;
    eventually("the client does not wait", waits).await;
    let shed = api.post(CLAIM, waiting(2, 1)).await;
    assert_eq!(shed.code(), "overloaded");
    drop(client);
    let is_free = async || api.post(CLAIM, waiting(3, 1)).await.status == 204;
    eventually("the place of a client that has gone is never free", is_free).await;
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "only the end of the wait has freed it"
    );
    add(&api).await;
    assert_eq!(api.post(CLAIM, claim(4)).await.status, 200);
}

/// A claim whose answer is lost is repeated, at any server, and gets what it holds.
#[tokio::test]
async fn repeat_of_a_lost_claim_gets_what_it_holds() {
    let (api, store) = api();
    for _ in 0..3 {
        add(&api).await;
    }
    let mut two = claim(1);
    two["max"] = json!(2);
    store.next(Fault::LoseReply);
    let lost = api.post(CLAIM, two.clone()).await;
    assert_eq!((lost.status, lost.code()), (504, "unknown"));
    two["again"] = json!(true);
    let second = Api::new().with_tasks(store.shared());
    let got = second.post(CLAIM, two.clone()).await;
    let once_more = api.post(CLAIM, two).await;
    assert_eq!(got.body["tasks"], once_more.body["tasks"]);
    let ids = [1, 2].map(|index: usize| got.body["tasks"][index - 1]["id"].as_i64());
    assert_eq!(ids, [Some(1), Some(2)]);
    // No other client has lost anything by it.
    let (id, _) = take(&api, 2).await;
    assert_eq!(id, 3);
}

/// N1: no part of a claim is in a server.
#[tokio::test(flavor = "multi_thread")]
async fn claim_goes_on_at_the_next_server_when_its_own_is_gone() {
    let served = Served::start().await;
    let second = serve(&served.file).await;
    let proxy = Proxy::start(served.address).await.unwrap();
    let addresses = [proxy.address(), second];
    let tasks = HttpTasks::connect(servers(&addresses, Duration::from_secs(20)));
    let tasks = tasks.await.unwrap();
    let new = NewTask::builder().kind("a").build();
    tasks.enqueue(&[new.clone(), new]).await.unwrap();
    let lease = Duration::from_secs(600);
    let mine = Claim::new(NewTask::QUEUE, Uuid::new_v4(), lease);
    let key = tasks.claim(&mine).await.unwrap().tasks.remove(0).key;
    proxy.refuse().await;
    proxy.reset();
    // An open connection breaks; the call may be repeated, and gets the same answer.
    let complete = [Ending::new(key, How::Complete(json!(7)))];
    let ended = match tasks.finish(&complete).await {
        Ok(ended) => ended,
        Err(_) => tasks.finish(&complete).await.unwrap(),
    };
    assert_eq!(ended, [Ended::Own(State::Succeeded)]);
    let task = tasks.task(key.id).await.unwrap().unwrap();
    assert_eq!(
        (task.state, task.output),
        (State::Succeeded, Some(json!(7)))
    );
    let other = Claim::new(NewTask::QUEUE, Uuid::new_v4(), lease);
    assert_eq!(tasks.claim(&other).await.unwrap().tasks.len(), 1);
}

/// A stream of hints ends with its server, so that its worker polls and opens another.
#[tokio::test(flavor = "multi_thread")]
async fn hints_end_with_the_connection() {
    let served = Served::start().await;
    let proxy = Proxy::start(served.address).await.unwrap();
    let tasks = HttpTasks::connect(servers(&[proxy.address()], Duration::from_secs(60)));
    let tasks = tasks.await.unwrap();
    let mine = Claim::new(NewTask::QUEUE, Uuid::new_v4(), Duration::from_secs(1));
    let mut hints = tasks.watch(&mine).await.unwrap().unwrap();
    proxy.refuse().await;
    proxy.reset();
    let end = async { while let Some(_false_one) = hints.next().await {} };
    timeout(PATIENCE, end).await.unwrap();
    assert!(tasks.watch(&mine).await.is_err());
}
