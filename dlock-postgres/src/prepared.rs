//! Which statements are prepared: those that are sent again, over connections that have a session to themselves. There no
//! call waits for it: what a call needs first is sent in the same flight. Over any other connection, and over all of them
//! where the user has said that everything is to be prepared, one question is under way at a time: a pooler may hand the
//! session on after the first answer if the call is dropped then. PgBouncer 1.18 does, and the second answer is another
//! client's.

use std::{
    collections::HashMap,
    future::poll_fn,
    pin::pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::Poll,
};

use deadpool_postgres::{Object, StatementCache, tokio_postgres};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

use crate::{error, session};

/// The parameters of a statement, with their types: so nothing has to be asked of the server first.
pub(crate) type Parameters<'a> = [(&'a (dyn ToSql + Sync), Type)];

/// Where statements are prepared.
#[derive(Clone)]
pub(crate) enum Prepared {
    Everywhere,
    Nowhere,
    /// In sessions that a connection has to itself. The driver of every process numbers its statements alike, so in a
    /// session that a pooler lends to several a call would run what another process has prepared under its number.
    InOwnSessions(Arc<Mutex<HashMap<usize, Session>>>),
}

/// What is known of a connection. It goes by the address of its cache, which is no other's while this points there.
pub(crate) struct Session {
    connection: Weak<StatementCache>,
    prepares: bool,
}

impl Prepared {
    /// As the user says, or by itself.
    pub(crate) fn new(said: Option<bool>) -> Self {
        match said {
            Some(true) => Self::Everywhere,
            Some(false) => Self::Nowhere,
            None => Self::InOwnSessions(Arc::default()),
        }
    }

    /// Sends one statement and waits for its rows: in one flight, but for the first one over a connection.
    pub(crate) async fn query(
        &self,
        connection: &Object,
        statement: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let unnamed = connection.query_typed(statement, parameters);
        match self.prepares(connection) {
            Some(false) => unnamed.await,
            Some(true) => self.query_prepared(connection, statement, parameters).await,
            None => {
                if let Ok(own) = session::is_own(connection).await {
                    self.learn(connection, own);
                }
                unnamed.await
            }
        }
    }

    /// Sends a statement that this connection has prepared, or prepares it for the next call.
    async fn query_prepared(
        &self,
        connection: &Object,
        statement: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let types: Vec<Type> = parameters.iter().map(|(_, of)| of.clone()).collect();
        let mut preparing = pin!(connection.prepare_typed_cached(statement, &types));
        let known = match self {
            // A pooler may be on the way.
            Self::Everywhere => Poll::Ready(preparing.as_mut().await),
            Self::InOwnSessions(_) | Self::Nowhere => {
                poll_fn(|context| Poll::Ready(preparing.as_mut().poll(context))).await
            }
        };
        let (forgotten, rows) = match known {
            Poll::Ready(Ok(prepared)) => {
                let values: Vec<&(dyn ToSql + Sync)> =
                    parameters.iter().map(|(value, _)| *value).collect();
                match connection.query(&prepared, &values).await {
                    // Nothing was applied, so the same may be asked at once.
                    Err(error) if error::of_the_preparation(&error) => (
                        Some(error),
                        connection.query_typed(statement, parameters).await,
                    ),
                    rows => (None, rows),
                }
            }
            Poll::Ready(Err(error)) if error::of_the_preparation(&error) => (
                Some(error),
                connection.query_typed(statement, parameters).await,
            ),
            Poll::Ready(Err(error)) => (None, Err(error)),
            Poll::Pending => {
                let unnamed = connection.query_typed(statement, parameters);
                let (prepared, rows) = tokio::join!(preparing, unnamed);
                (prepared.err(), rows)
            }
        };
        if let Some(error) = forgotten
            && error::of_the_preparation(&error)
        {
            connection.statement_cache.clear();
            if error::of_the_session(&error) {
                self.learn(connection, false);
            }
        }
        rows
    }

    /// `None`: nobody has asked yet.
    fn prepares(&self, connection: &Object) -> Option<bool> {
        match self {
            Self::Everywhere => Some(true),
            Self::Nowhere => Some(false),
            Self::InOwnSessions(sessions) => {
                let sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
                let session = sessions.get(&address(connection));
                session.map(|session| session.prepares)
            }
        }
    }

    fn learn(&self, connection: &Object, prepares: bool) {
        let Self::InOwnSessions(sessions) = self else {
            return;
        };
        if !prepares {
            tracing::debug!(
                "statements are not prepared over this connection: its session is not its own, or forgets them"
            );
        }
        let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // Without those that ended.
        sessions.retain(|_, session| session.connection.strong_count() > 0);
        let session = Session {
            connection: Arc::downgrade(&connection.statement_cache),
            prepares,
        };
        sessions.insert(address(connection), session);
    }
}

fn address(connection: &Object) -> usize {
    Arc::as_ptr(&connection.statement_cache).addr()
}
