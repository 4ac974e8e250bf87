//! Servers with a file of their own, and requests that bypass the page.

use std::process::Command;

use dlock_test_servers::{Place, Service};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A process of the program; it ends when this value is dropped.
pub(crate) struct Server {
    service: Service,
    client: Client,
    /// Sent with each request that bypasses the page.
    token: Option<&'static str>,
}

/// The token with all rights.
pub(crate) const ROOT: &str = "root";

const TOKENS: &str = "tokens.toml";

/// A file of tokens.
fn entries(tokens: &[(&str, &[&str])]) -> String {
    let all: &[&str] = &["read", "hold", "enqueue", "work", "admin", "metrics"];
    let entries = tokens.iter().copied().chain([(ROOT, all)]).map(|(token, rights)| {
        let hash: String = Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[[token]]\nname = \"{token}\"\nsha256 = \"{hash}\"\nrights = {{ \"*\" = {rights:?} }}\n")
    });
    entries.collect()
}

impl Server {
    /// A server that requires no token.
    pub(crate) async fn open() -> Self {
        Self::start(String::new(), None).await
    }

    /// A server whose tokens have these rights in all namespaces.
    pub(crate) async fn with_tokens(tokens: &[(&str, &[&str])]) -> Self {
        Self::start(entries(tokens), Some(ROOT)).await
    }

    /// Replaces all tokens but that of [`ROOT`] with these.
    pub(crate) fn reload(&mut self, tokens: &[(&str, &[&str])]) {
        let file = self.service.place().dir().join(TOKENS);
        std::fs::write(file, entries(tokens)).unwrap();
        self.signal("HUP");
    }

    async fn start(tokens: String, token: Option<&'static str>) -> Self {
        let command = move |place: &Place| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_dlock-browser-proof"));
            command
                .args(["--listen", &format!("127.0.0.1:{}", place.port())])
                .env("XDG_STATE_HOME", place.dir())
                .env_remove("DLOCK_STORE");
            if !tokens.is_empty() {
                let file = place.dir().join(TOKENS);
                std::fs::write(&file, &tokens).unwrap();
                command.arg("--tokens").arg(file);
            }
            command
        };
        Self {
            service: Service::builder(command).spawn(is_ready).await.unwrap(),
            client: client(),
            token,
        }
    }

    /// The address that a browser opens.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.service.place().port())
    }

    /// Kills the server, and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.service.restart(is_ready).await.unwrap();
    }

    pub(crate) fn signal(&mut self, name: &str) {
        self.service.signal(name).unwrap();
    }

    /// The metrics, as Prometheus reads them.
    pub(crate) async fn metrics(&self) -> String {
        let mut request = self.client.get(format!("{}metrics", self.url()));
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        request.send().await.unwrap().text().await.unwrap()
    }

    /// A request that bypasses the page; its status, and the JSON of the answer.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url()))
            .json(&body);
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap_or_default())
    }

    /// The same, but it has to succeed.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        let caller = std::panic::Location::caller();
        async move {
            let (status, answer) = self.send(Method::POST, path, body).await;
            assert!(
                (200..300).contains(&status),
                "{path} of {caller}: {status} {answer}"
            );
            answer
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.send(Method::GET, path, Value::Null).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Takes a lease for ten minutes; returns the uuid of its term.
    pub(crate) async fn acquire(&self, name: &str, owner: &str) -> String {
        let uuid = Uuid::new_v4().to_string();
        let body = json!({"name": name, "uuid": uuid, "owner": owner, "duration_ms": 600_000});
        self.post("v1/default/leases/acquire", body).await;
        uuid
    }

    /// Takes the lease of an election, as a leader does.
    pub(crate) async fn lead(&self, name: &str, owner: &str) -> String {
        let uuid = Uuid::new_v4().to_string();
        // "dlock-election"
        let data = "ZGxvY2stZWxlY3Rpb24=";
        let body = json!({"name": name, "uuid": uuid, "owner": owner, "duration_ms": 600_000, "data": data});
        self.post("v1/default/leases/acquire", body).await;
        uuid
    }

    /// Releases a lease.
    pub(crate) async fn release(&self, name: &str, uuid: &str) {
        let body = json!({"name": name, "uuid": uuid});
        self.post("v1/default/leases/release", body).await;
    }

    pub(crate) async fn lease(&self, name: &str) -> Value {
        let pages = self.get("v1/default/leases?limit=1000").await;
        let mut leases = pages["leases"].as_array().unwrap().iter();
        leases.find(|lease| lease["name"] == name).unwrap().clone()
    }

    /// Adds a task; returns its number.
    pub(crate) async fn enqueue(&self, task: Value) -> u64 {
        let added = self
            .post("v1/default/tasks", json!({"tasks": [task]}))
            .await;
        added["tasks"][0]["id"].as_u64().unwrap()
    }

    /// Adds a task to resize an image to the queue of images; returns its number.
    pub(crate) async fn image(&self) -> u64 {
        self.enqueue(json!({"kind": "resize", "queue": "images"}))
            .await
    }

    /// Renews a lease.
    pub(crate) async fn renew(&self, name: &str, uuid: &str, n: u64) {
        let body = json!({"name": name, "uuid": uuid, "n": n});
        self.post("v1/default/leases/renew", body).await;
    }

    /// Claims a task of a queue for ten minutes; returns the answer.
    pub(crate) async fn claim(&self, queue: &str, owner: &str) -> (String, Value) {
        let uuid = Uuid::new_v4().to_string();
        let claim =
            json!({"uuid": uuid, "owner": owner, "queues": [queue], "max": 1, "lease_ms": 600_000});
        let claimed = self.post("v1/default/tasks/claim", claim).await;
        (uuid, claimed["tasks"][0].clone())
    }

    pub(crate) async fn task(&self, id: u64) -> Value {
        self.get(&format!("v1/default/tasks/{id}")).await
    }
}

async fn is_ready(place: Place) -> bool {
    place.accepts_connections().await
}

fn client() -> Client {
    // Another package of the workspace enables rustls without a cryptography provider.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    Client::new()
}
