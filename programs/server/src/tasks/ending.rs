//! How claims end, and what they leave for the next attempt.

use axum::Json;
use dlock_http::{
    Code, Problem,
    leases::Done,
    pseudonym,
    tasks::{
        Checkpoint, Complete, Discard, Ended, EndedMany, Ending, EndingAnswer, Endings, Fail,
        GiveBack, Snooze,
    },
};
use dlock_tasks::{self as tasks, ClaimKey, Kept, TaskId, limits};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    namespace,
    request::{Answer, MOST},
};
use crate::{
    Service,
    asking::Asking,
    body::Body,
    guard::{Allowed, ToWork},
    names::{InNamespace, Namespace},
    number::Number,
    problem::Refusal,
};

pub(super) fn routes() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(endings))
        .routes(routes!(complete))
        .routes(routes!(fail))
        .routes(routes!(discard))
        .routes(routes!(snooze))
        .routes(routes!(give_back))
        .routes(routes!(checkpoint))
}

/// Ends up to 500 claims, each independently. A repeat gets the same answer as the first time.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks/endings",
    tag = "tasks",
    request_body = Endings,
    responses(
        (status = 200, description = "An answer for each, in their order: `lost` with the `state` of the task.", body = EndedMany),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(InNamespace),
)]
async fn endings(
    Allowed {
        service, namespace, ..
    }: Allowed<ToWork>,
    Body(Endings { endings }): Body<Endings>,
) -> Answer<EndedMany> {
    if endings.len() > MOST {
        let detail = format!("at most {MOST} endings are taken at a time");
        let problem = Problem::new(Code::BadRequest).detail(detail);
        return Err(problem.pointer("/endings").into());
    }
    let each = endings.into_iter().enumerate();
    let checked = each.map(|(index, ending)| checked(ending, Some(format!("/endings/{index}"))));
    let endings: Vec<_> = checked.collect::<Result<_, _>>()?;
    let answers = finish(&service, &namespace, endings).await?;
    let answers = answers.into_iter().map(|answer| match answer {
        Ok(ended) => EndingAnswer::Ended(ended),
        Err(problem) => EndingAnswer::Problem(problem),
    });
    Ok(Json(EndedMany {
        answers: answers.collect(),
    }))
}

macro_rules! endings {
    ($($(#[$doc:meta])* $name:ident, $body:ident, $path:literal;)+) => {$(
        $(#[$doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "tasks",
            request_body = $body,
            responses(
                (status = 200, description = "The claim has ended by its own ending, now or by an earlier one.", body = Ended),
                (status = 409, description = "`lost`, with the `state` of the task: the claim had ended before.", body = Problem),
                (status = "default", description = "See `code`.", body = Problem),
            ),
            params(
                InNamespace,
                ("id" = i64, Path, description = "The number of the task"),
            ),
        )]
        async fn $name(
            Allowed { service, namespace, .. }: Allowed<ToWork>,
            Number(id): Number,
            Body(body): Body<$body>,
        ) -> Answer<Ended> {
            one(&service, &namespace, body.of(id)).await
        }
    )+};
}

endings! {
    /// The task succeeded.
    complete, Complete, "/v1/{namespace}/tasks/{id}/complete";
    /// The attempt failed. The next one comes after a delay; after the last one the task is dead.
    fail, Fail, "/v1/{namespace}/tasks/{id}/fail";
    /// The task is dead, whatever attempts are left.
    discard, Discard, "/v1/{namespace}/tasks/{id}/discard";
    /// The task is due again after a delay, and the attempt does not count.
    snooze, Snooze, "/v1/{namespace}/tasks/{id}/snooze";
    /// The task is ready again, and the attempt does not count.
    give_back, GiveBack, "/v1/{namespace}/tasks/{id}/give-back";
}

/// Leaves something for the next attempt.
#[utoipa::path(
    post,
    path = "/v1/{namespace}/tasks/{id}/checkpoint",
    tag = "tasks",
    request_body = Checkpoint,
    responses(
        (status = 200, description = "The next attempt will find it, or a newer one of this claim.", body = Done),
        (status = 409, description = "`lost`, with the `state` of the task: the claim has ended.", body = Problem),
        (status = "default", description = "See `code`.", body = Problem),
    ),
    params(
        InNamespace,
        ("id" = i64, Path, description = "The number of the task"),
    ),
)]
async fn checkpoint(
    Allowed {
        service, namespace, ..
    }: Allowed<ToWork>,
    Number(id): Number,
    Body(body): Body<Checkpoint>,
) -> Answer<Done> {
    if let Err(error) = limits::checkpoint(&body.checkpoint) {
        let problem = Problem::new(Code::BadRequest).detail(error.to_string());
        return Err(problem.pointer("/checkpoint").into());
    }
    let key = ClaimKey::new(id, pseudonym(body.uuid), body.token);
    let limit = service.0.limits.call_time;
    let kept = service
        .ask_tasks(limit, |store| async move {
            let (number, checkpoint) = (body.number, &body.checkpoint);
            store.checkpoint(&key, number, checkpoint).await
        })
        .await?;
    match kept {
        Kept::Kept => Ok(Json(Done {})),
        Kept::Lost(state) => {
            let mut seen = namespace::states(&service, &namespace, vec![id]).await;
            Err(lost(state, seen.pop().flatten()).into())
        }
        _ => Err(Code::Fatal.into()),
    }
}

async fn one(service: &Asking, namespace: &Namespace, ending: Ending) -> Answer<Ended> {
    let ending = checked(ending, None)?;
    match finish(service, namespace, vec![ending]).await?.pop() {
        Some(Ok(ended)) => Ok(Json(ended)),
        Some(Err(problem)) => Err((*problem).into()),
        None => Err(Code::Unknown.into()),
    }
}

/// An ending that a store can keep. `pointer` is its position in the body, if it is not all of it.
fn checked(ending: Ending, pointer: Option<String>) -> Result<tasks::Ending, Refusal> {
    let ending = ending.into_ending();
    if let Err(error) = ending.check() {
        let mut problem = Problem::new(Code::BadRequest).detail(error.to_string());
        problem.pointer = pointer;
        return Err(problem.into());
    }
    Ok(ending)
}

/// Returns as many answers as there are endings.
async fn finish(
    service: &Asking,
    namespace: &Namespace,
    endings: Vec<tasks::Ending>,
) -> Result<Vec<Result<Ended, Box<Problem>>>, Refusal> {
    let ids: Vec<TaskId> = endings.iter().map(|ending| ending.key.id).collect();
    let limit = service.0.limits.call_time;
    let answers = service
        .of_many(ids.len())
        .ask_tasks(limit, |store| async move { store.finish(&endings).await })
        .await?;
    if answers.len() != ids.len() {
        return Err(Code::Unknown.into());
    }
    let lost_ones = ids.iter().zip(&answers);
    let lost_ones = lost_ones.filter(|(_, answer)| matches!(answer, tasks::Ended::Lost(_)));
    let lost_ones = lost_ones.map(|(id, _)| *id).collect();
    let mut seen = namespace::states(service, namespace, lost_ones)
        .await
        .into_iter();
    let answers = answers.into_iter().map(|answer| match answer {
        tasks::Ended::Own(became) => Ok(Ended { became }),
        tasks::Ended::Lost(state) => Err(Box::new(lost(state, seen.next().flatten()))),
        _ => Err(Box::new(Problem::new(Code::Fatal))),
    });
    Ok(answers.collect())
}

/// The state that the store reported with its refusal, if the task was seen to be in the namespace.
fn lost(told: Option<tasks::State>, seen: Option<tasks::State>) -> Problem {
    Problem::new(Code::Lost).state(told.filter(|_| seen.is_some()))
}
