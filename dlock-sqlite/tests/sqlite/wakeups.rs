//! Waiters learn of releases by others, and cost next to nothing until then.

use std::{fs, time::Duration};

use dlock_core::{
    Client, DLock, Lease, Provider,
    provider::{Acquire, Wakeup},
};
use dlock_sqlite::SqliteProvider;
use dlock_testkit::faults::{Faulty, Op};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

use uuid::Uuid;

use crate::support::{Kid, PATIENCE, Role, Scratch, block_on, name, take};

/// Neither the end of a lease nor a poll wakes a waiter here.
const LONG: Duration = Duration::from_secs(600);
const HOUR: Duration = Duration::from_secs(3600);
const TICK: Duration = Duration::from_millis(1);

fn lock(provider: impl dlock_core::IntoClient, name: &str) -> DLock {
    DLock::builder()
        .name(name)
        .duration(LONG)
        .poll_every(HOUR)
        .provider(provider)
        .build()
        .unwrap()
}

fn waiting(lock: &DLock) -> JoinHandle<Lease> {
    let lock = lock.clone();
    tokio::spawn(async move { lock.acquire().await.unwrap() })
}

async fn granted(waiter: JoinHandle<Lease>) -> Lease {
    let lease = timeout(PATIENCE, waiter).await;
    lease.expect("it never hears of it").unwrap()
}

/// A waiter whose requests are counted, once it has been refused and listens.
async fn counted(
    provider: SqliteProvider,
    name: &str,
) -> (Faulty<SqliteProvider>, JoinHandle<Lease>) {
    let faulty = Faulty::new(provider);
    let waiter = waiting(&lock(Client::new(faulty.clone()), name));
    let began = Instant::now();
    // It tries again when the channel opens.
    while faulty.count(Op::Watch) == 0 || faulty.count(Op::Acquire) < 2 {
        assert!(began.elapsed() < PATIENCE, "it never waits");
        sleep(TICK).await;
    }
    (faulty, waiter)
}

/// A server that waits for its clients reads, and tries once: a term that another waiter has marked is hinted.
#[tokio::test]
async fn who_has_only_looked_hears_of_a_release() {
    let scratch = Scratch::new();
    let lease = lock(scratch.provider(), "a").acquire().await.unwrap();
    let waiter = Acquire::new(name("a"), Uuid::new_v4(), PATIENCE).marks(7);
    scratch.provider().acquire(&waiter).await.unwrap();
    let looking = scratch.provider();
    let mut wakeups = looking.watch().await.unwrap().unwrap();
    assert!(looking.read(&name("a")).await.unwrap().is_some());
    lease.release().await.unwrap();
    let hint = timeout(PATIENCE, wakeups.next()).await;
    assert_eq!(hint.unwrap(), Some(Wakeup::Name(name("a"))));
}

#[test]
fn a_release_by_another_process_is_heard() {
    const TEST: &str = "wakeups::a_release_by_another_process_is_heard";
    const ROUNDS: u32 = 10;
    if let Some(role) = Role::get() {
        let lock = lock(SqliteProvider::open(&role.file).unwrap(), "a");
        block_on(async {
            role.say("ready");
            while role.listen() == "acquire" {
                let lease = lock.acquire().await.unwrap();
                role.say("held");
                role.listen();
                lease.release().await.unwrap();
                role.say("released");
            }
        });
        return;
    }
    let scratch = Scratch::new();
    let mut holder = Kid::start(TEST, "holder", &scratch.path());
    assert_eq!(holder.hear(), "ready");
    block_on(async {
        let lock = lock(scratch.provider(), "a");
        for round in 0..ROUNDS {
            holder.tell("acquire");
            assert_eq!(holder.hear(), "held");
            let waiter = waiting(&lock);
            // Not in step with the reads.
            sleep(Duration::from_millis(20) + round * TICK / 4).await;
            assert!(!waiter.is_finished());
            holder.tell("release");
            granted(waiter).await.release().await.unwrap();
            assert_eq!(holder.hear(), "released");
        }
    });
    holder.tell("end");
    holder.join();
}

/// A hint follows from the contents of the file: the dlock of another language need not know of hints.
#[tokio::test]
async fn a_release_by_any_program_is_heard() {
    let scratch = Scratch::new();
    take(&scratch.provider(), "a", LONG).await;
    let (_, waiter) = counted(scratch.provider(), "a").await;
    let raw = scratch.raw();
    raw.execute("UPDATE lock SET released = 1", []).unwrap();
    drop(granted(waiter).await);
}

#[tokio::test]
async fn renewals_and_other_locks_wake_nobody() {
    let scratch = Scratch::new();
    let holder = scratch.provider();
    let (uuid, _) = take(&holder, "a", LONG).await;
    let (faulty, waiter) = counted(scratch.provider(), "a").await;
    let other = lock(scratch.provider(), "b");
    let elsewhere = lock(scratch.provider().with_prefix("p").unwrap(), "a");
    let asked = faulty.count(Op::Acquire);
    let began = Instant::now();
    let mut n = 0;
    // As long as many reads, each of which finds the file changed.
    while began.elapsed() < Duration::from_millis(300) || n <= 10 {
        n += 1;
        let renewal = dlock_core::provider::Renew::new(name("a"), uuid, n);
        holder.renew(&renewal).await.unwrap();
        for lock in [&other, &elsewhere] {
            lock.acquire().await.unwrap().release().await.unwrap();
        }
    }
    assert_eq!(faulty.count(Op::Acquire), asked, "asked without need");
    let release = dlock_core::provider::Release::new(name("a"), uuid, None);
    holder.release(&release).await.unwrap();
    drop(granted(waiter).await);
    assert_eq!(faulty.count(Op::Acquire), asked + 1);
}

/// How many threads of this process watch for released locks.
fn looking() -> usize {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(Result::ok)
        // The thread may end while we read.
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.trim() == "dlock-watch")
        .count()
}

#[test]
fn nobody_looks_where_nobody_waits() {
    const TEST: &str = "wakeups::nobody_looks_where_nobody_waits";
    // In a process of its own, whose threads are its own.
    if let Some(role) = Role::get() {
        block_on(async {
            let holder = lock(SqliteProvider::open(&role.file).unwrap(), "a");
            let other = lock(SqliteProvider::open(&role.file).unwrap(), "a");
            let lease = holder.acquire().await.unwrap();
            assert_eq!(looking(), 0, "nobody was refused");
            let waiter = waiting(&other);
            let began = Instant::now();
            while looking() == 0 {
                assert!(began.elapsed() < PATIENCE, "nobody looks");
                sleep(TICK).await;
            }
            assert_eq!(looking(), 1, "one for each file");
            lease.release().await.unwrap();
            waiter.await.unwrap().release().await.unwrap();
            let began = Instant::now();
            drop((holder, other));
            // The background tasks of both clients may have their provider for a moment longer.
            while looking() > 0 {
                assert!(began.elapsed() < PATIENCE, "it lingers");
                sleep(TICK).await;
            }
        });
        role.say("done");
        return;
    }
    let scratch = Scratch::new();
    let kid = Kid::start(TEST, "both", &scratch.path());
    assert_eq!(kid.hear(), "done");
    kid.join();
}
