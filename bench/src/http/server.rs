//! Servers of ours, each a process of its own.

use std::{path::Path, process::Command, sync::Arc};

use anyhow::{Context as _, Result, bail};
use dlock_server::{
    Limits, Service as Served,
    listen::{Bounds, Server},
    router,
};
use dlock_stores::Program;
use dlock_test_servers::{Place, Service};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;
use tokio_util::sync::CancellationToken;

use crate::systems::{Places, Store, ours};

/// The program's name. Under it this program is the server, and nothing else.
const PROGRAM: &str = "dlock-server";

/// Gives this program, $1, the server's name and starts it with the other words.
const START: &str = r#"ln -s "$1" dlock-server && shift && exec ./dlock-server "$@""#;

/// Connections that the system may keep until they are accepted, as many as for the program.
const BACKLOG: u32 = 1024;

/// Whether this process is the server, by the name that it was started with.
pub(crate) fn is_the_program() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    Path::new(&name).file_name() == Some(PROGRAM.as_ref())
}

/// Starts the program in front of a store, as a user does.
pub(crate) async fn start(store: Store, places: &Places) -> Result<Service> {
    let program = std::env::current_exe()?;
    let location = location(store, places)?;
    let service = Service::builder(|place: &Place| {
        let mut shell = Command::new("sh");
        shell.args(["-euc", START, "sh"]).arg(&program);
        shell.args(["--listen", &format!("127.0.0.1:{}", place.port())]);
        shell.args(["--setup", "--store", &location]);
        shell
    })
    .spawn(|place| async move { place.accepts_connections().await })
    .await;
    service.with_context(|| format!("cannot start {PROGRAM} on {store}"))
}

/// The store, as the program is told where it is.
fn location(store: Store, places: &Places) -> Result<String> {
    Ok(match store {
        Store::SQLite => format!("sqlite:{}", ours::file(places)?.display()),
        Store::Postgres => {
            let port = places.postgres.context("there is no Postgres")?;
            format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
        }
        Store::Redis | Store::DynamoDb | Store::Etcd => {
            bail!("servers on {store} are not measured")
        }
    })
}

/// A server with limits of its own, which the program has no words for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Roomy {
    location: String,
    connections: usize,
    waits: usize,
}

impl Roomy {
    pub(crate) fn new(
        store: Store,
        places: &Places,
        connections: usize,
        waits: usize,
    ) -> Result<Self> {
        Ok(Self {
            location: location(store, places)?,
            connections,
            waits,
        })
    }

    pub(crate) async fn start(&self) -> Result<Service> {
        let program = std::env::current_exe()?;
        let setting = serde_json::to_string(self)?;
        let service = Service::builder(|place: &Place| {
            let mut command = Command::new(&program);
            command.args(["server", &place.port().to_string(), &setting]);
            command
        })
        .spawn(|place| async move { place.accepts_connections().await })
        .await;
        service.with_context(|| format!("cannot start a server of {}", self.location))
    }
}

/// How the program opens its store.
const OPENING: Program = Program {
    name: PROGRAM,
    package: PROGRAM,
    set_up: "",
    set_up_queue: "",
    serves_many: true,
    warn: |warning| eprintln!("{warning}"),
};

/// The server's own side: serves until the process is ended.
pub(crate) async fn serve(port: u16, setting: &str) -> Result<()> {
    let Roomy {
        location,
        connections,
        waits,
    } = serde_json::from_str(setting)?;
    raise_limit_of_files()?;
    let store = dlock_stores::locate(&OPENING, Some(location.as_ref()))?;
    let store = store.open().await?;
    let mut limits = Limits::default();
    limits.waits = waits;
    let mut bounds = Bounds::default();
    bounds.connections = connections;
    let service = Served::new(Arc::clone(store.provider()), limits);
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(([127, 0, 0, 1], port).into())?;
    let listener = socket.listen(BACKLOG)?;
    let server = Server::new(router(&service), bounds);
    server.serve(listener, CancellationToken::new()).await;
    Ok(())
}

/// A connection is an open file, and the usual limit is a thousand.
pub(crate) fn raise_limit_of_files() -> Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
