//! Processes tasks, in any number of processes.

use std::{
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use dlock::{
    sqlite::{
        rusqlite::{Connection, TransactionBehavior},
        tasks::{SqliteTasks, TransactionError},
    },
    tasks::{Context, Stop, Worker},
};
use tokio::time::sleep;

use super::{Options, Sleep, stopped};
use crate::Failure;

/// The state that a handler needs.
struct Desk {
    options: Options,
    tasks: SqliteTasks,
    data: Mutex<Connection>,
    random: Mutex<fastrand::Rng>,
    /// The worker was signalled to stop.
    stops: AtomicBool,
}

/// Runs one task after the other until it is signalled to stop.
///
/// # Errors
/// A database that cannot be used.
pub async fn work(options: Options) -> Result<(), Failure> {
    let tasks = options.tasks()?;
    let worker = Worker::builder()
        .store(tasks.clone())
        .concurrency(1)
        .lease(options.lease)
        .poll(options.poll)
        .owner(options.name.as_str())
        .grace(Duration::from_secs(1))
        .build()?;
    let desk = Arc::new(Desk {
        data: Mutex::new(options.data()?),
        random: Mutex::new(fastrand::Rng::with_seed(options.seed)),
        stops: AtomicBool::new(false),
        tasks,
        options,
    });
    println!(
        "{}: works (lease {:?}, --seed {}, {})",
        desk.options.name,
        desk.options.lease,
        desk.options.seed,
        desk.options.file.display()
    );
    let handled = Arc::clone(&desk);
    worker
        .handle(move |context, task| Arc::clone(&handled).sleep(context, task))
        .run(async {
            stopped().await;
            println!("{}: stops", desk.options.name);
            desk.stops.store(true, Ordering::SeqCst);
        })
        .await?;
    Ok(())
}

impl Desk {
    async fn sleep(self: Arc<Self>, context: Context, task: Sleep) -> Result<(), Stop> {
        let (name, id) = (&self.options.name, context.id());
        let seconds = task.sleep_duration_seconds;
        let (attempt, token) = (context.attempt(), context.token());
        println!("{name}: task {id}, {seconds} s, attempt {attempt}, token {token}");
        let leaves = Leaves {
            desk: &self,
            context: &context,
            done: false,
        };
        let middle = seconds / 2;
        for second in 0..seconds {
            if second == middle {
                self.misfortune(&format!("{name}: task {id}"));
            }
            sleep(Duration::from_secs(1)).await;
            println!("{name}: task {id}: {} of {seconds} s", second + 1);
        }
        // One transaction commits the result of the work and the end of the task, or neither.
        self.complete(&context, seconds)?;
        leaves.done();
        println!("{name}: task {id} is done");
        Ok(())
    }

    fn complete(&self, context: &Context, seconds: u64) -> Result<(), Stop> {
        let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = data.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let row = (
            context.id().get(),
            &self.options.name,
            seconds.cast_signed(),
        );
        transaction.execute(
            "INSERT INTO slept (task, worker, seconds) VALUES (?1, ?2, ?3)",
            row,
        )?;
        self.tasks
            .complete_in(&transaction, context.key(), ().into())?;
        Ok(transaction.commit()?)
    }

    /// The store's answer to a completion that comes too late. Whatever the answer, nothing is committed.
    fn too_late(&self, context: &Context) -> Option<TransactionError> {
        let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = data.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.ok()?;
        self.tasks
            .complete_in(&transaction, context.key(), ().into())
            .err()
    }

    /// Crashes or stalls, as `--crash` and `--stall` demand.
    fn misfortune(&self, who: &str) {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if random.f64() < self.options.crash {
            println!("{who}: crashes");
            process::abort();
        }
        if random.f64() < self.options.stall {
            println!("{who}: stalls for longer than its lease");
            // The program has one thread, so meanwhile it sends no heartbeat and notices nothing.
            thread::sleep(self.options.lease * 3 / 2);
            println!("{who}: continues");
        }
    }
}

/// Prints a line when a handler is dropped in the middle, with the reason.
struct Leaves<'a> {
    desk: &'a Desk,
    context: &'a Context,
    done: bool,
}

impl Leaves<'_> {
    fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let (name, id) = (&self.desk.options.name, self.context.id());
        if self.desk.stops.load(Ordering::SeqCst) {
            println!("{name}: abandons task {id}, and releases it");
            return;
        }
        println!("{name}: abandons task {id}, whose lease is lost");
        // For demonstration: the answer that a worker would get that has not noticed the loss.
        if let Some(refused) = self.desk.too_late(self.context) {
            println!("{name}: could not complete it any more: {refused}");
        }
    }
}
