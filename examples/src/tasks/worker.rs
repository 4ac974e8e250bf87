//! Works off tasks, in any number of processes.

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

/// What a handler needs.
struct Desk {
    options: Options,
    tasks: SqliteTasks,
    data: Mutex<Connection>,
    random: Mutex<fastrand::Rng>,
    /// It was told to stop.
    stops: AtomicBool,
}

/// Runs one task after the other until it is told to stop.
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
        // What the work has brought about and the end of the task are kept together, or neither.
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

    /// What the store says to a completion that comes too late. Nothing is kept, whatever it says.
    fn too_late(&self, context: &Context) -> Option<TransactionError> {
        let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = data.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = transaction.ok()?;
        self.tasks
            .complete_in(&transaction, context.key(), ().into())
            .err()
    }

    /// What `--crash` and `--stall` ask for.
    fn misfortune(&self, who: &str) {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if random.f64() < self.options.crash {
            println!("{who}: crashes");
            process::abort();
        }
        if random.f64() < self.options.stall {
            println!("{who}: stands still for longer than its lease");
            // The program has one thread: no heartbeat leaves meanwhile, and nothing notices.
            thread::sleep(self.options.lease * 3 / 2);
            println!("{who}: goes on");
        }
    }
}

/// Says so when a handler is dropped in the middle, and why.
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
            println!("{name}: abandons task {id}, and gives it back");
            return;
        }
        println!("{name}: abandons task {id}, whose lease is lost");
        // For the show: what a worker meets that has noticed nothing.
        if let Some(refused) = self.desk.too_late(self.context) {
            println!("{name}: could not complete it any more: {refused}");
        }
    }
}
