//! A server over TCP and a driver for it, on two pages: the memory store at the end of a wire.
//!
//! Since both are in one process, the wire carries tickets: a request is a ticket of sixteen bytes; the server does the
//! work that the ticket stands for, each time it arrives, and sends it back.

#![allow(
    dead_code,
    clippy::expect_used,
    reason = "every test program uses another part of this, and all of it is test code"
)]

mod bug;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Release, ReleaseOutcome, Renew, RenewOutcome,
    },
};
use dlock_testkit::{
    memory::{MemoryProvider, MemoryStore},
    wire::Wired,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

pub(crate) use self::bug::Bug;

/// The server's work for a ticket.
type Job = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;
type Jobs = Arc<Mutex<BTreeMap<u128, Job>>>;

pub(crate) struct Tcp {
    store: MemoryStore,
    server: SocketAddr,
    jobs: Jobs,
    bug: Option<Bug>,
}

impl Tcp {
    pub(crate) async fn with(bug: Option<Bug>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let server = listener.local_addr().expect("the address of a listener");
        let jobs = Jobs::default();
        let served = Arc::clone(&jobs);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&served)));
            }
        });
        Self {
            store: MemoryStore::store_clock(),
            server,
            jobs,
            bug,
        }
    }
}

async fn serve(mut socket: TcpStream, jobs: Jobs) -> io::Result<()> {
    loop {
        let ticket = socket.read_u128().await?;
        let job = jobs.lock().expect("no job panics").get(&ticket).cloned();
        job.expect("a ticket that was given out")().await;
        socket.write_u128(ticket).await?;
    }
}

impl Wired for Tcp {
    type Provider = TcpProvider;

    /// A connection begins with the first request.
    const HANDSHAKE: usize = 0;

    async fn start() -> Self {
        Self::with(None).await
    }

    fn server(&self) -> SocketAddr {
        self.server
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> TcpProvider {
        // The connection that does not break has no bug either.
        let bug = self.bug.filter(|_| address != self.server);
        TcpProvider {
            store: MemoryProvider::new(&self.store).wakeups(false),
            address,
            jobs: Arc::clone(&self.jobs),
            idle: Arc::default(),
            kept: Arc::default(),
            limit: match bug {
                Some(Bug::NoLimit) => Duration::from_secs(3600),
                // Sooner than the frontend would stop waiting.
                Some(bug) if bug.is_hasty() => limit / 10,
                _ => limit,
            },
            bug,
        }
    }
}

#[derive(Clone)]
pub(crate) struct TcpProvider {
    /// The store on which the server works.
    store: MemoryProvider,
    address: SocketAddr,
    jobs: Jobs,
    idle: Arc<Mutex<Vec<TcpStream>>>,
    /// The connection of the driver that never abandons one.
    kept: Arc<tokio::sync::Mutex<Option<TcpStream>>>,
    limit: Duration,
    bug: Option<Bug>,
}

impl TcpProvider {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Lets the server do this work, within the limit.
    async fn call<T, Fut>(
        &self,
        work: impl Fn(MemoryProvider) -> Fut + Send + Sync + 'static,
    ) -> Result<T, ProviderError>
    where
        T: Send + 'static,
        Fut: Future<Output = Result<T, ProviderError>> + Send + 'static,
    {
        let answer = Arc::new(Mutex::new(None));
        let (ticket, slot, store) = (uuid(), Arc::clone(&answer), self.store.clone());
        let work = Arc::new(work);
        let job: Job = Arc::new(move || {
            let (slot, work, store) = (Arc::clone(&slot), Arc::clone(&work), store.clone());
            Box::pin(async move {
                let done = work(store).await;
                *slot.lock().expect("nothing panics here") = Some(done);
            })
        });
        let jobs = Arc::clone(&self.jobs);
        jobs.lock().expect("no job panics").insert(ticket, job);

        let mut sent = false;
        let mut tries = if self.has(Bug::Repeats) { 3 } else { 1 };
        let trip = async {
            loop {
                tries -= 1;
                let result = self.trip(ticket, &mut sent).await;
                if result.is_ok() || tries == 0 {
                    return result;
                }
            }
        };
        let failed = match timeout(self.limit, trip).await {
            Ok(Ok(())) => {
                let answer = answer.lock().expect("nothing panics here").take();
                return answer.unwrap_or_else(|| Err(ProviderError::unknown("another's answer")));
            }
            Ok(Err(error)) => error,
            Err(elapsed) => elapsed.into(),
        };
        let unsure = sent || self.has(Bug::UnsureOfRefusals);
        Err(match self.bug {
            Some(Bug::FatalWhenCut) => ProviderError::fatal("the connection broke"),
            Some(Bug::DeniesWhatItSent) => ProviderError::not_applied("the connection broke"),
            _ if unsure => ProviderError::unknown("the connection broke"),
            _ => ProviderError::not_applied("there was no connection"),
        }
        .with_source(failed))
    }

    /// One exchange, on a connection that is returned to the pool only if it was answered: a late answer must not pass
    /// for that of the next exchange.
    async fn trip(&self, ticket: u128, sent: &mut bool) -> io::Result<()> {
        if self.has(Bug::KeepsItsConnection) {
            let mut kept = self.kept.lock().await;
            if kept.is_none() {
                *kept = Some(TcpStream::connect(self.address).await?);
            }
            let socket = kept.as_mut().expect("connected");
            *sent = true;
            let answered = exchange(socket, ticket).await;
            if answered.is_err() {
                *kept = None;
            }
            return answered.map(drop);
        }
        let mut socket = match self.lent() {
            Some(socket) => socket,
            None => TcpStream::connect(self.address).await?,
        };
        *sent = true;
        let answered = exchange(&mut socket, ticket).await;
        if answered.is_ok() || self.has(Bug::KeepsBrokenConnections) {
            self.idle.lock().expect("nothing panics here").push(socket);
        }
        if answered? == ticket {
            Ok(())
        } else {
            Err(io::Error::other("an answer to another request"))
        }
    }

    /// An idle connection that has not ended.
    fn lent(&self) -> Option<TcpStream> {
        let mut idle = self.idle.lock().expect("nothing panics here");
        loop {
            let socket = idle.pop()?;
            let ended = socket.try_read(&mut [0; 1]);
            let alive = ended.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
            if alive || self.has(Bug::KeepsBrokenConnections) {
                return Some(socket);
            }
        }
    }
}

async fn exchange(socket: &mut TcpStream, ticket: u128) -> io::Result<u128> {
    socket.write_u128(ticket).await?;
    socket.read_u128().await
}

fn uuid() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}

#[async_trait]
impl Provider for TcpProvider {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities().batch(false)
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        let mut sent = request.clone();
        sent.duration = self
            .bug
            .map_or(sent.duration, |bug| bug.lease(sent.duration));
        let ask = |sent: Acquire| {
            self.call(move |store| {
                let sent = sent.clone();
                async move { store.acquire(&sent).await }
            })
        };
        match ask(sent.clone()).await {
            Err(_) if self.has(Bug::AsksAnew) => {
                sent.new = uuid::Uuid::new_v4();
                ask(sent).await
            }
            Err(_) if self.has(Bug::AssumesItsGrants) => Ok(bug::grant()),
            answer => answer,
        }
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        let sent = request.clone();
        let answer = self
            .call(move |store| {
                let sent = sent.clone();
                async move { store.renew(&sent).await }
            })
            .await;
        match answer {
            Err(_) if self.has(Bug::LostWhenUnanswered) => Ok(RenewOutcome::Lost(None)),
            Err(_) if self.has(Bug::AssumesItsRenewals) => {
                Ok(RenewOutcome::Renewed { asked: false })
            }
            answer => answer,
        }
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        let (sent, bug) = (request.clone(), self.bug);
        let answer = self
            .call(move |store| {
                let sent = sent.clone();
                async move { bug::release(bug, &store, sent).await }
            })
            .await;
        match answer {
            Err(_) if self.has(Bug::AssumesItsReleases) => {
                Ok(ReleaseOutcome::Released { wanted: false })
            }
            answer => answer,
        }
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        let sent = name.clone();
        self.call(move |store| {
            let sent = sent.clone();
            async move { store.read(&sent).await }
        })
        .await
    }
}
