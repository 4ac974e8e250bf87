//! A nightly job on three hosts whose clocks differ. Each host's cron starts it by its own clock; the job is short, so
//! the lock is free again when the next host starts. A mutex alone lets all three work. `at_least` keeps the name
//! closed after the first.
//!
//! ```sh
//! cargo run -p dlock-examples --bin cron
//! cargo run -p dlock-examples --bin cron --features postgres -- --store postgres://localhost/mydb
//! ```
//!
//! With a store that persists, the second night begins a minute after the first.

use std::{env, time::Duration};

use dlock::{DLock, FencingToken, TryAcquire};
use dlock_examples::{
    Failure,
    store::{self, Store},
};
use tokio::{process::Command, time::sleep};

const USAGE: &str = "usage: [--store URL] [--as NAME mutex|once]";

/// The difference between the clocks of two hosts; the job takes less time than that.
const APART: Duration = Duration::from_millis(1500);

/// More than the difference between the clocks, and less than the period.
const AT_LEAST: Duration = Duration::from_mins(1);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (url, rest) = dlock_examples::arguments()?;
    let rest: Vec<&str> = rest
        .iter()
        .filter_map(|argument| argument.to_str())
        .collect();
    match rest[..] {
        [] => night(url).await,
        ["--as", name, night] => {
            let store = Store::choose(url)?;
            host(&store, name, night == "once").await
        }
        _ => Err(Failure::new(USAGE)),
    }
}

/// Two nights: one with a mutex, one with `at_least`.
async fn night(url: Option<String>) -> Result<(), Failure> {
    let (url, _folder) = store::shared(url)?;
    for (night, kind) in [("mutex", "a mutex"), ("once", "at_least")] {
        println!("== {kind}, and clocks {APART:?} apart");
        let mut runs = 0;
        for name in ["a", "b", "c"] {
            // This host's clock is behind the previous host's, whose job is done by now.
            let out = Command::new(env::current_exe()?)
                .args(["--store", &url, "--as", name, night])
                .kill_on_drop(true)
                .output()
                .await?;
            let said = String::from_utf8_lossy(&out.stdout);
            print!("{said}{}", String::from_utf8_lossy(&out.stderr));
            if !out.status.success() {
                return Err(Failure::new("a host has failed"));
            }
            runs += said.matches("writes the report").count();
            sleep(APART).await;
        }
        println!("== runs: {runs}");
    }
    Ok(())
}

/// The job that cron starts on one host.
async fn host(store: &Store, name: &str, once: bool) -> Result<(), Failure> {
    let provider = store.provider().await?;
    let lock = DLock::builder()
        .name(if once {
            "nightly-report"
        } else {
            "nightly-report (mutex)"
        })
        .owner(name)
        .at_least_opt(once.then_some(AT_LEAST))
        .provider(provider)
        .build()?;
    match lock.try_acquire().await? {
        // Then it frees the name, or closes it until the minute has passed.
        TryAcquire::Acquired(lease) => lease.with(|token| write_report(name, token)).await??,
        TryAcquire::Held(holder) if holder.record.is_closed() => {
            println!("{name}: nothing to do, {} has done it", holder.record.owner);
        }
        TryAcquire::Held(holder) => println!("{name}: {} is working on it", holder.record.owner),
    }
    lock.client().close().await;
    Ok(())
}

async fn write_report(name: &str, token: FencingToken) -> Result<(), Failure> {
    println!("{name}: writes the report, token {token}");
    sleep(APART / 3).await;
    Ok(())
}
