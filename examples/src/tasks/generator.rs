//! Adds tasks, in one process at a time.

use dlock::{
    DLock, Guard,
    sqlite::{
        SqliteProvider,
        rusqlite::{Connection, TransactionBehavior},
        tasks::SqliteTasks,
    },
    tasks::NewTask,
};
use tokio::time::interval;

use super::{Options, Sleep, fence, stopped};
use crate::Failure;

/// Whoever holds the lock `generator` adds a task every two seconds; other generators wait. If the lease is lost, it
/// begins again as one of those who wait.
///
/// # Errors
/// A database that cannot be used.
pub async fn generate(options: Options) -> Result<(), Failure> {
    let (tasks, mut data) = (options.tasks()?, options.data()?);
    let mut random = fastrand::Rng::with_seed(options.seed);
    // The locks have a file of their own, beside the database.
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
    // Given back, so that the next generator need not wait for the end of the lease.
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
        // The token is checked where the task is added: a generator that stood still for too long adds nothing
        // beside its successor.
        let transaction = data.transaction_with_behavior(TransactionBehavior::Immediate)?;
        fence().check(&transaction, "generator", guard.token())?;
        let added = tasks.enqueue_in(&transaction, &[NewTask::of(&sleep)?.build()])?;
        transaction.commit()?;
        for task in added {
            let seconds = sleep.sleep_duration_seconds;
            println!("{}: adds task {}, {seconds} s", options.name, task.id());
        }
    }
}
