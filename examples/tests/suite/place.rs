//! The places of stores, and running the programs there.

#![allow(dead_code, reason = "each subset of the stores uses a part of it")]

use std::{any::Any, process::Output, time::Duration};

use dlock_test_servers as service;
use tokio::{process::Command, time::timeout};

const QUICKSTART: &str = env!("CARGO_BIN_EXE_quickstart");
const CRON: &str = env!("CARGO_BIN_EXE_cron");
const DIAGRAMS: &str = env!("CARGO_BIN_EXE_diagrams");
const FENCING: &str = env!("CARGO_BIN_EXE_fencing");
const LEADER: &str = env!("CARGO_BIN_EXE_leader");

/// The limit for one program on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A store, and the value that keeps its server running.
pub(crate) struct Place {
    url: String,
    environment: Vec<(&'static str, String)>,
    _running: Box<dyn Any + Send + Sync>,
}

pub(crate) fn sqlite() -> Place {
    let folder = tempfile::tempdir().unwrap();
    Place {
        url: format!("sqlite:{}", folder.path().join("locks.db").display()),
        environment: Vec::new(),
        _running: Box::new(folder),
    }
}

pub(crate) async fn postgres() -> Place {
    let server = service::postgres::postgres(&[]).await;
    let server = server.unwrap_or_else(|error| panic!("no PostgreSQL server: {error}"));
    Place {
        url: format!(
            "postgres://postgres@127.0.0.1:{}/postgres",
            server.place().port()
        ),
        environment: Vec::new(),
        _running: Box::new(server),
    }
}

pub(crate) async fn redis() -> Place {
    let server = service::redis::redis(&[]).await;
    let server = server.unwrap_or_else(|error| panic!("no Redis server: {error}"));
    Place {
        url: format!("redis://127.0.0.1:{}", server.place().port()),
        environment: Vec::new(),
        _running: Box::new(server),
    }
}

pub(crate) fn dynamodb() -> Place {
    let (endpoint, database) = service::dynamodb::dynamodb().unwrap();
    Place {
        url: "dynamodb:locks".into(),
        environment: vec![
            ("AWS_ENDPOINT_URL", endpoint),
            ("AWS_REGION", "eu-central-1".into()),
            ("AWS_ACCESS_KEY_ID", "key".into()),
            ("AWS_SECRET_ACCESS_KEY", "secret".into()),
        ],
        _running: Box::new(database),
    }
}

pub(crate) async fn etcd() -> Place {
    let server = service::etcd::etcd().await;
    let server = server.unwrap_or_else(|error| panic!("no etcd: {error}"));
    Place {
        url: format!("etcd://127.0.0.1:{}", server.place().port()),
        environment: Vec::new(),
        _running: Box::new(server),
    }
}

impl Place {
    pub(crate) async fn quickstart(&self) -> String {
        self.run(QUICKSTART).await
    }

    pub(crate) async fn cron(&self) -> String {
        self.run(CRON).await
    }

    pub(crate) async fn diagrams(&self) -> String {
        self.run(DIAGRAMS).await
    }

    pub(crate) async fn fencing(&self) -> String {
        self.run(FENCING).await
    }

    pub(crate) async fn leader(&self) -> String {
        self.run(LEADER).await
    }

    #[cfg(feature = "web")]
    pub(crate) async fn web(&self) -> String {
        self.run(env!("CARGO_BIN_EXE_web")).await
    }

    /// The output of a program that must succeed.
    async fn run(&self, program: &str) -> String {
        let environment = self.environment.iter().cloned();
        let output = output(program, &["--store", &self.url], environment).await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {error}", output.status);
        assert_eq!(error, "");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The error of the quickstart when it refuses its arguments or its store.
pub(crate) async fn refusal(arguments: &[&str]) -> String {
    let output = output(QUICKSTART, arguments, []).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Without arguments.
pub(crate) async fn plain_quickstart() -> Output {
    output(QUICKSTART, &[], []).await
}

async fn output(
    program: &str,
    arguments: &[&str],
    environment: impl IntoIterator<Item = (&'static str, String)>,
) -> Output {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_remove("AWS_ENDPOINT_URL")
        .envs(environment)
        .kill_on_drop(true);
    match timeout(PATIENCE, command.output()).await {
        Ok(output) => output.unwrap(),
        Err(_) => panic!("{program} {arguments:?} does not end"),
    }
}
