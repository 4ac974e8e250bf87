//! The requests: the script, the key, and arguments that are all text, as the script reads them.

pub(crate) mod answers;

use std::time::Duration;

use dlock_core::{
    Name, ProviderError,
    provider::{Acquire, Ask, Closing, Release, Renew, Revoke, Version},
};
use uuid::Uuid;

use crate::{
    invoke::Run,
    key::Prefix,
    record,
    scripts::{ACQUIRE, ASK, CLOSE, PURGE, READ, RELEASE, RENEW, REVOKE},
    slots,
    wakeups::Channels,
};

/// For that many tokens: with 0 it takes nothing, and only marks.
pub(crate) fn acquire(
    prefix: &Prefix,
    request: &Acquire,
    tokens: u8,
    marks: u32,
    allow_eviction: bool,
) -> Result<Run, ProviderError> {
    request.check()?;
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
        number(tokens.into()),
        number(marks.into()),
    ];
    Ok(Run::new(&ACQUIRE, prefix.key(name)?, arguments))
}

pub(crate) fn renew(prefix: &Prefix, request: &Renew) -> Result<Run, ProviderError> {
    let Renew {
        name,
        uuid: held,
        n,
        ..
    } = request;
    request.check()?;
    Ok(Run::new(
        &RENEW,
        prefix.key(name)?,
        vec![uuid(*held), number(*n)],
    ))
}

/// `channels`: where to announce the release, if anywhere.
pub(crate) fn release(
    prefix: &Prefix,
    request: &Release,
    channels: Option<Channels>,
) -> Result<Run, ProviderError> {
    let key = prefix.key(&request.name)?;
    let mut arguments = vec![uuid(request.uuid)];
    match channels {
        None => {}
        Some(Channels::Plain) => {
            arguments.push(prefix.lock_channel(&request.name).into_bytes());
        }
        Some(Channels::Sharded) => {
            arguments.push(prefix.channel().into_bytes());
            let shard = slots::shard(key.as_bytes());
            arguments.push(prefix.shard_channel(shard).into_bytes());
        }
    }
    Ok(Run::new(&RELEASE, key, arguments))
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
    Ok(Run::new(&CLOSE, prefix.key(&request.name)?, arguments))
}

pub(crate) fn read(prefix: &Prefix, name: &Name) -> Result<Run, ProviderError> {
    Ok(Run::new(&READ, prefix.key(name)?, Vec::new()))
}

pub(crate) fn revoke(prefix: &Prefix, request: &Revoke) -> Result<Run, ProviderError> {
    let Version {
        uuid: held,
        renewals,
    } = request.version;
    let arguments = vec![uuid(held), number(renewals), uuid(request.new)];
    Ok(Run::new(&REVOKE, prefix.key(&request.name)?, arguments))
}

pub(crate) fn ask(prefix: &Prefix, request: &Ask) -> Result<Run, ProviderError> {
    let key = prefix.key(&request.name)?;
    Ok(Run::new(&ASK, key, vec![uuid(request.uuid)]))
}

/// One name of a clean-up.
pub(crate) fn purge(prefix: &Prefix, name: &Name) -> Result<Run, ProviderError> {
    Ok(Run::new(&PURGE, prefix.key(name)?, Vec::new()))
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
