//! A queue at work: a generator and two workers, each in its own process, on one SQLite database. This program kills
//! the first worker in the middle of a task, and stops the second for longer than its lease. Others take their tasks
//! when the leases have ended, and not before; every task is done, and has one result.
//!
//! ```sh
//! cargo run -p dlock-examples --bin tasks
//! ```

use std::{env, process::Stdio, time::Duration};

use dlock::{
    sqlite::tasks::SqliteTasks,
    tasks::{Filter, State, TaskId, TaskStore},
};
use dlock_examples::{
    Failure,
    tasks::{self, CHILD, Options},
};
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

const USAGE: &str = "[--lease SECONDS] [--every SECONDS] [--longest SECONDS]";

/// How many tasks the generator adds, at least.
const TASKS: i64 = 6;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match env::var(CHILD).as_deref() {
        Ok("generator") => runtime.block_on(tasks::generate(Options::from_command_line(USAGE)?)),
        Ok(_) => runtime.block_on(tasks::work(Options::from_command_line(USAGE)?)),
        Err(_) => runtime.block_on(show()),
    }
}

async fn show() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let mut options = Options::from_command_line(USAGE)?;
    options.file = folder.path().join("tasks.db");
    if env::args().len() == 1 {
        // Short enough for watching.
        options.lease = Duration::from_secs(4);
        options.longest = 5;
    }
    options.poll = Duration::from_millis(500);
    let show = Show {
        store: options.tasks()?,
        options,
    };
    println!(
        "== a generator and two workers, whose leases last {:?}",
        show.options.lease
    );
    let generator = show.start("generator", "generator")?;
    let second = show.start("worker", "b")?;
    let (task, left, looked) = loop {
        let mut first = show.start("worker", "a")?;
        show.is_amid_a_task("a").await?;
        first.kill().await?;
        // The worker may have ended its task just before.
        if let Some(held) = show.task_of("a").await? {
            break held;
        }
    };
    println!("== a is killed, {left:.1?} before the end of its lease on task {task}");
    let third = show.start("worker", "c")?;
    let next = show.taken(task, "a").await?;
    println!(
        "== {next} has task {task}, {:.1?} after that",
        looked.elapsed()
    );

    let task = loop {
        show.is_amid_a_task("b").await?;
        signal(&second, "-STOP").await?;
        if let Some((task, ..)) = show.task_of("b").await? {
            break task;
        }
        signal(&second, "-CONT").await?;
    };
    println!("== b is paused");
    let next = show.taken(task, "b").await?;
    println!("== {next} has task {task}; b continues");
    signal(&second, "-CONT").await?;

    let began = Instant::now();
    while show.count("count(*)")? < TASKS {
        pause(began).await?;
    }
    println!("== that is enough");
    for child in [generator, second, third] {
        stop(child).await?;
    }
    let (results, tasks) = (show.count("count(*)")?, show.count("count(DISTINCT task)")?);
    println!("== {results} results of {tasks} tasks");
    if results == tasks {
        return Ok(());
    }
    Err(Failure::new("a task has two results"))
}

struct Show {
    options: Options,
    store: SqliteTasks,
}

impl Show {
    /// Waits until this worker is in the middle of a task, one that was seen to begin: each lasts a second or more.
    async fn is_amid_a_task(&self, worker: &str) -> Result<(), Failure> {
        let began = Instant::now();
        let mut known = self.task_of(worker).await?.map(|(task, ..)| task);
        let mut since = None;
        loop {
            let task = self.task_of(worker).await?.map(|(task, ..)| task);
            if task != known {
                (known, since) = (task, task.map(|_| Instant::now()));
            }
            if since.is_some_and(|since| since.elapsed() > Duration::from_millis(500)) {
                return Ok(());
            }
            pause(began).await?;
        }
    }

    /// The task of this worker, the remainder of its lease, and the instant before that was read.
    async fn task_of(&self, worker: &str) -> Result<Option<(TaskId, Duration, Instant)>, Failure> {
        let now = Instant::now();
        let tasks = self.store.list(&Filter::default()).await?;
        let held = tasks.into_iter().find_map(|task| {
            let holder = task.holder.filter(|holder| holder.owner == worker)?;
            (task.state == State::Running).then_some((task.id, holder.remaining, now))
        });
        Ok(held)
    }

    /// Waits until a worker other than this one has the task, or has done it; returns that worker.
    async fn taken(&self, task: TaskId, from: &str) -> Result<String, Failure> {
        let began = Instant::now();
        loop {
            let task = self.store.task(task).await?;
            let holder = task.and_then(|task| task.holder);
            if let Some(holder) = holder.filter(|holder| holder.owner != from) {
                return Ok(holder.owner);
            }
            pause(began).await?;
        }
    }

    /// Reads the data that the workers have left in the database.
    fn count(&self, what: &str) -> Result<i64, Failure> {
        let sql = format!("SELECT {what} FROM slept");
        Ok(self.options.data()?.query_row(&sql, [], |row| row.get(0))?)
    }

    /// This program again, in another role.
    fn start(&self, role: &str, name: &str) -> Result<Child, Failure> {
        let options = &self.options;
        let seconds = |duration: Duration| duration.as_secs_f64().to_string();
        let mut command = Command::new(env::current_exe()?);
        command
            .env(CHILD, role)
            .arg("--file")
            .arg(&options.file)
            .args(["--name", name])
            .args(["--lease", &seconds(options.lease)])
            .args(["--poll", &seconds(options.poll)])
            .args(["--every", &seconds(options.every)])
            .args(["--longest", &options.longest.to_string()])
            .stdin(Stdio::piped())
            .kill_on_drop(true);
        Ok(command.spawn()?)
    }
}

/// Waits until it is time to look again.
async fn pause(began: Instant) -> Result<(), Failure> {
    if began.elapsed() > Duration::from_secs(300) {
        return Err(Failure::new("nothing has happened for five minutes"));
    }
    sleep(Duration::from_millis(50)).await;
    Ok(())
}

/// Stops a whole process, or lets it continue.
async fn signal(child: &Child, signal: &str) -> Result<(), Failure> {
    let id = child
        .id()
        .ok_or_else(|| Failure::new("a worker has ended"))?;
    let status = Command::new("kill")
        .arg(signal)
        .arg(id.to_string())
        .status()
        .await?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("kill {signal} has failed")))
}

/// Stops the process in good order, if it exists.
async fn stop(mut child: Child) -> Result<(), Failure> {
    drop(child.stdin.take());
    child.wait().await?;
    Ok(())
}
