//! Real servers for tests: one, a primary with a replica, a cluster. They end with the test process.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a test, and the message is what people read"
)]
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod fake;
pub(crate) mod record;
pub(crate) mod sentinels;

use std::{env, fmt::Debug, future::Future, net::SocketAddr, time::Duration};

use dlock_core::{
    FencingToken, Name, Provider,
    provider::{Acquire, AcquireOutcome},
};
use dlock_redis::RedisProvider;
use dlock_test_servers::{
    Service,
    redis::{is_ready, redis as redis_server},
};
use redis::{
    AsyncConnectionConfig, Client, Cmd, FromRedisValue, aio::MultiplexedConnection,
    cluster::ClusterClientBuilder, cluster_async::ClusterConnection,
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// How long a test waits for something that should happen soon.
pub(crate) const SOON: Duration = Duration::from_secs(10);
/// The lease of tests that do not wait for its end.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A test's own `redis-server`.
#[derive(Debug)]
pub(crate) struct Server {
    service: Service,
}

impl Server {
    /// An empty server that keeps nothing on disk, with these arguments on top.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        match redis_server(arguments).await {
            Ok(service) => Self { service },
            Err(error) => panic!("no redis-server; scripts/test installs it: {error}"),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port()).into()
    }

    pub(crate) fn port(&self) -> u16 {
        self.service.place().port()
    }

    pub(crate) fn client(&self) -> Client {
        client(self.address())
    }

    /// A provider with connections of its own.
    pub(crate) fn provider(&self) -> RedisProvider {
        provider(self.client())
    }

    /// A connection without the provider.
    pub(crate) async fn raw(&self) -> MultiplexedConnection {
        connect(&self.client()).await
    }

    /// Queries the server without the provider.
    pub(crate) async fn ask<T: FromRedisValue>(&self, command: &str) -> T {
        ask(&mut self.raw().await, &words(command)).await
    }

    /// Kills the server hard, and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.service.restart(is_ready).await.unwrap();
    }

    /// Kills the server hard.
    pub(crate) async fn kill(&mut self) {
        self.service.signal("KILL").unwrap();
        let place = self.service.place();
        eventually("the end of the server", || async {
            place.exited().is_some()
        })
        .await;
    }

    /// Waits until this replica has everything that its primary has.
    pub(crate) async fn follows(&self, primary: &Self) {
        eventually("the replica follows", || async {
            let (here, there): (String, String) = (
                self.ask("INFO replication").await,
                primary.ask("INFO replication").await,
            );
            let number = |info: &str, name: &str| {
                let line = info.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|number| number.trim().parse::<u64>().ok())
            };
            here.contains("master_link_status:up")
                && number(&here, "slave_repl_offset:") >= number(&there, "master_repl_offset:")
        })
        .await;
    }

    /// Cuts this replica off from its primary, which it cannot log in to again: later writes at the primary never reach
    /// it.
    pub(crate) async fn lags_behind(&self, primary: &Self) {
        self.ask::<()>("CONFIG SET masterauth nonsense").await;
        primary.ask::<u64>("CLIENT KILL TYPE replica").await;
        eventually("the replica is cut off", || async {
            let info: String = self.ask("INFO replication").await;
            info.contains("master_link_status:down")
        })
        .await;
    }

    /// Freezes the server: it keeps its connections and answers nothing.
    pub(crate) async fn freeze(&mut self) {
        self.service.freeze().await.unwrap();
    }

    pub(crate) fn thaw(&mut self) {
        self.service.signal("CONT").unwrap();
    }
}

/// A primary, and a replica that has caught up.
pub(crate) async fn replicated() -> (Server, Server) {
    let primary = Server::start(&[]).await;
    let port = primary.port().to_string();
    let replica = Server::start(&["--replicaof", "127.0.0.1", &port]).await;
    caught_up(&primary).await;
    (primary, replica)
}

/// Waits until a replica has everything that was written so far. `WAIT` covers its connection's own writes, so there
/// must be one; and for up to a second after the first copy the primary holds back later writes.
pub(crate) async fn caught_up(primary: &Server) {
    let connection = primary.raw().await;
    eventually("the replica follows", || {
        let mut connection = connection.clone();
        async move {
            ask::<()>(&mut connection, &words("SET started 1")).await;
            let reached: usize = ask(&mut connection, &words("WAIT 1 100")).await;
            reached == 1
        }
    })
    .await;
}

/// The settings of a cluster's node: only the test promotes a replica, and one dead node must not stop the slots of the
/// others.
const NODE: [&str; 6] = [
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "60000",
    "--cluster-require-full-coverage",
    "no",
];

/// Three primaries that share the slots.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Server>,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            nodes.push(Server::start(&NODE).await);
        }
        let shares = [0..5461, 5461..10923, 10923..16384];
        for (number, (node, share)) in nodes.iter().zip(shares).enumerate() {
            let mut raw = node.raw().await;
            let mut command = redis::cmd("CLUSTER");
            command.arg("ADDSLOTS").arg(share.collect::<Vec<u16>>());
            ask::<()>(&mut raw, &command).await;
            let epoch = format!("CLUSTER SET-CONFIG-EPOCH {}", number + 1);
            ask::<()>(&mut raw, &words(&epoch)).await;
            for other in &nodes[..number] {
                let meet = format!("CLUSTER MEET 127.0.0.1 {}", other.port());
                ask::<()>(&mut raw, &words(&meet)).await;
            }
        }
        for node in &nodes {
            eventually("the cluster is formed", || async move {
                let info: String = node.ask("CLUSTER INFO").await;
                [
                    "cluster_state:ok",
                    "cluster_known_nodes:3",
                    "cluster_slots_ok:16384",
                ]
                .iter()
                .all(|line| info.contains(line))
            })
            .await;
        }
        Self { nodes }
    }

    /// One more node, which follows this primary and has caught up.
    pub(crate) async fn replica_of(&self, primary: &Server) -> Server {
        let replica = Server::start(&NODE).await;
        let meet = format!("CLUSTER MEET 127.0.0.1 {}", primary.port());
        replica.ask::<()>(&meet).await;
        let id: String = primary.ask("CLUSTER MYID").await;
        let replicate = words(&format!("CLUSTER REPLICATE {id}"));
        eventually("the nodes know each other", || async {
            let (mut raw, replicate) = (replica.raw().await, &replicate);
            replicate.exec_async(&mut raw).await.is_ok()
        })
        .await;
        replica.follows(primary).await;
        for node in &self.nodes {
            eventually("everybody knows the replica", || async {
                let nodes: String = node.ask("CLUSTER NODES").await;
                nodes.contains(&format!("slave {id}"))
            })
            .await;
        }
        replica
    }

    pub(crate) async fn connection(&self) -> ClusterConnection {
        self.connection_within(SOON).await
    }

    /// A connection whose driver gives each attempt to connect to a node that much time.
    pub(crate) async fn connection_within(&self, limit: Duration) -> ClusterConnection {
        let nodes = self
            .nodes
            .iter()
            .map(|node| format!("redis://{}", node.address()));
        let patient = ClusterClientBuilder::new(nodes)
            .connection_timeout(limit)
            .response_timeout(SOON);
        let client = patient.build().unwrap();
        let deadline = Instant::now() + SOON;
        loop {
            match client.get_async_connection().await {
                Ok(connection) => return connection,
                Err(error) if Instant::now() > deadline => panic!("no connection: {error}"),
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        }
    }

    pub(crate) async fn provider(&self) -> RedisProvider {
        let patient = RedisProvider::builder()
            .connection(self.connection().await)
            .call_timeout(SOON);
        built(patient.build())
    }
}

/// The server that the user of the tests names, if any.
pub(crate) fn given() -> Option<Client> {
    let url = env::var("DLOCK_TEST_REDIS_URL").ok()?;
    Some(Client::open(url).unwrap())
}

pub(crate) fn client(address: SocketAddr) -> Client {
    Client::open(format!("redis://{address}")).unwrap()
}

pub(crate) fn provider(client: Client) -> RedisProvider {
    let patient = RedisProvider::builder().client(client).call_timeout(SOON);
    built(patient.build())
}

pub(crate) fn built(provider: Result<RedisProvider, dlock_redis::BuildError>) -> RedisProvider {
    provider.unwrap()
}

pub(crate) async fn connect(client: &Client) -> MultiplexedConnection {
    let patient = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(SOON))
        .set_response_timeout(Some(SOON));
    let connection = client.get_multiplexed_async_connection_with_config(&patient);
    connection.await.unwrap()
}

/// A command without blanks in its arguments.
pub(crate) fn words(command: &str) -> Cmd {
    let mut cmd = Cmd::new();
    cmd.arg(command.split(' ').collect::<Vec<_>>());
    cmd
}

pub(crate) async fn ask<T: FromRedisValue>(
    connection: &mut MultiplexedConnection,
    command: &Cmd,
) -> T {
    command.query_async(connection).await.unwrap()
}

/// The whole content of a key.
pub(crate) async fn contents(connection: &mut MultiplexedConnection, key: &str) -> String {
    let kind: String = ask(connection, &words(&format!("TYPE {key}"))).await;
    let command = if kind == "string" { "GET" } else { "DUMP" };
    let all: Vec<u8> = ask(connection, &words(&format!("{command} {key}"))).await;
    all.escape_ascii().to_string()
}

/// The number before the first dot of a server's version; Valkey reports that of the Redis with which it is compatible.
pub(crate) async fn major(server: &Server) -> u32 {
    major_of(&mut server.raw().await).await
}

/// The same of the server at the other end.
pub(crate) async fn major_of(connection: &mut MultiplexedConnection) -> u32 {
    let info: String = ask(connection, &words("INFO server")).await;
    let version = info.split("redis_version:").nth(1).unwrap_or_default();
    match version.split('.').next().map(str::parse) {
        Some(Ok(major)) => major,
        _ => panic!("no version in {info}"),
    }
}

/// Waits for a condition.
pub(crate) async fn eventually<F: Future<Output = bool>>(
    what: &str,
    mut condition: impl FnMut() -> F,
) {
    // A driver that has lost a node may need some attempts to find the others, each with its time limits.
    const AT_LAST: Duration = Duration::from_secs(30);
    let deadline = Instant::now() + AT_LAST;
    while !condition().await {
        assert!(Instant::now() < deadline, "{what}: not within {AT_LAST:?}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Repeats an operation that may fail a few times until it succeeds, or reports its last error.
///
/// It gives up only after 30 s and 10 attempts: on a busy machine a single attempt may take all the time, and
/// one that is refused at once needs some time to recover.
pub(crate) async fn at_last<T, E: Debug, F: Future<Output = Result<T, E>>>(
    what: &str,
    mut attempt: impl FnMut() -> F,
) -> T {
    const AT_LAST: Duration = Duration::from_secs(30);
    const ATTEMPTS: usize = 10;
    let began = Instant::now();
    let mut attempts = 0;
    loop {
        attempts += 1;
        match attempt().await {
            Ok(value) => return value,
            Err(error) => assert!(
                attempts < ATTEMPTS || began.elapsed() < AT_LAST,
                "{what}: not in {attempts} attempts and {:?}, at last {error:?}",
                began.elapsed()
            ),
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// A name that no other test uses.
pub(crate) fn fresh_name(start: &str) -> Name {
    name(&format!("{start}/{}", Uuid::new_v4()))
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// The key of a lock under the default prefix.
pub(crate) fn key(name: &Name) -> String {
    format!("dlock:{{{name}}}")
}

/// An attempt to acquire this lock with a fresh identity.
pub(crate) fn try_for(name: &Name, lease: Duration) -> Acquire {
    Acquire::new(name.clone(), Uuid::new_v4(), lease).owner("test")
}

/// An acquire that must be granted.
pub(crate) async fn granted(provider: &dyn Provider, request: &Acquire) -> FencingToken {
    match provider.acquire(request).await {
        Ok(AcquireOutcome::Acquired(tokens)) => tokens.last(),
        other => panic!("should have been granted: {other:?}"),
    }
}

/// Fails a test whose future hangs: each outcome but the expected one takes longer than any test.
pub(crate) async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    const HANGS: Duration = Duration::from_secs(60);
    match tokio::time::timeout(HANGS, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {HANGS:?}"),
    }
}
