//! What is asked, as the scripts read it: the key, and arguments that are all text.

use std::{ops::RangeInclusive, time::Duration};

use dlock_core::{
    Acquire, Ask, Closing, FencingToken, Name, ProviderError, Record, Release, Renew, Revoke,
    Version,
};
use uuid::Uuid;

use crate::{key::Prefix, link::Run, record, slots, wakeups::Channels};

pub(crate) fn acquire(
    prefix: &Prefix,
    request: &Acquire,
    allow_eviction: bool,
) -> Result<Run, ProviderError> {
    check(request)?;
    let Acquire {
        name,
        owner,
        prev,
        new,
        duration,
        data,
        floor,
        ..
    } = request;
    let arguments = vec![
        uuid(*new),
        prev.map_or_else(Vec::new, |prev| uuid(prev.uuid)),
        prev.map_or_else(Vec::new, |prev| number(prev.renewals)),
        number(millis(*duration)),
        number(*floor),
        number(u64::from(!allow_eviction)),
        record::end(owner, data.as_deref()),
    ];
    Ok(Run::new(prefix.key(name)?, arguments))
}

pub(crate) fn renew(prefix: &Prefix, request: &Renew) -> Result<Run, ProviderError> {
    let Renew {
        name,
        uuid: held,
        n,
        ..
    } = request;
    if *n > FencingToken::MAX.get() {
        return Err(ProviderError::fatal(
            "a renewal's number ends below 2^53: begin a new term",
        ));
    }
    Ok(Run::new(prefix.key(name)?, vec![uuid(*held), number(*n)]))
}

/// `channels`: where the release is told, if anywhere.
pub(crate) fn release(
    prefix: &Prefix,
    request: &Release,
    channels: Option<Channels>,
) -> Result<Run, ProviderError> {
    let key = prefix.key(&request.name)?;
    let mut arguments = vec![uuid(request.uuid)];
    if let Some(channels) = channels {
        arguments.push(prefix.channel().into_bytes());
        if channels == Channels::Sharded {
            let shard = slots::shard(key.as_bytes());
            arguments.push(prefix.shard_channel(shard).into_bytes());
        }
    }
    Ok(Run::new(key, arguments))
}

pub(crate) fn close(
    prefix: &Prefix,
    request: &Release,
    closing: &Closing,
) -> Result<Run, ProviderError> {
    let arguments = vec![
        uuid(request.uuid),
        uuid(closing.uuid()),
        number(millis(closing.lasts())),
    ];
    Ok(Run::new(prefix.key(&request.name)?, arguments))
}

pub(crate) fn read(prefix: &Prefix, name: &Name) -> Result<Run, ProviderError> {
    Ok(Run::new(prefix.key(name)?, Vec::new()))
}

pub(crate) fn revoke(prefix: &Prefix, request: &Revoke) -> Result<Run, ProviderError> {
    let Version {
        uuid: held,
        renewals,
    } = request.version;
    let arguments = vec![uuid(held), number(renewals), uuid(request.new)];
    Ok(Run::new(prefix.key(&request.name)?, arguments))
}

pub(crate) fn ask(prefix: &Prefix, request: &Ask) -> Result<Run, ProviderError> {
    let key = prefix.key(&request.name)?;
    Ok(Run::new(key, vec![uuid(request.uuid)]))
}

/// What a record could not keep as it was meant.
fn check(request: &Acquire) -> Result<(), ProviderError> {
    /// The shortest lease and the longest, in milliseconds.
    const DURATIONS: RangeInclusive<u64> = 100..=86_400_000;
    /// The longest label of an owner, in bytes.
    const MAX_OWNER: usize = 1024;
    let Acquire {
        owner,
        duration,
        data,
        floor,
        ..
    } = request;
    let whole = Duration::from_millis(millis(*duration)) == *duration;
    let trouble = if !whole || !DURATIONS.contains(&millis(*duration)) {
        format!(
            "a lease of {duration:?} is not possible: it takes whole milliseconds, 100 ms to 24 h"
        )
    } else if owner.len() > MAX_OWNER {
        format!(
            "an owner label of {} bytes is not possible: at most {MAX_OWNER}",
            owner.len()
        )
    } else if data
        .as_ref()
        .is_some_and(|data| data.len() > Record::MAX_DATA)
    {
        format!(
            "more data than fits beside a lock: at most {} bytes",
            Record::MAX_DATA
        )
    } else if *floor > FencingToken::MAX.get() {
        // T2
        format!(
            "no fencing token is as high as {floor}: they end at {}",
            FencingToken::MAX
        )
    } else {
        return Ok(());
    };
    Err(ProviderError::fatal(trouble))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn number(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// Hyphenated and in lower case, as the scripts compare it.
fn uuid(uuid: Uuid) -> Vec<u8> {
    uuid.to_string().into_bytes()
}
