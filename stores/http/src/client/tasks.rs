//! The store of tasks: each call is one request to a server, or one for each part of it.

mod claims;
mod endings;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use dlock_core::{Provider, ProviderError, provider::Wakeups};
use dlock_tasks::{
    Ages, Claim, ClaimKey, Claimed, Count, Ended, Ending, Enqueued, Filter, Kept, LimitedQueue,
    NewTask, PausedQueue, Served, State, Task, TaskId, TaskStore, limits,
};
use reqwest::{Method, StatusCode};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use self::claims::HttpClaims;
use super::{
    answer::{Said, read},
    events, own,
    provider::unexpected,
    server::Server,
};
use crate::{
    Code, Millis, Problem, Time,
    leases::{Capabilities, Done},
    tasks as wire,
};

/// How long a call may take. After that, its outcome is unknown.
const LIMIT: Duration = Duration::from_secs(10);

/// Tasks behind a server of dlock.
///
/// As safe as the store behind the server: a worker draws the uuids of its claims, and counts their leases by its own
/// clock. Cheap to clone; clones use one connection pool.
///
/// - All tasks of one [`enqueue`](TaskStore::enqueue) are sent in one request, of 1 MiB unless the server takes more.
/// - The queues and schedules are those of the server's [namespace](Server::namespace). Their names have 128 bytes at
///   most, with the namespace and a slash.
/// - [`prune`](TaskStore::prune) covers all namespaces: it needs the right `admin` to `*`. Without it no task is
///   forgotten, and the answer is 0: workers need no such right, since the program `dlock-server` forgets ended tasks
///   automatically.
///
/// # Cancel safety
/// A request that was sent before its future was dropped runs on the server. Its connection is closed, or with HTTP/2
/// its stream.
#[derive(Clone)]
pub struct HttpTasks {
    server: Server,
    claims: Arc<HttpClaims>,
}

impl HttpTasks {
    /// Queries the server whether it has tasks.
    ///
    /// # Errors
    /// [`NotApplied`](dlock_core::ErrorKind::NotApplied) or [`Unknown`](dlock_core::ErrorKind::Unknown) if no server
    /// answers; [`Fatal`](dlock_core::ErrorKind::Fatal) if the answer is not from a server of dlock, or the server has
    /// no tasks.
    pub async fn connect(server: Server) -> Result<Self, ProviderError> {
        let said: Said<Capabilities> = within(LIMIT, server.get("v1/capabilities", &())).await?;
        let capabilities = said.map_err(|problem| unexpected(&problem))?;
        if !capabilities.tasks {
            return Err(ProviderError::fatal("the server has locks, and no tasks"));
        }
        let claims = HttpClaims::new(server.clone(), capabilities.of_provider("http"));
        Ok(Self {
            server,
            claims: Arc::new(claims),
        })
    }

    async fn post<T: DeserializeOwned>(
        &self,
        rest: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<Said<T>, ProviderError> {
        let path = self.server.path(rest);
        within(LIMIT, self.server.post(&path, body)).await
    }

    async fn get<T: DeserializeOwned>(
        &self,
        rest: &str,
        query: &(impl Serialize + Sync),
    ) -> Result<Said<T>, ProviderError> {
        let path = self.server.path(rest);
        within(LIMIT, self.server.get(&path, query)).await
    }

    async fn set_queue(&self, body: wire::SetQueue) -> Result<(), ProviderError> {
        let path = self.server.path("queues");
        let Done {} = expected(within(LIMIT, self.server.put(&path, &body)).await?)?;
        Ok(())
    }
}

/// An answer, if it comes in time.
async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, ProviderError>> + Send,
) -> Result<T, ProviderError> {
    let in_time = timeout(limit, answer).await;
    in_time.unwrap_or_else(|_| Err(ProviderError::unknown("the server did not answer in time")))
}

/// The answer to a request for which no problem is an answer.
fn expected<T>(said: Said<T>) -> Result<T, ProviderError> {
    said.map_err(|problem| unexpected(&problem))
}

/// An answer about a task that may not exist.
fn found<T>(said: Said<T>) -> Result<Option<T>, ProviderError> {
    match said {
        Ok(answer) => Ok(Some(answer)),
        // For an unknown path, and where there are no tasks, the server answers in other words.
        Err(problem) if problem.code == Code::NotFound && problem.detail.is_none() => Ok(None),
        Err(problem) => Err(unexpected(&problem)),
    }
}

/// The state of the task, if the problem shows it.
fn state(problem: &Problem) -> Option<State> {
    problem.state.as_deref()?.parse().ok()
}

#[async_trait]
impl TaskStore for HttpTasks {
    async fn enqueue(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, ProviderError> {
        limits::many(tasks.len())?;
        tasks.iter().try_for_each(|task| task.check().map(drop))?;
        let tasks = tasks.iter().map(Into::into).collect();
        let said = self.post("tasks", &wire::Enqueue { tasks }).await?;
        let wire::EnqueuedMany { tasks } = expected(said)?;
        Ok(tasks.into_iter().map(Into::into).collect())
    }

    async fn enqueue_periodic(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        limits::schedule(schedule)?;
        task.check()?;
        let body = wire::EnqueuePeriodic {
            schedule: schedule.to_owned(),
            instant: Time(instant),
            task: task.into(),
        };
        let said: Said<wire::Served> = self.post("tasks/periodic", &body).await?;
        expected(said).map(Into::into)
    }

    async fn claim(&self, claim: &Claim) -> Result<Claimed, ProviderError> {
        claim.check()?;
        own::keep(claim.uuid);
        let (path, body) = (self.server.path("tasks/claim"), wire::Claim::from(claim));
        let claimed = async {
            let fill = |request: reqwest::RequestBuilder| request.json(&body);
            let response = self.server.send(Method::POST, &path, fill).await?;
            if response.status() == StatusCode::NO_CONTENT {
                let next = response.headers().get(wire::NEXT_MS);
                let next = next.and_then(|next| next.to_str().ok()?.parse().ok());
                return Ok(Claimed::new(Vec::new(), next.map(Duration::from_millis)));
            }
            let claimed: wire::Claimed = expected(read(response).await?)?;
            Ok(claimed.into_claimed(claim.uuid))
        };
        // A lease that is answered later is worth little.
        within(LIMIT.min(claim.lease / 3), claimed).await
    }

    async fn finish(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        limits::many(endings.len())?;
        let mut ended = Vec::with_capacity(endings.len());
        for part in endings::parts(endings)? {
            if !part.is_empty() {
                ended.extend(self.end(part).await?);
            }
        }
        Ok(ended)
    }

    async fn checkpoint(
        &self,
        key: &ClaimKey,
        number: u64,
        checkpoint: &Value,
    ) -> Result<Kept, ProviderError> {
        limits::checkpoint(checkpoint)?;
        let body = wire::Checkpoint {
            uuid: key.uuid,
            token: key.token,
            number,
            checkpoint: checkpoint.clone(),
        };
        let path = format!("tasks/{}/checkpoint", key.id);
        match self.post(&path, &body).await? {
            Ok(Done {}) => Ok(Kept::Kept),
            Err(problem) if problem.code == Code::Lost => Ok(Kept::Lost(state(&problem))),
            Err(problem) => Err(unexpected(&problem)),
        }
    }

    fn claims(&self) -> Arc<dyn Provider> {
        Arc::clone(&self.claims) as Arc<dyn Provider>
    }

    async fn watch(&self, claim: &Claim) -> Result<Option<Wakeups>, ProviderError> {
        let queues = claim.queues.iter().map(|queue| ("queue", queue.as_str()));
        let kinds = claim.kinds.iter().flatten();
        let kinds = kinds.map(|kind| ("kind", kind.as_str()));
        let query: Vec<_> = queues.chain(kinds).collect();
        within(LIMIT, events::tasks(&self.server, &query)).await
    }

    async fn cancel(&self, id: TaskId, force: bool) -> Result<Option<State>, ProviderError> {
        let body = wire::Cancel { force };
        let said: Said<wire::Cancelled> = self.post(&format!("tasks/{id}/cancel"), &body).await?;
        Ok(found(said)?.map(|cancelled| cancelled.was))
    }

    async fn retry(&self, id: TaskId) -> Result<Option<Enqueued>, ProviderError> {
        let path = format!("tasks/{id}/retry");
        let said: Said<wire::Enqueued> = self.post(&path, &wire::Retry {}).await?;
        match said {
            Err(problem) if problem.code == Code::Changed => Ok(None),
            said => Ok(found(said)?.map(Into::into)),
        }
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>, ProviderError> {
        let said: Said<wire::Task> = self.get(&format!("tasks/{id}"), &()).await?;
        Ok(found(said)?.map(Into::into))
    }

    /// Requests one page after the other.
    async fn list(&self, filter: &Filter) -> Result<Vec<Task>, ProviderError> {
        let most = if filter.limit == 0 { 100 } else { filter.limit };
        let (mut tasks, mut after) = (Vec::new(), filter.after);
        loop {
            let query = Query {
                queue: filter.queue.as_deref(),
                state: filter.state,
                kind: filter.kind.as_deref(),
                newest_first: filter.newest_first,
                after,
                limit: most - tasks.len(),
            };
            let page: wire::Page = expected(self.get("tasks", &query).await?)?;
            tasks.extend(page.tasks.into_iter().map(Task::from));
            match page.next {
                Some(next) if tasks.len() < most && after != Some(next) => after = Some(next),
                _ => return Ok(tasks),
            }
        }
    }

    async fn set_paused(&self, queue: &str, paused: bool) -> Result<(), ProviderError> {
        limits::queue(queue)?;
        self.set_queue(wire::SetQueue {
            queue: queue.to_owned(),
            paused: Some(paused),
            limit: None,
        })
        .await
    }

    async fn paused(&self) -> Result<Vec<PausedQueue>, ProviderError> {
        let wire::Queues { paused, .. } = expected(self.get("queues", &()).await?)?;
        Ok(paused.into_iter().map(Into::into).collect())
    }

    async fn set_limit(&self, queue: &str, limit: Option<u32>) -> Result<(), ProviderError> {
        limits::queue(queue)?;
        limits::limit(limit)?;
        self.set_queue(wire::SetQueue {
            queue: queue.to_owned(),
            paused: None,
            limit: Some(limit),
        })
        .await
    }

    async fn limits(&self) -> Result<Vec<LimitedQueue>, ProviderError> {
        let wire::Queues { limits, .. } = expected(self.get("queues", &()).await?)?;
        Ok(limits.into_iter().map(Into::into).collect())
    }

    async fn counts(&self) -> Result<Vec<Count>, ProviderError> {
        let counts: wire::Counts = expected(self.get("tasks/counts", &()).await?)?;
        let counts = counts.counts.into_iter();
        Ok(counts
            .map(|count| Count::new(count.queue, count.state, count.tasks))
            .collect())
    }

    async fn prune(&self, ages: Ages, most: usize) -> Result<usize, ProviderError> {
        let body = wire::Prune {
            succeeded_ms: Some(Millis::rounded_up(ages.succeeded)),
            others_ms: Some(Millis::rounded_up(ages.others)),
            limit: most,
        };
        let said: Said<wire::Pruned> = within(LIMIT, self.server.post("v1/prune", &body)).await?;
        match said {
            // Every worker tries, and few have the right.
            Err(problem) if problem.code == Code::Forbidden => Ok(0),
            said => Ok(expected(said)?.deleted),
        }
    }
}

#[derive(Serialize)]
struct Query<'filter> {
    queue: Option<&'filter str>,
    state: Option<State>,
    kind: Option<&'filter str>,
    newest_first: bool,
    after: Option<TaskId>,
    limit: usize,
}

impl fmt::Debug for HttpTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTasks")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
