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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, from_value, json, to_value};

    use super::*;
    use crate::{
        contend::Plan,
        systems::Places,
        worker::{Answer, Order},
    };

    /// What the programs in `peers/locks-go` and `peers/locks-java` read.
    #[test]
    fn orders_look_as_other_languages_read_them() -> Result<()> {
        let plan: Plan = from_value(json!({
            "begin": 5, "end": 7, "section": {"secs": 0, "nanos": 5_000_000},
        }))?;
        assert_eq!(plan.section, Duration::from_millis(5));
        let open = Order::Open {
            store: Store::Redis,
            system: "redsync (Go)".to_owned(),
            places: Places {
                redis: Some(6379),
                ..Places::default()
            },
            name: "a".to_owned(),
        };
        let read = |order: Order| to_value(order).map_err(anyhow::Error::from);
        let told = read(open)?["Open"].take();
        assert_eq!(told["system"], "redsync (Go)");
        assert_eq!(told["name"], "a");
        assert_eq!(told["places"]["redis"], 6379);
        assert_eq!(told["places"]["postgres"], Value::Null);
        let when = to_value(plan)?;
        assert_eq!(read(Order::Contend(plan))?, json!({"Contend": when}));
        assert_eq!(
            read(Order::Crowd { plan, tasks: 8 })?,
            json!({"Crowd": {"plan": when, "tasks": 8}})
        );
        assert_eq!(read(Order::Acquire)?, "Acquire");
        assert_eq!(read(Order::Release)?, "Release");
        Ok(())
    }

    /// What they write.
    #[test]
    fn answers_of_other_languages_are_read() -> Result<()> {
        let turn = json!({"asked": 1, "granted": 3, "releasing": 6, "released": 10});
        let waiter = json!({"turns": [turn], "unserved": [11, 12]});
        let waited = json!({"Waited": {"waiter": waiter, "requests": 0}});
        let Answer::Waited { waiter: one, .. } = from_value(waited)? else {
            anyhow::bail!("not a waiter");
        };
        let [turn] = one.turns.as_slice() else {
            anyhow::bail!("not one turn");
        };
        assert_eq!(turn.released.since(turn.asked), Duration::from_nanos(9));
        assert!(one.unserved.is_some());
        let idle = json!({"turns": [], "unserved": null});
        let Answer::Crowd(crowd) = from_value(json!({"Crowd": [waiter, idle]}))? else {
            anyhow::bail!("not a crowd");
        };
        assert_eq!(crowd.len(), 2);
        for other in [
            json!("Ready"),
            json!({"Granted": 3}),
            json!({"Released": {"called": 6}}),
            json!({"Failed": "no server"}),
        ] {
            from_value::<Answer>(other)?;
        }
        Ok(())
    }

    #[test]
    fn each_store_has_ours_and_the_raw_calls_beside_others() {
        for entry in FOREIGN {
            let names: Vec<&str> = entries(entry.store).map(|one| one.name).collect();
            let own = [entry.store.ours(), entry.store.raw()];
            for own in own.into_iter().flatten() {
                assert!(names.contains(&own.name), "{} on {}", own.name, own.store);
            }
            assert!(names.contains(&entry.name));
        }
    }
}
