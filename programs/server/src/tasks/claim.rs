//! Claims, at once or after a wait.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use dlock_http::{
    Code, Millis, Problem,
    tasks::{Claim, Claimed, NEXT_MS},
};
use dlock_tasks as tasks;
use tokio::time::Instant;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::wait;
use crate::{
    Service,
    body::Body,
    guard::{Allowed, ToClaim},
    long_polls::LONGEST,
    names::{InNamespace, Namespace},
    problem::{Refusal, not_possible},
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(claim))
}

/// Gives out tasks, each under a lease.
///
/// With `wait_ms` the claim is sent to the store repeatedly until there is a task, always with its uuid: a claim that
/// was answered with nothing has begun no term and never will, and one without an answer ends the wait.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks/claim",
    tag = "tasks",
    request_body = Claim,
    responses(
        (status = 200, description = "A task, or more.", body = Claimed),
        (status = 204, description = "There is no task.", headers(
            ("dlock-next-ms" = u64, description = "The time until there may be one, if the store knows.")
        )),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn claim(
    Allowed {
        service, namespace, ..
    }: Allowed<ToClaim>,
    Body(body): Body<Claim>,
) -> Result<Response, Refusal> {
    let stopwatch = service.0.clock.stopwatch();
    let wait: Duration = body.wait_ms.into();
    let deadline = Instant::now() + wait.min(LONGEST);
    if let Some(why) = wrong_wait(&body) {
        let problem = Problem::new(Code::BadRequest).detail(why);
        return Err(problem.pointer("/wait_ms").into());
    }
    let claim = of_store(&namespace, body)?;
    let at_once = wait::ask(&service, &claim).await?;
    if !at_once.tasks.is_empty() || wait.is_zero() {
        return Ok(answer(&namespace, at_once, Duration::ZERO));
    }
    let (claimed, waited) = wait::for_tasks(&service, &claim, deadline, &stopwatch).await?;
    Ok(answer(&namespace, claimed, waited))
}

fn wrong_wait(body: &Claim) -> Option<String> {
    if Duration::from(body.wait_ms) > LONGEST {
        return Some(format!("a wait is at most {} ms", LONGEST.as_millis()));
    }
    // A task that the first copy got while this one waits would be answered as if it had been claimed just now.
    (body.again && body.wait_ms.0 > 0).then(|| "a repeat does not wait".to_owned())
}

fn of_store(namespace: &Namespace, mut body: Claim) -> Result<tasks::Claim, Refusal> {
    let queues = std::mem::take(&mut body.queues);
    let each = queues.iter().enumerate();
    let stored =
        each.map(|(index, queue)| namespace.stored_label(queue, &format!("/queues/{index}")));
    let claim = body.into_claim(stored.collect::<Result<_, _>>()?);
    claim.check().map_err(|error| not_possible(&error))?;
    Ok(claim)
}

fn answer(namespace: &Namespace, claimed: tasks::Claimed, waited: Duration) -> Response {
    let next_ms = claimed.next.map(Millis::rounded_up);
    // A repeat gets what its uuid holds, even in another namespace if it was used there.
    let own = claimed.tasks.into_iter().filter_map(|mut task| {
        task.queue = namespace.shown(&task.queue)?.to_owned();
        Some(task.into())
    });
    let tasks: Vec<_> = own.collect();
    if tasks.is_empty() {
        let mut nothing = StatusCode::NO_CONTENT.into_response();
        if let Some(Millis(next)) = next_ms {
            nothing
                .headers_mut()
                .insert(NEXT_MS, HeaderValue::from(next));
        }
        return nothing;
    }
    let claimed = Claimed {
        tasks,
        next_ms,
        waited_ms: Millis::rounded_down(waited),
    };
    Json(claimed).into_response()
}
