//! The statement for each request, and the reading of its procedure's answer.

use std::fmt::Write;

use dlock_core::{
    FencingToken, Name, ProviderError, Record,
    provider::{Closing, Prefix, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use mysql_async::Row;

use crate::{
    connections::Caller,
    error,
    provider::MysqlProvider,
    record::{self, VERDICT},
};

/// A call of a procedure, as text. Bytes are written as hexadecimal digits and numbers as decimal ones, so neither the
/// session's settings nor the values themselves can change the meaning of the call; and a pooler may give each call
/// another session, in which nothing was prepared.
pub(crate) struct Call(String);

impl Call {
    pub(crate) fn new(procedure: &str) -> Self {
        Self(format!("CALL {procedure}("))
    }

    pub(crate) fn bytes(self, value: &[u8]) -> Self {
        self.parameter(&hexadecimal(value))
    }

    /// Bytes, or null.
    pub(crate) fn optional(self, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.bytes(value),
            None => self.parameter("NULL"),
        }
    }

    /// A number. Numbers that matter are below 2^53 (T2); a greater one fits no record, and need not be exact.
    pub(crate) fn number(self, value: impl TryInto<i64>) -> Self {
        self.parameter(&value.try_into().unwrap_or(i64::MAX).to_string())
    }

    pub(crate) fn statement(mut self) -> String {
        self.0.push(')');
        self.0
    }

    fn parameter(mut self, literal: &str) -> Self {
        if !self.0.ends_with('(') {
            self.0.push_str(", ");
        }
        self.0.push_str(literal);
        self
    }
}

/// Bytes as a literal.
pub(crate) fn hexadecimal(value: &[u8]) -> String {
    let mut literal = String::with_capacity(2 * value.len() + 3);
    literal.push_str("x'");
    for byte in value {
        // Writing to a string does not fail.
        write!(literal, "{byte:02x}").unwrap_or_default();
    }
    literal.push('\'');
    literal
}

impl MysqlProvider {
    /// Calls one of the procedures for one lock; the lock's prefix and name come before the other parameters.
    pub(crate) async fn call<'a>(
        &'a self,
        caller: Caller,
        procedure: &str,
        name: &'a Name,
        others: impl FnOnce(Call) -> Call,
    ) -> Result<Answer<'a>, ProviderError> {
        self.prefix.check(name)?;
        let call = Call::new(procedure)
            .bytes(self.prefix.as_str().as_bytes())
            .bytes(name.as_str().as_bytes());
        let statement = others(call).statement();
        let row = self.connections.query_one(caller, &statement).await?;
        Answer::new(row, &self.prefix, name)
    }

    /// Releases a term.
    pub(crate) async fn give_back(
        &self,
        Release { name, uuid, .. }: &Release,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let procedure = &self.schema.release;
        let answer = self
            .call(Caller::Holder, procedure, name, |call| {
                call.bytes(uuid.as_bytes())
            })
            .await?;
        match answer.verdict()? {
            "released" => record::wanted(&answer.row)
                .map(|mark| ReleaseOutcome::Released { wanted: mark != 0 })
                .map_err(|flaw| answer.bad_record(&flaw)),
            _ => answer.refusal("not held").map(ReleaseOutcome::NotHeld),
        }
    }

    /// Ends a term and leaves the name closed (B4).
    pub(crate) async fn close(
        &self,
        Release { name, uuid, .. }: &Release,
        closing: &Closing,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let procedure = &self.schema.close;
        let answer = self
            .call(Caller::Holder, procedure, name, |call| {
                call.bytes(uuid.as_bytes())
                    .bytes(closing.uuid().as_bytes())
                    .number(closing.lasts().as_millis())
            })
            .await?;
        match answer.verdict()? {
            "closed" => Ok(ReleaseOutcome::Released { wanted: false }),
            _ => answer.refusal("not held").map(ReleaseOutcome::NotHeld),
        }
    }
}

/// One answer about one lock.
pub(crate) struct Answer<'a> {
    row: Row,
    prefix: &'a Prefix,
    name: &'a Name,
}

impl<'a> Answer<'a> {
    /// # Errors
    /// `Fatal` if the lock's row is no record, `Unknown` if the procedure ended without an answer.
    fn new(row: Row, prefix: &'a Prefix, name: &'a Name) -> Result<Self, ProviderError> {
        let answer = Self { row, prefix, name };
        match answer.verdict()? {
            "unsound" => Err(answer.unsound()),
            "open" => Err(error::overtaken()),
            _ => Ok(answer),
        }
    }

    /// The procedure's verdict; each file in `sql/` lists its own.
    pub(crate) fn verdict(&self) -> Result<&str, ProviderError> {
        record::text(&self.row, "verdict", VERDICT).map_err(|flaw| error::bad_answer(&flaw))
    }

    pub(crate) fn token(&self) -> Result<FencingToken, ProviderError> {
        record::token(&self.row).map_err(|flaw| self.bad_record(&flaw))
    }

    pub(crate) fn record(&self) -> Result<Record, ProviderError> {
        record::read(&self.row).map_err(|flaw| self.bad_record(&flaw))
    }

    /// The record that refused, which accompanies this verdict; `None` if there is no record.
    pub(crate) fn refusal(&self, verdict: &str) -> Result<Option<Record>, ProviderError> {
        match self.verdict()? {
            "absent" => Ok(None),
            other if other == verdict => self.record().map(Some),
            other => Err(error::bad_answer(other)),
        }
    }

    /// The outcome of a renewal.
    pub(crate) fn renewal(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        match self.verdict()? {
            "renewed" => record::asked(&self.row)
                .map(|asked| RenewOutcome::Renewed { asked })
                .map_err(|flaw| self.bad_record(&flaw)),
            "unfit" => Err(request
                .check()
                .err()
                .unwrap_or_else(|| error::bad_answer("unfit"))),
            _ => self.refusal("lost").map(RenewOutcome::Lost),
        }
    }

    /// The database found the row unfit; this says what is wrong with it.
    fn unsound(&self) -> ProviderError {
        let flaw = record::read(&self.row)
            .err()
            .unwrap_or_else(|| "the database finds it unsound".into());
        self.bad_record(&flaw)
    }

    fn bad_record(&self, flaw: &str) -> ProviderError {
        error::bad_record(self.prefix.as_str(), self.name.as_str(), flaw)
    }
}
