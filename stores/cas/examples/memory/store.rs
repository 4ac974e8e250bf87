// A whole store: contents in memory, each with a number that is never used again.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use dlock_cas::{CasAdmin, CasStore, Entry, Put};
use dlock_core::{
    ProviderError,
    provider::{Capabilities, Discipline, Durability},
};

#[derive(Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Contents>>);

#[derive(Default)]
struct Contents {
    last: u64,
    entries: BTreeMap<String, Entry<u64>>,
}

impl Memory {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl CasStore for Memory {
    type Version = u64;

    fn capabilities(&self) -> Capabilities {
        Capabilities::new("memory", Discipline::Observer)
            .durability(Durability::Volatile)
            .marks(true)
    }

    fn repeats_puts(&self) -> bool {
        false
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<u64>>, ProviderError> {
        Ok(self.lock().entries.get(key).cloned())
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&u64>,
    ) -> Result<Put<u64>, ProviderError> {
        let Contents { last, entries } = &mut *self.lock();
        if entries.get(key).map(|entry| &entry.version) != expected {
            return Ok(Put::Lost);
        }
        *last += 1;
        let version = *last;
        entries.insert(key.to_owned(), Entry { bytes, version });
        Ok(Put::Done(version))
    }
}

#[async_trait]
impl CasAdmin for Memory {
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Entry<u64>)>, ProviderError> {
        let entries = &self.lock().entries;
        let after = after.map_or(Bound::Included(prefix), Bound::Excluded);
        let from = entries.range::<str, _>((after, Bound::Unbounded));
        let found = from.take_while(|(key, _)| key.starts_with(prefix));
        let found = found.take(limit);
        Ok(found.map(|(k, e)| (k.clone(), e.clone())).collect())
    }

    async fn delete_if(&self, key: &str, expected: &u64) -> Result<bool, ProviderError> {
        let entries = &mut self.lock().entries;
        let same = entries.get(key).is_some_and(|e| e.version == *expected);
        Ok(same && entries.remove(key).is_some())
    }
}
