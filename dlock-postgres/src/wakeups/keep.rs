//! Says in the database what the session listens for: a lock that it shares for each hint (`slot.sql`). It listens to
//! the channel before, and the waiter asks afterwards; so a release between the two finds that lock, or is found.
//!
//! The lock is never waited for: a release in a long transaction has it, and would keep all hints from this session. It is
//! tried again and again, and the waiter asks each time, as it would without wake-ups.

use std::{future::pending, sync::Arc};

use deadpool_postgres::tokio_postgres::{
    Client, Row,
    types::{ToSql, Type},
};
use dlock_core::{Name, ProviderError, provider::Wakeup};
use tokio::time::{Instant, sleep_until};

use super::{
    Hints, Inbox,
    waits::{Round, Waits},
};
use crate::{error, schema::Statements};

/// More waiters than that are woken by one hint for everyone, for which there is room.
const MANY: usize = 256;

/// What one session listens for.
pub(crate) struct Keep {
    waits: Arc<Waits>,
    hints: Arc<Hints>,
    statements: Arc<Statements>,
    next: Option<Instant>,
}

impl Keep {
    pub(crate) const fn new(
        waits: Arc<Waits>,
        hints: Arc<Hints>,
        statements: Arc<Statements>,
    ) -> Self {
        Self {
            waits,
            hints,
            statements,
            next: None,
        }
    }

    /// Resolves when there is something to say.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(super) async fn due(&self) {
        let next = async {
            match self.next {
                Some(instant) => sleep_until(instant).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.waits.fresh() => {}
            () = next => {}
        }
    }

    /// Says it, and wakes those who were waiting for it.
    pub(super) async fn say(
        &mut self,
        client: &Client,
        inbox: &mut Inbox,
    ) -> Result<(), ProviderError> {
        let Round { over, unsaid } = self.waits.round();
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
        let woken = self.waits.said(&heard);
        if woken.len() > MANY {
            inbox.hint(Wakeup::Everyone)?;
        } else {
            for name in woken {
                inbox.hint(Wakeup::Name(name))?;
            }
        }
        self.next = self.waits.next();
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
