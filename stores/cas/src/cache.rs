//! The records that this process has seen last. They may cause a write, which the store refuses if the record has
//! changed since; they never decide an answer.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use dlock_core::Record;

/// A record, and the version of the contents that hold it.
#[derive(Clone, Debug)]
pub(crate) struct Seen<V> {
    pub(crate) record: Record,
    pub(crate) version: V,
}

/// At most two generations of records: those used last, and some of those used before.
#[derive(Debug)]
pub(crate) struct Cache<V>(Mutex<Generations<V>>);

#[derive(Debug)]
struct Generations<V> {
    size: usize,
    young: HashMap<String, Seen<V>>,
    old: HashMap<String, Seen<V>>,
}

impl<V> Cache<V> {
    pub(crate) fn new(size: usize) -> Self {
        Self(Mutex::new(Generations {
            size,
            young: HashMap::new(),
            old: HashMap::new(),
        }))
    }

    /// Takes a record out: a call that ends without an answer leaves no outdated record in the cache.
    pub(crate) fn take(&self, key: &str) -> Option<Seen<V>> {
        let mut all = self.lock();
        let old = all.old.remove(key);
        all.young.remove(key).or(old)
    }

    pub(crate) fn keep(&self, key: String, seen: Seen<V>) {
        let mut all = self.lock();
        if all.young.len() >= all.size {
            all.old = std::mem::take(&mut all.young);
        }
        all.young.insert(key, seen);
    }

    fn lock(&self) -> MutexGuard<'_, Generations<V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
