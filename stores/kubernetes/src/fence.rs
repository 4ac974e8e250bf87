//! Objects of Kubernetes that refuse a stale fencing token: rule T3, inside the write that changes the object.
//!
//! A resource accepts a token that is at least the highest it has seen, and remembers the highest in the same atomic
//! write. The token is an annotation of the object, whatever its kind: a `ConfigMap`, a custom resource.
//!
//! ```no_run
//! // Needs a Kubernetes.
//! use dlock_core::FencingToken;
//! use dlock_kubernetes::fence::{Fence, FenceError};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::Api;
//!
//! # async fn example(maps: Api<ConfigMap>, token: FencingToken) -> Result<(), Box<dyn std::error::Error>> {
//! let write = |map: &mut ConfigMap| {
//!     map.data.get_or_insert_default().insert("balance".into(), "40".into());
//! };
//! match Fence::default().update(&maps, "a-17", token, write).await {
//!     Ok(_) => {}
//!     // A later holder has written: stop.
//!     Err(FenceError::Stale(stale)) => eprintln!("{stale}"),
//!     Err(other) => return Err(other.into()),
//! }
//! # Ok(()) }
//! ```

use std::{fmt::Debug, time::Duration};

use dlock_core::FencingToken;
use kube::{
    Api, Error, Resource, ResourceExt,
    api::{ObjectMeta, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::sleep;

use crate::error::is_conflict;

/// Why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<Box<Error>>;

/// How many other writers may come before one. Those with a later token make this one stale.
const ROUNDS: u64 = 32;

/// Each pause before a further round is longer than the last by this, and half of it is random.
const PAUSE: u64 = 10;

/// The place where objects remember the highest token they have seen: this annotation. Cheap to make; holds no client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    annotation: String,
}

impl Default for Fence {
    /// In the annotation `dlock/fence`.
    fn default() -> Self {
        Self::new("dlock/fence")
    }
}

impl Fence {
    /// In this annotation. All writers of an object must use the same.
    #[must_use]
    pub fn new(annotation: impl Into<String>) -> Self {
        Self {
            annotation: annotation.into(),
        }
    }

    /// Changes an existing object, if the token is not stale for it, and remembers the token: reads it, and writes it
    /// if it is unchanged since. Otherwise it reads it again after a pause, up to 32 times. So `change` may be called
    /// several times, and may also find its own change, where the client repeats a write whose answer it did not get.
    ///
    /// `change` may replace the object that it gets by another: the write goes to the object of this name, in the
    /// version that was read, whatever name, namespace, uid and version `change` leaves in it.
    ///
    /// Takes the verbs `get` and `update`. No other program may write the annotation.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has written; then nothing changed, and the writer should stop.
    /// [`FenceError::Foreign`] if the annotation holds something other than a token; then nothing changed either.
    /// [`FenceError::NoPlace`] if the server names no version of the object, so that no write can depend on one.
    /// [`FenceError::Store`] for every other reason, a missing object and one that others wrote each time before this
    /// write among them: the change may have been made.
    ///
    /// # Cancel safety
    /// The change may have been made.
    pub async fn update<K>(
        &self,
        objects: &Api<K>,
        name: &str,
        token: FencingToken,
        mut change: impl FnMut(&mut K) + Send,
    ) -> Result<K, FenceError>
    where
        K: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + Sync,
    {
        let store = |error| FenceError::Store(Box::new(error));
        let mut round = 1;
        loop {
            let mut object = objects.get(name).await.map_err(store)?;
            if let Some(seen) = object.annotations().get(&self.annotation) {
                let highest = seen.parse().ok().and_then(FencingToken::new);
                if highest.is_none_or(|highest| token < highest) {
                    let place = || format!("the annotation {:?} of {name:?}", self.annotation);
                    return Err(FenceError::refused(token, highest, place));
                }
            }
            let ObjectMeta {
                name: own_name,
                namespace,
                uid,
                resource_version,
                ..
            } = object.meta().clone();
            if resource_version.as_deref().is_none_or(str::is_empty) {
                return Err(FenceError::NoPlace {
                    resource: name.to_owned(),
                    reason: "the server names no version of it, so no write can depend on one",
                });
            }
            change(&mut object);
            // The condition of the write. Without a version, the server would replace whatever is there.
            let meta = object.meta_mut();
            meta.name = own_name;
            meta.namespace = namespace;
            meta.uid = uid;
            meta.resource_version = resource_version;
            let seen = token.get().to_string();
            object
                .annotations_mut()
                .insert(self.annotation.clone(), seen);
            match objects.replace(name, &PostParams::default(), &object).await {
                Err(error) if round < ROUNDS && is_conflict(&error) => {}
                written => return written.map_err(store),
            }
            let pause = round * PAUSE;
            sleep(Duration::from_millis(fastrand::u64(pause / 2..=pause))).await;
            round += 1;
        }
    }
}
