//! The reason why a server that answers writes nothing: looked for when a call got no answer, never
//! before.

use dlock_core::ProviderError;

use crate::{
    PostgresProvider,
    connections::Caller,
    error,
    record::{self, Flaw},
};

/// An obstacle that keeps a database from granting and renewing leases although it can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Diagnosis {
    /// The server follows another one.
    #[error(
        "it is a standby, which only reads: name the primary \
         (of several hosts, target_session_attrs=read-write finds it)"
    )]
    Standby,
    /// A setting forbids writing.
    #[error("it is set read-only (default_transaction_read_only)")]
    ReadOnly,
    /// Each commit waits until a standby has confirmed it, and no standby does.
    #[error(
        "its commits wait for a synchronous standby that confirms none: start the standby, or take it off \
         synchronous_standby_names"
    )]
    StandbyGone,
}

impl PostgresProvider {
    /// Looks for an obstacle that keeps the database from writing, after a call that got no answer:
    /// such a call cannot report it itself. `None` if no obstacle is found.
    ///
    /// It notices that a synchronous standby is gone only once a call has waited for that standby
    /// for a second, and only while it still waits.
    ///
    /// # Errors
    /// The database gave no answer to this call either.
    ///
    /// # Cancel safety
    /// It only reads.
    pub async fn diagnose(&self) -> Result<Option<Diagnosis>, ProviderError> {
        let row = self
            .connections
            .query_one(Caller::Other, &self.statements.diagnosis, &[])
            .await?;
        let flag = |column: &str, at: usize| -> Result<bool, ProviderError> {
            record::value(&row, column, at).map_err(|flaw: Flaw| error::bad_answer(&flaw))
        };
        Ok(if flag("standby", 0)? {
            Some(Diagnosis::Standby)
        } else if flag("read_only", 1)? {
            Some(Diagnosis::ReadOnly)
        } else if flag("waits", 2)? {
            Some(Diagnosis::StandbyGone)
        } else {
            None
        })
    }
}
