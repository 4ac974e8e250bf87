//! Between a call and its connection: the reserve for holders, the time limit, and the closing of connections that did
//! not answer or were idle meanwhile.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    iter,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use dlock_core::{ProviderError, provider::is_for_holder};
use mysql_async::{Conn, DriverError, Error, Opts, OptsBuilder, Pool, Row, prelude::Queryable};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, timeout},
};

use crate::error;

/// How long an opening may continue after its call has gone.
const OPENING: Duration = Duration::from_secs(10);

/// More than the connections of a pool.
const MOST_ANSWERS: usize = 1000;

/// The kind of call that needs a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A renewal or a release, on which a lease depends.
    Holder,
    /// Anything else.
    Other,
}

/// A pool of connections, with the reserve for holders.
#[derive(Clone)]
pub(crate) struct Connections {
    pool: Pool,
    /// Places for all callers that are not holders: one fewer than the pool has, so that waiters never starve the
    /// holder's renewals. `None`: a pool of one has nothing to reserve.
    others: Option<Arc<Semaphore>>,
    /// The place for an opening that continues without its call.
    spare: Arc<Semaphore>,
    limit: Duration,
    /// When each connection answered last, by its number at the server.
    answers: Arc<Mutex<HashMap<u32, Instant>>>,
}

impl Connections {
    pub(crate) fn new(options: Opts, limit: Duration) -> Self {
        // No call depends on the state in which an earlier one left the session, so nothing has to be reset between two
        // calls.
        let pool = options.pool_opts().clone().with_reset_connection(false);
        let size = pool.constraints().max();
        // On loopback the driver would look for the socket file that the server names, which may be another server's if
        // a tunnel leads to it. Unless the packet size and the idle time are set, the driver queries each new connection
        // for them, in a round trip. The longest call has some 14 KB, the schema 20; a connection that the server has
        // closed meanwhile is noticed before it is used.
        let (packet, idle) = (options.max_allowed_packet(), options.wait_timeout());
        let options = OptsBuilder::from_opts(options)
            .pool_opts(pool)
            .prefer_socket(false)
            .max_allowed_packet(packet.or(Some(1 << 20)))
            .wait_timeout(idle.or(Some(8 * 60 * 60)));
        Self {
            pool: Pool::new(options),
            others: (size > 1).then(|| Arc::new(Semaphore::new(size - 1))),
            spare: Arc::new(Semaphore::new(1)),
            limit,
            answers: Arc::default(),
        }
    }

    /// Sends one text of several statements and waits for the rows of the first result.
    pub(crate) async fn query(
        &self,
        caller: Caller,
        statements: &str,
    ) -> Result<Vec<Row>, ProviderError> {
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
            let rows = lent.connection.query(statements).await;
            match &rows {
                Err(error) if error::is_read_only(error) => call.leave(),
                Err(error) if error.is_fatal() => {}
                Ok(_) | Err(_) => call.give_back(),
            }
            rows.map_err(error::no_result)
        };
        // A silent partition: the driver would wait for ever.
        match timeout(self.limit, answer).await {
            Ok(result) => result,
            Err(_) => Err(error::timed_out(sent, self.limit)),
        }
    }

    /// Takes a connection from the pool. If one has to be opened, a task opens it.
    async fn lend(&self, caller: Caller) -> Result<Lent, Error> {
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
        let ended = || Err(Error::Driver(DriverError::PoolDisconnected));
        lent.await.unwrap_or_else(|_| ended())
    }

    fn lending(&self, place: Option<OwnedSemaphorePermit>) -> Lending {
        let pool = self.pool.clone();
        Box::pin(async move {
            let connection = pool.get_conn().await?;
            Ok(Lent {
                connection,
                _place: place,
            })
        })
    }

    /// Closes the connections that are idle and have not answered since `instant`.
    fn close_idle_since(&self, instant: Instant) {
        let pool = self.pool.metrics();
        let next = || {
            // The pool lends an idle connection at once; without one it would begin to open a connection.
            if pool.connections_in_pool.load(Ordering::Relaxed) == 0 {
                return None;
            }
            let lent = pin!(self.pool.get_conn());
            match lent.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(lent) => lent.ok(),
                Poll::Pending => None,
            }
        };
        let idle: Vec<Conn> = iter::from_fn(next).collect();
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in idle {
            let last = answers.get(&connection.id());
            if last.is_none_or(|last| *last < instant) {
                answers.remove(&connection.id());
                close(connection);
            }
        }
    }

    /// Whether the connection has answered nothing yet.
    fn is_new(&self, connection: &Conn) -> bool {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        !answers.contains_key(&connection.id())
    }

    fn answered(&self, connection: &Conn) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST_ANSWERS {
            // This also removes closed connections; the others are entered again when they answer.
            answers.clear();
        }
        answers.insert(connection.id(), Instant::now());
    }

    /// Like [`Connections::query`], for statements whose result has exactly one row.
    pub(crate) async fn query_one(
        &self,
        caller: Caller,
        statements: &str,
    ) -> Result<Row, ProviderError> {
        let mut rows = self.query(caller, statements).await?;
        match (rows.pop(), rows.is_empty()) {
            (Some(row), true) => Ok(row),
            (None, _) => Err(error::bad_answer("no row")),
            (Some(_), false) => Err(error::bad_answer("many rows")),
        }
    }
}

/// A connection in use.
struct Lent {
    connection: Conn,
    _place: Option<OwnedSemaphorePermit>,
}

type Lending = Pin<Box<dyn Future<Output = Result<Lent, Error>> + Send>>;

/// Opens a connection for a call. If the call is given up meanwhile, the connection serves a later one: an attempt has
/// a sixth of a lease at most, and opening may take longer than that every time. One such opening continues at a time,
/// so that openings that hang leave the pool's other places to new ones, which notice that the server is back.
async fn open(
    mut lending: Lending,
    mut call: oneshot::Sender<Result<Lent, Error>>,
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
/// next request on it would wait behind the statement that still runs, or receive that statement's answer.
///
/// A call that ends without an answer also closes the idle connections, except those that have answered since it began:
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
        if let Some(lent) = self.lent.take() {
            self.connections.answered(&lent.connection);
        }
    }

    /// The server only reads: it may be a replica that was the primary when the connections were opened. The pool lends
    /// none of them again, since new ones may lead to the new primary.
    fn leave(&mut self) {
        self.began = Instant::now();
        if let Some(lent) = self.lent.take() {
            close(lent.connection);
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.silent {
            return;
        }
        let connections = self.connections;
        connections.close_idle_since(self.began);
        let Some(lent) = self.lent.take() else {
            return;
        };
        let new = connections.is_new(&lent.connection);
        close(lent.connection);
        // Opening took so long that no time was left for the answer. The next attempt would fare no better.
        if new && let Ok(runtime) = Handle::try_current() {
            let (unheard, _) = oneshot::channel();
            let spare = Arc::clone(&connections.spare);
            runtime.spawn(open(connections.lending(None), unheard, spare));
        }
    }
}

fn close(connection: Conn) {
    // The driver would read the rest of the answer, however long that takes, and lend the connection again. A
    // connection that has begun to disconnect counts as broken, and the driver closes it; no call waits for the
    // goodbye.
    let goodbye = pin!(connection.disconnect());
    let _begun = goodbye.poll(&mut Context::from_waker(Waker::noop()));
}
