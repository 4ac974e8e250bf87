//! The service without any configuration.

use std::io::Write;

use dlock_sqlite::tasks::SqliteTasks;
use serde_json::json;

use crate::support::{ACQUIRE, RENEW, User, answer, send, term, until, uuid};

#[test]
fn locks_and_tasks_of_the_user_are_there_at_once() {
    let user = User::new();
    let served = user.serve(&[]);
    assert_eq!(served.get("/readyz").0, 200);
    assert_eq!(served.post(ACQUIRE, &term("job", 1, 0)).0, 200);
    assert_eq!(served.post(ACQUIRE, &term("job", 2, 0)).0, 409);
    assert!(SqliteTasks::find(user.file()).unwrap().is_some());
    let enqueued = served.post("/v1/default/tasks", &json!({"tasks": [{"kind": "resize"}]}));
    assert_eq!(enqueued.0, 200, "{enqueued:?}");
    let (status, metrics) = served.get("/metrics");
    assert_eq!(status, 200);
    let measured = r#"dlock_server_request_seconds_count{method="POST",path="/v1/{namespace}/leases/acquire",status="409"} 1"#;
    assert!(metrics.as_str().unwrap().contains(measured), "{metrics}");
}

#[test]
fn tasks_that_ended_long_ago_are_forgotten() {
    let user = User::new();
    let served = user.serve(&[]);
    let tasks = json!({"tasks": [{"kind": "old"}, {"kind": "new"}]});
    let (_, enqueued) = served.post("/v1/default/tasks", &tasks);
    let [old, new] = [0, 1].map(|n| format!("/v1/default/tasks/{}", enqueued["tasks"][n]["id"]));
    for task in [&old, &new] {
        assert_eq!(served.post(&format!("{task}/cancel"), &json!({})).0, 200);
    }
    assert_eq!((served.get(&old).0, served.get(&new).0), (200, 200));
    drop(served);
    let file = rusqlite::Connection::open(user.file()).unwrap();
    let long_ago = "UPDATE dlock_task_done SET ended = 0 WHERE kind = 'old'";
    assert_eq!(file.execute(long_ago, ()).unwrap(), 1);
    drop(file);
    let served = user.serve(&[]);
    until("it is still there", || {
        (served.get(&old).0 == 404).then_some(())
    });
    assert_eq!(served.get(&new).0, 200);
}

#[test]
fn page_of_another_name_that_leads_here_is_refused() {
    let user = User::new();
    let served = user.serve(&[]);
    let mut stream = served.connect();
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nhost: evil.example:7420\r\n\r\n")
        .unwrap();
    assert_eq!(answer(&mut stream).unwrap().0, 421);
}

#[test]
fn holders_are_served_while_connections_that_do_nothing_take_all_sockets() {
    let user = User::new();
    let served = user.serve(&[]);
    served.open_files(100);
    let mut holder = served.connect();
    send(
        &mut holder,
        &format!("POST {ACQUIRE}"),
        "",
        &term("job", 1, 0).to_string(),
    );
    assert_eq!(answer(&mut holder).unwrap().0, 200);
    let mut others = Vec::new();
    for n in 0..200 {
        let mut stream = served.connect();
        if n % 2 == 0 {
            stream
                .write_all(b"POST /v1/default/leases/renew HTTP/1.1\r\nx: y")
                .unwrap();
        }
        others.push(stream);
    }
    for n in 1..=20 {
        let renewal = json!({"name": "job", "uuid": uuid(1), "n": n}).to_string();
        send(&mut holder, &format!("POST {RENEW}"), "", &renewal);
        assert_eq!(answer(&mut holder).unwrap().0, 200);
    }
    assert_eq!(served.post(ACQUIRE, &term("other", 2, 0)).0, 200);
}

#[test]
fn server_waits_for_no_more_than_it_was_told() {
    let user = User::new();
    let served = user.serve(&["--max-waits", "1"]);
    assert_eq!(served.post(ACQUIRE, &term("job", 1, 0)).0, 200);
    let mut first = served.connect();
    let waits = term("job", 2, 20_000).to_string();
    send(&mut first, &format!("POST {ACQUIRE}"), "", &waits);
    served.until_one_waits();
    let (status, refused) = served.post(ACQUIRE, &term("job", 3, 20_000));
    assert_eq!((status, &refused["code"]), (503, &json!("overloaded")));
    let release = json!({"name": "job", "uuid": uuid(1)});
    assert_eq!(served.post("/v1/default/leases/release", &release).0, 200);
    assert_eq!(answer(&mut first).unwrap().0, 200);
}

#[test]
fn server_has_no_more_connections_than_it_was_told() {
    let user = User::new();
    let served = user.serve(&["--max-connections", "1"]);
    let asked = || {
        let mut stream = served.connect();
        send(&mut stream, "GET /healthz", "", "");
        assert_eq!(answer(&mut stream).unwrap().0, 200);
        stream
    };
    let mut first = asked();
    let _second = asked();
    // It was idle, and its place went to the second one.
    assert!(answer(&mut first).is_none());
}
