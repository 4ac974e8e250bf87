//! Between a call and its connection from the user's pool: the reserve for holders, the time limit, and the closing of
//! connections that did not answer or were idle meanwhile.

use std::{future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use deadpool_postgres::{Metrics, Object, Pool, PoolError, tokio_postgres};
use dlock_core::{ProviderError, provider::is_for_holder};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, timeout},
};
use tokio_postgres::Row;

pub(crate) use crate::prepared::Parameters;
use crate::{
    error,
    prepared::{Prepared, limited},
};

const VERSION: &str = "SELECT pg_catalog.current_setting('server_version_num')::integer, \
     pg_catalog.current_setting('server_version')";

/// How long an opening may continue after its call has gone.
const OPENING: Duration = Duration::from_secs(10);

/// A number as a parameter. Numbers that matter are below 2^53 (T2); a greater one fits no record, and need not be
/// exact.
pub(crate) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A span as a parameter.
pub(crate) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The kind of call that needs a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A renewal or a release, on which a lease depends.
    Holder,
    /// Anything else.
    Other,
}

/// The user's pool, with the reserve for holders.
#[derive(Clone)]
pub(crate) struct Connections {
    pool: Pool,
    /// Places for all callers that are not holders: one fewer than the pool has, so that waiters never starve the
    /// holder's renewals. `None`: a pool of one has nothing to reserve.
    others: Option<Arc<Semaphore>>,
    /// The place for an opening that continues without its call.
    spare: Arc<Semaphore>,
    limit: Duration,
    prepared: Prepared,
}

impl Connections {
    /// Statements are prepared as the user says, or otherwise if the session allows it.
    pub(crate) fn new(pool: Pool, limit: Duration, prepared: Option<bool>) -> Self {
        let size = pool.status().max_size;
        Self {
            pool,
            others: (size > 1).then(|| Arc::new(Semaphore::new(size - 1))),
            spare: Arc::new(Semaphore::new(1)),
            limit,
            prepared: Prepared::new(prepared, limit),
        }
    }

    /// How long a call may take.
    pub(crate) const fn limit(&self) -> Duration {
        self.limit
    }

    /// Sends one statement in one flight and waits for its rows.
    pub(crate) async fn query(
        &self,
        caller: Caller,
        statement: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, ProviderError> {
        let rows = self
            .run(caller, async |connection| {
                self.prepared.query(connection, statement, parameters).await
            })
            .await;
        match rows {
            Err(error) if error::of_missing(&error) => {
                Err(Box::pin(self.too_old(caller)).await.unwrap_or(error))
            }
            rows => rows,
        }
    }

    /// The error that names the version of a server on which the functions cannot be made, if it is one.
    pub(crate) async fn too_old(&self, caller: Caller) -> Option<ProviderError> {
        let rows = self
            .run(caller, async |connection| {
                connection.query_typed(VERSION, &[]).await
            })
            .await
            .ok()?;
        let row = rows.first()?;
        let (number, version): (i32, &str) = (row.try_get(0).ok()?, row.try_get(1).ok()?);
        (number < error::OLDEST).then(|| error::too_old(version))
    }

    /// Like [`Connections::query`], for a statement that has exactly one row.
    pub(crate) async fn query_one(
        &self,
        caller: Caller,
        statement: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Row, ProviderError> {
        let mut rows = self.query(caller, statement, parameters).await?;
        match (rows.pop(), rows.is_empty()) {
            (Some(row), true) => Ok(row),
            (None, _) => Err(error::bad_answer("no row")),
            (Some(_), false) => Err(error::bad_answer("many rows")),
        }
    }

    /// Sends statements without parameters, in one transaction.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), ProviderError> {
        let sql = &format!("{};\n{sql}", limited(self.limit));
        self.run(Caller::Other, async |connection| {
            connection.batch_execute(sql).await
        })
        .await
    }

    /// Borrows a connection within the time limit, and afterwards returns or closes it, and the idle ones.
    async fn run<T>(
        &self,
        caller: Caller,
        work: impl AsyncFnOnce(&Object) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, ProviderError> {
        let mut call = Call::begin(self);
        let mut sent = false;
        let answer = async {
            let lent = match self.lend(caller).await {
                Ok(lent) => call.lent.insert(lent),
                Err(error) => {
                    call.silent = false;
                    return Err(error::no_connection(error));
                }
            };
            sent = true;
            let result = work(&lent.connection).await;
            match &result {
                Err(error) if error::is_read_only(error) => call.leave(),
                Err(error) if !error::leaves_usable(error) => {}
                Ok(_) | Err(_) => call.give_back(),
            }
            result.map_err(error::no_result)
        };
        // A silent partition: the driver would wait for ever.
        match timeout(self.limit, answer).await {
            Ok(result) => result,
            Err(_) => Err(error::timed_out(sent, self.limit)),
        }
    }

    /// Takes a connection from the pool. If one has to be opened, a task opens it.
    async fn lend(&self, caller: Caller) -> Result<Lent, PoolError> {
        let place = match (caller, &self.others) {
            // The semaphore is never closed.
            (Caller::Other, Some(others)) if !is_for_holder() => {
                Arc::clone(others).acquire_owned().await.ok()
            }
            _ => None,
        };
        let mut lending = self.lending(place);
        if let Poll::Ready(lent) =
            poll_fn(|context| Poll::Ready(lending.as_mut().poll(context))).await
        {
            return lent;
        }
        let (sender, lent) = oneshot::channel();
        tokio::spawn(open(lending, sender, Arc::clone(&self.spare)));
        // The task ends with an answer, or with its runtime.
        lent.await.unwrap_or(Err(PoolError::Closed))
    }

    fn lending(&self, place: Option<OwnedSemaphorePermit>) -> Lending {
        let pool = self.pool.clone();
        Box::pin(async move {
            let connection = pool.get().await?;
            Ok(Lent {
                connection,
                _place: place,
            })
        })
    }
}

/// A connection in use.
struct Lent {
    connection: Object,
    _place: Option<OwnedSemaphorePermit>,
}

type Lending = Pin<Box<dyn Future<Output = Result<Lent, PoolError>> + Send>>;

/// Opens a connection for a call. If the call is given up meanwhile, the connection serves a later one: an attempt has
/// a sixth of a lease at most, and opening may take longer than that every time. One such opening continues at a time,
/// so that openings that hang leave the pool's other places to new ones, which notice that the server is back.
async fn open(
    mut lending: Lending,
    mut call: oneshot::Sender<Result<Lent, PoolError>>,
    spare: Arc<Semaphore>,
) {
    tokio::select! {
        biased;
        lent = &mut lending => {
            // If the call has gone, this returns the connection to the pool.
            drop(call.send(lent));
            return;
        }
        () = call.closed() => {}
    }
    if let Ok(_one) = spare.try_acquire() {
        drop(timeout(OPENING, lending).await);
    }
}

/// A call, and the connection that it borrows. Unless the connection was given back, the end of the call closes it: the
/// next request on it would wait behind the statement that still runs. The driver's task ends with it, so nothing waits
/// for an answer that never comes.
///
/// A call that ends without an answer also closes the idle connections, except those that were lent since it began:
/// like its own, they may lead to a server that is gone.
struct Call<'c> {
    connections: &'c Connections,
    began: Instant,
    lent: Option<Lent>,
    /// No answer has come.
    silent: bool,
}

impl<'c> Call<'c> {
    fn begin(connections: &'c Connections) -> Self {
        Self {
            connections,
            began: Instant::now(),
            lent: None,
            silent: true,
        }
    }

    /// The server has answered: the pool may lend the connection again.
    fn give_back(&mut self) {
        self.silent = false;
        drop(self.lent.take());
    }

    /// The server only reads: it may be a standby that was the primary when the connections were opened. The pool lends
    /// none of them again, since new ones may lead to the new primary.
    fn leave(&mut self) {
        self.began = Instant::now();
        if let Some(lent) = self.lent.take() {
            drop(Object::take(lent.connection));
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.silent {
            return;
        }
        let connections = self.connections;
        let began = self.began.into_std();
        // When it was last lent, or opened.
        let last = |metrics: Metrics| metrics.recycled.unwrap_or(metrics.created);
        drop(connections.pool.retain(|_, metrics| last(metrics) > began));
        let Some(lent) = self.lent.take() else {
            return;
        };
        let new = Object::metrics(&lent.connection).recycled.is_none();
        drop(Object::take(lent.connection));
        // Opening took so long that no time was left for the answer. The next attempt would fare no better.
        if new && let Ok(runtime) = Handle::try_current() {
            let (unheard, _) = oneshot::channel();
            let spare = Arc::clone(&connections.spare);
            runtime.spawn(open(connections.lending(None), unheard, spare));
        }
    }
}
