//! `dlock tasks`: looks at a queue, adds, cancels and retries tasks, and creates the tables.

mod changes;
mod enqueue;
mod limit;
mod pause;
mod rows;

use std::{env, process::ExitCode, time::Duration};

use dlock_core::ProviderError;
use dlock_stores::Queue;
use dlock_tasks::{Count, Filter, TaskId};

use crate::{
    arguments::{Limit, TasksArguments, TasksCommand},
    exit::{self, Exit, Failure, PROGRAM, say},
    output, query,
};

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs `dlock tasks`.
pub(crate) fn main(arguments: &TasksArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &TasksArguments) -> Result<ExitCode, Failure> {
    let variable = || env::var_os("DLOCK_DATABASE").filter(|database| !database.is_empty());
    let database = arguments.database.clone().or_else(variable);
    let database = database.ok_or_else(|| {
        Failure::new(Exit::Usage, "no database is named")
            .advise("say --database sqlite:PATH or --database postgres://USER@HOST/DATABASE, or set DLOCK_DATABASE")
    })?;
    let make = matches!(arguments.what, TasksCommand::Setup);
    let queue = dlock_stores::locate_queue(&PROGRAM, &database)?
        .open_queue(make)
        .await?;
    let (store, json) = (queue.tasks(), arguments.json);
    match &arguments.what {
        TasksCommand::Counts => {
            let mut counts = answer(&queue, "can't count the tasks", store.counts()).await?;
            // Each store has its own order.
            counts.sort();
            let paused = pause::paused(&queue).await?;
            let limits = limit::limits(&queue).await?;
            output::write(&rows::counts(&counts, &paused, &limits, json)?)?;
        }
        TasksCommand::List {
            queue: of,
            state,
            kind,
            oldest_first,
            after,
            limit,
        } => {
            let filter = Filter::default()
                .queue(of.clone())
                .state(*state)
                .kind(kind.clone())
                .newest_first(!oldest_first)
                .after(*after)
                .limit(*limit);
            let doing = "can't list the tasks";
            let tasks = answer(&queue, doing, store.list(&filter)).await?;
            output::write(&rows::list(&tasks, json)?)?;
            if let Some(last) = tasks.last().filter(|_| !exit::is_quiet()) {
                let next = filter.clone().after(Some(last.id)).limit(1);
                if !answer(&queue, doing, store.list(&next)).await?.is_empty() {
                    let counts = answer(&queue, doing, store.counts()).await?;
                    let first = if *oldest_first { "oldest" } else { "newest" };
                    let (of, last) = (total(&counts, &filter), last.id);
                    let shown = grouped(tasks.len() as u64);
                    say(format_args!(
                        "{shown}{of} are shown, the {first} first; the next: --after {last}"
                    ));
                }
            }
        }
        TasksCommand::Show { id } => {
            let task = answer(&queue, "can't read the task", store.task(*id)).await?;
            let task = task.ok_or_else(|| none(*id))?;
            output::write(&rows::whole(&task, json)?)?;
        }
        TasksCommand::Enqueue(arguments) => enqueue::enqueue(&queue, arguments, json).await?,
        TasksCommand::Setup => {
            queue.set_up().await?;
            answer(&queue, "can't read from it", store.counts()).await?;
            output::line(format_args!("ready: {queue}"))?;
        }
        TasksCommand::Cancel { ids, force } => {
            return changes::cancel(&queue, ids, *force, json).await;
        }
        TasksCommand::Pause { queues } => pause::set(&queue, queues, true, json).await?,
        TasksCommand::Resume { queues } => pause::set(&queue, queues, false, json).await?,
        TasksCommand::Paused => {
            output::write(&rows::paused(&pause::paused(&queue).await?, json)?)?;
        }
        TasksCommand::Limit {
            queue: of,
            limit: Limit(limit),
        } => limit::set(&queue, of, *limit, json).await?,
        TasksCommand::Limits => {
            output::write(&rows::limits(&limit::limits(&queue).await?, json)?)?;
        }
        TasksCommand::Retry { ids } => return changes::retry(&queue, ids, json).await,
    }
    Ok(ExitCode::SUCCESS)
}

/// Out of how many tasks these are listed, whatever their numbers. Tasks of one kind are not
/// counted.
fn total(counts: &[Count], filter: &Filter) -> String {
    let Filter {
        queue, state, kind, ..
    } = filter;
    if kind.is_some() {
        return String::new();
    }
    let is_of = |count: &&Count| {
        queue.as_ref().is_none_or(|queue| *queue == count.queue)
            && state.is_none_or(|state| state == count.state)
    };
    let total = counts.iter().filter(is_of).map(|count| count.tasks).sum();
    format!(" of {}", grouped(total))
}

/// A number with its digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn none(id: TaskId) -> Failure {
    Failure::new(Exit::Nothing, format!("there is no task {id}"))
}

/// The answer to one call, within a time limit.
async fn answer<T>(
    queue: &Queue,
    doing: &str,
    call: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, Failure> {
    match within_bounds(call).await {
        Ok(answer) => Ok(answer),
        Err(error) => Err(queue.failure(doing, error).await.into()),
    }
}

async fn within_bounds<T>(
    call: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, ProviderError> {
    let late = |_| {
        Err(ProviderError::unknown(format!(
            "no answer within {PATIENCE:?}"
        )))
    };
    let answer = tokio::time::timeout(PATIENCE, call).await;
    answer.unwrap_or_else(late)
}
