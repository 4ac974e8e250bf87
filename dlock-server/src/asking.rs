//! Calls of the store on behalf of a request. What a call is shed for, and whether it goes by the connections that stores
//! keep for holders, follows from its [`Class`], and that from the [need](crate::guard::Need) of the route: no handler
//! chooses it, so none can forget it.

use std::{ops::Deref, sync::Arc, time::Duration};

use dlock_core::{ProviderError, provider::Admin};
use dlock_http::Code;
use dlock_tasks::TaskStore;
use tokio::{sync::SemaphorePermit, time::timeout};

use crate::{Service, calls::Class, measure, problem::Refusal};

/// A service, as one who may ask its store.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    service: Service,
    class: Class,
}

impl Asking {
    /// Calls of this class, of a request that needs it or of the server's own.
    pub(crate) const fn new(service: Service, class: Class) -> Self {
        Self { service, class }
    }

    /// The same for calls that matter less than the request: no call of it comes to matter more.
    pub(crate) fn lowered(&self, class: Class) -> Self {
        Self {
            class: class.min(self.class),
            ..self.clone()
        }
    }

    /// The same after the store has given the sender a lease or a claim: calls that complete the answer are a holder's.
    pub(crate) fn granted(&self) -> Self {
        Self {
            class: Class::Hold,
            ..self.clone()
        }
    }

    /// One call of the store, within this time.
    ///
    /// # Errors
    /// A refusal if there is too much of this class, and the store's error. After the time `unknown`: the call may have been
    /// applied.
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
        self.0.calls.ask(self.class, limit, request).await
    }

    /// A place to read a page in, which may be large until it is cut. Those who wait for one have their place in line.
    ///
    /// # Errors
    /// A refusal if there is no memory for one, or if it takes too long.
    pub(crate) async fn page(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        drop(self.0.memory.take(self.class, 0)?);
        let place = timeout(self.0.limits.call_time, self.0.pages.acquire()).await;
        match place {
            // Nobody closes the semaphore.
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => {
                measure::shed(self.class.name());
                Err(Code::Overloaded.into())
            }
        }
    }

    /// One call of the store of tasks.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask), and `not-found` if there are no tasks.
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
        self.0.calls.ask(self.class, limit, request).await
    }
}

impl Deref for Asking {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}
