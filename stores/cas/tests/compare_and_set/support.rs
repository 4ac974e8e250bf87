//! Stores around the one in memory: one that shows the winner and hints at changes, and one that counts, and fails on
//! command.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use dlock_cas::{CasAdmin, CasStore, Entry, Hints, Put};
use dlock_core::{
    Name, ProviderError,
    provider::{Acquire, Capabilities},
};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::store::Memory;

/// A try for a name that outlasts the test.
pub(crate) fn term(name: &str) -> Acquire {
    let name = Name::new(name).unwrap();
    Acquire::new(name, Uuid::new_v4(), std::time::Duration::from_mins(10)).owner("a contender")
}

/// Shows the losers of a write the contents that it met, and hints at changes. One write at a time.
#[derive(Clone)]
pub(crate) struct Showing {
    memory: Memory,
    writing: Arc<tokio::sync::Mutex<()>>,
    changed: broadcast::Sender<(String, Vec<u8>)>,
}

impl Default for Showing {
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            writing: Arc::default(),
            changed: broadcast::Sender::new(4096),
        }
    }
}

#[async_trait]
impl CasStore for Showing {
    type Version = u64;

    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities().watch(true).cheap_reads(true)
    }

    fn repeats_puts(&self) -> bool {
        false
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<u64>>, ProviderError> {
        self.memory.get(key).await
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&u64>,
    ) -> Result<Put<u64>, ProviderError> {
        let _one = self.writing.lock().await;
        let put = self.memory.put_if(key, bytes.clone(), expected).await?;
        if put == Put::Lost {
            return Ok(Put::LostTo(self.memory.get(key).await?));
        }
        // There may be no listener.
        drop(self.changed.send((key.to_owned(), bytes)));
        Ok(put)
    }

    async fn watch(&self, _: &str, hints: Hints) -> Result<(), ProviderError> {
        let mut changes = self.changed.subscribe();
        tokio::spawn(async move {
            loop {
                let change = tokio::select! {
                    change = changes.recv() => change,
                    () = hints.closed() => return,
                };
                match change {
                    Ok((key, bytes)) if hints.changed(&key, Some(&bytes)) => {}
                    Err(broadcast::error::RecvError::Lagged(_)) if hints.missed() => {}
                    _ => return,
                }
            }
        });
        Ok(())
    }
}

#[async_trait]
impl CasAdmin for Showing {
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Entry<u64>)>, ProviderError> {
        self.memory.list(prefix, after, limit).await
    }

    async fn delete_if(&self, key: &str, expected: &u64) -> Result<bool, ProviderError> {
        self.memory.delete_if(key, expected).await
    }
}

/// A request to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Get,
    Put,
}

/// The fate of a call.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It fails, and nothing was done.
    Before(ProviderError),
    /// It fails, and was done.
    After(ProviderError),
    /// It is done twice, and the answer is that of the second time.
    Twice,
    /// It is answered as if another client had been quicker, and was not done.
    Lost,
}

/// Records its requests, and fails as set by `put` and `get`, in their order.
#[derive(Clone, Default)]
pub(crate) struct Scripted {
    pub(crate) memory: Memory,
    asked: Arc<Mutex<Vec<Asked>>>,
    puts: Arc<Mutex<Vec<Fault>>>,
    gets: Arc<Mutex<Vec<Fault>>>,
}

impl Scripted {
    /// Strikes the coming writes, the first one first.
    pub(crate) fn puts(&self, faults: impl IntoIterator<Item = Fault>) {
        self.puts.lock().unwrap().extend(faults);
    }

    /// Strikes the coming reads.
    pub(crate) fn gets(&self, faults: impl IntoIterator<Item = Fault>) {
        self.gets.lock().unwrap().extend(faults);
    }

    /// The requests since the last call of this.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    fn begin(&self, asked: Asked) -> Option<Fault> {
        self.asked.lock().unwrap().push(asked);
        let mut faults = match asked {
            Asked::Get => self.gets.lock().unwrap(),
            Asked::Put => self.puts.lock().unwrap(),
        };
        (!faults.is_empty()).then(|| faults.remove(0))
    }
}

#[async_trait]
impl CasStore for Scripted {
    type Version = u64;

    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<u64>>, ProviderError> {
        match self.begin(Asked::Get) {
            Some(Fault::Before(error) | Fault::After(error)) => Err(error),
            _ => self.memory.get(key).await,
        }
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&u64>,
    ) -> Result<Put<u64>, ProviderError> {
        let fault = self.begin(Asked::Put);
        if let Some(Fault::Before(error)) = fault {
            return Err(error);
        }
        if let Some(Fault::Lost) = fault {
            return Ok(Put::Lost);
        }
        let put = self.memory.put_if(key, bytes.clone(), expected).await;
        match fault {
            Some(Fault::After(error)) => Err(error),
            Some(Fault::Twice) => self.memory.put_if(key, bytes, expected).await,
            _ => put,
        }
    }
}
