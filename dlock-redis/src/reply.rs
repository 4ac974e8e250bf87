//! What the scripts answer, read into outcomes. The scripts have checked a record already, so
//! whatever is not as they write it is an error, not a judgement.

use std::time::{Duration, UNIX_EPOCH};

use dlock_core::{
    AcquireOutcome, AskOutcome, FencingToken, ProviderError, Record, ReleaseOutcome, RenewOutcome,
    RevokeOutcome,
};
use redis::Value;
use uuid::Uuid;

use crate::error;

/// The answer of one script: what it decided, and the rest.
struct Reply {
    verdict: String,
    rest: Vec<Value>,
}

pub(crate) fn acquire(key: &str, value: Value) -> Result<AcquireOutcome, ProviderError> {
    let reply = Reply::read(key, value)?;
    match reply.verdict.as_str() {
        "acquired" => Ok(AcquireOutcome::Acquired(token(reply.rest.first())?)),
        "held" => Ok(AcquireOutcome::Held(
            reply.record()?.ok_or_else(|| unexpected("a holder"))?,
        )),
        "spent" => Ok(AcquireOutcome::Spent),
        // T2
        "ended" => Err(ProviderError::fatal(format!(
            "the fencing tokens of this lock have reached their end, {}: use another name",
            FencingToken::MAX
        ))),
        "evicting" => Err(error::evicting(&text(reply.rest.first())?)),
        other => Err(unexpected(other)),
    }
}

pub(crate) fn renew(key: &str, value: Value) -> Result<RenewOutcome, ProviderError> {
    let reply = Reply::read(key, value)?;
    match reply.verdict.as_str() {
        "renewed" => Ok(RenewOutcome::Renewed {
            asked: flag(reply.rest.first())?,
        }),
        "lost" => Ok(RenewOutcome::Lost(reply.record()?)),
        other => Err(unexpected(other)),
    }
}

pub(crate) fn release(key: &str, value: Value) -> Result<ReleaseOutcome, ProviderError> {
    let reply = Reply::read(key, value)?;
    match reply.verdict.as_str() {
        "released" => Ok(ReleaseOutcome::Released),
        "not held" => Ok(ReleaseOutcome::NotHeld(reply.record()?)),
        other => Err(unexpected(other)),
    }
}

pub(crate) fn read(key: &str, value: Value) -> Result<Option<Record>, ProviderError> {
    let reply = Reply::read(key, value)?;
    match reply.verdict.as_str() {
        "record" => reply.record(),
        other => Err(unexpected(other)),
    }
}

pub(crate) fn revoke(key: &str, value: Value) -> Result<RevokeOutcome, ProviderError> {
    let reply = Reply::read(key, value)?;
    match reply.verdict.as_str() {
        "revoked" => Ok(RevokeOutcome::Revoked),
        "changed" => Ok(RevokeOutcome::Changed(reply.record()?)),
        other => Err(unexpected(other)),
    }
}

pub(crate) fn ask(key: &str, value: Value) -> Result<AskOutcome, ProviderError> {
    let reply = Reply::read(key, value)?;
    match reply.verdict.as_str() {
        "asked" => Ok(AskOutcome::Asked),
        "changed" => Ok(AskOutcome::Changed(reply.record()?)),
        other => Err(unexpected(other)),
    }
}

/// Whether the record was deleted. One that cannot be read stays, and is nobody's error.
pub(crate) fn purged(_key: &str, value: Value) -> Result<bool, ProviderError> {
    let reply = Reply::take(value)?;
    match reply.verdict.as_str() {
        "purged" => Ok(true),
        "kept" | "spoilt" => Ok(false),
        other => Err(unexpected(other)),
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
        let reply = Self::take(value)?;
        match (reply.verdict.as_str(), reply.rest.first()) {
            ("spoilt", Some(flaw)) => Err(error::spoilt(key, &text(Some(flaw))?)),
            _ => Ok(reply),
        }
    }

    fn take(value: Value) -> Result<Self, ProviderError> {
        let Value::Array(mut rest) = value else {
            return Err(error::nonsense("something that is not a list"));
        };
        if rest.is_empty() {
            return Err(error::nonsense("an empty list"));
        }
        let verdict = text(Some(&rest.remove(0)))?;
        Ok(Self { verdict, rest })
    }

    /// The record that came along, with what was left of it when the server answered.
    fn record(&self) -> Result<Option<Record>, ProviderError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let [
            now,
            uuid,
            renewals,
            owner,
            since,
            token_,
            duration,
            released,
            asked,
            expiry,
            data,
        ] = self.rest.as_slice()
        else {
            return Err(error::nonsense("a record of another length"));
        };
        let duration = Duration::from_millis(number(Some(duration))?);
        let uuid = Uuid::try_parse_ascii(bytes(Some(uuid))?).map_err(|_| unexpected("a uuid"))?;
        let since = UNIX_EPOCH + Duration::from_micros(number(Some(since))?);
        let mut record = Record::new(
            uuid,
            text(Some(owner))?,
            since,
            token(Some(token_))?,
            duration,
        );
        record.renewals = number(Some(renewals))?;
        record.released = flag(Some(released))?;
        record.asked = flag(Some(asked))?;
        record.data = match data {
            Value::Nil => None,
            data => Some(bytes(Some(data))?.to_vec()),
        };
        let left = number(Some(expiry))?.saturating_sub(number(Some(now))?);
        record.remaining =
            (!record.released).then(|| Duration::from_millis(left.div_ceil(1000)).min(duration));
        Ok(Some(record))
    }
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

fn number(value: Option<&Value>) -> Result<u64, ProviderError> {
    text(value)?.parse().map_err(|_| unexpected("a number"))
}

fn flag(value: Option<&Value>) -> Result<bool, ProviderError> {
    Ok(number(value)? == 1)
}

fn token(value: Option<&Value>) -> Result<FencingToken, ProviderError> {
    FencingToken::new(number(value)?).ok_or_else(|| unexpected("a token"))
}

fn unexpected(what: &str) -> ProviderError {
    error::nonsense(&format!("something unexpected ({what})"))
}
