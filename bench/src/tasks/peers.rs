//! Where the peers' programs are, and how they are built: only when somebody asks for them.

use anyhow::Result;
use tokio::process::Command;

use crate::peers::{self, folder};

/// What runs a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// This program, by the name of the queue.
    Own(&'static str),
    /// `peers/rust`, by the name of the peer.
    Rust(&'static str),
    /// `peers/river`.
    Go,
    /// `peers/graphile-worker`; whether its acknowledgements are batched.
    Node { batched: bool },
}

impl Program {
    /// What starts it, without the words that say what to do.
    pub(crate) fn command(self) -> Result<Command> {
        Ok(match self {
            Self::Own(queue) => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["queue", queue]);
                command
            }
            Self::Rust(peer) => {
                let mut command =
                    Command::new(folder("rust").join("target/release/dlock-task-peers"));
                command.arg(peer);
                command
            }
            Self::Go => Command::new(folder("river").join("dlock-bench-river")),
            Self::Node { batched } => {
                let mut command = Command::new("node");
                command.arg(folder("graphile-worker").join("main.mjs"));
                if batched {
                    command.env("BATCHED", "1");
                }
                command
            }
        })
    }

    /// Where its source is.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Own(_) => "",
            Self::Rust(_) => "rust",
            Self::Go => "river",
            Self::Node { .. } => "graphile-worker",
        }
    }

    /// Builds it.
    ///
    /// # Errors
    /// What is missing, and what to install.
    pub(crate) async fn build(self) -> Result<()> {
        let place = self.folder();
        let (program, words, install) = match self {
            Self::Own(_) => return Ok(()),
            Self::Rust(_) => (
                "cargo",
                &["build", "--release", "--locked", "--target-dir", "target"][..],
                "Rust 1.95 or newer",
            ),
            Self::Go => (
                "go",
                &["build", "-o", "dlock-bench-river", "."][..],
                "Go 1.26 or newer",
            ),
            Self::Node { .. } => (
                "npm",
                &["ci", "--no-audit", "--no-fund"][..],
                "Node.js 20 or newer, with npm",
            ),
        };
        peers::build(place, program, words, install).await
    }
}
