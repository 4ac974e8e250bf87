//! Each path, each right, inside and outside of its namespace.

use std::{
    cell::RefCell,
    io::{self, Write},
    sync::Arc,
};

use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::json;

use crate::support::{ACQUIRE, Api, acquire, shown, uuid};

/// The rights that each path needs, one of these. Clients without rights are served only the routes at the end.
const NEEDS: [(&str, &str, &[&str]); 36] = [
    ("POST", "leases/acquire", &["hold"]),
    ("POST", "leases/renew", &["hold"]),
    ("POST", "leases/renew-many", &["hold"]),
    ("POST", "leases/release", &["hold"]),
    ("POST", "leases/ask", &["hold"]),
    ("POST", "leases/revoke", &["admin"]),
    ("POST", "leases/force", &["admin"]),
    ("GET", "leases", &["read"]),
    ("GET", "leases/one?name=door", &["read", "hold"]),
    // A stream has no end that a test could wait for: it is refused as a whole only for missing rights.
    ("GET", "leases/watch", &["read", "hold"]),
    ("GET", "leases/live", &["read"]),
    ("POST", "/v1/purge", &["admin"]),
    ("POST", "tasks", &["enqueue"]),
    ("POST", "tasks/periodic", &["enqueue"]),
    ("POST", "tasks/claim", &["work"]),
    ("POST", "tasks/heartbeat", &["work"]),
    ("POST", "tasks/release", &["work"]),
    ("GET", "tasks/lease?id=1&token=1", &["work"]),
    ("POST", "tasks/endings", &["work"]),
    ("POST", "tasks/1/complete", &["work"]),
    ("POST", "tasks/1/fail", &["work"]),
    ("POST", "tasks/1/discard", &["work"]),
    ("POST", "tasks/1/snooze", &["work"]),
    ("POST", "tasks/1/give-back", &["work"]),
    ("POST", "tasks/1/checkpoint", &["work"]),
    ("GET", "tasks", &["read"]),
    ("GET", "tasks/counts", &["read"]),
    ("GET", "tasks/1", &["read"]),
    ("GET", "tasks/live", &["read"]),
    ("POST", "tasks/1/cancel", &["admin"]),
    ("POST", "tasks/1/retry", &["admin"]),
    ("GET", "queues", &["read"]),
    ("PUT", "queues", &["admin"]),
    ("POST", "/v1/prune", &["admin"]),
    ("GET", "/metrics", &["metrics"]),
    ("GET", "/v1/nothing/at/all", &[]),
];

pub(crate) const RIGHTS: [&str; 6] = ["read", "hold", "enqueue", "work", "admin", "metrics"];

// printf %s secret | sha256sum
const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

pub(crate) fn rights(right: &str, namespace: &str) -> String {
    format!(
        "[[token]]\nname = \"somebody\"\nsha256 = \"{SECRET}\"\nrights = {{ \"{namespace}\" = [\"{right}\"] }}"
    )
}

fn whole(path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/v1/team/{path}")
    }
}

async fn status(api: &Api, method: &str, path: &str) -> u16 {
    let path = whole(path);
    let answer = match method {
        "GET" => api.get(&path).await,
        "PUT" => api.put(&path, json!({})).await,
        _ => api.post(&path, json!({})).await,
    };
    answer.status
}

#[tokio::test]
async fn only_its_own_rights_open_a_path_and_only_in_their_namespace() {
    let mut api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
    api.token = Some("secret".to_owned());
    for (method, path, needs) in NEEDS {
        for right in RIGHTS {
            for (namespace, counts) in [("team", true), ("other", false), ("*", true)] {
                // A request for all namespaces needs a right in all.
                let counts = counts && (!path.starts_with('/') || namespace == "*");
                let opens = counts && needs.contains(&right);
                if ["leases/watch", "leases/live", "tasks/live"].contains(&path) && opens {
                    continue;
                }
                api.restrict(&rights(right, namespace));
                let status = status(&api, method, path).await;
                // Empty bodies and unknown names are refused after the rights.
                let expected = match (needs, opens) {
                    ([], _) => &[404][..],
                    (_, true) => &[200, 400, 404],
                    (_, false) => &[403],
                };
                assert!(
                    expected.contains(&status),
                    "{method} {path} with {right} to {namespace}: {status}"
                );
            }
        }
    }
}

thread_local! {
    /// The log of this thread, which belongs to one test alone.
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Here;

impl Write for Here {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn each_request_of_an_administrator_and_each_stranger_is_logged() {
    let subscriber = tracing_subscriber::fmt().with_ansi(false);
    // For the whole program: a subscriber of one thread may miss a line whose call site another thread reached first.
    tracing::subscriber::set_global_default(subscriber.with_writer(|| Here).finish()).unwrap();
    let mut api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
    api.restrict(&rights("admin", "*"));
    api.token = Some("secret".to_owned());
    for (method, path, _) in NEEDS {
        status(&api, method, path).await;
    }
    let revoked = json!({"name": "door", "version": {"uuid": uuid(1), "renewals": 0}});
    api.post("/v1/team/leases/revoke", revoked).await;
    api.token = Some("stolen".to_owned());
    api.get("/v1/team/leases").await;
    let text = String::from_utf8(LOG.take()).unwrap();
    for (method, path, needs) in NEEDS {
        let what = format!("what=\"{method} {}\" asked=\"{{}}\"", whole(path));
        let lines = text.lines().filter(|line| line.contains(&what)).count();
        assert_eq!(lines, usize::from(needs == ["admin"]), "{what} in {text}");
    }
    let asked = text
        .lines()
        .find(|line| line.contains(r#"{\"name\":\"door\""#));
    let told = |line: &str| line.contains("who=\"somebody\"") && line.contains("status=409");
    assert!(asked.is_some_and(told), "{text}");
    assert!(text.contains("that this server knows"), "{text}");
}

/// A stream that is opened does not end, so only refusals are seen above.
#[tokio::test]
async fn hints_of_tasks_are_for_those_who_look_and_those_who_work() {
    let mut api = Api::new();
    api.token = Some("secret".to_owned());
    for right in RIGHTS {
        api.restrict(&rights(right, "team"));
        let opens = ["read", "work"].contains(&right);
        // Without tasks there is nothing to hear.
        let expected = if opens { 404 } else { 403 };
        let path = "tasks/events?queue=images";
        assert_eq!(status(&api, "GET", path).await, expected, "{right}");
    }
}

#[tokio::test]
async fn who_is_unknown_gets_nothing_but_health() {
    let mut api = Api::new();
    api.restrict(&rights("hold", "*"));
    for token in [None, Some("Secret"), Some("")] {
        api.token = token.map(ToOwned::to_owned);
        for (method, path, needs) in NEEDS {
            let expected = if needs.is_empty() { 404 } else { 401 };
            assert_eq!(
                status(&api, method, path).await,
                expected,
                "{method} {path}"
            );
        }
        for open in [
            "/healthz",
            "/readyz",
            "/v1/capabilities",
            "/v1/session",
            "/openapi.json",
        ] {
            assert_eq!(api.get(open).await.status, 200, "{open}");
        }
    }
    let refused = api.post("/v1/team/leases/acquire", json!({})).await;
    assert_eq!(refused.headers["www-authenticate"], "Bearer");
}

/// A floor at the end of all tokens would make the name unusable forever.
#[tokio::test]
async fn only_an_administrator_uses_up_tokens() {
    let mut api = Api::new();
    api.token = Some("secret".to_owned());
    api.restrict(&rights("hold", "team"));
    for (number, floor, status) in [(1, (1_u64 << 52) + 1, 403), (2, 1 << 52, 200)] {
        let mut body = acquire("door", number);
        body["floor"] = json!(floor);
        assert_eq!(
            api.post("/v1/team/leases/acquire", body).await.status,
            status
        );
    }
}

#[tokio::test]
async fn no_right_and_no_such_namespace_look_the_same() {
    let mut api = Api::new();
    api.token = Some("secret".to_owned());
    api.restrict(&rights("hold", "*"));
    let kept = api
        .post("/v1/kept/leases/acquire", acquire("door", 1))
        .await;
    assert_eq!(kept.status, 200);
    api.restrict(&rights("hold", "team"));
    let kept = api.get("/v1/kept/leases/one?name=door").await;
    let none = api.get("/v1/none/leases/one?name=door").await;
    assert_eq!((kept.status, &kept.body), (403, &none.body));
}

#[tokio::test]
async fn rights_that_are_read_again_count_from_the_next_request_on() {
    let mut api = Api::new();
    api.token = Some("secret".to_owned());
    api.restrict(&rights("hold", "team"));
    let path = "/v1/team/leases/acquire";
    assert_eq!(api.post(path, acquire("door", 1)).await.status, 200);
    api.restrict(&rights("read", "team"));
    assert_eq!(api.post(path, acquire("door", 1)).await.status, 403);
}

#[tokio::test]
async fn names_of_one_namespace_are_not_those_of_another() {
    let api = Api::new();
    let own = api.post("/v1/a/leases/acquire", acquire("b/door", 1)).await;
    let other = api.post("/v1/a-b/leases/acquire", acquire("door", 2)).await;
    assert_eq!((own.status, other.status), (200, 200));
    let page = api.get("/v1/a/leases").await.body;
    assert_eq!(page["leases"].as_array().unwrap().len(), 1);
    assert_eq!(page["leases"][0]["name"], "b/door");
    assert_eq!(page["leases"][0]["uuid"], shown(1));
    for bad in ["A", "a_b", "a%2Fb", ""] {
        let answer = api.get(&format!("/v1/{bad}/leases")).await;
        assert!([400, 404].contains(&answer.status), "{bad:?}: {answer:?}");
    }
}

/// Every request that keeps, ends or takes over a lease or a claim proves itself by the uuid that its client drew, and
/// that uuid is not shown.
#[tokio::test]
async fn what_is_shown_of_a_term_is_no_proof() {
    let api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
    let (lease, tasks) = (acquire("door", 1), "/v1/default/tasks");
    assert_eq!(api.post(ACQUIRE, lease.clone()).await.status, 200);
    let added = api.post(tasks, json!({"tasks": [{"kind": "a"}]})).await;
    let id = &added.body["tasks"][0]["id"];
    let claim = json!({"queues": ["default"], "uuid": uuid(1), "lease_ms": 600_000});
    let claimed = api.post(&format!("{tasks}/claim"), claim).await;
    let token = &claimed.body["tasks"][0]["token"];
    let path = format!("{tasks}/lease?id={id}&token={token}");
    for path in ["/v1/default/leases/one?name=door", &path] {
        assert_eq!(api.get(path).await.body["uuid"], shown(1));
    }
    let requests = |uuid: String| {
        let renewal = json!({"name": "door", "uuid": uuid, "n": 2});
        let beat = json!({"id": id, "uuid": uuid, "token": token, "n": 2});
        let with = |field: &str, value: serde_json::Value| {
            let mut body = json!({"uuid": uuid, "token": token});
            body[field] = value;
            body
        };
        let prev = json!({"uuid": uuid, "renewals": 2});
        let mut taken_over = acquire("door", 2);
        taken_over["prev"] = prev;
        let end = |what| format!("{tasks}/{id}/{what}");
        [
            ("/v1/default/leases/renew".to_owned(), renewal.clone()),
            (
                "/v1/default/leases/renew-many".to_owned(),
                json!({"renewals": [renewal]}),
            ),
            (ACQUIRE.to_owned(), taken_over),
            (
                "/v1/default/leases/release".to_owned(),
                json!({"name": "door", "uuid": uuid}),
            ),
            (format!("{tasks}/heartbeat"), json!({"heartbeats": [beat]})),
            (end("checkpoint"), {
                let mut body = with("number", json!(1));
                body["checkpoint"] = json!(1);
                body
            }),
            (end("complete"), with("output", json!(1))),
            (
                end("fail"),
                json!({"uuid": uuid, "token": token, "error": "x", "retry_in_ms": 1}),
            ),
            (end("discard"), with("error", json!("x"))),
            (end("snooze"), with("for_ms", json!(1))),
            (end("give-back"), json!({"uuid": uuid, "token": token})),
            (format!("{tasks}/release"), with("id", id.clone())),
        ]
    };
    let mut refused = Vec::new();
    for uuid in [shown(1), uuid(1)] {
        for (path, body) in requests(uuid) {
            let answer = api.post(&path, body).await;
            let many = answer.body["answers"].get(0).cloned();
            let code = many.unwrap_or(answer.body)["code"].clone();
            refused.push(
                ["lost", "held", "not-held"]
                    .map(|code| json!(code))
                    .contains(&code),
            );
        }
    }
    let (by_readers, by_holders) = refused.split_at(12);
    assert_eq!(by_readers, [true; 12], "what a reader knows");
    // The third request takes the lease over, and the seventh ends the claim: the requests after them are late.
    assert_eq!(by_holders[..3], [false; 3], "what was drawn for the lease");
    assert_eq!(by_holders[4..7], [false; 3], "what was drawn for the claim");
}

/// Nor is it one for the sample's interface, which serves the same leases and tasks.
#[tokio::test]
async fn what_is_shown_of_a_term_is_no_repeat_in_the_sample() {
    let api = Api::new().with_tasks(Arc::new(MemoryTasks::new()));
    drop(api.service.clone().with_api());
    let own = json!({"resource": "door", "holder": "anna", "uuid": uuid(1)});
    let taken = api.post("/api/leases", own.clone()).await;
    assert_eq!((taken.status, &taken.body["uuid"]), (201, &json!(shown(1))));
    let tasks = json!({"tasks": [{"kind": "task", "queue": "api", "payload": {}}]});
    assert_eq!(api.post("/v1/default/tasks", tasks).await.status, 200);
    let next = |uuid| json!({"processor": "anna", "uuid": uuid});
    let claimed = api.post("/api/tasks/next", next(uuid(1))).await;
    assert_eq!(claimed.status, 202);

    let read = json!({"resource": "door", "holder": "anna", "uuid": shown(1)});
    assert_eq!(api.post("/api/leases", read).await.status, 409);
    let none = api.post("/api/tasks/next", next(shown(1))).await;
    assert_eq!(none.status, 204);
    // The uuids that were drawn still work.
    let again = api.post("/api/leases", own).await;
    assert_eq!(
        (again.status, &again.body["token"]),
        (201, &taken.body["token"])
    );
    let again = api.post("/api/tasks/next", next(uuid(1))).await;
    assert_eq!(
        (again.status, &again.body["id"]),
        (202, &claimed.body["id"])
    );
}
