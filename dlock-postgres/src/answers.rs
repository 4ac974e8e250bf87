//! What a function in the database answered, before it becomes an outcome. Renewals come alone and in
//! batches, so theirs is made here.

use deadpool_postgres::tokio_postgres::Row;
use dlock_core::{FencingToken, Name, Prefix, ProviderError, Record, RenewOutcome};

use crate::{
    error,
    record::{self, Flaw, VERDICT},
};

/// One answer about one lock.
pub(crate) struct Answer<'a> {
    row: Row,
    prefix: &'a Prefix,
    name: &'a Name,
}

impl<'a> Answer<'a> {
    /// # Errors
    /// `Fatal` if the lock's row is no record, `Unknown` if the function ended without an answer.
    pub(crate) fn new(row: Row, prefix: &'a Prefix, name: &'a Name) -> Result<Self, ProviderError> {
        let answer = Self { row, prefix, name };
        match answer.verdict()? {
            "unsound" => Err(answer.unsound()),
            "open" => Err(error::overtaken()),
            _ => Ok(answer),
        }
    }

    /// The function's word for it; each file in `sql/` lists its own.
    pub(crate) fn verdict(&self) -> Result<&str, ProviderError> {
        record::value(&self.row, "verdict", VERDICT)
            .map_err(|flaw| error::bad_answer(&flaw.to_string()))
    }

    pub(crate) fn token(&self) -> Result<FencingToken, ProviderError> {
        record::token(&self.row).map_err(|flaw| self.bad_record(&flaw))
    }

    fn asked(&self) -> Result<bool, ProviderError> {
        record::asked(&self.row).map_err(|flaw| self.bad_record(&flaw))
    }

    pub(crate) fn record(&self) -> Result<Record, ProviderError> {
        record::read(&self.row).map_err(|flaw| self.bad_record(&flaw))
    }

    /// What it says of a renewal.
    pub(crate) fn renewal(&self) -> Result<RenewOutcome, ProviderError> {
        match self.verdict()? {
            "renewed" => Ok(RenewOutcome::Renewed {
                asked: self.asked()?,
            }),
            "lost" => Ok(RenewOutcome::Lost(Some(self.record()?))),
            "absent" => Ok(RenewOutcome::Lost(None)),
            "locked" => Err(error::locked()),
            "unfit" => Err(error::unfit(self.name)),
            other => Err(error::bad_answer(other)),
        }
    }

    /// The database found the row unfit; say what is wrong with it.
    fn unsound(&self) -> ProviderError {
        let flaw = record::read(&self.row)
            .err()
            .unwrap_or_else(|| Flaw::new("the database finds it unsound".into()));
        self.bad_record(&flaw)
    }

    fn bad_record(&self, flaw: &Flaw) -> ProviderError {
        error::bad_record(self.prefix.as_str(), self.name.as_str(), flaw)
    }
}
