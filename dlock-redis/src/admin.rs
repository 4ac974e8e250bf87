//! Administration: pages of records, revocations, polite requests, the clean-up of old records. They walk over the keys
//! of every node, because an index would have to be written by every acquire, on one node of a cluster.

use std::collections::BTreeSet;

use async_trait::async_trait;
use dlock_core::{
    ErrorKind, Name, ProviderError,
    provider::{Admin, Ask, AskOutcome, List, Page, Revoke, RevokeOutcome},
};

use crate::{
    cluster::{self, Share},
    invoke::{Invoker, Run},
    key::Prefix,
    provider::RedisProvider,
    requests::{self, answers},
    scripts::SCAN,
    slots,
};

#[async_trait]
impl Admin for RedisProvider {
    /// Walks over **all keys** of every node to find the names, then reads the page's records: for people, not for
    /// loops. A record that is created or deleted meanwhile may or may not be included.
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        list(&self.link, &self.prefix, request).await
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        let run = requests::revoke(&self.prefix, request)?;
        self.link.run(&run, answers::revoke).await
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let run = requests::ask(&self.prefix, request)?;
        self.link.run(&run, answers::ask).await
    }

    /// Walks over **all keys** of every node. Redis deletes old records automatically; this is for those that lost
    /// their time to live (`PERSIST`, a restored dump).
    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        purge(&self.link, &self.prefix, limit).await
    }
}

/// One page, of the names found on all nodes.
async fn list(link: &Invoker, prefix: &Prefix, list: &List) -> Result<Page, ProviderError> {
    let mut names = BTreeSet::new();
    let mut more = false;
    let mut walk = Walk::begin(link, prefix, &list.prefix).await?;
    while let Some(found) = walk.step().await? {
        for name in found {
            if list.after.as_ref().is_none_or(|after| name > *after) {
                names.insert(name);
            }
        }
        while names.len() > list.limit.max(1) {
            names.pop_last();
            more = true;
        }
    }
    let runs = names
        .iter()
        .map(|name| requests::read(prefix, name))
        .collect::<Result<Vec<Run>, ProviderError>>()?;
    let read = link.run_many(&runs, answers::read).await;
    let next = names.last().filter(|_| more).cloned();
    let mut records = Vec::with_capacity(names.len());
    let mut unreadable = Vec::new();
    for (name, record) in names.into_iter().zip(read) {
        match record {
            Ok(record) => records.extend(record.map(|record| (name, record))),
            // The key belongs to another program or is damaged, or this user may not read it.
            Err(error) if error.kind() == ErrorKind::Fatal => {
                unreadable.push((name, error.to_string()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Page::new(records, next).with_unreadable(unreadable))
}

/// Deletes records that ended 7 days ago and whose token the clock has passed (T5).
async fn purge(link: &Invoker, prefix: &Prefix, limit: usize) -> Result<u64, ProviderError> {
    let mut purged = 0;
    let mut walk = Walk::begin(link, prefix, "").await?;
    while let Some(found) = walk.step().await? {
        let mut runs = Vec::with_capacity(found.len());
        for name in &found {
            runs.push(requests::purge(prefix, name)?);
        }
        let mut rest = runs.as_slice();
        while !rest.is_empty() && purged < limit {
            let (now, later) = rest.split_at(rest.len().min(limit - purged));
            for answer in link.run_many(now, answers::purged).await {
                purged += usize::from(answer?);
            }
            rest = later;
        }
        if purged >= limit {
            break;
        }
    }
    Ok(purged as u64)
}

/// A walk over the keys of every node, a part at a time.
struct Walk<'w> {
    link: &'w Invoker,
    prefix: &'w Prefix,
    pattern: String,
    /// A key of each node that is still to be walked; the last one is next.
    nodes: Vec<String>,
    cursor: Vec<u8>,
}

impl<'w> Walk<'w> {
    /// Begins a walk over the names that start with `start`.
    async fn begin(
        link: &'w Invoker,
        prefix: &'w Prefix,
        start: &str,
    ) -> Result<Self, ProviderError> {
        Ok(Self {
            link,
            prefix,
            pattern: prefix.pattern(start),
            nodes: nodes(link, prefix).await?,
            cursor: FIRST.into(),
        })
    }

    /// Some more names; `None` at the end. A name may come twice.
    async fn step(&mut self) -> Result<Option<Vec<Name>>, ProviderError> {
        let Some(node) = self.nodes.last() else {
            return Ok(None);
        };
        let arguments = vec![self.cursor.clone(), self.pattern.clone().into_bytes()];
        let run = Run::new(&SCAN, node.clone(), arguments);
        let (cursor, keys) = self.link.run(&run, answers::keys).await?;
        if cursor == FIRST {
            self.nodes.pop();
        }
        self.cursor = cursor;
        let names = keys.iter().filter_map(|key| self.prefix.name(key));
        Ok(Some(names.collect()))
    }
}

/// The cursor of a walk's begin, and of its end.
const FIRST: &[u8] = b"0";

/// A key of each primary of a cluster, or any key of a single server.
async fn nodes(link: &Invoker, prefix: &Prefix) -> Result<Vec<String>, ProviderError> {
    let Some(shares) = cluster::shares(link).await? else {
        return Ok(vec![prefix.key_in(&slots::ALL)]);
    };
    let mut primaries = Vec::new();
    let mut keys = Vec::new();
    for Share { slots, primary } in shares {
        if !primaries.contains(&primary) {
            primaries.push(primary);
            keys.push(prefix.key_in(&slots));
        }
    }
    Ok(keys)
}
