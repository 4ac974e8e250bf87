//! Several processes on one file: one is killed while it holds, all of them compete.

use std::{collections::BTreeSet, fs, io::Write, path::Path, time::Duration};

use dlock_core::{
    Provider,
    provider::{Acquire, AcquireOutcome, Release, Renew, RenewOutcome},
};
use dlock_sqlite::SqliteProvider;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::support::{Kid, PATIENCE, Role, Scratch, block_on, name, request};

const D: Duration = Duration::from_secs(5);

#[test]
fn a_killed_holder_is_replaced_when_its_lease_ends_and_not_before() {
    const TEST: &str = "processes::a_killed_holder_is_replaced_when_its_lease_ends_and_not_before";
    if let Some(role) = Role::get() {
        let provider = SqliteProvider::open(&role.file).unwrap();
        let request = request("a", D);
        role.say("ready");
        role.listen();
        match block_on(provider.acquire(&request)).unwrap() {
            AcquireOutcome::Acquired(tokens) => role.say(tokens.last()),
            other => panic!("{other:?}"),
        }
        role.listen();
        let renewed = block_on(provider.renew(&Renew::new(name("a"), request.new, 1))).unwrap();
        role.say(renewed == RenewOutcome::Renewed { asked: false });
        // Until the end.
        role.listen();
        unreachable!("it is killed");
    }
    let scratch = Scratch::new();
    let mut holder = Kid::start(TEST, "holder", &scratch.path());
    assert_eq!(holder.hear(), "ready");
    holder.tell("acquire");
    let first: u64 = holder.hear().parse().unwrap();

    block_on(async {
        let provider = scratch.provider();
        let asked = Instant::now();
        holder.tell("renew");
        assert_eq!(holder.hear(), "true");
        assert_eq!(holder.kill(), None);

        let second = loop {
            match provider.acquire(&request("a", D)).await.unwrap() {
                AcquireOutcome::Acquired(tokens) => break tokens.last(),
                AcquireOutcome::Held(record) => {
                    let remaining = record.remaining.unwrap();
                    assert!(
                        remaining <= D && asked.elapsed() < D + PATIENCE,
                        "{remaining:?}"
                    );
                    // As the store advises, but never the whole remainder at once.
                    sleep((remaining / 2).max(Duration::from_millis(1))).await;
                }
                AcquireOutcome::Spent => panic!("a fresh uuid was spent"),
            }
        };
        let most = asked.elapsed();
        assert!(
            most >= D,
            "taken over {most:?} after the last renewal was asked for"
        );
        assert!(second.get() > first);
    });
}

/// Takes the lock, changes a file in two steps that a second holder would disturb, and releases it.
async fn turn(provider: &SqliteProvider, directory: &Path) -> bool {
    // Much longer than a turn, however busy the machine is; a call waits for the file for an eighth of it.
    let request = Acquire::new(name("shared"), Uuid::new_v4(), Duration::from_secs(30));
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&request).await.unwrap() else {
        return false;
    };
    let token = tokens.last();
    let inside = directory.join("inside");
    // Fails if another holder is in there.
    fs::create_dir(&inside).unwrap();
    sleep(Duration::from_millis(1)).await;
    let mut log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(directory.join("log"))
        .unwrap();
    writeln!(log, "{token}").unwrap();
    fs::remove_dir(&inside).unwrap();
    provider
        .release(&Release::new(name("shared"), request.new, Some(token)))
        .await
        .unwrap();
    true
}

#[test]
fn competing_processes_exclude_each_other_and_tokens_only_grow() {
    const TEST: &str = "processes::competing_processes_exclude_each_other_and_tokens_only_grow";
    const TURNS: usize = 50;
    if let Some(role) = Role::get() {
        let provider = SqliteProvider::open(&role.file).unwrap();
        let directory = role.file.parent().unwrap();
        role.say("ready");
        role.listen();
        block_on(async {
            if role.role == "victim" {
                let request = request("shared", Duration::from_millis(500));
                while !matches!(
                    provider.acquire(&request).await,
                    Ok(AcquireOutcome::Acquired(_))
                ) {
                    sleep(Duration::from_millis(1)).await;
                }
                role.say("holding");
                role.listen();
            }
            let mut turns = 0;
            while turns < TURNS {
                if turn(&provider, directory).await {
                    turns += 1;
                } else {
                    sleep(Duration::from_millis(1)).await;
                }
            }
        });
        role.say("done");
        role.listen();
        return;
    }
    let scratch = Scratch::new();
    let mut victim = Kid::start(TEST, "victim", &scratch.path());
    let mut workers: Vec<_> = (0..4)
        .map(|_| Kid::start(TEST, "worker", &scratch.path()))
        .collect();
    for kid in workers.iter().chain([&victim]) {
        assert_eq!(kid.hear(), "ready");
    }
    for kid in workers.iter_mut().chain([&mut victim]) {
        kid.tell("go");
    }
    assert_eq!(victim.hear(), "holding");
    assert_eq!(victim.kill(), None);
    for kid in &workers {
        assert_eq!(kid.hear(), "done");
    }
    for mut kid in workers {
        kid.tell("end");
        kid.join();
    }
    let log = fs::read_to_string(scratch.directory().join("log")).unwrap();
    let tokens: Vec<u64> = log.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(tokens.len(), 4 * TURNS);
    assert!(
        tokens.is_sorted() && tokens.iter().collect::<BTreeSet<_>>().len() == tokens.len(),
        "{tokens:?}"
    );
}
