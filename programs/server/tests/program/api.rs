//! The sample's walk-through, and the demo.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Served, User, str, until};

/// As its description shows it: a lease, a task, the next one, a heartbeat, its completion, and the generator. The
/// requests alternate between two servers.
pub(crate) fn walk_through(servers: [&Served; 2]) {
    let mut turn = 0;
    let mut ask = |what: &str, body: Value, status: u16| {
        turn += 1;
        let (is, answer) = servers[turn % 2].ask(what, &body);
        assert_eq!(is, status, "{what}: {answer}");
        answer
    };
    let (anna, bert) = (
        json!({"resource": "task-1", "holder": "anna"}),
        json!({"resource": "task-1", "holder": "bert"}),
    );
    let lease = ask("POST /api/leases", anna.clone(), 201);
    ask("POST /api/leases", bert.clone(), 409);
    ask("PUT /api/leases/renew", bert.clone(), 404);
    let renewed = ask("PUT /api/leases/renew", anna.clone(), 201);
    assert!(renewed["expires_at"].as_str() > lease["expires_at"].as_str());
    let one = format!("/api/leases/{}", lease["id"]);
    assert_eq!(ask(&format!("GET {one}"), json!({}), 200)["holder"], "anna");
    let released = ask("DELETE /api/leases/release", anna, 201);
    let of = |list: Value| list["leases"].as_array().unwrap().clone();
    let list = of(ask("GET /api/leases/released", json!({}), 200));
    assert_eq!((list.len(), &list[0]["id"]), (1, &lease["id"]));
    assert_eq!(list[0]["released_at"], released["released_at"]);
    let next = ask("POST /api/leases", bert.clone(), 201);
    assert_eq!(
        (&next["id"], &next["releasedAt"]),
        (&lease["id"], &Value::Null)
    );
    ask(&format!("DELETE {one}"), bert, 200);

    let next = "POST /api/tasks/next";
    let task = json!({"task_data": {"sleep_duration_seconds": 5}});
    let task = ask("POST /api/tasks", task, 201);
    let fetched = ask(next, json!({"processor": "w"}), 202);
    assert_eq!(fetched["id"], task["id"]);
    let beat = format!("PUT /api/tasks/{}/heartbeat", task["id"]);
    let kept = ask(
        &beat,
        json!({"processor": "w", "claim": fetched["claim"]}),
        202,
    );
    assert!(kept["mustHeartBeatBefore"].as_str() > fetched["mustHeartBeatBefore"].as_str());
    ask(&beat, json!({"processor": "v"}), 409);
    let complete = format!("PUT /api/tasks/{}/complete", task["id"]);
    let output = json!({"processor": "w", "task_output": {"slept": 5}, "claim": fetched["claim"]});
    assert_eq!(
        ask(&complete, output.clone(), 202)["task_output"]["slept"],
        5
    );
    ask(&complete, output, 409);

    let status = "GET /api/generator/status";
    ask("POST /api/generator/start", json!({}), 200);
    for _ in servers {
        assert_eq!(ask(status, json!({}), 200)["status"], "STARTED");
    }
    let generated = until("nothing was generated", || {
        let answer = servers[0].ask(next, &json!({"processor": "w"}));
        (answer.0 == 202).then_some(answer.1)
    });
    assert!(generated["task_data"]["sleep_duration_seconds"].as_u64() >= Some(1));
    ask("DELETE /api/generator/stop", json!({}), 200);
    for _ in servers {
        assert_eq!(ask(status, json!({}), 200)["status"], "STOPPED");
    }
}

#[test]
fn walk_through_of_the_sample_goes_as_it_says() {
    let user = User::new();
    // Without any configuration.
    let (first, second) = (user.serve(&[]), user.serve(&[]));
    walk_through([&first, &second]);
}

#[test]
fn sample_is_served_where_it_is_asked_for() {
    let user = User::new();
    let file = user.home().join("other.db");
    let store = format!("sqlite:{}", str(&file));
    let leases = "GET /api/leases";
    let served = user.serve(&["--store", &store]);
    assert_eq!(served.ask(leases, &json!({})).0, 404);
    drop(served);
    let served = user.serve(&["--store", &store, "--api"]);
    assert_eq!(served.ask(leases, &json!({})).0, 200);
}

#[test]
fn demo_generates_and_works_and_leaves_nothing_switched_on() {
    let user = User::new();
    let mut demo = user.serve(&["--demo"]);
    let generated = demo.logged("generated");
    // A worker may begin the task before the generator has logged it.
    let begun = demo.log.iter().find_map(|line| {
        let line = serde_json::from_str::<Value>(line).ok()?;
        (line["message"] == "begins").then_some(line)
    });
    let begun = begun.unwrap_or_else(|| demo.logged("begins"));
    assert_eq!(begun["task"], generated["task"], "{begun}");
    // Other workers may help.
    let task = until("nothing was left", || {
        let answer = demo.ask("POST /api/tasks/next", &json!({"processor": "curl"}));
        (answer.0 == 202).then_some(answer.1)
    });
    demo.signal(Signal::TERM);
    assert_eq!(demo.ended(), Some(0), "{:#?}", demo.log);

    let served = user.serve(&[]);
    let status = served.ask("GET /api/generator/status", &json!({})).1;
    assert_eq!(status["status"], "STOPPED");
    // The tasks of its workers were given back; those of the other server are untouched.
    let started = served.ask("GET /api/tasks/started", &json!({})).1;
    let started = started["tasks"].as_array().unwrap();
    assert_eq!(
        (started.len(), &started[0]["id"]),
        (1, &task["id"]),
        "{started:?}"
    );
}
