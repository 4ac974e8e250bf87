//! etcd as its users in languages without a client of it have it: the lock API, as JSON over HTTP.

use std::{env, process::Command, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use dlock_test_servers::{Place, Service};
use reqwest::Client;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::systems::{Held, LEASE, Lock, System};

/// What to install, for those who have no etcd.
pub(crate) const PACKAGE: &str =
    "etcd is not measured: its server is not installed (on Debian: apt-get install etcd-server)";

/// A session's lease: longer than anything measured, since nobody keeps it alive.
const SESSION: Duration = Duration::from_secs(600);

/// Which lease a lock belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// One of the process, as etcd's own clients have it: a pair is two requests.
    Session,
    /// One of its own, which ends with the lock: a pair is four requests.
    Each,
}

impl Way {
    pub(crate) const ALL: [Self; 2] = [Self::Session, Self::Each];

    /// As the tables call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Session => "etcd, locks of one lease",
            Self::Each => "etcd, a lease for each lock",
        }
    }
}

pub(crate) fn is_installed() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join("etcd").is_file())
}

/// A server alone, with its log on the disk as usual.
pub(crate) async fn start() -> Result<Service> {
    let service = Service::builder(|place: &Place| {
        let url = format!("http://127.0.0.1:{}", place.port());
        // It has no peers; any free port will do.
        let nobody = "http://127.0.0.1:0";
        let mut command = Command::new("etcd");
        command.arg("--data-dir").arg(place.dir());
        command.args([
            "--listen-client-urls",
            &url,
            "--advertise-client-urls",
            &url,
        ]);
        command.args(["--listen-peer-urls", nobody]);
        command.args(["--initial-advertise-peer-urls", nobody]);
        command.arg(format!("--initial-cluster=default={nobody}"));
        command.args(["--logger", "zap", "--log-level", "error"]);
        command
    })
    .spawn(|place| async move { is_healthy(&place).await })
    .await;
    service.context("cannot start etcd")
}

async fn is_healthy(place: &Place) -> bool {
    let url = format!("http://127.0.0.1:{}/health", place.port());
    let healthy = async {
        let answer = reqwest::get(url).await?;
        answer.json::<Value>().await
    };
    healthy.await.is_ok_and(|answer| answer["health"] == "true")
}

/// Connects.
pub(crate) async fn open(port: u16, way: Way) -> Result<Arc<dyn System>> {
    let server = Server {
        client: Client::new(),
        url: format!("http://127.0.0.1:{port}/v3"),
    };
    let session = match way {
        Way::Session => Some(server.grant(SESSION).await?),
        Way::Each => None,
    };
    Ok(Arc::new(Etcd { server, session }))
}

#[derive(Clone)]
struct Server {
    client: Client,
    url: String,
}

#[derive(Deserialize)]
struct Granted {
    #[serde(rename = "ID")]
    id: String,
}

#[derive(Deserialize)]
struct Locked {
    key: String,
}

impl Server {
    async fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T> {
        let request = self.client.post(format!("{}/{path}", self.url)).json(body);
        let answer = request.send().await?.error_for_status()?;
        Ok(answer.json().await?)
    }

    async fn grant(&self, lease: Duration) -> Result<String> {
        let granted: Granted = self
            .post("lease/grant", &json!({ "TTL": lease.as_secs() }))
            .await?;
        Ok(granted.id)
    }
}

struct Etcd {
    server: Server,
    session: Option<String>,
}

impl System for Etcd {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(EtcdLock {
            server: self.server.clone(),
            session: self.session.clone(),
            name: STANDARD.encode(name),
        }))
    }
}

struct EtcdLock {
    server: Server,
    session: Option<String>,
    name: String,
}

struct EtcdHeld {
    server: Server,
    key: String,
    /// Its own.
    lease: Option<String>,
}

#[async_trait]
impl Lock for EtcdLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let own = match self.session {
            Some(_) => None,
            None => Some(self.server.grant(LEASE).await?),
        };
        let lease = own.as_ref().or(self.session.as_ref());
        let body = json!({ "name": self.name, "lease": lease });
        let locked: Locked = self.server.post("lock/lock", &body).await?;
        Ok(Box::new(EtcdHeld {
            server: self.server.clone(),
            key: locked.key,
            lease: own,
        }))
    }
}

#[async_trait]
impl Held for EtcdHeld {
    async fn release(self: Box<Self>) -> Result<()> {
        let Self { server, key, lease } = *self;
        let _header: Value = server.post("lock/unlock", &json!({ "key": key })).await?;
        if let Some(lease) = lease {
            let _header: Value = server.post("lease/revoke", &json!({ "ID": lease })).await?;
        }
        Ok(())
    }
}
