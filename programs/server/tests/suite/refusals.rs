//! Each fault of a request or a store has its status and its code.

use std::time::Duration;

use axum::{
    body::Body,
    http::{Request, header},
};
use dlock_testkit::faults::{Fault, Op};
use dlock_testkit::tasks::memory::MemoryTasks;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    support::{ACQUIRE, Api, RELEASE, acquire, limits, shown, uuid},
    tasks::store,
};

async fn refused(api: &Api, body: Value) -> (u16, String, String) {
    let answer = api.post(ACQUIRE, body).await;
    let pointer = answer.body["pointer"].as_str().unwrap_or_default();
    (answer.status, answer.code().to_owned(), pointer.to_owned())
}

#[tokio::test]
async fn request_that_cannot_be_meant_is_pointed_at() {
    let api = Api::new();
    let with = |key: &str, value: Value| {
        let mut body = acquire("door", 1);
        body[key] = value;
        body
    };
    for (pointer, body) in [
        ("/name", with("name", json!(""))),
        ("/name", with("name", json!("a\0b"))),
        ("/name", with("name", json!("x".repeat(1_017)))),
        ("/name", with("name", json!(7))),
        ("/uuid", with("uuid", json!("7"))),
        ("/duration_ms", with("duration_ms", json!(-1))),
        ("/duration_ms", with("duration_ms", json!("30s"))),
        ("/data", with("data", json!("%"))),
        ("/wait_ms", with("wait_ms", json!(25_001))),
        ("/owners", with("owners", json!("x"))),
        (
            "/prev/uuid",
            with("prev", json!({"uuid": "", "renewals": 0})),
        ),
    ] {
        let said = refused(&api, body).await;
        let expected = (400, "bad-request".to_owned(), pointer.to_owned());
        assert_eq!(said, expected);
    }
    // Values that no store could keep.
    for (key, value) in [
        ("duration_ms", json!(99)),
        ("duration_ms", json!(86_400_001)),
        ("floor", json!(1_u64 << 53)),
        ("marks", json!(1_u64 << 32)),
        ("owner", json!("x".repeat(1_025))),
        ("owner", json!("a\0b")),
        ("data", json!("AAAA".repeat(1_366))),
    ] {
        let (status, code, _) = refused(&api, with(key, value)).await;
        assert_eq!((status, &*code), (400, "bad-request"), "{key}");
    }
    assert_eq!(api.store.calls().len(), 0, "a store was asked");
}

#[tokio::test(start_paused = true)]
async fn body_that_is_none_is_refused() {
    let limits = limits(|limits| {
        limits.body = 1_000;
        limits.body_time = Duration::from_millis(50);
    });
    let api = Api::limited(limits);
    let text = acquire("door", 1).to_string();
    assert_eq!(api.post_raw(ACQUIRE, "{").await.code(), "bad-request");
    assert_eq!(api.post_raw(ACQUIRE, "x".repeat(1_001)).await.status, 413);
    let never = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    assert_eq!(
        api.post_raw(ACQUIRE, Body::from_stream(never)).await.status,
        408
    );
    let broken = futures_util::stream::iter([Err::<Vec<u8>, _>(std::io::Error::other("gone"))]);
    assert_eq!(
        api.post_raw(ACQUIRE, Body::from_stream(broken))
            .await
            .status,
        400
    );
    for content in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        let mut request = Request::post(ACQUIRE);
        if let Some(content) = content {
            request = request.header(header::CONTENT_TYPE, content);
        }
        let answer = api.send(request.body(text.clone().into()).unwrap()).await;
        assert_eq!((answer.status, answer.code()), (415, "not-json"));
    }
    assert_eq!(api.get("/v1/default/leases?limit=x").await.status, 400);
    assert_eq!(api.get("/v1/default/leases?limits=1").await.status, 400);
    assert_eq!(api.get(ACQUIRE).await.status, 405);
    assert_eq!(api.get("/v2").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn store_without_an_answer_is_told_from_one_that_refused() {
    let limits = limits(|limits| limits.call_time = Duration::from_millis(50));
    let api = Api::limited(limits);
    for (fault, status, code) in [
        (Fault::THROTTLED, 503, "not-applied"),
        (Fault::UNKNOWN_AFTER, 504, "unknown"),
        (Fault::LoseRequest, 504, "unknown"),
        (Fault::FATAL, 500, "fatal"),
    ] {
        for (op, path, body) in [
            (Op::Acquire, ACQUIRE, acquire("door", 1)),
            (
                Op::Release,
                RELEASE,
                json!({"name": "door", "uuid": uuid(1)}),
            ),
            (
                Op::Renew,
                "/v1/default/leases/renew",
                json!({"name": "door", "uuid": uuid(1), "n": 1}),
            ),
        ] {
            api.store.next(op, fault);
            let answer = api.post(path, body).await;
            assert_eq!((answer.status, answer.code()), (status, code), "{path}");
            assert_eq!(
                answer.body.get("detail"),
                None,
                "what the store said is for the log"
            );
        }
    }
}

/// The request needs no token, so many concurrent ones make one query to the store.
#[tokio::test(start_paused = true)]
async fn readiness_is_what_the_store_says_once_a_second() {
    let api = Api::limited(limits(|limits| {
        limits.call_time = Duration::from_millis(50);
    }));
    for (fault, status) in [
        (Some(Fault::THROTTLED), 503),
        (Some(Fault::UNKNOWN_AFTER), 504),
        (Some(Fault::LoseRequest), 504),
        (Some(Fault::FATAL), 500),
        (None, 200),
    ] {
        api.store.forget_calls();
        if let Some(fault) = fault {
            api.store.next(Op::Read, fault);
        }
        let crowd = (0..50).map(|_| api.get("/readyz"));
        for answer in futures_util::future::join_all(crowd).await {
            assert_eq!(answer.status, status, "{fault:?}");
        }
        assert_eq!(api.store.count(Op::Read), 1);
        sleep(Duration::from_secs(1)).await;
    }
    // The tasks of a server are a separate store.
    let tasks = store::Watched::new(MemoryTasks::new());
    let api = api.with_tasks(tasks.shared());
    tasks.next(store::Fault::Fatal);
    for status in [500, 200] {
        assert_eq!(api.get("/readyz").await.status, status);
        sleep(Duration::from_secs(1)).await;
    }
}

/// Acceptance 16: a request whose reply was lost gets the same answer when it is repeated.
#[tokio::test]
async fn repeat_answers_as_the_first_one_would_have() {
    let api = Api::new();
    api.store.next(Op::Acquire, Fault::UNKNOWN_AFTER);
    assert_eq!(
        api.post(ACQUIRE, acquire("door", 1)).await.code(),
        "unknown"
    );
    let granted = api.post(ACQUIRE, acquire("door", 1)).await;
    let again = api.post(ACQUIRE, acquire("door", 1)).await;
    assert_eq!((granted.status, &granted.body), (200, &again.body));
    let renew = json!({"name": "door", "uuid": uuid(1), "n": 1});
    api.store.next(Op::Renew, Fault::UNKNOWN_AFTER);
    assert_eq!(
        api.post("/v1/default/leases/renew", renew.clone())
            .await
            .status,
        504
    );
    let renewed = api.post("/v1/default/leases/renew", renew).await;
    assert_eq!(
        (renewed.status, renewed.body),
        (200, json!({"asked": false}))
    );
    let release = json!({"name": "door", "uuid": uuid(1)});
    api.store.next(Op::Release, Fault::UNKNOWN_AFTER);
    assert_eq!(api.post(RELEASE, release.clone()).await.status, 504);
    assert_eq!(api.post(RELEASE, release).await.status, 200);
    // The uuid has had its lease.
    let late = api.post(ACQUIRE, acquire("door", 1)).await;
    assert_eq!((late.status, late.code()), (409, "spent"));
}

/// N3: a refusal is not a success, and says who has the lease.
#[tokio::test]
async fn contention_and_loss_are_never_a_success() {
    let api = Api::new();
    let granted = api.post(ACQUIRE, acquire("door", 1)).await.body;
    let held = api.post(ACQUIRE, acquire("door", 2)).await;
    assert_eq!((held.status, held.code()), (409, "held"));
    assert_eq!(held.body["record"]["uuid"], shown(1));
    assert_eq!(held.body["record"]["token"], granted["token"]);
    let other = json!({"name": "door", "uuid": uuid(2), "n": 1});
    let lost = api.post("/v1/default/leases/renew", other.clone()).await;
    assert_eq!((lost.status, lost.code()), (409, "lost"));
    let many = json!({"renewals": [other, {"name": "door", "uuid": uuid(1), "n": 1}]});
    let many = api.post("/v1/default/leases/renew-many", many).await;
    assert_eq!(many.body["answers"][0]["code"], "lost");
    assert_eq!(many.body["answers"][1], json!({"asked": false}));
    let not_held = api
        .post(RELEASE, json!({"name": "door", "uuid": uuid(2)}))
        .await;
    assert_eq!((not_held.status, not_held.code()), (409, "not-held"));
    let changed = json!({"name": "door", "version": {"uuid": shown(1), "renewals": 0}});
    let changed = api.post("/v1/default/leases/revoke", changed).await;
    assert_eq!((changed.status, changed.code()), (409, "changed"));
    let nobody = api.get("/v1/default/leases/one?name=window").await;
    assert_eq!((nobody.status, nobody.code()), (404, "not-found"));
}

#[tokio::test]
async fn too_many_renewals_at_once_are_refused() {
    let api = Api::new();
    let renewal = json!({"name": "door", "uuid": uuid(1), "n": 1});
    let many = |count| json!({"renewals": vec![renewal.clone(); count]});
    let path = "/v1/default/leases/renew-many";
    assert_eq!(api.post(path, many(500)).await.status, 200);
    assert_eq!(api.post(path, many(501)).await.status, 400);
}

#[tokio::test]
async fn page_of_another_site_can_do_nothing() {
    let limits =
        limits(|limits| limits.hosts = vec!["127.0.0.1".to_owned(), "localhost".to_owned()]);
    let api = Api::limited(limits);
    let send = async |name: &str, value: &str, host: &str| {
        let request = Request::post(ACQUIRE)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::HOST, host)
            .header(name, value)
            .body(acquire("door", 1).to_string().into());
        api.send(request.unwrap()).await.status
    };
    assert_eq!(send("x-nothing", "", "127.0.0.1:7420").await, 200);
    assert_eq!(send("x-nothing", "", "LOCALHOST").await, 200);
    assert_eq!(send("x-nothing", "", "evil.example").await, 421);
    assert_eq!(send("x-nothing", "", "127.0.0.1.evil.example").await, 421);
    assert_eq!(send("sec-fetch-site", "cross-site", "127.0.0.1").await, 403);
    assert_eq!(
        send("origin", "http://evil.example", "127.0.0.1").await,
        403
    );
    assert_eq!(
        send("origin", "http://127.0.0.1:7420", "127.0.0.1:7420").await,
        200
    );
}

/// Clients choose names and labels: they come back as they were, and as JSON only.
#[tokio::test]
async fn hostile_names_are_only_names() {
    let api = Api::new();
    for (number, name) in [
        "<script>alert(1)</script>",
        "\u{1b}[2J\u{202e}",
        "'; DROP TABLE lock; --",
        "../../etc/passwd",
        "a\nb: c\r\n\r\nd",
        "\u{1f}reservation",
        "{{7*7}}${7*7}",
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = acquire(name, u32::try_from(number).unwrap());
        body["owner"] = json!(name);
        assert_eq!(api.post(ACQUIRE, body).await.status, 200, "{name:?}");
    }
    let page = api.get("/v1/default/leases").await;
    assert_eq!(page.headers["content-type"], "application/json");
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert_eq!(page.headers["cache-control"], "no-store");
    let leases = page.body["leases"].as_array().unwrap().clone();
    assert_eq!(leases.len(), 7);
    for lease in leases {
        assert_eq!(lease["name"], lease["owner"]);
    }
}

#[tokio::test]
async fn two_hosts_and_a_prefix_that_no_name_has_are_refused() {
    let api = Api::new();
    let request = Request::builder()
        .uri("/v1/default/leases")
        .header(header::HOST, "a.example")
        .header(header::HOST, "b.example")
        .body(Body::empty());
    assert_eq!(api.send(request.unwrap()).await.status, 400);
    for path in ["/v1/default/leases", "/v1/default/leases/live"] {
        let answer = api.get(&format!("{path}?prefix=a%00b")).await;
        assert_eq!(
            (answer.status, answer.code()),
            (400, "bad-request"),
            "{path}"
        );
    }
    assert!(api.store.calls().is_empty(), "a store was asked");
}
