//! Says in the database what the session listens for: a lock that it shares for each hint (`slot.sql`). It listens to
//! the channel before, and the waiter asks afterwards; so a release between the two finds that lock, or is found.
//!
//! The lock is never waited for: a release in a long transaction has it, and would keep all hints from this session. It is
//! tried again and again, and the waiter asks each time, as it would without wake-ups.

use std::sync::Arc;

use deadpool_postgres::tokio_postgres::{
    Client, Row,
    types::{ToSql, Type},
};
use dlock_core::{Name, ProviderError, provider::WaitedNames};

use super::{Hints, Inbox};
use crate::{error, schema::Statements};

/// What one session listens for.
pub(crate) struct Keep {
    waited: Arc<WaitedNames>,
    hints: Arc<Hints>,
    statements: Arc<Statements>,
}

impl Keep {
    pub(crate) const fn new(
        waited: Arc<WaitedNames>,
        hints: Arc<Hints>,
        statements: Arc<Statements>,
    ) -> Self {
        Self {
            waited,
            hints,
            statements,
        }
    }

    /// Resolves when there is something to say.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(super) async fn due(&self) {
        self.waited.due().await;
    }

    /// Says it, and wakes those who were waiting for it.
    pub(super) async fn say(
        &mut self,
        client: &Client,
        inbox: &mut Inbox,
    ) -> Result<(), ProviderError> {
        let round = self.waited.round();
        let (over, unsaid) = (round.over, round.unsaid);
        let Statements { wait, unwait, .. } = &*self.statements;
        if !over.is_empty() {
            self.run(client, inbox, unwait, &over).await?;
        }
        let mut heard = Vec::new();
        if !unsaid.is_empty() {
            let rows = match self.run(client, inbox, wait, &unsaid).await {
                // The server's table of locks is full. The session may have got some, which it keeps: releases tell it more
                // than it needs. A channel that ended would be opened again at once, and wake everyone.
                Err(error) if error::of_the_hint(&error) => Vec::new(),
                rows => rows?,
            };
            for row in rows {
                let place: i64 = row.try_get(0).map_err(error::no_channel)?;
                let place = usize::try_from(place - 1).unwrap_or(usize::MAX);
                heard.extend(unsaid.get(place).cloned());
            }
        }
        for hint in self.waited.said(&heard) {
            inbox.hint(hint)?;
        }
        Ok(())
    }

    async fn run(
        &self,
        client: &Client,
        inbox: &mut Inbox,
        statement: &str,
        names: &[Name],
    ) -> Result<Vec<Row>, ProviderError> {
        let hints: Vec<String> = names.iter().map(|name| self.hints.about(name)).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(&hints, Type::TEXT_ARRAY)];
        inbox
            .until(client.query_typed(statement, &parameters))
            .await
    }
}
