//! What waiting for another process costs: how long a release takes to be heard, and what a waiter
//! takes of a processor until then.
//!
//! `cargo bench -p dlock-sqlite --bench waiting` prints both.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    time::Duration,
};

use dlock_core::DLock;
use dlock_sqlite::SqliteProvider;
use tokio::time::{Instant, sleep};

const FILE: &str = "DLOCK_BENCH_FILE";
const ROUNDS: usize = 400;
const IDLE: Duration = Duration::from_secs(5);

fn lock(file: &str) -> DLock {
    let provider = SqliteProvider::open(file).unwrap();
    DLock::builder()
        .name("a")
        .duration(Duration::from_secs(600))
        .poll_every(Duration::from_secs(600))
        .provider(provider)
        .build()
        .unwrap()
}

/// The other process: takes the lock and gives it back, whenever it is told to go on.
async fn hold(file: &str) {
    let lock = lock(file);
    let mut orders = BufReader::new(std::io::stdin()).lines();
    while orders.next().is_some() {
        let lease = lock.acquire().await.unwrap();
        println!("held");
        if orders.next().is_none() {
            return;
        }
        lease.release().await.unwrap();
    }
}

/// What this process has had of a processor.
fn used() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // After the name, which may contain anything: fields 14 and 15 of proc(5), in hundredths.
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .map(|f| f.parse::<u64>().unwrap())
        .sum();
    Duration::from_millis(10 * ticks)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    if let Ok(file) = env::var(FILE) {
        return hold(&file).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locks.db").to_str().unwrap().to_owned();
    // It ends when its input does.
    let mut child = Command::new(env::current_exe().unwrap())
        .env(FILE, &file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut orders = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let lock = lock(&file);
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        writeln!(orders, "take it").unwrap();
        answers.next().unwrap().unwrap();
        let waiting = tokio::spawn({
            let lock = lock.clone();
            async move { lock.acquire().await.unwrap() }
        });
        // Not in step with the looks.
        sleep(Duration::from_micros(20_000 + 37 * round as u64)).await;
        if round == 0 {
            let before = used();
            sleep(IDLE).await;
            let part = (used() - before).as_secs_f64() / IDLE.as_secs_f64();
            println!("an idle waiter takes {:.2} % of a processor", 100.0 * part);
        }
        let began = Instant::now();
        writeln!(orders, "give it back").unwrap();
        let lease = waiting.await.unwrap();
        times.push(began.elapsed());
        lease.release().await.unwrap();
    }
    drop(orders);
    assert!(child.wait().unwrap().success());
    times.sort_unstable();
    println!(
        "from the order to release, through a pipe, to the grant: median {:?}, p90 {:?}, p99 {:?}, worst {:?}",
        times[ROUNDS / 2],
        times[ROUNDS * 9 / 10],
        times[ROUNDS * 99 / 100],
        times[ROUNDS - 1]
    );
}
