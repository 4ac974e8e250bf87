//! A store that is open, and what it has to say.

use std::{fmt, sync::Arc};

use dlock_core::{
    Client, Name, ProviderError,
    provider::{Admin, Discipline},
};

use crate::{Encryption, ObservationFolder, StoreError, diagnosis::Diagnosis};

/// An open store.
#[derive(Clone)]
pub struct Store {
    pub(crate) provider: Arc<dyn Admin>,
    pub(crate) diagnosis: Diagnosis,
    /// Where what was seen of its locks is kept; `None` if its own clock decides, or there is no place.
    pub(crate) seen: Option<ObservationFolder>,
    /// How what is said to it is protected on its way; `None` if nothing tells.
    pub(crate) encryption: Option<Encryption>,
}

impl Store {
    /// What asks it.
    #[must_use]
    pub fn provider(&self) -> &Arc<dyn Admin> {
        &self.provider
    }

    /// A client. Where no clock of the store tells that a holder is dead, it remembers in the user's state
    /// directory what it has seen, for the runs to come.
    #[must_use]
    pub fn client(&self) -> Client {
        let client = Client::new(Arc::clone(&self.provider));
        match self.seen.clone() {
            Some(folder) => client.observations(folder),
            None => client,
        }
    }

    /// Whether only those who have seen a lock unchanged for long enough can tell that its holder is
    /// dead.
    #[must_use]
    pub fn needs_observers(&self) -> bool {
        self.provider.capabilities().discipline == Discipline::Observer
    }

    /// Whether what a [`client`](Self::client) sees of locks is kept for the runs to come, where they need it.
    #[must_use]
    pub fn remembers(&self) -> bool {
        self.seen.is_some()
    }

    /// How what is said to it is protected on its way, by its location and by what this process's surroundings add to
    /// that; `None` if neither tells.
    #[must_use]
    pub const fn encryption(&self) -> Option<Encryption> {
        self.encryption
    }

    /// Whether something has to be made before there can be locks, with [`set_up`](Self::set_up).
    #[must_use]
    pub fn has_tables(&self) -> bool {
        self.diagnosis.tables.is_some()
    }

    /// Makes what locks need; nothing if it is there.
    ///
    /// # Errors
    /// The store gave no answer, refuses, or has something else in the place of the tables.
    pub async fn set_up(&self) -> Result<(), StoreError> {
        self.diagnosis.set_up().await
    }

    /// Asks the store whether there is what locks need.
    ///
    /// # Errors
    /// It is not there, or the store gave no answer or refuses.
    pub async fn check(&self) -> Result<(), StoreError> {
        let doing = "can't use it for locks";
        self.diagnosis.check(doing).await?;
        // A store that needs nothing made can still be out of reach, or refuse us. Any name will do.
        let name =
            Name::new("check").map_err(|error| StoreError::unusable(doing).because(error))?;
        match self.provider.read(&name).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failure(doing, error).await),
        }
    }

    /// The store has no answer: why, and what to do. May ask the store, for some seconds.
    pub async fn failure(&self, doing: &str, error: ProviderError) -> StoreError {
        self.diagnosis.failure(doing, error).await
    }

    /// What a store does that gave no answer to a request, as a verb: "does not answer".
    #[must_use]
    pub fn conduct(&self, error: &ProviderError) -> &'static str {
        self.diagnosis.conduct(error)
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnosis.fmt(f)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({self})")
    }
}
