//! The answers of the scripts, read into outcomes. The scripts have checked a record already, so
//! anything that they would not write is an error, not a judgement.

use std::num::NonZeroU8;

use dlock_core::{
    FencingToken, ProviderError, Record,
    provider::{AcquireOutcome, AskOutcome, ReleaseOutcome, RenewOutcome, RevokeOutcome, Tokens},
};
use redis::Value;

use crate::{error, record};

/// The answer of one script.
enum Reply {
    /// The usual answer: a number is enough.
    Done(u64),
    /// Another decision, as one word, and the rest.
    Else(String, Vec<Value>),
}

pub(crate) fn acquire(key: &str, value: Value) -> Result<AcquireOutcome, ProviderError> {
    match Reply::read(key, value)? {
        Reply::Done(token) => FencingToken::new(token)
            .map(|token| AcquireOutcome::Acquired(token.into()))
            .ok_or_else(|| unexpected("a token")),
        Reply::Else(verdict, rest) => match verdict.as_str() {
            "block" => block(&rest).map(AcquireOutcome::Acquired),
            "held" => Ok(AcquireOutcome::Held(
                record(&rest)?.ok_or_else(|| unexpected("a holder"))?,
            )),
            "spent" => Ok(AcquireOutcome::Spent),
            // T2
            "ended" => Err(ProviderError::fatal(format!(
                "the fencing tokens of this lock have reached their end, {}: use another name",
                FencingToken::MAX
            ))),
            "evicting" => Err(error::evicting(&text(rest.first())?)),
            other => Err(unexpected(other)),
        },
    }
}

pub(crate) fn renew(key: &str, value: Value) -> Result<RenewOutcome, ProviderError> {
    match Reply::read(key, value)? {
        Reply::Done(asked) => Ok(RenewOutcome::Renewed { asked: asked == 1 }),
        reply => reply.record("lost").map(RenewOutcome::Lost),
    }
}

pub(crate) fn release(key: &str, value: Value) -> Result<ReleaseOutcome, ProviderError> {
    match Reply::read(key, value)? {
        Reply::Done(marked) => Ok(ReleaseOutcome::Released {
            wanted: marked == 2,
        }),
        reply => reply.record("not held").map(ReleaseOutcome::NotHeld),
    }
}

pub(crate) fn read(key: &str, value: Value) -> Result<Option<Record>, ProviderError> {
    Reply::read(key, value)?.record("record")
}

pub(crate) fn revoke(key: &str, value: Value) -> Result<RevokeOutcome, ProviderError> {
    match Reply::read(key, value)? {
        Reply::Done(_) => Ok(RevokeOutcome::Revoked),
        reply => reply.record("changed").map(RevokeOutcome::Changed),
    }
}

pub(crate) fn ask(key: &str, value: Value) -> Result<AskOutcome, ProviderError> {
    match Reply::read(key, value)? {
        Reply::Done(_) => Ok(AskOutcome::Asked),
        reply => reply.record("changed").map(AskOutcome::Changed),
    }
}

/// Whether the record was deleted. One that cannot be read stays, without an error.
pub(crate) fn purged(_key: &str, value: Value) -> Result<bool, ProviderError> {
    match Reply::take(value)? {
        Reply::Done(deleted) => Ok(deleted == 1),
        Reply::Else(verdict, _) if verdict == "spoilt" => Ok(false),
        Reply::Else(verdict, _) => Err(unexpected(&verdict)),
    }
}

/// One step of a walk: the next cursor, and some keys.
pub(crate) fn keys(_key: &str, value: Value) -> Result<(Vec<u8>, Vec<Vec<u8>>), ProviderError> {
    let Value::Array(step) = value else {
        return Err(unexpected("a step of a walk"));
    };
    let [cursor, Value::Array(keys)] = step.as_slice() else {
        return Err(unexpected("a step of a walk"));
    };
    let keys = keys.iter().map(|key| Ok(bytes(Some(key))?.to_vec()));
    Ok((
        bytes(Some(cursor))?.to_vec(),
        keys.collect::<Result<_, ProviderError>>()?,
    ))
}

impl Reply {
    fn read(key: &str, value: Value) -> Result<Self, ProviderError> {
        match Self::take(value)? {
            Self::Else(verdict, rest) if verdict == "spoilt" => {
                Err(error::spoilt(key, &text(rest.first())?))
            }
            Self::Else(verdict, rest) if verdict == "too old" => {
                Err(error::too_old(&text(rest.first())?))
            }
            reply => Ok(reply),
        }
    }

    fn take(value: Value) -> Result<Self, ProviderError> {
        let mut rest = match value {
            Value::Int(number) => {
                let number = u64::try_from(number).map_err(|_| unexpected("a number below 0"))?;
                return Ok(Self::Done(number));
            }
            Value::Array(rest) if !rest.is_empty() => rest,
            _ => return Err(error::nonsense("neither a number nor a list")),
        };
        let verdict = text(Some(&rest.remove(0)))?;
        Ok(Self::Else(verdict, rest))
    }

    /// The record that comes with this verdict, if there is one.
    fn record(self, expected: &str) -> Result<Option<Record>, ProviderError> {
        match self {
            Self::Else(verdict, rest) if verdict == expected => record(&rest),
            Self::Else(verdict, _) => Err(unexpected(&verdict)),
            Self::Done(_) => Err(unexpected("a number")),
        }
    }
}

/// Several tokens that were minted at once: the last, and their number.
fn block(rest: &[Value]) -> Result<Tokens, ProviderError> {
    let [Value::Int(last), Value::Int(count)] = *rest else {
        return Err(unexpected("a block of tokens in another form"));
    };
    let last = u64::try_from(last).ok().and_then(FencingToken::new);
    let count = u8::try_from(count).ok().and_then(NonZeroU8::new);
    last.zip(count)
        .and_then(|(last, count)| Tokens::new(last, count))
        .ok_or_else(|| unexpected("a block of tokens"))
}

/// The record behind a verdict, with the remainder of its lease when the server answered.
fn record(rest: &[Value]) -> Result<Option<Record>, ProviderError> {
    let [Value::Int(now), stored] = rest else {
        return Err(unexpected("a record in another form"));
    };
    if *stored == Value::Nil {
        return Ok(None);
    }
    let now = u64::try_from(*now).map_err(|_| unexpected("a time"))?;
    record::read(bytes(Some(stored))?, now)
        .map(Some)
        .ok_or_else(|| unexpected("a record"))
}

fn bytes(value: Option<&Value>) -> Result<&[u8], ProviderError> {
    match value {
        Some(Value::BulkString(bytes)) => Ok(bytes),
        Some(Value::SimpleString(text)) => Ok(text.as_bytes()),
        _ => Err(unexpected("a text")),
    }
}

/// A text for people: bytes that are not UTF-8 show as �.
fn text(value: Option<&Value>) -> Result<String, ProviderError> {
    bytes(value).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn unexpected(what: &str) -> ProviderError {
    error::nonsense(&format!("something unexpected ({what})"))
}
