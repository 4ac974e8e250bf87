//! One Lease, read, and written on a condition.
//!
//! The condition compares contents, not `resourceVersion`: the contents of a lock never repeat, while those numbers
//! start again from an earlier one when the cluster is restored from a backup. The server applies such a patch and
//! writes in one step.

use std::{fmt, time::Duration};

use async_trait::async_trait;
use dlock_cas::{CasAdmin, CasStore, Entry, Hints, Put};
use dlock_core::{
    ProviderError,
    provider::{Capabilities, Discipline, Durability},
};
use futures_util::{Stream, StreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client, Error,
    api::{DeleteParams, ListParams, PatchParams, PostParams, WatchEvent, WatchParams},
};

use crate::{
    error::{failed, is_lost, is_missing, unexpected},
    lease::{self, Version},
    name,
};

/// How many Leases are read at a time, as `kubectl` does.
const PAGE: u32 = 500;

/// How many seconds a watch may last; then it begins again.
const WATCH: u32 = 290;

/// The connection of a watch that should have ended by this time is dead.
const DEAD: Duration = Duration::from_secs(WATCH as u64 + 10);

/// Leases of one namespace, over the user's own client.
#[derive(Clone)]
pub struct KubernetesStore {
    leases: Api<Lease>,
    namespace: String,
}

impl KubernetesStore {
    /// The Leases of this namespace. Sends nothing to the server.
    #[must_use]
    pub fn new(client: Client, namespace: &str) -> Self {
        Self {
            leases: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
        }
    }

    fn failed(&self, error: Error) -> ProviderError {
        failed(error, &self.namespace)
    }
}

// Without the client, which knows tokens.
impl fmt::Debug for KubernetesStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubernetesStore")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl CasStore for KubernetesStore {
    type Version = Version;

    fn capabilities(&self) -> Capabilities {
        Capabilities::new("kubernetes", Discipline::Observer)
            .durability(Durability::Durable)
            .watch(true)
            .marks(true)
            .cheap_reads(true)
    }

    /// A client with `default_retry` would; the documentation warns of it.
    fn repeats_puts(&self) -> bool {
        false
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<Version>>, ProviderError> {
        let name = name::encoded(key)?;
        // From etcd and not from the server's cache, as every read that names no version.
        let found = self.leases.get_opt(&name).await;
        match found.map_err(|error| self.failed(error))? {
            None => Ok(None),
            Some(found) if lease::record(&found).is_none() => Err(lease::foreign(&name)),
            Some(found) => Ok(Some(lease::entry(found))),
        }
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&Version>,
    ) -> Result<Put<Version>, ProviderError> {
        let no_text = |error| unexpected("a record that is no text").with_source(error);
        let record = String::from_utf8(bytes).map_err(no_text)?;
        let name = name::encoded(key)?;
        let made = match expected {
            None => {
                let new = lease::new(name, key, record);
                self.leases.create(&PostParams::default(), &new).await
            }
            Some(seen) => {
                let patch = lease::replaced(seen, &record)?;
                let params = PatchParams::default();
                self.leases.patch(&name, &params, &patch).await
            }
        };
        match made {
            Ok(made) => Ok(Put::Done(lease::entry(made).version)),
            Err(error) if is_lost(&error) => Ok(Put::Lost),
            // A create takes no existing object, but a namespace.
            Err(error) if expected.is_some() && is_missing(&error) => Ok(Put::Lost),
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn watch(&self, _: &str, hints: Hints) -> Result<(), ProviderError> {
        let ours = ListParams::default().labels(&lease::selector()).limit(1);
        let now = self.leases.list(&ours).await;
        let now = now.map_err(|error| self.failed(error))?.metadata;
        let now = now
            .resource_version
            .ok_or_else(|| unexpected("a list without its version"))?;
        let ours = WatchParams::default()
            .labels(&lease::selector())
            .timeout(WATCH);
        let changes = self.leases.watch(&ours, &now).await;
        let changes = Box::pin(changes.map_err(|error| self.failed(error))?);
        tokio::spawn(async move {
            tokio::select! {
                () = hints.closed() => {}
                _ = tokio::time::timeout(DEAD, report(changes, &hints)) => {}
            }
        });
        Ok(())
    }
}

#[async_trait]
impl CasAdmin for KubernetesStore {
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Entry<Version>)>, ProviderError> {
        let mut params = ListParams::default().labels(&lease::selector()).limit(PAGE);
        let mut listed = Vec::new();
        loop {
            let page = self.leases.list(&params).await;
            let page = page.map_err(|error| self.failed(error))?;
            for found in page.items {
                let name = found.metadata.name.as_deref();
                let Some(key) = name.and_then(name::decoded) else {
                    continue;
                };
                if key.as_str() < prefix || after.is_some_and(|after| key.as_str() <= after) {
                    continue;
                }
                // They come in the order of their names, which is that of keys.
                if listed.len() == limit || !key.starts_with(prefix) {
                    return Ok(listed);
                }
                listed.push((key, lease::entry(found)));
            }
            params.continue_token = page.metadata.continue_.filter(|next| !next.is_empty());
            if params.continue_token.is_none() {
                return Ok(listed);
            }
        }
    }

    async fn delete_if(&self, key: &str, expected: &Version) -> Result<bool, ProviderError> {
        let params = DeleteParams::default().preconditions(lease::unchanged(expected));
        match self.leases.delete(&name::encoded(key)?, &params).await {
            Ok(_) => Ok(true),
            Err(error) if is_lost(&error) || is_missing(&error) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// Hints at changes until the watch ends or no receiver is left.
async fn report(
    mut changes: impl Stream<Item = Result<WatchEvent<Lease>, Error>> + Unpin,
    hints: &Hints,
) {
    while let Some(Ok(event)) = changes.next().await {
        let goes_on = match &event {
            WatchEvent::Added(found) | WatchEvent::Modified(found) => hint(found, true, hints),
            WatchEvent::Deleted(found) => hint(found, false, hints),
            WatchEvent::Bookmark(_) => true,
            // Most often, that the place of the watch is too far back.
            WatchEvent::Error(_) => false,
        };
        if !goes_on {
            return;
        }
    }
}

/// Whether to continue.
fn hint(found: &Lease, is_there: bool, hints: &Hints) -> bool {
    let name = found.metadata.name.as_deref();
    let Some(key) = name.and_then(name::decoded) else {
        return true;
    };
    let record = lease::record(found).map(str::as_bytes);
    hints.changed(&key, record.filter(|_| is_there))
}
