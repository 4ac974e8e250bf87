//! Leader election: three processes of one service. One of them leads and does the work; this program kills it, and the
//! next one takes over when the lease has ended. Then it stops that one in good order, and the last one takes over at
//! its next attempt (at once on stores whose wake-ups the provider listens for).
//!
//! ```sh
//! cargo run -p dlock-examples --bin leader
//! cargo run -p dlock-examples --bin leader --features postgres -- --store postgres://localhost/mydb
//! ```
//!
//! To kill instances yourself, start each in its own terminal, with its name:
//!
//! ```sh
//! cargo run -p dlock-examples --bin leader -- --store sqlite:/tmp/locks.db --as a
//! ```

mod instance;

use std::{env, process::Stdio, time::Duration};

use dlock_examples::{
    Failure,
    store::{self, Store},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, timeout},
};

const USAGE: &str = "usage: [--store URL] [--as NAME]";

/// The limit for an event that should happen soon.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (url, rest) = dlock_examples::arguments()?;
    match &rest[..] {
        [] => watch(url).await,
        [option, name] if option == "--as" => {
            let store = Store::choose(url)?;
            instance::run(&store, &name.to_string_lossy()).await
        }
        _ => Err(Failure::new(USAGE)),
    }
}

/// Starts three instances, and ends two of them, whichever leads.
async fn watch(url: Option<String>) -> Result<(), Failure> {
    let (url, _folder) = store::shared(url)?;
    let (lines, mut said) = mpsc::unbounded_channel();
    let mut instances = Vec::new();
    for name in ["a", "b", "c"] {
        instances.push(Instance::start(&url, name, &lines)?);
    }

    let (leader, _) = next_leader(&mut said, None).await?;
    println!("== {leader} leads: killing it");
    take(&mut instances, &leader)?.kill().await?;
    let (leader, took) = next_leader(&mut said, Some(&leader)).await?;
    println!(
        "== {leader} leads, {:.1} s after the kill",
        took.as_secs_f64()
    );

    println!("== telling {leader} to stop");
    take(&mut instances, &leader)?.stop().await?;
    let (leader, took) = next_leader(&mut said, Some(&leader)).await?;
    println!(
        "== {leader} leads, {:.1} s after the stop",
        took.as_secs_f64()
    );
    take(&mut instances, &leader)?.stop().await
}

/// A process of the service, and its output.
struct Instance {
    name: &'static str,
    process: Child,
    reading: JoinHandle<()>,
}

impl Instance {
    /// Starts a process; its lines are printed and passed on.
    fn start(
        url: &str,
        name: &'static str,
        lines: &mpsc::UnboundedSender<(String, String)>,
    ) -> Result<Self, Failure> {
        let mut process = Command::new(env::current_exe()?)
            .args(["--store", url, "--as", name])
            // The instance ends when this pipe is closed, and so when this process ends, in whatever way.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let Some(out) = process.stdout.take() else {
            return Err(Failure::new("the output of an instance cannot be read"));
        };
        let lines = lines.clone();
        let reading = tokio::spawn(async move {
            let mut out = BufReader::new(out).lines();
            while let Ok(Some(line)) = out.next_line().await {
                println!("{line}");
                // At the end, the receiver is gone.
                lines.send((name.to_owned(), line)).ok();
            }
        });
        Ok(Self {
            name,
            process,
            reading,
        })
    }

    /// Kills it, as a crash does: it releases nothing.
    async fn kill(mut self) -> Result<(), Failure> {
        self.process.kill().await?;
        Ok(self.reading.await?)
    }

    /// Lets it stop in good order.
    async fn stop(mut self) -> Result<(), Failure> {
        drop(self.process.stdin.take());
        let status = self.process.wait().await?;
        self.reading.await?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::new(format!("{} ended with {status}", self.name)))
    }
}

/// Waits until another instance leads and has begun its work; returns its name, and how long it took to lead.
async fn next_leader(
    said: &mut mpsc::UnboundedReceiver<(String, String)>,
    before: Option<&str>,
) -> Result<(String, Duration), Failure> {
    let began = Instant::now();
    let mut leads = None;
    while let Ok(Some((name, line))) = timeout(PATIENCE, said.recv()).await {
        if Some(&*name) == before {
            continue;
        }
        match &leads {
            None if line.contains(" leads with token ") => leads = Some((name, began.elapsed())),
            Some((leader, took)) if *leader == name && line.contains("runs the task") => {
                return Ok((name, *took));
            }
            _ => {}
        }
    }
    Err(Failure::new("no instance leads"))
}

fn take(instances: &mut Vec<Instance>, name: &str) -> Result<Instance, Failure> {
    match instances.iter().position(|instance| instance.name == name) {
        Some(at) => Ok(instances.swap_remove(at)),
        None => Err(Failure::new(format!("there is no instance {name}"))),
    }
}
