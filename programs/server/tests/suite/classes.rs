//! Each route, and its calls of the store: which of them are shed first, which use the connections that a store keeps
//! for holders, and which wait for others of their client.

mod clients;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
    response::Response,
};
use dlock_server::{Service, router};
use dlock_testkit::{
    memory::{MemoryProvider, MemoryStore},
    tasks::memory::MemoryTasks,
};
use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::{task::unconstrained, time::timeout};
use tower::ServiceExt;

use crate::{
    reserved::{Crowd, Reserved},
    support::{acquire, limits, uuid},
    tasks::store::Watched,
};

/// Calls of the store at a time.
const CALLS: usize = 20;

/// Calls in flight at which a class is shed.
const CLASSES: [(&str, usize); 5] = [
    ("list", 10),
    ("wait", 12),
    ("enqueue", 15),
    ("acquire", 18),
    ("claim", 20),
];

/// Each route as `METHOD path class`: `hold` is never shed, `none` does not call the store, and a `view` waits for a
/// call of the server itself. `{id}` and the like are filled in.
const ROUTES: &str = "
    POST /v1/{namespace}/leases/acquire acquire
    POST /v1/{namespace}/leases/renew hold
    POST /v1/{namespace}/leases/renew-many hold
    POST /v1/{namespace}/leases/release hold
    POST /v1/{namespace}/leases/ask acquire
    POST /v1/{namespace}/leases/revoke acquire
    POST /v1/{namespace}/leases/force acquire
    GET /v1/{namespace}/leases list
    GET /v1/{namespace}/leases/one list
    GET /v1/{namespace}/leases/history none
    GET /v1/{namespace}/leases/watch none
    GET /v1/{namespace}/leases/live none
    POST /v1/purge list
    POST /v1/{namespace}/tasks enqueue
    POST /v1/{namespace}/tasks/periodic enqueue
    POST /v1/{namespace}/tasks/claim claim
    POST /v1/{namespace}/tasks/heartbeat hold
    POST /v1/{namespace}/tasks/release hold
    GET /v1/{namespace}/tasks/lease list
    POST /v1/{namespace}/tasks/endings hold
    POST /v1/{namespace}/tasks/{id}/complete hold
    POST /v1/{namespace}/tasks/{id}/fail hold
    POST /v1/{namespace}/tasks/{id}/discard hold
    POST /v1/{namespace}/tasks/{id}/snooze hold
    POST /v1/{namespace}/tasks/{id}/give-back hold
    POST /v1/{namespace}/tasks/{id}/checkpoint hold
    GET /v1/{namespace}/tasks list
    GET /v1/{namespace}/tasks/counts list
    GET /v1/{namespace}/tasks/{id} list
    GET /v1/{namespace}/tasks/live view
    GET /v1/{namespace}/tasks/events none
    POST /v1/{namespace}/tasks/{id}/cancel acquire
    POST /v1/{namespace}/tasks/{id}/retry acquire
    GET /v1/{namespace}/queues list
    PUT /v1/{namespace}/queues acquire
    POST /v1/prune list
    GET /v1/capabilities none
    GET /v1/session none
    POST /v1/session none
    DELETE /v1/session none
    GET /healthz none
    GET /readyz hold
    GET /metrics none
    POST /api/leases acquire
    PUT /api/leases/renew hold
    DELETE /api/leases/release hold
    DELETE /api/leases/{id} hold
    GET /api/leases list
    GET /api/leases/active list
    GET /api/leases/expired list
    GET /api/leases/renewed list
    GET /api/leases/released list
    GET /api/leases/{id} list
    POST /api/tasks enqueue
    POST /api/tasks/next claim
    PUT /api/tasks/{id}/heartbeat hold
    PUT /api/tasks/{id}/complete hold
    GET /api/tasks list
    GET /api/tasks/started list
    GET /api/tasks/processed list
    GET /api/tasks/{id} list
    POST /api/generator/start enqueue
    GET /api/generator/status list
    DELETE /api/generator/stop enqueue
    GET /api/healthz none
";

fn routes() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    ROUTES.trim().lines().map(|line| {
        let [method, path, class] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        (method, path, class)
    })
}

/// A server before a store, with a lease and a claim of each interface.
struct Before {
    service: Service,
    router: Router,
    /// The sender's token, if the server asks for one.
    token: &'static str,
    crowd: Crowd,
    stuck: Arc<AtomicBool>,
    lease: Value,
    claim: Value,
    sample_lease: Value,
    sample_task: Value,
}

impl Before {
    async fn new() -> Self {
        let crowd = Crowd::default();
        let locks = MemoryProvider::new(&MemoryStore::store_clock()).wakeups(true);
        let locks = Reserved::new(Arc::new(locks), &crowd);
        let stuck = Arc::clone(&locks.stuck);
        let tasks = Watched::new(MemoryTasks::new()).before(&crowd);
        let limits = limits(|limits| {
            limits.calls = CALLS;
            limits.call_time = Duration::from_secs(86_400);
        });
        let service = Service::new(Arc::new(locks), limits).with_tasks(tasks.shared());
        let service = service.with_api();
        let mut new = Self {
            router: router(&service),
            service,
            token: "",
            crowd,
            stuck,
            lease: Value::Null,
            claim: Value::Null,
            sample_lease: Value::Null,
            sample_task: Value::Null,
        };
        new.lease = new
            .gets("POST", "/v1/default/leases/acquire", acquire("door", 1))
            .await;
        new.gets(
            "POST",
            "/v1/default/tasks",
            json!({"tasks": [{"kind": "a"}]}),
        )
        .await;
        let claim = json!({"queues": ["default"], "uuid": uuid(1), "lease_ms": 60_000});
        let claimed = new.gets("POST", "/v1/default/tasks/claim", claim).await;
        new.claim = claimed["tasks"][0].clone();
        let resource = json!({"resource": "gate", "holder": "anna"});
        new.sample_lease = new.gets("POST", "/api/leases", resource).await;
        new.gets("POST", "/api/tasks", json!({"task_data": 1}))
            .await;
        let processor = json!({"processor": "anna"});
        new.sample_task = new.gets("POST", "/api/tasks/next", processor).await;
        new
    }

    /// This route with a request that it answers with success, as far as there is one.
    fn request(&self, method: &str, path: &str) -> Request<Body> {
        let key = json!({"uuid": uuid(1), "token": self.claim["token"]});
        let mut with_id = key.clone();
        with_id["id"] = self.claim["id"].clone();
        let of = |object: &Value, more: Value| {
            let mut object = object.clone();
            for (name, value) in more.as_object().unwrap() {
                object[name] = value.clone();
            }
            object
        };
        let renewal = json!({"name": "door", "uuid": uuid(1), "n": 1});
        let meant = json!({"resource": "gate", "holder": "anna"});
        let body = match path.rsplit_once('}').map_or(path, |(_, rest)| rest) {
            "/leases/acquire" => acquire("window", 2),
            "/leases/renew" => renewal,
            "/leases/renew-many" => json!({"renewals": [renewal]}),
            "/leases/release" | "/leases/ask" => json!({"name": "door", "uuid": uuid(1)}),
            "/leases/revoke" => {
                json!({"name": "door", "version": {"uuid": uuid(1), "renewals": 0}})
            }
            "/leases/force" => {
                json!({"name": "door", "uuid": uuid(1), "token": self.lease["token"]})
            }
            "/tasks" => json!({"tasks": [{"kind": "a"}]}),
            "/tasks/periodic" => {
                json!({"schedule": "s", "instant": "2020-01-01T00:00:00Z", "task": {"kind": "a"}})
            }
            "/tasks/claim" => json!({"queues": ["other"], "uuid": uuid(2), "lease_ms": 60_000}),
            "/tasks/heartbeat" => json!({"heartbeats": [of(&with_id, json!({"n": 1}))]}),
            "/tasks/release" => with_id,
            "/tasks/endings" => {
                json!({"endings": [of(&with_id, json!({"how": {"complete": {}}}))]})
            }
            "/complete" | "/give-back" => key,
            "/fail" => of(&key, json!({"error": "e", "retry_in_ms": 1})),
            "/discard" => of(&key, json!({"error": "e"})),
            "/snooze" => of(&key, json!({"for_ms": 1_000})),
            "/v1/purge" | "/v1/prune" => json!({"limit": 1}),
            "/checkpoint" => of(&key, json!({"number": 1, "checkpoint": 1})),
            "/queues" => json!({"queue": "q", "paused": true}),
            "/v1/session" => json!({"token": "t"}),
            "/api/leases" | "/api/leases/renew" | "/api/leases/release" => meant.clone(),
            "/api/tasks" => json!({"task_data": 1}),
            "/api/tasks/next" => json!({"processor": "anna"}),
            _ => json!({}),
        };
        let is_sample = path.starts_with("/api/");
        let body = match (method, path) {
            ("DELETE", "/api/leases/{id}") => meant,
            ("PUT", "/api/tasks/{id}/heartbeat") => json!({"processor": "anna"}),
            ("PUT", "/api/tasks/{id}/complete") => json!({"processor": "anna", "task_output": 1}),
            _ => body,
        };
        let id = match path {
            "/api/leases/{id}" => &self.sample_lease["id"],
            _ if is_sample => &self.sample_task["id"],
            _ => &self.claim["id"],
        };
        let mut uri = path
            .replace("{namespace}", "default")
            .replace("{id}", &id.to_string());
        match path.rsplit_once('/').map(|(_, last)| last) {
            Some("one" | "history") => uri += "?name=door",
            Some("lease") => uri += &format!("?id={id}&token={}", self.claim["token"]),
            Some("events") => uri += "?queue=default",
            _ => {}
        }
        let token = format!("Bearer {}", self.token);
        let request = Request::builder().method(method).uri(uri);
        let request = request.header(header::AUTHORIZATION, token);
        match method {
            "GET" => request.body(Body::empty()),
            _ => request
                .header(header::CONTENT_TYPE, "application/json")
                .body(body.to_string().into()),
        }
        .unwrap()
    }

    async fn gets(&self, method: &str, path: &str, body: Value) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()));
        let answer = self.router.clone().oneshot(request.unwrap()).await.unwrap();
        let status = answer.status();
        let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        assert!(status.is_success(), "{method} {path}: {status} {body:?}");
        serde_json::from_slice(&body).unwrap()
    }

    /// This many calls of the store that are never answered.
    fn fill(&self, calls: usize) -> Vec<impl Future + use<>> {
        self.stuck.store(true, Ordering::SeqCst);
        let mut pending = Vec::new();
        for _ in 0..calls {
            let request = self.request("POST", "/v1/{namespace}/leases/renew-many");
            // A future that has used up its share of the runtime is pending, too.
            let call = unconstrained(self.router.clone().oneshot(request));
            let mut call = Box::pin(call);
            let answer = (&mut call).now_or_never();
            assert!(answer.is_none(), "{answer:?}");
            pending.push(call);
        }
        self.stuck.store(false, Ordering::SeqCst);
        pending
    }

    /// The answer of a route. A store that is in memory answers at once, or never.
    async fn answer(&self, method: &str, path: &str) -> Option<Response> {
        let answer = self.router.clone().oneshot(self.request(method, path));
        let answer = timeout(Duration::from_secs(1), answer).await.ok()?;
        Some(answer.unwrap())
    }

    /// Its status.
    async fn status(&self, method: &str, path: &str) -> Option<u16> {
        let answer = self.answer(method, path).await?;
        Some(answer.status().as_u16())
    }
}

#[tokio::test]
async fn every_route_has_a_class() {
    let before = Before::new().await;
    let description = before.gets("GET", "/openapi.json", Value::Null).await;
    let mut described = BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            described.insert((method.to_uppercase(), path.clone()));
        }
    }
    let listed = routes().map(|(method, path, _)| (method.to_owned(), path.to_owned()));
    assert_eq!(listed.collect::<BTreeSet<_>>(), described);
}

#[tokio::test(start_paused = true)]
async fn every_route_is_shed_as_its_class_is() {
    let mut wrong = Vec::new();
    for (method, path, class) in routes() {
        let shed_at = CLASSES.iter().find(|(name, _)| *name == class);
        let shed_at = shed_at.map(|(_, calls)| *calls);
        let admitted = shed_at.map_or(3 * CALLS, |calls| calls - 1);
        for (calls, is_shed) in [(Some(admitted), false), (shed_at, true)] {
            let Some(calls) = calls else { continue };
            let before = Before::new().await;
            let _calls = before.fill(calls);
            let status = before.status(method, path).await;
            let is_right = match status {
                Some(503) => is_shed,
                Some(200..300 | 404 | 409) => !is_shed,
                _ => false,
            };
            if !is_right {
                wrong.push(format!("{method} {path} beside {calls} calls: {status:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn every_route_of_holders_and_no_other_takes_what_a_store_keeps_for_them() {
    let mut wrong = Vec::new();
    for (method, path, class) in routes() {
        let before = Before::new().await;
        before.crowd.comes();
        let status = before.status(method, path).await;
        let is_right = match class {
            "hold" => matches!(status, Some(200..300)),
            "none" => status.is_some(),
            // To the store it is a release.
            _ if path.ends_with("/force") => true,
            _ => status.is_none(),
        };
        if !is_right {
            wrong.push(format!("{method} {path}: {status:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
