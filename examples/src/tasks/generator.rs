//! Adds tasks, in one process at a time.

use std::future::pending;

use dlock::{
    DLock, FencingToken, Guard,
    sqlite::{
        SqliteProvider,
        fence::FenceError,
        rusqlite::{Connection, TransactionBehavior},
        tasks::SqliteTasks,
    },
    tasks::NewTask,
};
use tokio::time::interval;

use super::{Options, Sleep, fence, stopped};
use crate::Failure;

/// The holder of the lock `generator` adds a task every two seconds; other generators wait. A generator that loses its
/// lease waits again like the others.
///
/// # Errors
/// A database that cannot be used.
pub async fn generate(options: Options) -> Result<(), Failure> {
    let (tasks, mut data) = (options.tasks()?, options.data()?);
    let mut random = fastrand::Rng::with_seed(options.seed);
    // The locks have their own file, next to the database.
    let provider = SqliteProvider::open(options.file.with_extension("locks"))?;
    let lock = DLock::builder()
        .name("generator")
        .owner(options.name.as_str())
        .duration(options.lease)
        .provider(provider)
        .build()?;
    println!(
        "{}: waits for its turn (a task each {:?}, --seed {}, {})",
        options.name,
        options.every,
        options.seed,
        options.file.display()
    );
    tokio::select! {
        () = stopped() => {}
        ended = async {
            loop {
                let guard = lock.hold().await?;
                println!("{}: generates, with token {}", options.name, guard.token());
                tokio::select! {
                    end = guard.ended() => println!("{}: stops, since its lease {}", options.name, end.cause),
                    ended = add_all(&options, &guard, &tasks, &mut data, &mut random) => ended?,
                }
            }
        } => return ended,
    }
    // Releases the lock, so that the next generator need not wait for the end of the lease.
    lock.client().close().await;
    Ok(())
}

async fn add_all(
    options: &Options,
    guard: &Guard,
    tasks: &SqliteTasks,
    data: &mut Connection,
    random: &mut fastrand::Rng,
) -> Result<(), Failure> {
    let mut turns = interval(options.every);
    loop {
        turns.tick().await;
        let sleep = Sleep {
            sleep_duration_seconds: random.u64(1..=options.longest.max(1)),
        };
        if !add(options, guard.token(), tasks, data, &sleep)? {
            // Another generator could begin only because this one's lease has ended, and its guard says so.
            return pending().await;
        }
    }
}

/// Returns whether the task was added. The transaction that adds it checks the token: a generator that stalled for too
/// long adds nothing once its successor works.
fn add(
    options: &Options,
    token: FencingToken,
    tasks: &SqliteTasks,
    data: &mut Connection,
    sleep: &Sleep,
) -> Result<bool, Failure> {
    let transaction = data.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match fence().check(&transaction, "generator", token) {
        Ok(()) => {}
        Err(FenceError::Stale(stale)) => {
            println!("{}: could not add a task any more: {stale}", options.name);
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    }
    let added = tasks.enqueue_in(&transaction, &[NewTask::of(sleep)?.build()])?;
    transaction.commit()?;
    for task in added {
        let seconds = sleep.sleep_duration_seconds;
        println!("{}: adds task {}, {seconds} s", options.name, task.id());
    }
    Ok(true)
}
