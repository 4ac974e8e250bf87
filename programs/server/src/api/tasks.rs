//! Tasks: new ones, the next one, heartbeats, completions, and lists.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use dlock_core::{
    FencingToken,
    provider::{Renew, RenewOutcome},
};
use dlock_http::{Code, Problem, Time};
use dlock_tasks::{Claim, Ended, Ending, Filter, How, NewTask, State as Doing, Task, TaskId, When};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use super::{
    KIND, LEASE, QUEUE,
    answer::{Answer, Row, of_written},
    claims::{self, Found, LONGEST_NAME},
    clock,
    keys::Key,
    task::{Shown, claimed, shown},
};
use crate::{
    Service,
    asking::Asking,
    body::{Asked, Body},
    guard::{InApi, ToClaim, ToEnqueue, ToRead, ToWork},
    memory::PageSize,
    number::Number,
    problem::{Refusal, not_possible},
    search::Search,
};

/// How many tasks are read at a time, which is enough for one answer: each may have half a megabyte.
const PAGE: usize = 100;

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(add))
        .routes(routes!(next))
        .routes(routes!(heartbeat))
        .routes(routes!(complete))
        .routes(routes!(all))
        .routes(routes!(started))
        .routes(routes!(processed))
        .routes(routes!(one))
}

/// A new task.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = sample::NewTask)]
#[serde(deny_unknown_fields)]
struct New {
    /// The data for the processor.
    task_data: Value,
    /// When it may run at the earliest: at once, if not given.
    #[serde(default)]
    scheduled_at: Option<Time>,
}

/// A processor that wants a task.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = sample::Processor)]
#[serde(deny_unknown_fields)]
struct Processor {
    /// The label of the processor, not empty.
    processor: String,
    /// The identity of this try, for a repeat after a lost answer.
    #[serde(default)]
    uuid: Option<Uuid>,
}

/// The processor that keeps a task.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = sample::Heartbeat)]
#[serde(deny_unknown_fields)]
struct Beat {
    /// The label of the processor, not empty.
    processor: String,
    /// The `claim` from the answer of `next`. It is needed where workers share a name.
    #[serde(default)]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 9007199254740991_u64)]
    claim: Option<FencingToken>,
}

/// The result of a task.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = sample::Completion)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The label of the processor, not empty.
    processor: String,
    /// The output of the task.
    #[serde(default)]
    task_output: Value,
    /// The `claim` from the answer of `next`. It is needed where workers share a name.
    #[serde(default)]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 9007199254740991_u64)]
    claim: Option<FencingToken>,
}

/// Adds a task. With the header `Idempotency-Key` a repeat adds nothing as long as the task has not ended, and gets the
/// same task.
#[utoipa::path(
    post,
    path = "/api/tasks",
    tag = "sample",
    request_body = New,
    responses(
        (status = 201, description = "The task.", body = Shown),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn add(
    InApi { service, .. }: InApi<ToEnqueue>,
    key: Key,
    Body(New {
        task_data,
        scheduled_at,
    }): Body<New>,
) -> Answer<Row<Shown>> {
    let wanted = [&*task_data.to_string(), &format!("{scheduled_at:?}")];
    let key = key.may_repeat(None).then(|| key.uuid(None, &wanted));
    let task = NewTask::builder()
        .kind(KIND)
        .queue(QUEUE)
        .payload(task_data)
        .key_opt(key.map(|key| key.to_string()))
        .when(scheduled_at.map_or(When::Now, |Time(instant)| When::At(instant)))
        .build();
    task.check().map_err(|error| {
        let problem = Problem::new(Code::BadRequest).detail(error.to_string());
        Refusal::from(problem.pointer("/task_data"))
    })?;
    let limit = service.0.limits.call_time;
    let added = service
        .ask_tasks(limit, |store| async move { store.enqueue(&[task]).await })
        .await?;
    let Some(added) = added.first() else {
        return Err(Code::Unknown.into());
    };
    let task = of_written(claims::task(&service, added.id()).await)?;
    Ok((StatusCode::CREATED, Json(shown(task))))
}

/// Gives out the task that has been due longest, under a lease of 30 s. With a `uuid` drawn for this try, or the header
/// `Idempotency-Key`, a repeat after a lost answer gets the same task.
#[utoipa::path(
    post,
    path = "/api/tasks/next",
    tag = "sample",
    request_body = Processor,
    responses(
        (status = 202, description = "A task.", body = Shown),
        (status = 204, description = "There is no task."),
        (status = "default", description = "See `code`.", body = Problem),
    ),
)]
async fn next(
    InApi { service, .. }: InApi<ToClaim>,
    key: Key,
    Body(Processor { processor, uuid }): Body<Processor>,
) -> Result<Response, Refusal> {
    named(&processor)?;
    let identity = key.uuid(uuid, &[&processor]);
    let mut claim = Claim::new(QUEUE, identity, LEASE).owner(processor.as_str());
    if key.may_repeat(uuid) {
        claim = claim.repeated();
    }
    claim.check().map_err(|error| not_possible(&error))?;
    let limit = service.0.limits.call_time;
    let claimed_ones = service
        .ask_tasks(limit, |store| async move { store.claim(&claim).await })
        .await?;
    let Some(got) = claimed_ones.tasks.into_iter().next() else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let service = service.granted();
    of_written(claims::keep(&service, &got, &processor).await)?;
    let task = of_written(claims::task(&service, got.key.id).await)?;
    let row = claimed(task, got.key.token);
    Ok((StatusCode::ACCEPTED, Json(row)).into_response())
}

/// Keeps a task for another 30 s.
#[utoipa::path(
    put,
    path = "/api/tasks/{id}/heartbeat",
    tag = "sample",
    request_body = Beat,
    responses(
        (status = 202, description = "The task, with new times.", body = Shown),
        (status = 404, description = "There is no such task.", body = Problem),
        (status = 409, description = "`lost`: it was processed, or is not this processor's, or its lease has run out; `ambiguous`: send `claim`.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(("id" = i64, Path, description = "The number of the task")),
)]
async fn heartbeat(
    InApi { service, .. }: InApi<ToWork>,
    Number(id): Number,
    Body(Beat { processor, claim }): Body<Beat>,
) -> Answer<Row<Shown>> {
    named(&processor)?;
    let found = claims::find(&service, id, &processor, claim).await?;
    let (key, number) = (found.key, found.renewals + 1);
    let at = clock::now(&service).await?;
    let renewal = Renew::new(claims::name(id, key.token)?, key.uuid, number);
    let limit = service.0.limits.call_time;
    let outcome = service
        .ask_tasks(limit, |store| async move {
            store.claims().renew(&renewal).await
        })
        .await?;
    match outcome {
        RenewOutcome::Renewed { .. } => {}
        RenewOutcome::Lost(_) => return Err(claims::over()),
    }
    of_written(claims::beaten(&service, found, number, at).await)?;
    let task = of_written(claims::task(&service, id).await)?;
    Ok((StatusCode::ACCEPTED, Json(claimed(task, key.token))))
}

/// Ends a task. Its first output stays.
#[utoipa::path(
    put,
    path = "/api/tasks/{id}/complete",
    tag = "sample",
    request_body = Output,
    responses(
        (status = 202, description = "The task, processed.", body = Shown),
        (status = 404, description = "There is no such task.", body = Problem),
        (status = 409, description = "`lost`: it was processed, or is not this processor's, or its lease has run out; `ambiguous`: send `claim`.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(("id" = i64, Path, description = "The number of the task")),
)]
async fn complete(
    InApi { service, .. }: InApi<ToWork>,
    Number(id): Number,
    Body(Output {
        processor,
        task_output,
        claim,
    }): Body<Output>,
) -> Answer<Row<Shown>> {
    named(&processor)?;
    let Found { key, .. } = claims::find(&service, id, &processor, claim).await?;
    let ending = Ending::new(key, How::Complete(task_output));
    ending.check().map_err(|error| {
        let problem = Problem::new(Code::BadRequest).detail(error.to_string());
        Refusal::from(problem.pointer("/task_output"))
    })?;
    let limit = service.0.limits.call_time;
    let ended = service
        .ask_tasks(limit, |store| async move { store.finish(&[ending]).await })
        .await?;
    match ended.first() {
        Some(Ended::Own(Doing::Succeeded)) => {}
        Some(Ended::Own(state) | Ended::Lost(Some(state))) => {
            let problem = Problem::new(Code::Lost).detail(format!("the task is {state}"));
            return Err(problem.state(Some(*state)).into());
        }
        Some(Ended::Lost(None)) => return Err(Code::Lost.into()),
        _ => return Err(Code::Unknown.into()),
    }
    let task = of_written(claims::task(&service, id).await)?;
    Ok((StatusCode::ACCEPTED, Json(shown(task))))
}

fn named(processor: &str) -> Result<(), Refusal> {
    if processor.is_empty() {
        let problem = Problem::new(Code::BadRequest).detail("the processor is empty");
        return Err(problem.pointer("/processor").into());
    }
    if processor.len() > LONGEST_NAME {
        let detail = format!("a processor's name has at most {LONGEST_NAME} bytes");
        let problem = Problem::new(Code::BadRequest).detail(detail);
        return Err(problem.pointer("/processor").into());
    }
    Ok(())
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Start {
    /// Only numbers after this one: `next` of the previous answer.
    #[param(value_type = Option<i64>)]
    after: Option<TaskId>,
}

/// Tasks, by number.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = sample::Tasks)]
struct Tasks {
    #[schema(value_type = Vec<Shown>)]
    tasks: Vec<Row<Shown>>,
    /// There are more: repeat the request with `after` set to this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    next: Option<TaskId>,
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident, $path:literal, $is_one:expr;)+) => {$(
        $(#[$doc])*
        #[utoipa::path(
            get,
            path = $path,
            tag = "sample",
            params(Start),
            responses(
                (status = 200, description = "The tasks.", body = Tasks),
                (status = "default", description = "See `code`.", body = Problem),
            ),
        )]
        async fn $name(
            InApi { service, .. }: InApi<ToRead>,
            Asked(start): Asked<Start>,
        ) -> Answer<Tasks> {
            list(&service, start, $is_one).await
        }
    )+};
}

lists! {
    /// All tasks that the store still has.
    all, "/api/tasks", |_| true;
    /// Tasks that a processor is working on, or was when its lease ran out.
    started, "/api/tasks/started", |task| task.holder.is_some();
    /// Tasks that have ended.
    processed, "/api/tasks/processed", |task| task.state.has_ended();
}

async fn list(service: &Asking, start: Start, is_one: impl Fn(&Task) -> bool) -> Answer<Tasks> {
    let mut after = start.after;
    let (mut tasks, mut size) = (Vec::new(), PageSize::default());
    let _place = service.page().await?;
    let mut search = Search::new();
    'pages: while search.continues(!tasks.is_empty()) {
        let part = size.next_part(PAGE);
        let filter = Filter::default()
            .queue(Some(QUEUE.to_owned()))
            .after(after)
            .limit(part);
        let limit = service.0.limits.call_time;
        let page = service
            .ask_tasks(limit, |store| async move { store.list(&filter).await })
            .await?;
        let is_last = page.len() < part;
        for task in page {
            after = Some(task.id);
            if is_one(&task) {
                let row = shown(task);
                let is_full = size.is_full_with(&row);
                tasks.push(row);
                if is_full || tasks.len() == PAGE {
                    break 'pages;
                }
            }
        }
        if is_last {
            after = None;
            break;
        }
    }
    Ok((StatusCode::OK, Json(Tasks { tasks, next: after })))
}

/// One task.
#[utoipa::path(
    get,
    path = "/api/tasks/{id}",
    tag = "sample",
    responses(
        (status = 200, description = "The task.", body = Shown),
        (status = 404, description = "This number does not exist.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(("id" = i64, Path, description = "The number of the task")),
)]
async fn one(InApi { service, .. }: InApi<ToRead>, Number(id): Number) -> Answer<Row<Shown>> {
    let task = claims::task(&service, id).await?;
    Ok((StatusCode::OK, Json(shown(task))))
}
