//! How a statement is sent over a connection, depending on what is known of its session: whether it prepares
//! statements, and whether the server ends one whose client has gone.
//!
//! Statements that are sent repeatedly are prepared, over connections that have a session to themselves. No call waits
//! for that: whatever a call needs first is sent in the same flight.
//!
//! A call that is given up closes its connection. A server that checks for its clients then ends the statement. This
//! does not end the wait of a commit for its standby, whereas a request to cancel would end it, and other sessions
//! would then see the commit before the standby has it. If the server does not check, the statement runs in a
//! transaction that limits it, in the same flight; and so does the first one over a connection, preceded by a query
//! about the session.
//!
//! If a connection's session may be lent to others, only one query is in flight over it at a time, except within a
//! transaction: if the call is dropped after the first answer, a pooler may hand the session on, and the second answer
//! reaches another client. PgBouncer 1.18 does this. It does not hand on a session within a transaction.

use std::{
    collections::HashMap,
    future::{poll_fn, ready},
    pin::pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::Poll,
    time::Duration,
};

use deadpool_postgres::{Object, StatementCache, tokio_postgres};
use tokio_postgres::{
    Error, Row,
    types::{ToSql, Type},
};

use crate::{error, schema::without_comments, session};

const COMMIT: &str = "COMMIT";

/// The parameters of a statement, with their types: so the server need not be queried for them first.
pub(crate) type Parameters<'a> = [(&'a (dyn ToSql + Sync), Type)];

/// Which statements are prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    None,
    /// Statements in sessions that a connection has to itself. The driver of every process numbers its statements
    /// alike, so in a session that a pooler lends to several clients a call would run a statement that another process
    /// has prepared under its number.
    OfOwnSessions,
}

/// The knowledge about sessions, and how statements are sent in them.
#[derive(Clone)]
pub(crate) struct Prepared {
    which: Which,
    /// By the address of the connection's cache. No other cache has this address as long as the entry points to it.
    sessions: Arc<Mutex<HashMap<usize, Known>>>,
    question: Arc<str>,
    /// Begins a transaction whose statements are limited.
    begin: Arc<str>,
}

/// The knowledge about a connection.
struct Known {
    connection: Weak<StatementCache>,
    how: How,
}

/// How statements are sent over a connection.
#[derive(Clone, Copy, Debug)]
struct How {
    prepared: bool,
    /// In a transaction that limits it.
    limited: bool,
}

impl Prepared {
    /// Prepared as the user says, or otherwise if the session allows it; within this limit.
    pub(crate) fn new(said: Option<bool>, limit: Duration) -> Self {
        Self {
            which: match said {
                Some(true) => Which::All,
                Some(false) => Which::None,
                None => Which::OfOwnSessions,
            },
            sessions: Arc::default(),
            question: without_comments(include_str!("sql/session.sql")).into(),
            begin: format!("BEGIN; {}", limited(limit)).into(),
        }
    }

    /// Sends one statement in one flight and waits for its rows.
    pub(crate) async fn query(
        &self,
        connection: &Object,
        statement: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, Error> {
        match self.how(connection) {
            // Rare: in a box, so that the futures of all other calls are smaller.
            None => Box::pin(self.query_first(connection, statement, parameters)).await,
            Some(how) if how.prepared => {
                self.query_prepared(connection, statement, parameters, how.limited)
                    .await
            }
            Some(how) => {
                let query = pin!(connection.query_typed(statement, parameters));
                self.run(connection, how.limited, query).await
            }
        }
    }

    /// Sends the first statement over a connection, after the query about its session.
    async fn query_first(
        &self,
        connection: &Object,
        statement: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, Error> {
        let promised = session::promised(connection).await;
        let question = session::ask(connection, &self.question, promised);
        let query = connection.query_typed(statement, parameters);
        let both = pin!(async { Ok(tokio::join!(biased; question, query)) });
        match self.run(connection, true, both).await? {
            (Ok(session), Ok(rows)) => {
                self.learn(connection, session.own, !session.watches);
                Ok(rows)
            }
            // This error undid the transaction, and would undo the next one.
            (Err(error), _) if error::leaves_usable(&error) => {
                self.learn(connection, false, true);
                let query = pin!(connection.query_typed(statement, parameters));
                self.run(connection, true, query).await
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// Sends a statement that this connection has prepared, or prepares it for the next call.
    async fn query_prepared(
        &self,
        connection: &Object,
        statement: &str,
        parameters: &Parameters<'_>,
        limited: bool,
    ) -> Result<Vec<Row>, Error> {
        let types: Vec<Type> = parameters.iter().map(|(_, of)| of.clone()).collect();
        let values: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|(value, _)| *value).collect();
        let mut preparing = pin!(connection.prepare_typed_cached(statement, &types));
        // The part that is sent within the limit: whether the preparation failed, and the rows.
        let within = async {
            let known = match self.which {
                // There may be a pooler in between.
                Which::All => Poll::Ready(preparing.as_mut().await),
                Which::OfOwnSessions | Which::None => {
                    poll_fn(|context| Poll::Ready(preparing.as_mut().poll(context))).await
                }
            };
            match known {
                Poll::Ready(Ok(prepared)) => {
                    let query = pin!(connection.query(&prepared, &values));
                    (None, self.end(connection, limited, query).await)
                }
                Poll::Ready(Err(error)) => {
                    let ended = self.end(connection, limited, ready(Ok(()))).await;
                    (ended.err(), Err(error))
                }
                Poll::Pending => {
                    let query = Box::pin(connection.query_typed(statement, parameters));
                    let query = self.end(connection, limited, query);
                    let (prepared, rows) = tokio::join!(biased; preparing, query);
                    (prepared.err(), rows)
                }
            }
        };
        let (begun, (failed, rows)) = tokio::join!(biased; self.begin(connection, limited), within);
        begun?;
        let refused: Vec<&Error> = [failed.as_ref(), rows.as_ref().err()]
            .into_iter()
            .flatten()
            .filter(|error| error::of_the_preparation(error))
            .collect();
        if refused.is_empty() {
            // The preparation comes first in the flight: its error undid the transaction, and that of the query says no
            // more than that.
            return match (failed, rows) {
                (Some(cause), Err(error)) if error::of_an_undone_transaction(&error) => Err(cause),
                (_, rows) => rows,
            };
        }
        connection.statement_cache.clear();
        if refused.into_iter().any(error::of_the_session) {
            self.learn(connection, false, limited);
        }
        if rows.is_ok() {
            return rows;
        }
        // Nothing was applied, so the same statement may be sent again at once.
        let query = Box::pin(connection.query_typed(statement, parameters));
        self.run(connection, limited, query).await
    }

    /// Waits for the answer to a query that is sent with the first poll: in a transaction, if it is to be limited. The
    /// query is pinned by the caller, because a future that is an argument takes its room twice.
    async fn run<T>(
        &self,
        connection: &Object,
        limited: bool,
        answer: impl Future<Output = Result<T, Error>> + Unpin,
    ) -> Result<T, Error> {
        let (begun, answer) = tokio::join!(
            biased;
            self.begin(connection, limited),
            self.end(connection, limited, answer)
        );
        begun?;
        answer
    }

    async fn begin(&self, connection: &Object, limited: bool) -> Result<(), Error> {
        match limited {
            true => connection.batch_execute(&self.begin).await,
            false => Ok(()),
        }
    }

    /// Waits for an answer, and for the end of its transaction if there is one: before that the answer does not count.
    async fn end<T>(
        &self,
        connection: &Object,
        limited: bool,
        answer: impl Future<Output = Result<T, Error>> + Unpin,
    ) -> Result<T, Error> {
        let commit = async {
            match limited {
                true => connection.batch_execute(COMMIT).await,
                false => Ok(()),
            }
        };
        let (answer, ended) = tokio::join!(biased; answer, commit);
        let answer = answer?;
        ended?;
        Ok(answer)
    }

    /// `None`: the session has not been queried yet.
    fn how(&self, connection: &Object) -> Option<How> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(&address(connection)).map(|known| known.how)
    }

    fn learn(&self, connection: &Object, own: bool, limited: bool) {
        if !own {
            tracing::debug!(
                "statements are not prepared over this connection: its session is not its own, or forgets them"
            );
        }
        let prepared = match self.which {
            Which::All => true,
            Which::None => false,
            Which::OfOwnSessions => own,
        };
        let known = Known {
            connection: Arc::downgrade(&connection.statement_cache),
            how: How { prepared, limited },
        };
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // Without the connections that have ended.
        sessions.retain(|_, known| known.connection.strong_count() > 0);
        sessions.insert(address(connection), known);
    }
}

/// Limits the later statements of a transaction. The commit's wait for a standby is not limited.
pub(crate) fn limited(limit: Duration) -> String {
    format!("SET LOCAL statement_timeout = {}", limit.as_millis())
}

fn address(connection: &Object) -> usize {
    Arc::as_ptr(&connection.statement_cache).addr()
}
