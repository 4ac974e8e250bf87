//! One key of a bucket, read, and written on a condition.

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

/// How long a version is trusted without another read. A stream that is restored from a backup, or created anew, gives
/// old sequences to new messages, and a write has no condition that distinguishes it from the stream before.
const BELIEVED: Duration = Duration::from_secs(60);

/// Locks in a bucket, over the user's own client.
pub struct NatsStore {
    pub(crate) stream: Stream,
    in_memory: bool,
    clock: Clock,
    /// The generation of the stream whose settings were checked; 0 before the first check.
    verified: AtomicU64,
}

/// The sequence of a message, and the time since which nothing has made another stream likely.
#[derive(Clone, Debug)]
pub struct Version {
    pub(crate) sequence: u64,
    pub(crate) generation: u64,
    seen: Stopwatch,
}

impl NatsStore {
    /// The bucket of this name. Sends nothing to the server: the first request checks the settings of the bucket.
    #[must_use]
    pub fn new(client: Client, bucket: impl Into<String>) -> Self {
        Self {
            stream: Stream::new(client, bucket.into(), Refusals::default()),
            in_memory: false,
            clock: Clock::system(),
            verified: AtomicU64::new(0),
        }
    }

    /// Receives the rights that the user of the client lacks.
    #[must_use]
    pub fn refusals(mut self, refusals: Refusals) -> Self {
        self.stream.refusals = refusals;
        self
    }

    /// Accepts a bucket in memory, which forgets all locks when its server restarts, and creates one of this kind.
    #[must_use]
    pub const fn in_memory(mut self, in_memory: bool) -> Self {
        self.in_memory = in_memory;
        self
    }

    /// Creates the bucket if it is missing, on `replicas` servers of a cluster (1, 3 or 5); then
    /// [`verify`](Self::verify).
    ///
    /// # Errors
    /// As [`verify`](Self::verify); and if the server creates no such bucket: too few servers, missing rights.
    ///
    /// # Cancel safety
    /// The bucket may have been created.
    pub async fn set_up(&self, replicas: usize) -> Result<(), BucketError> {
        self.stream.set_up(replicas, self.in_memory).await
    }

    /// Checks that the bucket exists and that its settings lose no locks. The first request does so too, and the first
    /// one after each new connection.
    ///
    /// # Errors
    /// [`BucketError`] says what to do.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    pub async fn verify(&self) -> Result<(), BucketError> {
        let generation = self.stream.generation();
        self.stream.verify(self.in_memory).await?;
        self.verified.store(generation, Ordering::Relaxed);
        Ok(())
    }

    /// The generation of the stream that this call reaches, once its settings have been checked.
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

    /// The client sends a request once: it does not repeat requests sent before a connection broke.
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
                // Another write of the key is in progress, and may fail.
                Written::Crossed => return Ok(Put::Lost),
                Written::Passed(sequence) if sequence < last => {
                    // Deleted; or the stream is an older one, or its leader has been cut off.
                    self.stream.doubt();
                    return Ok(Put::Lost);
                }
                Written::Passed(sequence) => match self.stream.at(sequence).await? {
                    // It has been replaced since.
                    None => return Ok(Put::Lost),
                    // A deletion leaves no record, and the key can be created anew after it.
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
