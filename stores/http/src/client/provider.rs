//! The provider: each request is one request to a server.

use std::fmt;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
        Sharing, Tokens, Wakeups,
    },
};

use super::{
    answer::{Said, refused},
    events, own,
    server::Server,
};
use crate::{
    Code, Problem,
    leases::{self as wire, RenewAnswer, RenewMany, RenewedMany},
};

/// Locks behind a server of dlock.
///
/// As safe as the store behind the server: the uuid of a term and the clock that counts its lease are this process's,
/// and the way over the server only counts against the holder. Cheap to clone; clones use one connection pool and one
/// [`Client`](dlock_core::Client).
///
/// # Cancel safety
/// A request that was sent before its future was dropped runs on the server. Its connection is closed, or with HTTP/2
/// its stream.
#[derive(Clone)]
pub struct HttpProvider {
    pub(super) server: Server,
    capabilities: Capabilities,
    sharing: Sharing,
}

impl HttpProvider {
    /// Queries the server for the abilities of its store.
    ///
    /// # Errors
    /// [`NotApplied`](dlock_core::ErrorKind::NotApplied) or [`Unknown`](dlock_core::ErrorKind::Unknown) if no server
    /// answers; [`Fatal`](dlock_core::ErrorKind::Fatal) if the answer is not from a server of dlock.
    pub async fn connect(server: Server) -> Result<Self, ProviderError> {
        let said: Said<wire::Capabilities> = server.get("v1/capabilities", &()).await?;
        let capabilities = said.map_err(|problem| unexpected(&problem))?;
        Ok(Self {
            capabilities: capabilities.of_provider("http"),
            server,
            sharing: Sharing::default(),
        })
    }
}

/// A problem that is no answer to this request.
pub(super) fn unexpected(problem: &Problem) -> ProviderError {
    match problem.code {
        Code::NotFound => ProviderError::fatal(
            "the server has no such path: check its address, and that it is not older than this program",
        ),
        Code::Forbidden => ProviderError::fatal(
            "this client has no right to this in this namespace: have the server's rights extended",
        ),
        code => ProviderError::unknown(format!(
            "the server answered {code:?}, which is no answer to this"
        )),
    }
}

/// The record that a problem shows.
pub(super) fn shown(problem: Problem) -> Option<Record> {
    problem.record.map(own::read)
}

pub(super) fn renewal(said: Said<wire::Renewed>) -> Result<RenewOutcome, ProviderError> {
    match said {
        Ok(wire::Renewed { asked }) => Ok(RenewOutcome::Renewed { asked }),
        Err(problem) if problem.code == Code::Lost => Ok(RenewOutcome::Lost(shown(*problem))),
        Err(problem) => Err(unexpected(&problem)),
    }
}

#[async_trait]
impl Provider for HttpProvider {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        request.check()?;
        own::keep(request.new);
        if let Some(claimed) = request.prev {
            own::keep_claimed(claimed.uuid);
        }
        let path = self.server.path("leases/acquire");
        let said: Said<wire::Acquired> = self
            .server
            .post(&path, &wire::Acquire::from(request))
            .await?;
        match said {
            Ok(wire::Acquired { token, tokens, .. }) => {
                let block = Tokens::new(token, tokens).unwrap_or_else(|| token.into());
                Ok(AcquireOutcome::Acquired(block))
            }
            Err(problem) => match (problem.code, problem.record) {
                (Code::Spent, _) => Ok(AcquireOutcome::Spent),
                (Code::Held, Some(record)) => Ok(AcquireOutcome::Held(own::read(record))),
                (code, record) => Err(unexpected(&Problem::new(code).record(record))),
            },
        }
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        request.check()?;
        own::keep(request.uuid);
        let path = self.server.path("leases/renew");
        let said = self.server.post(&path, &wire::Renew::from(request)).await?;
        renewal(said)
    }

    async fn renew_many(&self, requests: &[Renew]) -> Vec<Result<RenewOutcome, ProviderError>> {
        requests.iter().for_each(|request| own::keep(request.uuid));
        let path = self.server.path("leases/renew-many");
        let body = RenewMany {
            renewals: requests.iter().map(Into::into).collect(),
        };
        let said: Result<Said<RenewedMany>, _> = self.server.post(&path, &body).await;
        let answers = match said {
            Ok(Ok(RenewedMany { answers })) => answers,
            Ok(Err(problem)) => return vec![Err(unexpected(&problem)); requests.len()],
            Err(error) => return vec![Err(error); requests.len()],
        };
        let answers = answers.into_iter().map(|answer| match answer {
            RenewAnswer::Renewed(renewed) => renewal(Ok(renewed)),
            RenewAnswer::Problem(problem) => refused(*problem).and_then(renewal),
        });
        answers.collect()
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        own::keep(request.uuid);
        if let Some(closing) = request.closing {
            own::keep(closing.uuid());
        }
        let path = self.server.path("leases/release");
        let body = wire::Release::from(request);
        let said = self.server.post(&path, &body).await?;
        released(said)
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let path = self.server.path("leases/one");
        let query = [("name", name.as_str())];
        let said: Said<wire::Record> = self.server.get(&path, &query).await?;
        match said {
            Ok(record) => Ok(Some(own::read(record))),
            // The server answers so to an unknown path, too, but then in other words.
            Err(problem) if problem.code == Code::NotFound && problem.detail.is_none() => Ok(None),
            Err(problem) => Err(unexpected(&problem)),
        }
    }

    async fn watch(&self) -> Result<Option<Wakeups>, ProviderError> {
        if !self.capabilities.watch {
            return Ok(None);
        }
        events::leases(&self.server).await.map(Some)
    }

    fn sharing(&self) -> Option<&Sharing> {
        Some(&self.sharing)
    }
}

pub(super) fn released(said: Said<wire::Released>) -> Result<ReleaseOutcome, ProviderError> {
    match said {
        Ok(wire::Released { wanted }) => Ok(ReleaseOutcome::Released { wanted }),
        Err(problem) if problem.code == Code::NotHeld => {
            Ok(ReleaseOutcome::NotHeld(shown(*problem)))
        }
        Err(problem) => Err(unexpected(&problem)),
    }
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
