//! `dlock tasks`: looks at a queue, cancels and retries tasks.

mod rows;

use std::{env, ffi::OsStr, process::ExitCode, sync::Arc, time::Duration};

use dlock_core::{ErrorKind, ProviderError};
use dlock_tasks::{Enqueued, Filter, TaskId, TaskStore};

use crate::{
    arguments::{TasksArguments, TasksCommand},
    ask,
    exit::{Exit, Failure},
    output,
};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs `dlock tasks`.
pub(crate) fn main(arguments: &TasksArguments) -> Result<ExitCode, Failure> {
    ask::main(run(arguments))
}

async fn run(arguments: &TasksArguments) -> Result<ExitCode, Failure> {
    let variable = || env::var_os("DLOCK_DATABASE").filter(|database| !database.is_empty());
    let database = arguments.database.clone().or_else(variable);
    let database = database.ok_or_else(|| {
        Failure::new(Exit::Usage, "no database is named")
            .advise("say --database sqlite:PATH, or set DLOCK_DATABASE")
    })?;
    let store = open(&database)?;
    let json = arguments.json;
    match &arguments.what {
        TasksCommand::Counts => {
            let counts = answer("can't count the tasks", store.counts()).await?;
            output::write(&rows::counts(&counts, json)?)?;
        }
        TasksCommand::List {
            queue,
            state,
            after,
            limit,
        } => {
            let filter = Filter::default()
                .queue(queue.clone())
                .state(*state)
                .after(*after)
                .limit(*limit);
            let tasks = answer("can't list the tasks", store.list(&filter)).await?;
            output::write(&rows::list(&tasks, json)?)?;
        }
        TasksCommand::Show { id } => {
            let task = answer("can't read the task", store.task(*id)).await?;
            let task = task.ok_or_else(|| none(*id))?;
            output::write(&rows::whole(&task, json)?)?;
        }
        TasksCommand::Cancel { ids, force } => return cancel(&*store, ids, *force).await,
        TasksCommand::Retry { ids } => return retry(&*store, ids).await,
    }
    Ok(ExitCode::SUCCESS)
}

async fn cancel(store: &dyn TaskStore, ids: &[TaskId], force: bool) -> Result<ExitCode, Failure> {
    let mut missing = false;
    for &id in ids {
        match answer("can't cancel", store.cancel(id, force)).await? {
            None => {
                none(id).report();
                missing = true;
            }
            Some(state) if state.has_ended() => {
                output::line(format_args!("task {id} has ended: it is {state}"))?;
            }
            Some(dlock_tasks::State::Running) if !force => {
                output::line(format_args!("task {id} runs: its worker is asked to stop"))?;
            }
            Some(state) => output::line(format_args!("task {id} is cancelled; it was {state}"))?,
        }
    }
    Ok(code(missing))
}

async fn retry(store: &dyn TaskStore, ids: &[TaskId]) -> Result<ExitCode, Failure> {
    let mut missing = false;
    for &id in ids {
        match answer("can't retry", store.retry(id)).await? {
            Some(Enqueued::New(new)) if new == id => {
                output::line(format_args!("task {id} is enqueued once more"))?;
            }
            Some(Enqueued::New(new)) => {
                output::line(format_args!(
                    "task {id} has succeeded; its copy is task {new}"
                ))?;
            }
            Some(other) => {
                let other = other.id();
                output::line(format_args!(
                    "task {id} is not enqueued: task {other} has its key"
                ))?;
                missing = true;
            }
            None => {
                let why = format!("there is no task {id} that has ended");
                Failure::new(Exit::Nothing, why).report();
                missing = true;
            }
        }
    }
    Ok(code(missing))
}

fn code(missing: bool) -> ExitCode {
    if missing {
        Exit::Nothing.into()
    } else {
        ExitCode::SUCCESS
    }
}

fn none(id: TaskId) -> Failure {
    Failure::new(Exit::Nothing, format!("there is no task {id}"))
}

/// The answer to one call, within bounds.
async fn answer<T>(
    doing: &str,
    call: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, Failure> {
    let late = |_| {
        Err(ProviderError::unknown(format!(
            "no answer within {PATIENCE:?}"
        )))
    };
    let answer = tokio::time::timeout(PATIENCE, call)
        .await
        .unwrap_or_else(late);
    answer.map_err(|error| {
        let exit = match error.kind() {
            ErrorKind::Fatal => Exit::StoreUnusable,
            _ => Exit::StoreUnreachable,
        };
        Failure::new(exit, doing).because(error)
    })
}

/// A queue that is there.
fn open(database: &OsStr) -> Result<Arc<dyn TaskStore>, Failure> {
    #[cfg(feature = "sqlite")]
    if let Some(path) = crate::store::sqlite_path(database) {
        let shown = path.display().to_string();
        let found = dlock_sqlite::tasks::SqliteTasks::find(path).map_err(|error| {
            Failure::new(
                Exit::StoreUnusable,
                format!("can't open the database {shown}"),
            )
            .because(error)
        })?;
        let found = found.ok_or_else(|| {
            Failure::new(Exit::StoreUnusable, format!("there is no queue in {shown}"))
                .advise("is the path right? Programs that enqueue tasks make the tables")
        });
        return Ok(Arc::new(found?));
    }
    let database = crate::display::without_credentials(&database.to_string_lossy());
    Err(Failure::new(
        Exit::Usage,
        format!("{database:?} is no database with tasks"),
    )
    .advise("say sqlite:PATH; this program was built for no other"))
}
