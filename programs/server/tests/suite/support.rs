//! Servers to query, and clients that check every answer against the description.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, header},
    response::Response,
};
use dlock_http::{HttpProvider, Server};
use dlock_server::{Limits, Rights, Service, router};
use dlock_sqlite::{SqliteProvider, tasks::SqliteTasks};
use dlock_tasks::TaskStore;
use dlock_testkit::{
    faults::Faulty,
    memory::{MemoryProvider, MemoryStore},
};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};
use tower::ServiceExt;

use crate::description::Description;

/// A server on a port, before a file that is gone with this process.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) file: PathBuf,
    _cleaner: Child,
}

impl Served {
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        let cleaner = remove_at_the_end(&folder).unwrap();
        let file = folder.join("locks.db");
        Self {
            address: serve(&file).await,
            file,
            _cleaner: cleaner,
        }
    }
}

/// One more server before this file.
pub(crate) async fn serve(file: &Path) -> SocketAddr {
    let store = SqliteProvider::open(file).unwrap();
    let tasks = SqliteTasks::open(file.with_file_name("tasks.db")).unwrap();
    // The disk may be busy with other tests.
    let patient = limits(|limits| limits.call_time = Duration::from_secs(60));
    let service = Service::new(Arc::new(store), patient).with_tasks(Arc::new(tasks));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router(&service)).await });
    address
}

/// Removes the folder when this process is gone, however it ended: the pipe to the shell closes then. (A fixture
/// is never dropped.)
fn remove_at_the_end(folder: &Path) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", "trap '' INT TERM HUP; cat; rm -rf \"$0\""])
        .arg(folder)
        .stdin(Stdio::piped())
        .spawn()
}

/// A provider behind servers, each of whose calls ends within this time.
pub(crate) async fn connect(addresses: &[SocketAddr], limit: Duration) -> HttpProvider {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match HttpProvider::connect(servers(addresses, limit)).await {
            Ok(provider) => return provider,
            // A busy machine may be too slow for the limit at first.
            Err(error) => assert!(Instant::now() < until, "{error:?}"),
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Servers, each of whose answers comes within this time.
pub(crate) fn servers(addresses: &[SocketAddr], limit: Duration) -> Server {
    // Another crate in this build may have chosen rustls without a provider of cryptography for the client.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let client = reqwest::Client::builder().timeout(limit).build().unwrap();
    let addresses: Vec<String> = addresses
        .iter()
        .map(|address| format!("http://{address}"))
        .collect();
    Server::new(client, addresses.iter().map(String::as_str)).unwrap()
}

/// The router without a network, before a store in memory whose calls fail on demand.
pub(crate) struct Api {
    pub(crate) store: Faulty<MemoryProvider>,
    pub(crate) service: Service,
    router: Router,
    pub(crate) description: &'static Description,
    /// Sent with each request.
    pub(crate) token: Option<String>,
}

/// An answer: its status, and its body as JSON.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) headers: axum::http::HeaderMap,
}

impl Answer {
    /// The code of a problem; "" for a success.
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

impl Api {
    pub(crate) fn new() -> Self {
        Self::limited(Limits::default())
    }

    pub(crate) fn limited(limits: Limits) -> Self {
        let store = MemoryProvider::new(&MemoryStore::store_clock()).wakeups(true);
        Self::before(Faulty::new(store), limits)
    }

    pub(crate) fn before(store: Faulty<MemoryProvider>, limits: Limits) -> Self {
        let service = Service::new(Arc::new(store.clone()), limits);
        let router = router(&service);
        Self {
            store,
            service,
            description: Description::of(&router),
            router,
            token: None,
        }
    }

    /// The same, and these tasks.
    pub(crate) fn with_tasks(mut self, tasks: Arc<dyn TaskStore>) -> Self {
        self.service = self.service.with_tasks(tasks);
        self
    }

    pub(crate) fn restrict(&self, rights: &str) {
        self.service.restrict(Rights::parse(rights).unwrap());
    }

    /// Any request.
    pub(crate) async fn send(&self, mut request: Request<Body>) -> Answer {
        if let Some(token) = &self.token {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response: Response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let content = headers.get(header::CONTENT_TYPE).cloned();
        let content =
            content.map_or_else(String::new, |content| content.to_str().unwrap().to_owned());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        self.description
            .check(&method, &path, status, &content, &body);
        Answer {
            status,
            body,
            headers,
        }
    }

    /// Any request, whose answer is not read here.
    pub(crate) async fn open(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Checks a body against its description.
    pub(crate) fn check(&self, path: &str, content: &str, body: &Value) {
        self.description
            .check(&Method::GET, path, 200, content, body);
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.post_raw(path, body.to_string()).await
    }

    pub(crate) async fn post_raw(&self, path: &str, body: impl Into<Body>) -> Answer {
        self.send_json(Method::POST, path, body.into()).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.send_json(Method::PUT, path, body.to_string().into())
            .await
    }

    async fn send_json(&self, method: Method, path: &str, body: Body) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        self.send(request.unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let request = Request::builder().uri(path).body(Body::empty());
        self.send(request.unwrap()).await
    }
}

/// Limits that differ from those by default.
pub(crate) fn limits(set: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    set(&mut limits);
    limits
}

/// A uuid for each number.
pub(crate) fn uuid(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// The uuid as it is shown.
pub(crate) fn shown(number: u32) -> String {
    dlock_http::pseudonym(uuid(number).parse().unwrap()).to_string()
}

/// The body of an acquire.
pub(crate) fn acquire(name: &str, number: u32) -> Value {
    json!({"name": name, "uuid": uuid(number), "duration_ms": 600_000})
}

pub(crate) const ACQUIRE: &str = "/v1/default/leases/acquire";
pub(crate) const RELEASE: &str = "/v1/default/leases/release";
