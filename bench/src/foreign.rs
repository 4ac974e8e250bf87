//! Locks of other languages beside ours: what they are, and how their programs are built and started. Each works in
//! processes of its own, ours too, and all of them are told the same: by the orders of a [`Worker`].

pub(crate) mod report;

use anyhow::Result;
use tokio::process::Command;

use crate::{
    peers,
    systems::{Kind, SYSTEMS, Store},
    worker::Worker,
};

/// The table of the AWS lock client, and its key.
pub(crate) const LOCK_CLIENT_TABLE: (&str, &str) = ("aws-lock-client", "key");

/// A line of the comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) store: Store,
    /// It can wait for a lock that is held.
    pub(crate) waits: bool,
    pub(crate) program: Program,
}

/// What a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// This program.
    Own,
    /// `peers/locks-go`.
    Go,
    /// `peers/locks-java`.
    Java,
}

/// The locks of other languages.
const FOREIGN: &[Entry] = &[
    Entry {
        name: "redislock (Go)",
        store: Store::Redis,
        waits: true,
        program: Program::Go,
    },
    Entry {
        name: "redsync (Go)",
        store: Store::Redis,
        waits: true,
        program: Program::Go,
    },
    Entry {
        name: "Redisson (Java)",
        store: Store::Redis,
        waits: true,
        program: Program::Java,
    },
    Entry {
        name: "ShedLock (Java)",
        store: Store::Postgres,
        waits: false,
        program: Program::Java,
    },
    Entry {
        name: "AWS lock client (Java)",
        store: Store::DynamoDb,
        waits: true,
        program: Program::Java,
    },
];

/// Those on a store, and before them ours, the raw calls, and the locks one writes by hand. The order is that of the
/// tables.
pub(crate) fn entries(store: Store) -> impl Iterator<Item = Entry> {
    let own = SYSTEMS.iter().filter(|entry| entry.kind != Kind::Peer);
    let own = own.map(|entry| Entry {
        name: entry.name,
        store: entry.store,
        waits: entry.waits,
        program: Program::Own,
    });
    let all = own.chain(FOREIGN.iter().copied());
    all.filter(move |entry| entry.store == store)
}

impl Program {
    /// Those that have to be built.
    pub(crate) const FOREIGN: [Self; 2] = [Self::Go, Self::Java];

    /// Builds it.
    ///
    /// # Errors
    /// What is missing, and what to install.
    pub(crate) async fn build(self) -> Result<()> {
        match self {
            Self::Own => Ok(()),
            Self::Go => {
                let words = ["build", "-o", "dlock-bench-locks", "."];
                peers::build("locks-go", "go", &words, "Go 1.26 or newer").await
            }
            Self::Java => {
                let words = ["--quiet", "--batch-mode", "process-classes"];
                let install = "Java 17 or newer, with Maven";
                peers::build("locks-java", "mvn", &words, install).await
            }
        }
    }

    /// Starts a process of it.
    pub(crate) fn start(self) -> Result<Worker> {
        match self {
            Self::Own => Worker::start(),
            Self::Go => Worker::run(Command::new(
                peers::folder("locks-go").join("dlock-bench-locks"),
            )),
            Self::Java => {
                let mut command = Command::new("java");
                command
                    .args(["-cp", "classes:dependency/*", "bench.Main"])
                    .current_dir(peers::folder("locks-java").join("target"));
                Worker::run(command)
            }
        }
    }
}
