//! One key of etcd, read, and written on a condition.
//!
//! It compares contents, not revisions: the contents of a lock never repeat, while revisions start again from an
//! earlier one when a snapshot is restored.

use std::fmt;

use async_trait::async_trait;
use dlock_cas::{CasAdmin, CasStore, Entry, Hints, Put};
use dlock_core::{
    ProviderError,
    provider::{Capabilities, Discipline, Durability},
};
use etcd_client::{
    Client, Compare, CompareOp, GetOptions, KeyValue, KvClient, Txn, TxnOp, TxnOpResponse,
    TxnResponse,
};

use crate::{calls::Calls, error::unexpected, logins::Logins, watch};

/// Keys of an etcd, over the user's own client.
#[derive(Clone)]
pub struct EtcdStore {
    client: Client,
    calls: Calls,
}

impl EtcdStore {
    /// The etcd of this client. Sends nothing to the server.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            calls: Calls::new(Logins::of(&client)),
            client,
        }
    }

    // A clone of the client's handle, whose calls need it to be mutable.
    fn keys(&self) -> KvClient {
        self.client.kv_client()
    }

    async fn transact(&self, transaction: Txn) -> Result<TxnResponse, ProviderError> {
        let call = || {
            let (mut keys, transaction) = (self.keys(), transaction.clone());
            async move { keys.txn(transaction).await }
        };
        self.calls.answer(call).await
    }
}

// Without the client, which knows passwords.
impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl CasStore for EtcdStore {
    /// The contents themselves.
    type Version = Vec<u8>;

    fn capabilities(&self) -> Capabilities {
        Capabilities::new("etcd", Discipline::Observer)
            .durability(Durability::Durable)
            .watch(true)
            .marks(true)
            // A refused transaction is a write to etcd's log all the same.
            .cheap_reads(true)
    }

    /// A repeated request was refused for an outdated authentication token, or not sent.
    fn repeats_puts(&self) -> bool {
        false
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<Vec<u8>>>, ProviderError> {
        // Linearizable, as every read that does not request less.
        let read = || {
            let mut keys = self.keys();
            async move { keys.get(key, None).await }
        };
        let mut found = self.calls.answer(read).await?;
        Ok(found.take_kvs().pop().map(entry))
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&Vec<u8>>,
    ) -> Result<Put<Vec<u8>>, ProviderError> {
        let write = Txn::new()
            .when([unchanged(key, expected)])
            .and_then([TxnOp::put(key, bytes.clone(), None)])
            .or_else([TxnOp::get(key, None)]);
        let written = self.transact(write).await?;
        if written.succeeded() {
            return Ok(Put::Done(bytes));
        }
        match written.op_responses().pop() {
            Some(TxnOpResponse::Get(mut found)) => {
                Ok(Put::LostTo(found.take_kvs().pop().map(entry)))
            }
            _ => Err(unexpected("a transaction without its answer")),
        }
    }

    async fn watch(&self, prefix: &str, hints: Hints) -> Result<(), ProviderError> {
        watch::open(&self.client, &self.calls, prefix, hints).await
    }
}

#[async_trait]
impl CasAdmin for EtcdStore {
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Entry<Vec<u8>>)>, ProviderError> {
        let end = past(prefix);
        let mut from = match after {
            Some(after) => successor(after.as_bytes()),
            None => prefix.as_bytes().to_vec(),
        };
        let mut listed = Vec::new();
        // Not beyond the end: some versions reject such a range.
        while listed.len() < limit && from < end {
            let room = i64::try_from(limit - listed.len()).unwrap_or(i64::MAX);
            let range = GetOptions::new().with_range(end.clone()).with_limit(room);
            let read = || {
                let (mut keys, from, range) = (self.keys(), from.clone(), range.clone());
                async move { keys.get(from, Some(range)).await }
            };
            let mut page = self.calls.answer(read).await?;
            let more = page.more();
            for found in page.take_kvs() {
                from = successor(found.key());
                // Names are text; any other key is another program's.
                if let Ok(key) = String::from_utf8(found.key().to_vec()) {
                    listed.push((key, entry(found)));
                }
            }
            if !more {
                break;
            }
        }
        Ok(listed)
    }

    async fn delete_if(&self, key: &str, expected: &Vec<u8>) -> Result<bool, ProviderError> {
        let delete = Txn::new()
            .when([unchanged(key, Some(expected))])
            .and_then([TxnOp::delete(key, None)]);
        let deleted = self.transact(delete).await?;
        Ok(deleted.succeeded())
    }
}

/// The condition of a write. A condition on the contents of a missing key fails.
fn unchanged(key: &str, expected: Option<&Vec<u8>>) -> Compare {
    match expected {
        Some(bytes) => Compare::value(key, CompareOp::Equal, bytes.clone()),
        None => Compare::create_revision(key, CompareOp::Equal, 0),
    }
}

fn entry(found: KeyValue) -> Entry<Vec<u8>> {
    let (_, bytes) = found.into_key_value();
    Entry {
        version: bytes.clone(),
        bytes,
    }
}

/// The first key after this one.
fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = key.to_vec();
    next.push(0);
    next
}

/// The first key after all that start with this. The last byte of a text is never the highest byte.
fn past(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}
