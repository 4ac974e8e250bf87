//! Our servers, each in a separate process.

use std::{ffi::OsStr, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};
use dlock_test_servers::{Place, Service};

use crate::systems::{Places, Store, ours};

/// The program's name. A process of this name runs the server and nothing else.
const PROGRAM: &str = "dlock-server";

/// Gives this program, $1, the server's name and starts it with the remaining arguments.
const START: &str = r#"ln -s "$1" dlock-server && shift && exec ./dlock-server "$@""#;

/// The settings that the store has when the clients call it directly.
const AS_DIRECT: &str = "sslmode=disable&connections=32";

/// Whether this process is the server, which the name that it was started with decides.
pub(crate) fn is_the_program() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    Path::new(&name).file_name() == Some(PROGRAM.as_ref())
}

/// Starts the program in front of a store, as a user does, with these additional options.
pub(crate) async fn start(store: Store, places: &Places, options: &[&OsStr]) -> Result<Service> {
    let program = std::env::current_exe()?;
    let location = location(store, places)?;
    let service = Service::builder(|place: &Place| {
        let mut shell = Command::new("sh");
        shell.args(["-euc", START, "sh"]).arg(&program);
        shell.args(["--listen", &format!("127.0.0.1:{}", place.port())]);
        shell.args(["--setup", "--store", &location]).args(options);
        shell
    })
    .spawn(|place| async move { place.accepts_connections().await })
    .await;
    service.with_context(|| format!("cannot start {PROGRAM} on {store}"))
}

/// The location of the store, as an argument of the program.
fn location(store: Store, places: &Places) -> Result<String> {
    Ok(match store {
        Store::SQLite => format!("sqlite:{}", ours::file(places)?.display()),
        Store::Postgres => {
            let port = places.postgres.context("there is no Postgres")?;
            format!("postgres://postgres@127.0.0.1:{port}/postgres?{AS_DIRECT}")
        }
        Store::Redis | Store::DynamoDb => {
            bail!("servers on {store} are not measured")
        }
    })
}
