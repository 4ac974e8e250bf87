//! One key of a bucket, read and written on a condition.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use async_nats::{Client, HeaderMap};
use async_trait::async_trait;
use dlock_cas::{CasStore, Entry, Hints, Put};
use dlock_core::{
    Clock, ProviderError, Stopwatch,
    provider::{Capabilities, Discipline, Durability},
};

use crate::{
    error::BucketError,
    key,
    refusals::Refusals,
    stream::{Found, Stream, Written},
    watch,
};

/// How long a version is believed without another look. A stream that is restored from a backup, or made anew, gives old
/// sequences to new messages, and a write has no condition that tells it from the stream before.
const BELIEVED: Duration = Duration::from_secs(60);

/// Locks in a bucket, over the user's own client.
pub struct NatsStore {
    pub(crate) stream: Stream,
    in_memory: bool,
    clock: Clock,
    /// The generation of the stream whose settings were looked at; 0 before the first look.
    verified: AtomicU64,
}

/// The sequence of a message, and since when nothing has made another stream likely.
#[derive(Clone, Debug)]
pub struct Version {
    pub(crate) sequence: u64,
    pub(crate) generation: u64,
    seen: Stopwatch,
}

impl NatsStore {
    /// The bucket of this name. Asks the server nothing: the first request looks at the settings of the bucket.
    #[must_use]
    pub fn new(client: Client, bucket: impl Into<String>) -> Self {
        Self {
            stream: Stream::new(client, bucket.into(), Refusals::default()),
            in_memory: false,
            clock: Clock::system(),
            verified: AtomicU64::new(0),
        }
    }

    /// Hears of rights that the user of the client lacks.
    #[must_use]
    pub fn refusals(mut self, refusals: Refusals) -> Self {
        self.stream.refusals = refusals;
        self
    }

    /// Takes a bucket in memory, which forgets all locks when its server restarts, and makes one of this kind.
    #[must_use]
    pub const fn in_memory(mut self, in_memory: bool) -> Self {
        self.in_memory = in_memory;
        self
    }

    /// Makes the bucket if there is none, on so many servers of a cluster (1, 3 or 5); then [`verify`](Self::verify).
    ///
    /// # Errors
    /// As [`verify`](Self::verify); and the server makes no such bucket: not so many servers, no rights.
    ///
    /// # Cancel safety
    /// The bucket may have been made.
    pub async fn set_up(&self, replicas: usize) -> Result<(), BucketError> {
        self.stream.set_up(replicas, self.in_memory).await
    }

    /// Looks whether the bucket is there and loses no locks by its settings. The first request does it too, and the
    /// first one after each new connection.
    ///
    /// # Errors
    /// [`BucketError`] says what to do.
    ///
    /// # Cancel safety
    /// Cancel safe: it only looks.
    pub async fn verify(&self) -> Result<(), BucketError> {
        let generation = self.stream.generation();
        self.stream.verify(self.in_memory).await?;
        self.verified.store(generation, Ordering::Relaxed);
        Ok(())
    }

    /// The generation of the stream that this call speaks to, which has been looked at.
    pub(crate) async fn ready(&self) -> Result<u64, ProviderError> {
        let generation = self.stream.generation();
        if self.verified.load(Ordering::Relaxed) != generation {
            self.verify().await?;
        }
        Ok(generation)
    }

    fn version(&self, sequence: u64, generation: u64) -> Version {
        Version {
            sequence,
            generation,
            seen: self.clock.stopwatch(),
        }
    }

    pub(crate) fn entry(&self, found: Found, generation: u64) -> Option<Entry<Version>> {
        Some(Entry {
            bytes: found.bytes?,
            version: self.version(found.sequence, generation),
        })
    }
}

// Without the client, which may know passwords.
impl fmt::Debug for NatsStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsStore")
            .field("bucket", &self.stream.bucket)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl CasStore for NatsStore {
    type Version = Version;

    fn capabilities(&self) -> Capabilities {
        let durability = if self.in_memory {
            Durability::Volatile
        } else {
            Durability::Durable
        };
        Capabilities::new("nats", Discipline::Observer)
            .durability(durability)
            .watch(true)
            .marks(true)
    }

    /// The client sends a request once: what it had sent before a connection broke is not sent again.
    fn repeats_puts(&self) -> bool {
        false
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<Version>>, ProviderError> {
        let generation = self.ready().await?;
        let subject = self.stream.subject(&key::encoded(key));
        let found = self.stream.last(&subject).await?;
        Ok(found.and_then(|found| self.entry(found, generation)))
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&Version>,
    ) -> Result<Put<Version>, ProviderError> {
        let generation = self.ready().await?;
        let is_believed = |version: &Version| {
            version.generation == generation && version.seen.elapsed() < BELIEVED
        };
        let mut last = match expected {
            None => 0,
            Some(version) if is_believed(version) => version.sequence,
            Some(_) => return Ok(Put::Lost),
        };
        let subject = self.stream.subject(&key::encoded(key));
        loop {
            match self
                .stream
                .write(&subject, HeaderMap::new(), bytes.clone(), last)
                .await?
            {
                Written::At(sequence) => {
                    return Ok(Put::Done(self.version(sequence, generation)));
                }
                // Another write of the key is under way, and may fail.
                Written::Crossed => return Ok(Put::Lost),
                Written::Passed(sequence) if sequence < last => {
                    // Deleted; or the stream is an older one, or its leader has been cut off.
                    self.stream.doubt();
                    return Ok(Put::Lost);
                }
                Written::Passed(sequence) => match self.stream.at(sequence).await? {
                    // It has been replaced since.
                    None => return Ok(Put::Lost),
                    // What a deletion leaves is no record, and the key can be made anew after it.
                    Some(Found { bytes: None, .. }) if last == 0 => last = sequence,
                    Some(found) => return Ok(Put::LostTo(self.entry(found, generation))),
                },
            }
        }
    }

    async fn watch(&self, prefix: &str, hints: Hints) -> Result<(), ProviderError> {
        self.ready().await?;
        watch::open(&self.stream, prefix, hints).await
    }
}
