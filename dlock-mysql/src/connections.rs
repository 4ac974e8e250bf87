//! The way from a call to a connection and back: the reserve for holders, the time limit, and what becomes of a
//! connection that did not answer.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
    time::Duration,
};

use dlock_core::ProviderError;
use mysql_async::{Conn, Error, Opts, OptsBuilder, Pool, Row, prelude::Queryable};
use tokio::{sync::Semaphore, time::timeout};

use crate::error;

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A renewal or a release: a lease depends on it.
    Holder,
    /// Anything else.
    Other,
}

/// A pool of connections, and what is kept of it for holders.
#[derive(Clone)]
pub(crate) struct Connections {
    pool: Pool,
    /// Places for all who are not holders: one fewer than the pool has, so that waiters never starve the holder's
    /// renewals (G1). `None`: a pool of one leaves nothing to keep.
    others: Option<Arc<Semaphore>>,
    limit: Duration,
}

impl Connections {
    pub(crate) fn new(options: Opts, limit: Duration) -> Self {
        // No call depends on what a session was left with, so nothing has to be reset between two of them.
        let pool = options.pool_opts().clone().with_reset_connection(false);
        let size = pool.constraints().max();
        // On loopback the driver would look for the socket file that the server names, which may be another server's
        // if a tunnel leads to it.
        // What it is not told of these it asks each new connection for, in a round trip. The longest call has some
        // 14 KB, the schema 20; a connection that the server has closed meanwhile is noticed before it is used.
        let (packet, idle) = (options.max_allowed_packet(), options.wait_timeout());
        let options = OptsBuilder::from_opts(options)
            .pool_opts(pool)
            .prefer_socket(false)
            .max_allowed_packet(packet.or(Some(1 << 20)))
            .wait_timeout(idle.or(Some(8 * 60 * 60)));
        Self {
            pool: Pool::new(options),
            others: (size > 1).then(|| Arc::new(Semaphore::new(size - 1))),
            limit,
        }
    }

    /// Sends a text of statements and waits for the rows of the first result.
    pub(crate) async fn query(
        &self,
        caller: Caller,
        statements: &str,
    ) -> Result<Vec<Row>, ProviderError> {
        let mut sent = false;
        let call = async {
            let _place = match (caller, &self.others) {
                // Nobody closes the semaphore.
                (Caller::Other, Some(others)) => others.acquire().await.ok(),
                (Caller::Holder, _) | (_, None) => None,
            };
            let connection = self.pool.get_conn().await.map_err(error::no_connection)?;
            sent = true;
            let mut borrowed = Borrowed(Some(connection));
            let rows = borrowed.query(statements).await;
            if rows
                .as_ref()
                .map_or_else(|error| !error.is_fatal(), |_| true)
            {
                borrowed.give_back();
            }
            rows.map_err(error::no_result)
        };
        // A silent partition: the driver would wait for ever.
        match timeout(self.limit, call).await {
            Ok(result) => result,
            Err(_) => Err(error::timed_out(sent, self.limit)),
        }
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

/// A connection in use. Unless it was given back, dropping it closes it: the next request on it would wait behind the
/// statement that still runs, or be given its answer (G1).
struct Borrowed(Option<Conn>);

impl Borrowed {
    async fn query(&mut self, statements: &str) -> Result<Vec<Row>, Error> {
        match &mut self.0 {
            Some(connection) => connection.query(statements).await,
            None => Ok(Vec::new()),
        }
    }

    /// The server has answered: the pool may lend the connection again.
    fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            // The driver would read on for the rest of the answer, however long that takes, and lend the connection
            // again. One that has begun to disconnect it takes for broken, and closes; nobody waits for the goodbye.
            let goodbye = pin!(connection.disconnect());
            let _begun = goodbye.poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}
