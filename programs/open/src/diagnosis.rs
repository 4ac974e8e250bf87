//! The message to people about a store that has no answer: why, and what to do.

use std::{error::Error as StdError, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{ErrorKind, ProviderError};

#[cfg(feature = "_tls")]
use crate::backend::tls;
#[cfg(feature = "http")]
use crate::backend::token;
use crate::{
    StoreError,
    tables::{Tables, TablesError},
};

/// How long a check of a server's tables may take, once it has refused something.
const LOOK: Duration = Duration::from_secs(10);
/// The same once the server did not answer: if it is gone, this fails as well.
const GLANCE: Duration = Duration::from_secs(2);

/// The knowledge about a store that explains its errors.
#[derive(Clone)]
pub(crate) struct Diagnosis {
    /// The store as people may see it.
    pub(crate) shown: String,
    /// The tables that the store needs; `None` if opening did all.
    pub(crate) tables: Option<Arc<dyn Tables>>,
    /// How to have them made.
    pub(crate) set_up: &'static str,
    /// The advice when the store is silent.
    pub(crate) if_silent: &'static str,
    /// Whether the store itself sent this error: then it is up.
    pub(crate) is_refusal: fn(&(dyn StdError + 'static)) -> bool,
    /// Finds out why a server does not answer, where its driver loses the reason.
    pub(crate) probe: Option<Arc<dyn Probe>>,
}

pub(crate) type Refusal = (Box<dyn StdError + Send + Sync>, &'static str);

/// A second way to learn why a server does not answer.
#[async_trait]
pub(crate) trait Probe: Send + Sync {
    /// Its refusal, and what to do; `None` if it has none, or is out of reach.
    async fn refusal(&self) -> Option<Refusal>;
}

impl Diagnosis {
    /// Makes what is needed; nothing if it exists.
    pub(crate) async fn set_up(&self) -> Result<(), StoreError> {
        let Some(tables) = &self.tables else {
            return Ok(());
        };
        let doing = "can't set it up";
        match tables.make().await {
            Ok(()) => Ok(()),
            // Missing tables are no reason why they cannot be made.
            Err(TablesError::Store(error)) => Err(self.explained(doing, error, false).await),
            Err(error) => Err(self.unusable(doing).because(error)),
        }
    }

    /// Checks that the store has what is needed.
    pub(crate) async fn check(&self, doing: &str) -> Result<(), StoreError> {
        let Some(tables) = &self.tables else {
            return Ok(());
        };
        match tables.check().await {
            Ok(()) => Ok(()),
            Err(TablesError::Store(error)) => Err(self.failure(doing, error).await),
            Err(error) => Err(self.lacks(doing, error)),
        }
    }

    /// The store has no answer: why, and what to do.
    pub(crate) async fn failure(&self, doing: &str, error: ProviderError) -> StoreError {
        self.explained(doing, error, true).await
    }

    /// With `look`: missing tables may be the reason.
    async fn explained(&self, doing: &str, error: ProviderError, look: bool) -> StoreError {
        #[cfg(feature = "_tls")]
        if let Some(advice) = tls::advice(&error) {
            return self.unusable(doing).because(error).advise(advice);
        }
        #[cfg(feature = "http")]
        if let Some(advice) = token::advice(&error) {
            return self.unusable(doing).because(error).advise(advice);
        }
        if error.kind() != ErrorKind::Fatal
            && let Some((refusal, advice)) = self.refusal().await
        {
            return self.unusable(doing).because(refusal).advise(advice);
        }
        match error.kind() {
            ErrorKind::Fatal if look => match self.lacking().await {
                Some(TablesError::Store(_)) | None => self.unusable(doing).because(error),
                Some(lacking) => self.lacks(doing, lacking),
            },
            ErrorKind::Fatal => self.unusable(doing).because(error),
            ErrorKind::NotApplied | ErrorKind::Unknown => match self.obstacle().await {
                Some(obstacle) => {
                    StoreError::unreachable(format!("{doing}: the store {self} takes no writes"))
                        .because(obstacle)
                }
                None => {
                    let what = format!("{doing}: the store {self} {}", self.conduct(&error));
                    let failure = StoreError::unreachable(what);
                    let failure = if self.refuses(&error) {
                        failure
                    } else {
                        failure.advise(self.if_silent)
                    };
                    failure.because(error)
                }
            },
        }
    }

    /// The behaviour of a store that gave no answer to a request.
    pub(crate) fn conduct(&self, error: &ProviderError) -> &'static str {
        if self.refuses(error) {
            "refuses for now"
        } else {
            "does not answer"
        }
    }

    /// Whether the store itself refused.
    fn refuses(&self, error: &ProviderError) -> bool {
        let first = error as &(dyn StdError + 'static);
        std::iter::successors(Some(first), |&error| error.source()).any(self.is_refusal)
    }

    /// The tables are missing or wrong.
    fn lacks(&self, doing: &str, error: TablesError) -> StoreError {
        let can_be_made = matches!(error, TablesError::Missing(_) | TablesError::NoQueue(_));
        let lacks = self.unusable(doing).because(error);
        if can_be_made {
            lacks.advise(self.set_up)
        } else {
            lacks
        }
    }

    fn unusable(&self, doing: &str) -> StoreError {
        StoreError::unusable(format!("{doing}: the store {self} can't be used"))
    }

    /// Why a server does not answer, if a second way to it shows the reason.
    async fn refusal(&self) -> Option<Refusal> {
        let refusal = self.probe.as_ref()?.refusal();
        tokio::time::timeout(GLANCE, refusal).await.ok()?
    }

    /// The obstacle that keeps a store from writing although it may be up.
    async fn obstacle(&self) -> Option<Box<dyn StdError + Send + Sync>> {
        let look = self.tables.as_ref()?.obstacle();
        tokio::time::timeout(GLANCE, look).await.ok()?
    }

    /// The flaw in the tables of a store that refused something.
    async fn lacking(&self) -> Option<TablesError> {
        let look = self.tables.as_ref()?.check();
        tokio::time::timeout(LOOK, look).await.ok()?.err()
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}
