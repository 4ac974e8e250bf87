//! Ways to attack a server. Each of them once sufficed to take leases from other clients.

use std::{future::Future, time::Duration};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use uuid::Uuid;

use super::client::{Connection, Site, Who};

/// A way to attack.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// No attack, for comparison.
    None,
    /// Claims that name many queues and kinds.
    Claims,
    /// Streams of hints, each of a different queue.
    Streams,
    /// Large log-in bodies without a token, and HTTP/2 streams whose answers are not read.
    Bodies,
    /// Long lists and large claims.
    Lists,
    /// Silent connections without a token, more than the server accepts.
    Idle,
    /// Calls of one token, mostly renewals, as fast as the server answers.
    Flood,
}

/// The number of leases and tasks to list and to claim, and the size of each.
const LEASES: usize = 500;
const DATA: usize = 4_000;
const TASKS: usize = 100;
const PAYLOAD: usize = 200 * 1024;

impl Way {
    pub(super) const ALL: [Self; 7] = [
        Self::None,
        Self::Claims,
        Self::Streams,
        Self::Bodies,
        Self::Lists,
        Self::Idle,
        Self::Flood,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "no attack",
            Self::Claims => "claims of many queues and kinds",
            Self::Streams => "streams of many queues",
            Self::Bodies => "large log-ins, streams not read",
            Self::Lists => "long lists, large claims",
            Self::Idle => "idle connections",
            Self::Flood => "a flood of calls",
        }
    }

    /// Connects, and attacks until the tasks are aborted, as soon as the site [begins](Site::begin).
    pub(super) fn attack(self, site: &Site, attackers: &mut JoinSet<()>) {
        let mut by = |count: usize, one: fn(Site, usize) -> Attack| {
            for number in 0..count {
                let site = site.clone();
                attackers.spawn(async move {
                    loop {
                        // An error means that the server refused the attacker or cut it off, as it should.
                        one(site.clone(), number).await.ok();
                        sleep(Duration::from_millis(10)).await;
                    }
                });
            }
        };
        match self {
            Self::None => {}
            Self::Claims => by(8, |site, number| Box::pin(claims(site, number))),
            Self::Streams => by(200, |site, number| Box::pin(stream(site, number))),
            Self::Bodies => {
                by(40, |site, _| Box::pin(log_ins(site)));
                by(10, |site, _| Box::pin(unread(site)));
            }
            Self::Lists => by(60, |site, number| Box::pin(lists(site, number))),
            Self::Idle => by(600, |site, number| Box::pin(idle(site, number))),
            Self::Flood => by(64, |site, number| Box::pin(flood(site, number))),
        }
    }
}

type Attack = std::pin::Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Leases and tasks to list and to claim.
pub(super) async fn prepare(site: &Site) -> Result<()> {
    let mut connection = site.connect().await?;
    let data = "A".repeat(DATA / 4 * 4);
    for number in 0..LEASES {
        let body = json!({
            "name": format!("lease-{number}"),
            "uuid": Uuid::new_v4(),
            "duration_ms": 3_600_000,
            "data": data,
        });
        granted(&mut connection, "POST /v1/wild/leases/acquire", &body).await?;
    }
    for _ in 0..TASKS {
        let body = json!({"tasks": [{"kind": "a", "payload": "x".repeat(PAYLOAD)}]});
        granted(&mut connection, "POST /v1/wild/tasks", &body).await?;
    }
    site.calls();
    Ok(())
}

async fn granted(connection: &mut Connection, what: &str, body: &Value) -> Result<()> {
    let status = connection.call(Who::Wild, what, &body.to_string()).await?;
    ensure!(status == 200, "{what}: {status}");
    Ok(())
}

fn claim(queues: &[String], kinds: &[String], most: usize, lease: u32) -> String {
    let claim = json!({
        "queues": queues,
        "kinds": kinds,
        "uuid": Uuid::new_v4(),
        "max": most,
        "lease_ms": lease,
    });
    claim.to_string()
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

/// As many as a body has room for, and as many as the server allows.
async fn claims(site: Site, number: usize) -> Result<()> {
    let mut connection = site.connect().await?;
    site.connected().await;
    let few = names(1);
    let body = match number % 4 {
        0 => claim(&names(100_000), &few, 1, 1_000),
        1 => claim(&few, &names(100_000), 1, 1_000),
        _ => claim(&names(64), &names(256), 1, 1_000),
    };
    loop {
        connection
            .call(Who::Wild, "POST /v1/wild/tasks/claim", &body)
            .await?;
    }
}

async fn stream(site: Site, number: usize) -> Result<()> {
    let mut connection = site.connect().await?;
    site.connected().await;
    let what = format!("GET /v1/wild/tasks/events?queue=queue-{number}");
    connection.send(Who::Wild, &what, "").await?;
    connection.drained().await;
    Ok(())
}

async fn log_ins(site: Site) -> Result<()> {
    let body = json!({"token": "x".repeat(1_000_000)}).to_string();
    site.connected().await;
    loop {
        // The server may end the connection with its refusal.
        let mut connection = site.connect().await?;
        let log_in = connection.call(Who::Stranger, "POST /v1/session", &body);
        timeout(Duration::from_secs(5), log_in).await?.ok();
    }
}

/// A hundred answers that the server cannot send, since the client does not read them.
async fn unread(site: Site) -> Result<()> {
    let stream = site.secure(Some(b"h2")).await?;
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(0);
    let (mut client, connection) = builder.handshake::<_, &[u8]>(stream).await?;
    let mut driving = JoinSet::new();
    driving.spawn(async move { connection.await.ok() });
    site.connected().await;
    let mut answers = Vec::new();
    for number in 0..100 {
        let path = match number % 2 {
            0 => "/openapi.json",
            _ => "/v1/wild/leases?limit=1000",
        };
        let mut request = http::Request::get(format!("https://localhost{path}"));
        if number % 2 == 1 {
            request = request.header("authorization", "Bearer wild");
        }
        client = client.ready().await?;
        let (answer, _) = client.send_request(request.body(())?, true)?;
        answers.push(answer);
        site.count();
    }
    driving.join_next().await;
    drop(answers);
    Ok(())
}

async fn lists(site: Site, number: usize) -> Result<()> {
    let mut connection = site.connect().await?;
    site.connected().await;
    loop {
        let (what, body) = match number % 10 {
            0..5 => ("GET /v1/wild/leases?limit=1000", String::new()),
            5..9 => ("GET /v1/wild/tasks?limit=100", String::new()),
            _ => {
                let queues = [String::from("default")];
                let body = claim(&queues, &[String::from("a")], 10_000, 100);
                ("POST /v1/wild/tasks/claim", body)
            }
        };
        connection.call(Who::Wild, what, &body).await?;
    }
}

/// Half of them complete the TLS handshake, and the other half do not even do that.
async fn idle(site: Site, number: usize) -> Result<()> {
    site.connected().await;
    site.count();
    if number.is_multiple_of(2) {
        site.connect().await?.drained().await;
    } else {
        site.dial().await?.readable().await?;
    }
    Ok(())
}

async fn flood(site: Site, number: usize) -> Result<()> {
    let mut connection = site.connect().await?;
    site.connected().await;
    let uuid = Uuid::new_v4();
    let renewal = json!({"name": format!("lease-{number}"), "uuid": uuid, "n": 1});
    let (what, body) = match number % 4 {
        0 => {
            let many = json!({"renewals": vec![renewal; 500]});
            ("POST /v1/wild/leases/renew-many", many)
        }
        1 => {
            let window = json!({"name": "window", "uuid": uuid, "duration_ms": 1_000});
            ("POST /v1/wild/leases/acquire", window)
        }
        _ => ("POST /v1/wild/leases/renew", renewal),
    };
    let body = body.to_string();
    loop {
        connection.call(Who::Wild, what, &body).await?;
    }
}
