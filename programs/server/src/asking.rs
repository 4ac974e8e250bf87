//! Calls of the store on behalf of a request. When a call is shed, and whether it uses the connections that stores keep
//! for holders, follows from its [`Class`], and that from the [need](crate::guard::Need) of the route: no handler
//! chooses it, so none can forget it.

use std::{ops::Deref, sync::Arc, time::Duration};

use dlock_core::{
    ProviderError,
    provider::{Admin, Renew, RenewOutcome},
};
use dlock_http::Code;
use dlock_tasks::TaskStore;
use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit},
    time::{Instant, timeout},
};

use crate::{
    Service, live_queries, long_polls, measure,
    memory::Taken,
    problem::Refusal,
    share::{Client, Kind, Part},
    store_calls::Class,
};

/// A service, on behalf of a sender that may call its store.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    service: Service,
    class: Class,
    /// The client, if it has only a part of the server.
    client: Option<Client>,
    /// How many renewals or endings a call contains.
    renewals: usize,
}

impl Asking {
    /// Calls of this class, for a request that needs it or for the server itself.
    pub(crate) const fn new(service: Service, class: Class) -> Self {
        Self {
            service,
            class,
            client: None,
            renewals: 1,
        }
    }

    /// The same for calls of this many renewals or endings.
    pub(crate) fn of_many(&self, renewals: usize) -> Self {
        Self {
            renewals,
            ..self.clone()
        }
    }

    /// The same for a client that has only a part of the server; `None`: for one that may have all of it.
    pub(crate) fn on_behalf_of(self, client: Option<Client>) -> Self {
        Self { client, ..self }
    }

    /// The same for calls that matter less than the request: no call is raised by it.
    pub(crate) fn lowered(&self, class: Class) -> Self {
        Self {
            class: class.min(self.class),
            ..self.clone()
        }
    }

    /// The same after the store has granted the sender a lease or a claim: calls that complete the answer are a
    /// holder's.
    pub(crate) fn granted(&self) -> Self {
        Self {
            class: Class::Hold,
            ..self.clone()
        }
    }

    /// One call of the store, within its time limit.
    ///
    /// # Errors
    /// A refusal if there is too much of this class, and the store's error. After the time limit `unknown`: the call
    /// may have been applied.
    pub(crate) async fn ask<T, F>(
        &self,
        limit: Duration,
        call: impl FnOnce(Arc<dyn Admin>) -> F,
    ) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ProviderError>> + Send + 'static,
    {
        let request = call(Arc::clone(&self.0.provider));
        self.send(limit, request).await
    }

    /// A place for reading a page, which may be large until it is cut. Requests that wait for one are served in order.
    ///
    /// # Errors
    /// A refusal if there is no memory for one, or if it takes too long.
    pub(crate) async fn page(&self) -> Result<impl Sized + use<'_>, Refusal> {
        drop(self.memory(0)?);
        let places = async {
            let own = match &self.client {
                Some(client) => Some(client.usage().pages.acquire().await?),
                None => None,
            };
            Ok::<_, AcquireError>((self.0.pages.acquire().await?, own))
        };
        match timeout(self.0.limits.call_time, places).await {
            // The semaphores are never closed.
            Ok(Ok(places)) => Ok(places),
            Ok(Err(_)) | Err(_) => {
                measure::shed(self.class.name());
                Err(Code::Overloaded.into())
            }
        }
    }

    /// One call of the store of tasks.
    ///
    /// # Errors
    /// Those of [`ask`](Self::ask), and `not-found` if there are no tasks.
    pub(crate) async fn ask_tasks<T, F>(
        &self,
        limit: Duration,
        call: impl FnOnce(Arc<dyn TaskStore>) -> F,
    ) -> Result<T, Refusal>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ProviderError>> + Send + 'static,
    {
        let request = call(Arc::clone(&self.tasks()?.store));
        self.send(limit, request).await
    }

    async fn send<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl Future<Output = Result<T, ProviderError>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (turn, limit) = self.turn(limit).await?;
        let part = match self.class {
            Class::Hold => None,
            _ => self.part(Kind::StoreCalls, 1, self.0.limits.calls)?,
        };
        let request = async move {
            let answer = request.await;
            drop((turn, part));
            answer
        };
        self.0.calls.ask(self.class, limit, request).await
    }

    /// A renewal, which may travel with others.
    ///
    /// # Errors
    /// Those of [`ask`](Self::ask).
    pub(crate) async fn renew(&self, renewal: Renew) -> Result<RenewOutcome, Refusal> {
        let _turn = self.turn(self.0.limits.call_time).await?;
        self.0.renewals.send(renewal).await
    }

    /// The client's turn among its own calls as a holder, and how long the call may take then.
    async fn turn(
        &self,
        limit: Duration,
    ) -> Result<(Option<OwnedSemaphorePermit>, Duration), Refusal> {
        let Some(client) = self.client.as_ref().filter(|_| self.class == Class::Hold) else {
            return Ok((None, limit));
        };
        let (began, calls) = (Instant::now(), self.0.limits.calls);
        let turn = client.turn(self.renewals, calls, limit / 2).await;
        let turn = turn.inspect_err(|_| measure::shed(self.class.name()))?;
        Ok((Some(turn), limit.saturating_sub(began.elapsed())))
    }

    /// A place among the waiting requests, also for a stream of hints.
    ///
    /// # Errors
    /// A refusal if all places are taken, or all of the client's.
    pub(crate) fn wait(&self) -> Result<(long_polls::Place, Option<Part>), Refusal> {
        let part = self.part(Kind::LongPolls, 1, self.0.limits.waits)?;
        Ok((self.0.waits.enter()?, part))
    }

    /// A place for one more stream of the dashboard.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub(crate) fn stream(&self) -> Result<(live_queries::Place, Option<Part>), Refusal> {
        let part = self.part(Kind::Streams, 1, self.0.limits.streams)?;
        Ok((self.0.views.enter()?, part))
    }

    /// A share of the views that are being watched.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub(crate) fn view(&self) -> Result<Option<Part>, Refusal> {
        self.part(Kind::Views, 1, self.0.views.most())
    }

    /// Bytes for a body.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub(crate) fn memory(&self, bytes: usize) -> Result<(Taken, Option<Part>), Refusal> {
        let memory = &self.0.memory;
        let part = self.part(Kind::Memory, bytes, memory.room(self.class))?;
        Ok((memory.take(self.class, bytes)?, part))
    }

    fn part(&self, kind: Kind, count: usize, all: usize) -> Result<Option<Part>, Refusal> {
        let client = self.client.as_ref();
        client
            .map(|client| client.take(kind, count, all))
            .transpose()
    }
}

impl Deref for Asking {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}
