//! An open store, and its errors.

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
    /// The folder of observations of its locks; `None` if its own clock decides, or there is no place.
    pub(crate) seen: Option<ObservationFolder>,
    /// How the traffic with it is protected; `None` if that is unknown.
    pub(crate) encryption: Option<Encryption>,
}

impl Store {
    /// The interface to its locks.
    #[must_use]
    pub fn provider(&self) -> &Arc<dyn Admin> {
        &self.provider
    }

    /// A client. Where no clock of the store decides that a holder is dead, it keeps its observations in the user's
    /// state directory, for later runs.
    #[must_use]
    pub fn client(&self) -> Client {
        let client = Client::new(Arc::clone(&self.provider));
        match self.seen.clone() {
            Some(folder) => client.observations(folder),
            None => client,
        }
    }

    /// Whether a client finds out that a holder is dead only by having seen its lock unchanged for long enough.
    #[must_use]
    pub fn needs_observers(&self) -> bool {
        self.provider.capabilities().discipline == Discipline::Observer
    }

    /// Whether observations of a [`client`](Self::client) are kept for later runs, where locks need them.
    #[must_use]
    pub fn remembers(&self) -> bool {
        self.seen.is_some()
    }

    /// How the traffic with it is protected, by its location and by what this process's surroundings add to that;
    /// `None` if neither decides.
    #[must_use]
    pub const fn encryption(&self) -> Option<Encryption> {
        self.encryption
    }

    /// Whether [`set_up`](Self::set_up) has to make something before there can be locks.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        self.diagnosis.tables.is_some()
    }

    /// Makes what locks need; nothing if it exists.
    ///
    /// # Errors
    /// The store gave no answer, refuses, or has something else in the place of the tables.
    pub async fn set_up(&self) -> Result<(), StoreError> {
        self.diagnosis.set_up().await
    }

    /// Checks that the store has what locks need.
    ///
    /// # Errors
    /// Something is missing, or the store gave no answer or refuses.
    pub async fn check(&self) -> Result<(), StoreError> {
        let doing = "can't use it for locks";
        self.diagnosis.check(doing).await?;
        // A store that needs no set-up can still be out of reach, or refuse this client. Any name will do.
        let name =
            Name::new("check").map_err(|error| StoreError::unusable(doing).because(error))?;
        match self.provider.read(&name).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failure(doing, error).await),
        }
    }

    /// The store has no answer: why, and what to do. May query the store, for some seconds.
    pub async fn failure(&self, doing: &str, error: ProviderError) -> StoreError {
        self.diagnosis.failure(doing, error).await
    }

    /// The behaviour of a store that gave no answer to a request, as a verb: "does not answer".
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
