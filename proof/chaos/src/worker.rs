//! One worker: two tasks that lock in every possible way, and read, change and write two numbers
//! under the lock.

mod task;

use std::{path::Path, time::Duration};

use dlock_core::{Client, DLock};
use dlock_proof::history::Log;
use tokio::{task::JoinSet, time::timeout};

use self::task::Task;
use crate::{
    cli::Failure, limits::GOODBYE, orders::Orders, stalls::LateThreads, storage::StorageClient,
    store::backend, tether::until_let_go,
};

/// How many tasks share a worker's client: two leases of one process compete like those of two processes (I12).
pub(crate) const TASKS: u64 = 2;

/// Works until the standard input closes, then releases everything.
pub(crate) async fn work(orders: Orders) -> Result<(), Failure> {
    let mut let_go = until_let_go();
    let log = Log::append(&orders.history)?;
    let process = log.process(&orders.name);
    let folder = orders.history.parent().unwrap_or(Path::new("."));
    let _late = LateThreads::watch(&log, &orders.name, folder)?;
    let provider = tokio::select! {
        provider = backend(orders.store)?.connect(&orders.place) => provider?,
        _ = let_go.wait_for(|gone| *gone) => return Ok(()),
    };
    let client = process.client(provider);
    let locks = locks(&orders, &client)?;
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let random = fastrand::Rng::with_seed(orders.seed.wrapping_mul(TASKS).wrapping_add(number));
        let door = StorageClient::new(orders.storage, &task_name(&orders.name, number));
        let task = Task::new(process.clone(), locks.clone(), door, random);
        tasks.spawn(task.run(let_go.clone()));
    }
    while let Some(ended) = tasks.join_next().await {
        // A panic of the frontend is a finding: the worker ends, and reports it.
        ended?;
    }
    timeout(GOODBYE / 2, client.close())
        .await
        .map_err(|_| "the client did not close")?;
    Ok(())
}

/// The name of a task in the storage.
pub(crate) fn task_name(process: &str, number: u64) -> String {
    format!("{process}/{number}")
}

/// Every name with every lease.
fn locks(orders: &Orders, client: &Client) -> Result<Vec<DLock>, Failure> {
    let mut locks = Vec::new();
    for name in &orders.locks {
        for lease in &orders.leases {
            let lock = DLock::builder()
                .name(name)
                .owner(orders.name.as_str())
                .duration(Duration::from_millis(*lease))
                .provider(client.clone())
                .build()?;
            locks.push(lock);
        }
    }
    Ok(locks)
}
