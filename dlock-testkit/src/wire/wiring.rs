//! The means of a case: wires to the server that can break, and one that cannot.

use std::{fmt, future::Future, net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Client, DLock, Error, Name, Provider, ProviderError, ReleaseEnd,
    provider::{Acquire, Discipline, Release, Renew},
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{Wired, targeting::Targeting};
use crate::{
    faults::Faulty,
    proxy::{Protocol, Proxy},
    slow::{in_time, is_late, within},
};

/// The limit for events that should happen soon.
const PATIENCE: Duration = Duration::from_secs(20);

/// The workbench of one round of a case. Names are fresh, so cases never collide on a shared store.
#[derive(Clone)]
pub struct Wiring {
    fixture: Arc<dyn Erased>,
    scope: String,
    lease: Duration,
}

/// A provider behind its own proxy, and a client over it: one process.
pub(super) struct Wire {
    pub(super) proxy: Arc<Proxy>,
    /// Aims faults of the wire at calls, and records the calls.
    pub(super) provider: Faulty<Targeting>,
    pub(super) client: Client,
    lease: Duration,
}

impl Wiring {
    pub(super) fn new(fixture: Arc<dyn Erased>, case: &str, lease: Duration) -> Self {
        Self {
            fixture,
            scope: format!("{case}/{}", Uuid::new_v4().simple()),
            lease,
        }
    }

    /// The lease of this round.
    #[must_use]
    pub const fn lease(&self) -> Duration {
        self.lease
    }

    /// How long a call of a provider may take before it must end without intervention.
    pub(super) const fn limit(&self) -> Duration {
        self.lease
    }

    /// The answer of a call. A call that fails late may have been abandoned because the machine was slow.
    pub(super) async fn answered<T>(
        &self,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> T {
        let asked = Instant::now();
        call.await.unwrap_or_else(|error| {
            in_time(!self.is_late(asked), format_args!("{error:?}"));
            panic!("this should have been answered: {error:?}")
        })
    }

    /// Whether a call that began at this instant may have failed because it took too long.
    pub(super) fn is_late(&self, asked: Instant) -> bool {
        asked.elapsed() >= self.limit() / 2
    }

    /// How long a call may get no answer because another call got none.
    pub(super) fn patience(&self) -> Duration {
        if self.shared() {
            self.limit()
        } else {
            Duration::ZERO
        }
    }

    /// Whether calls share a connection.
    pub(super) fn shared(&self) -> bool {
        self.fixture.shared()
    }

    /// A fresh name; within this round, the same label returns the same name.
    pub(super) fn name(&self, label: impl fmt::Display) -> Name {
        ok(Name::new(format!("{}/{label}", self.scope)))
    }

    /// A try for this name that outlasts the case.
    pub(super) fn term(&self, label: impl fmt::Display) -> Acquire {
        let long = Duration::from_secs(600);
        Acquire::new(self.name(label), Uuid::new_v4(), long).owner("a contender")
    }

    /// A wire to the server.
    pub(super) async fn wire(&self) -> Wire {
        self.seeded(0).await
    }

    /// A wire with this seed for everything that happens by chance.
    pub(super) async fn seeded(&self, seed: u64) -> Wire {
        let proxy = Arc::new(ok(Proxy::seeded(self.fixture.server(), seed).await));
        proxy.speak(self.fixture.protocol());
        proxy.spare(self.fixture.handshake());
        let provider = self.fixture.provider(proxy.address(), self.limit()).await;
        self.warm(&*provider).await;
        let provider = Faulty::new(Targeting::new(provider, Arc::clone(&proxy)));
        Wire {
            client: Client::new(provider.clone()),
            proxy,
            provider,
            lease: self.lease,
        }
    }

    /// A connection to the server that does not break.
    pub(super) async fn direct(&self) -> Arc<dyn Provider> {
        let provider = self.fixture.provider(self.fixture.server(), PATIENCE).await;
        self.warm(&*provider).await;
        provider
    }

    /// Opens connections and lets the server learn what it needs, so that from then on a call is one exchange.
    async fn warm(&self, provider: &dyn Provider) {
        let term = self.term(format_args!("warm/{}", Uuid::new_v4().simple()));
        let renew = |n| Renew::new(term.name.clone(), term.new, n);
        let release = Release::new(term.name.clone(), term.new, None);
        let began = Instant::now();
        loop {
            let warm = async {
                provider.acquire(&term).await?;
                provider.renew(&renew(1)).await?;
                for renewed in provider.renew_many(&[renew(2), renew(3)]).await {
                    renewed?;
                }
                provider.read(&term.name).await?;
                provider.release(&release).await
            };
            match warm.await {
                Ok(_released) => return,
                // At first, a busy machine may be too slow for a call's limit.
                Err(error) => {
                    let whole = began.elapsed() < PATIENCE;
                    in_time(whole, format_args!("a call on a whole wire: {error:?}"));
                    sleep(self.lease / 20).await;
                }
            }
        }
    }
}

impl Wire {
    /// A lock of this process.
    pub(super) fn lock(&self, name: &Name) -> DLock {
        lock(&self.client, name, self.lease)
    }

    /// The same, without a stream of hints: opening one may meet the fault that is meant for a call.
    pub(super) fn lock_without_hints(&self, name: &Name) -> DLock {
        let lock = DLock::builder()
            .name(name.as_str())
            .provider(&self.client)
            .duration(self.lease)
            .wakeups(false);
        ok(lock.build())
    }
}

/// A lock over this client.
pub(super) fn lock(client: &Client, name: &Name, lease: Duration) -> DLock {
    let lock = DLock::builder()
        .name(name.as_str())
        .provider(client)
        .duration(lease);
    ok(lock.build())
}

/// Whether the store's clock ends leases.
pub(super) fn store_clock(provider: &dyn Provider) -> bool {
    provider.capabilities().discipline == Discipline::StoreClock
}

/// The outcome of a future that ends soon.
pub(super) async fn soon<F: Future>(what: impl fmt::Display, future: F) -> F::Output {
    within(PATIENCE, what, future).await
}

/// An instant no later than the one until which a holder believes in its lease.
pub(super) fn believed_at_least(remaining: impl FnOnce() -> Duration) -> Instant {
    let now = Instant::now();
    now + remaining()
}

/// An instant no earlier than the one until which a holder believes in its lease.
pub(super) fn believed_at_most(remaining: impl FnOnce() -> Duration) -> Instant {
    let left = remaining();
    Instant::now() + left
}

#[track_caller]
pub(super) fn ok<T, E: fmt::Debug + 'static>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            in_time(!is_late(&error), format_args!("{error:?}"));
            panic!("this should have succeeded: {error:?}")
        }
    }
}

#[track_caller]
pub(super) fn released(ended: Result<ReleaseEnd, Error>, what: impl fmt::Display) {
    let ended = ok(ended);
    in_time(
        ended != ReleaseEnd::Unconfirmed,
        format_args!("{what}: the release"),
    );
    assert_eq!(ended, ReleaseEnd::Released, "{what}");
}

/// A fixture without its type, so that the cases are compiled once.
#[async_trait]
pub(super) trait Erased: Send + Sync {
    fn protocol(&self) -> Protocol;
    fn shared(&self) -> bool;
    fn handshake(&self) -> usize;
    fn server(&self) -> SocketAddr;
    async fn provider(&self, address: SocketAddr, limit: Duration) -> Arc<dyn Provider>;
}

pub(super) struct Erase<W>(pub(super) W);

#[async_trait]
impl<W: Wired> Erased for Erase<W> {
    fn protocol(&self) -> Protocol {
        W::PROTOCOL
    }

    fn shared(&self) -> bool {
        W::SHARED
    }

    fn handshake(&self) -> usize {
        W::HANDSHAKE
    }

    fn server(&self) -> SocketAddr {
        self.0.server()
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> Arc<dyn Provider> {
        Arc::new(self.0.provider(address, limit).await)
    }
}

impl fmt::Debug for Wiring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wiring")
            .field("scope", &self.scope)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
