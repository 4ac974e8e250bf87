//! To the requests of a store, and back.

use dlock_core::{
    Name, ProviderError,
    provider::{self, Capabilities as Abilities, Discipline, Durability},
};

use super::{Acquire, Capabilities, Closing, Release, Renew, Version};
use crate::{Base64, Millis, pseudonym};

impl From<provider::Version> for Version {
    fn from(provider::Version { uuid, renewals }: provider::Version) -> Self {
        Self { uuid, renewals }
    }
}

impl From<Version> for provider::Version {
    fn from(Version { uuid, renewals }: Version) -> Self {
        Self { uuid, renewals }
    }
}

impl Acquire {
    /// The request to the store, under the name that the lock has there, for the [pseudonym] of the term.
    #[must_use]
    pub fn into_request(self, name: Name) -> provider::Acquire {
        provider::Acquire::new(name, pseudonym(self.uuid), self.duration_ms.into())
            .owner(self.owner)
            .prev(self.prev.map(Into::into))
            .data(self.data.map(|Base64(data)| data))
            .floor(self.floor)
            .tokens(self.tokens)
            .marks(self.marks)
    }
}

impl From<&provider::Acquire> for Acquire {
    fn from(request: &provider::Acquire) -> Self {
        Self {
            name: request.name.as_str().to_owned(),
            uuid: request.new,
            duration_ms: Millis::rounded_up(request.duration),
            prev: request.prev.map(Into::into),
            owner: request.owner.clone(),
            data: request.data.clone().map(Base64),
            floor: request.floor,
            tokens: request.tokens,
            marks: request.marks,
            wait_ms: Millis(0),
        }
    }
}

impl From<&provider::Renew> for Renew {
    fn from(request: &provider::Renew) -> Self {
        Self {
            name: request.name.as_str().to_owned(),
            uuid: request.uuid,
            n: request.n,
        }
    }
}

impl Release {
    /// The request to the store, under the name that the lock has there, for the [pseudonym] of the term.
    ///
    /// # Errors
    /// [`Fatal`](dlock_core::ErrorKind::Fatal) if the closing is not valid.
    pub fn into_request(self, name: Name) -> Result<provider::Release, ProviderError> {
        let closing = self
            .closing
            .map(|Closing { uuid, duration_ms }| {
                provider::Closing::of(pseudonym(uuid), duration_ms.into())
            })
            .transpose()?;
        Ok(provider::Release::new(name, pseudonym(self.uuid), self.token).closing(closing))
    }
}

impl From<&provider::Release> for Release {
    fn from(request: &provider::Release) -> Self {
        Self {
            name: request.name.as_str().to_owned(),
            uuid: request.uuid,
            token: request.token,
            closing: request.closing.map(|closing| Closing {
                uuid: closing.uuid(),
                duration_ms: Millis::rounded_up(closing.lasts()),
            }),
        }
    }
}

impl Capabilities {
    /// The abilities that a store declares.
    #[must_use]
    pub fn new(abilities: Abilities, tasks: bool) -> Self {
        Self {
            backend: abilities.backend.to_owned(),
            observer: abilities.discipline == Discipline::Observer,
            watch: abilities.watch,
            batch: abilities.batch,
            durable: abilities.durability == Durability::Durable,
            cheap_reads: abilities.cheap_reads,
            closing: abilities.closing,
            marks: abilities.marks,
            tasks,
        }
    }

    /// The abilities of a provider behind the server: the store's, but for its name.
    #[must_use]
    pub fn of_provider(&self, backend: &'static str) -> Abilities {
        let discipline = if self.observer {
            Discipline::Observer
        } else {
            Discipline::StoreClock
        };
        let durability = if self.durable {
            Durability::Durable
        } else {
            Durability::Volatile
        };
        Abilities::new(backend, discipline)
            .watch(self.watch)
            .batch(self.batch)
            .durability(durability)
            .cheap_reads(self.cheap_reads)
            .closing(self.closing)
            .marks(self.marks)
    }
}
