//! Where connections of our own lead: to one address, or to the primary that Sentinels know.

use std::{
    fmt,
    sync::{Arc, PoisonError},
};

use futures_util::future::{BoxFuture, FutureExt, Shared};
use redis::{Client, RedisResult, sentinel::SentinelClient};
use tokio::sync::Mutex;

/// The source of connections. Clones share the lookups at the Sentinels.
#[derive(Clone)]
pub(crate) enum Servers {
    /// Always the same address.
    Fixed(Box<Client>),
    /// The primary, looked up for each connection.
    Followed(Arc<Sentinels>),
}

/// The Sentinels, and the current lookup.
pub(crate) struct Sentinels {
    client: Arc<Mutex<SentinelClient>>,
    lookup: std::sync::Mutex<Option<Lookup>>,
}

type Lookup = Shared<BoxFuture<'static, RedisResult<Client>>>;

impl Servers {
    pub(crate) fn followed(sentinels: SentinelClient) -> Self {
        Self::Followed(Arc::new(Sentinels {
            client: Arc::new(Mutex::new(sentinels)),
            lookup: std::sync::Mutex::default(),
        }))
    }

    /// The client for the server to which a connection opened now should lead. The caller limits its time.
    ///
    /// # Cancel safety
    /// The lookup stops until another caller continues it.
    pub(crate) async fn client(&self) -> RedisResult<Client> {
        match self {
            Self::Fixed(client) => Ok(Client::clone(client)),
            Self::Followed(sentinels) => sentinels.lookup().await,
        }
    }
}

impl Sentinels {
    /// The lookup in progress, or a new one. A caller that has waited long enough leaves the lookup to the next caller:
    /// a Sentinel that does not answer costs a second before the others count, which an attempt of a short lease does
    /// not have.
    fn lookup(&self) -> Lookup {
        let mut slot = self.lookup.lock().unwrap_or_else(PoisonError::into_inner);
        match &*slot {
            Some(lookup) if lookup.peek().is_none() => lookup.clone(),
            _ => {
                let sentinels = Arc::clone(&self.client);
                let ask = async move { sentinels.lock().await.async_get_client().await };
                let lookup = ask.boxed().shared();
                *slot = Some(lookup.clone());
                lookup
            }
        }
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Clients contain passwords.
        f.write_str(match self {
            Self::Fixed(_) => "Fixed",
            Self::Followed(_) => "Followed",
        })
    }
}
