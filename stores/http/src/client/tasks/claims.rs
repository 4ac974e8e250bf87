//! The claims of tasks as leases: heartbeats are renewals, a release returns a task to its queue.

use std::slice;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Sharing,
    },
};
use dlock_tasks::ClaimName;

use super::{expected, found};
use crate::{
    client::{
        answer::{Said, refused},
        own,
        provider::{released, renewal},
        server::Server,
    },
    leases::{self, Done, Released, RenewAnswer, RenewedMany},
    tasks::{Heartbeat, Heartbeats, Key},
};

/// The claims of a namespace.
pub(super) struct HttpClaims {
    server: Server,
    capabilities: Capabilities,
    sharing: Sharing,
}

impl HttpClaims {
    pub(super) fn new(server: Server, capabilities: Capabilities) -> Self {
        Self {
            server,
            // One request for all of them, whatever the store behind the server does.
            capabilities: capabilities.batch(true).watch(false).closing(false),
            sharing: Sharing::default(),
        }
    }

    async fn beat(&self, heartbeats: Vec<Heartbeat>) -> Result<RenewedMany, ProviderError> {
        let path = self.server.path("tasks/heartbeat");
        let body = Heartbeats { heartbeats };
        expected(self.server.post(&path, &body).await?)
    }
}

fn name(name: &Name) -> Result<ClaimName, ProviderError> {
    ClaimName::try_from(name).map_err(|error| ProviderError::fatal(error.to_string()))
}

fn heartbeat(request: &Renew) -> Result<Heartbeat, ProviderError> {
    request.check()?;
    let ClaimName { id, token, .. } = name(&request.name)?;
    Ok(Heartbeat {
        id,
        uuid: request.uuid,
        token,
        n: request.n,
    })
}

#[async_trait]
impl Provider for HttpClaims {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn acquire(&self, _: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        Err(ProviderError::fatal(
            "a task is claimed by its queue, not acquired by its name: see TaskStore::claim",
        ))
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let mut outcomes = self.renew_many(slice::from_ref(request)).await;
        outcomes
            .pop()
            .unwrap_or_else(|| Err(ProviderError::unknown("no answer")))
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        let beats: Vec<_> = requests.iter().map(heartbeat).collect();
        let sent: Vec<Heartbeat> = beats.iter().flatten().copied().collect();
        sent.iter().for_each(|beat| own::keep(beat.uuid));
        let answered = self.beat(sent).await;
        let mut answers = match &answered {
            Ok(RenewedMany { answers }) => answers.iter(),
            Err(_) => [].iter(),
        };
        let outcome = |beat: Result<Heartbeat, _>| {
            beat?;
            match (answers.next(), &answered) {
                (Some(RenewAnswer::Renewed(renewed)), _) => renewal(Ok(*renewed)),
                (Some(RenewAnswer::Problem(problem)), _) => {
                    refused((**problem).clone()).and_then(renewal)
                }
                (None, Err(error)) => Err(error.clone()),
                (None, Ok(_)) => Err(ProviderError::unknown("no answer")),
            }
        };
        beats.into_iter().map(outcome).collect()
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        if request.closing.is_some() {
            return Err(ProviderError::fatal(
                "a task is not closed: complete it, or snooze it",
            ));
        }
        let ClaimName { id, token, .. } = name(&request.name)?;
        let uuid = request.uuid;
        own::keep(uuid);
        let path = self.server.path("tasks/release");
        let said: Said<Done> = self.server.post(&path, &Key { id, uuid, token }).await?;
        // A claim has no waiters.
        released(said.map(|Done {}| Released { wanted: false }))
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let ClaimName { id, token, .. } = self::name(name)?;
        let query = [("id", id.to_string()), ("token", token.to_string())];
        let path = self.server.path("tasks/lease");
        let said: Said<leases::Record> = self.server.get(&path, &query).await?;
        Ok(found(said)?.map(own::read))
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}
