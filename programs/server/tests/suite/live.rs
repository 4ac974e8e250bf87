//! The watched views.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, BodyDataStream},
    http::Request,
    response::Response,
};
use dlock_testkit::{
    faults::{Fault, Op},
    tasks::memory::MemoryTasks,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    rights::rights,
    support::{ACQUIRE, Api, RELEASE, acquire, limits, uuid},
    tasks::store::Watched,
};

const LEASES: &str = "/v1/default/leases/live";
const TASKS: &str = "/v1/default/tasks/live";

struct Events {
    body: BodyDataStream,
    text: String,
}

impl Events {
    async fn of(api: &Api, path: &str) -> Self {
        let response = stream(api, path).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            body: response.into_body().into_data_stream(),
            text: String::new(),
        }
    }

    /// The next event; `None` at the end of the stream.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            let event = self.part().await?;
            // A comment says that the stream is alive, and nothing else.
            if !event.starts_with(':') {
                return Some(Self::read(&event));
            }
        }
    }

    async fn part(&mut self) -> Option<String> {
        while !self.text.contains("\n\n") {
            let part = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&part).unwrap());
        }
        let (event, rest) = self.text.split_once("\n\n").unwrap();
        let (event, rest) = (event.to_owned(), rest.to_owned());
        self.text = rest;
        Some(event)
    }

    fn read(event: &str) -> (String, Value) {
        let field = |name: &str| {
            let mut lines = event.lines();
            lines
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .unwrap()
                .to_owned()
        };
        (
            field("event"),
            serde_json::from_str(&field("data")).unwrap(),
        )
    }

    async fn named(&mut self, name: &str) -> Value {
        loop {
            let (event, data) = self.next().await.unwrap();
            if event == name {
                return data;
            }
        }
    }
}

async fn stream(api: &Api, path: &str) -> Response {
    api.open(Request::builder().uri(path).body(Body::empty()).unwrap())
        .await
}

#[tokio::test(start_paused = true)]
async fn all_who_watch_leases_share_one_look_a_second() {
    let api = Api::new();
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    api.store.forget_calls();
    let mut crowd = Vec::new();
    for _ in 0..100 {
        crowd.push(Events::of(&api, LEASES).await);
    }
    for _ in 0..5 {
        for watcher in &mut crowd {
            watcher.next().await.unwrap();
        }
    }
    let looks = api.store.count(Op::List);
    assert!((5..=6).contains(&looks), "{looks}");
    let page = crowd[0].named("page").await;
    api.check(LEASES, "text/event-stream", &page);
    assert_eq!(page["leases"][0]["name"], "door");
    drop(crowd);
    tokio::time::sleep(Duration::from_secs(2)).await;
    api.store.forget_calls();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(api.store.count(Op::List), 0);
}

#[tokio::test(start_paused = true)]
async fn a_change_is_shown_and_what_stays_is_not_sent_again() {
    let api = Api::new();
    let mut events = Events::of(&api, LEASES).await;
    assert_eq!(events.next().await.unwrap().1["leases"], json!([]));
    assert_eq!(events.next().await.unwrap(), ("same".to_owned(), json!({})));
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let held = events.named("page").await;
    assert_eq!(held["leases"][0]["released"], false);
    let release = json!({"name": "door", "uuid": uuid(1)});
    assert_eq!(api.post(RELEASE, release).await.status, 200);
    loop {
        let page = events.named("page").await;
        if page["leases"][0]["released"] == true {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_filter_watches_its_own_names_only() {
    let api = Api::new();
    for (number, name) in ["a/1", "a/2", "b/1"].into_iter().enumerate() {
        let body = acquire(name, u32::try_from(number).unwrap());
        assert_eq!(api.post(ACQUIRE, body).await.status, 200);
    }
    let names = async |query: &str| {
        let mut events = Events::of(&api, &format!("{LEASES}?{query}")).await;
        let page = events.named("page").await;
        let leases = page["leases"].as_array().unwrap().iter();
        leases
            .map(|lease| lease["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("prefix=a/").await, ["a/1", "a/2"]);
    assert_eq!(names("prefix=a/&after=a/1").await, ["a/2"]);
    assert_eq!(names("").await, ["a/1", "a/2", "b/1"]);
}

#[tokio::test(start_paused = true)]
async fn elections_are_found_among_all_leases_by_one_query() {
    let api = Api::new();
    let mut number = 0;
    let mut take = async |name: &str, data: Option<&str>| {
        number += 1;
        let mut body = acquire(name, number);
        body["data"] = data.into();
        assert_eq!(api.post(ACQUIRE, body).await.status, 200);
    };
    for lock in 0..300 {
        take(&format!("lock-{lock}"), None).await;
    }
    // "dlock-election", as its leaders write it.
    take("scheduler", Some("ZGxvY2stZWxlY3Rpb24=")).await;
    take("zzz", Some("ZGxvY2s=")).await;
    api.store.forget_calls();
    let mut events = Events::of(&api, &format!("{LEASES}?elections=true")).await;
    let page = events.named("page").await;
    api.check(LEASES, "text/event-stream", &page);
    assert_eq!(api.store.count(Op::List), 1);
    let leases = page["leases"].as_array().unwrap();
    assert_eq!((leases.len(), &leases[0]["name"]), (1, &json!("scheduler")));
    assert_eq!(
        (&leases[0]["election"], page.get("next")),
        (&json!(true), None)
    );
    let page = Events::of(&api, LEASES).await.named("page").await;
    assert_eq!(page["leases"][0].get("election"), None);
}

#[tokio::test(start_paused = true)]
async fn a_store_without_an_answer_is_told_and_comes_back() {
    let api = Api::new();
    let mut events = Events::of(&api, LEASES).await;
    events.named("page").await;
    api.store.always(Op::List, Fault::LoseRequest);
    let problem = events.named("problem").await;
    assert_eq!(problem["code"], "unknown");
    api.store.clear();
    events.named("page").await;
}

#[tokio::test(start_paused = true)]
async fn tasks_are_shown_with_their_queues() {
    let api = Api::new();
    assert_eq!(stream(&api, TASKS).await.status(), 404);
    let api = api.with_tasks(Arc::new(MemoryTasks::new()));
    let tasks = json!({"tasks": [{"kind": "resize", "queue": "images", "payload": "long"}, {"kind": "mail", "queue": "mail"}]});
    assert_eq!(
        api.post("/v1/default/tasks", tasks.clone()).await.status,
        200
    );
    assert_eq!(api.post("/v1/other/tasks", tasks).await.status, 200);
    let pause = json!({"queue": "mail", "paused": true, "limit": 3});
    assert_eq!(api.put("/v1/default/queues", pause).await.status, 200);
    let mut events = Events::of(&api, TASKS).await;
    let page = events.named("page").await;
    api.check(TASKS, "text/event-stream", &page);
    assert_eq!(
        page["counts"],
        json!([
            {"queue": "images", "state": "ready", "tasks": 1},
            {"queue": "mail", "state": "ready", "tasks": 1},
        ])
    );
    assert_eq!(page["paused"][0]["queue"], "mail");
    assert_eq!(page["limits"], json!([{"queue": "mail", "limit": 3}]));
    assert_eq!(page["tasks"].as_array().unwrap().len(), 2);
    assert!(!page.to_string().contains("long"), "{page}");
    let mut events = Events::of(&api, &format!("{TASKS}?queue=mail&state=ready")).await;
    let page = events.named("page").await;
    assert_eq!(page["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(page["tasks"][0]["kind"], "mail");
}

/// A client with the right to read opens as many as there are places, and no waiter is the worse
/// for it.
#[tokio::test(start_paused = true)]
async fn streams_take_no_place_of_those_who_wait() {
    let api = Api::limited(limits(|limits| {
        limits.waits = 1;
        limits.streams = 2;
    }));
    let crowd = [
        Events::of(&api, LEASES).await,
        Events::of(&api, LEASES).await,
    ];
    let refused = api.get(LEASES).await;
    assert_eq!((refused.status, refused.code()), (503, "overloaded"));
    assert_eq!(api.post(ACQUIRE, acquire("door", 1)).await.status, 200);
    let mut waiting = acquire("door", 2);
    waiting["wait_ms"] = json!(200);
    assert_eq!(api.post(ACQUIRE, waiting).await.code(), "held");
    drop(crowd);
    drop(Events::of(&api, LEASES).await);
    api.service.stop();
    assert_eq!(stream(&api, LEASES).await.status(), 503);
}

#[tokio::test(start_paused = true)]
async fn tasks_are_counted_once_for_all_pages_of_all_namespaces() {
    let store = Watched::new(MemoryTasks::new());
    let api = Api::new().with_tasks(store.shared());
    let tasks = json!({"tasks": [{"kind": "mail", "queue": "mail"}]});
    assert_eq!(api.post("/v1/other/tasks", tasks).await.status, 200);
    let mut watched = Vec::new();
    for path in [
        TASKS.to_owned(),
        format!("{TASKS}?queue=mail"),
        format!("{TASKS}?state=ready"),
        "/v1/other/tasks/live".to_owned(),
    ] {
        watched.push(Events::of(&api, &path).await);
    }
    assert_eq!(watched[0].named("page").await["counts"], json!([]));
    let other = watched[3].named("page").await;
    let one = json!([{"queue": "mail", "state": "ready", "tasks": 1}]);
    assert_eq!(other["counts"], one);
    assert_eq!(store.counts(), 1);
    for _ in 0..20 {
        for events in &mut watched {
            events.next().await.unwrap();
        }
    }
    let counts = store.counts();
    assert!((4..=6).contains(&counts), "{counts}");
}

/// A page treats a stream that is silent for 20 s as dead.
#[tokio::test(start_paused = true)]
async fn a_stream_says_something_while_its_view_is_not_looked_at() {
    let api = Api::new();
    let response = stream(&api, LEASES).await;
    let mut body = response.into_body().into_data_stream();
    body.next().await.unwrap().unwrap();
    // The next read has no answer for a long time.
    api.store.always(Op::List, Fault::LoseRequest);
    for _ in 0..10 {
        let said = timeout(Duration::from_secs(15), body.next()).await;
        said.unwrap().unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn streams_are_kept_by_nobody_and_passed_on_as_they_come() {
    let api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
    for path in [LEASES, TASKS] {
        let response = stream(&api, path).await;
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
    }
}

#[tokio::test(start_paused = true)]
async fn every_stream_ends_when_the_server_stops_or_its_rights_are_read_again() {
    let hints = [
        "/v1/default/leases/watch",
        "/v1/default/tasks/events?queue=default",
    ];
    for path in [LEASES, TASKS].into_iter().chain(hints) {
        for stops in [true, false] {
            let api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
            let mut events = Events::of(&api, path).await;
            if !hints.contains(&path) {
                events.named("page").await;
            }
            if stops {
                api.service.stop();
            } else {
                api.restrict(&rights("read", "default"));
                assert_eq!(stream(&api, path).await.status(), 401);
            }
            assert_eq!(events.next().await, None, "{path}");
        }
    }
}
