//! One object, read whole, and written on a condition.

use std::{collections::BTreeMap, fmt, sync::Arc};

use async_trait::async_trait;
use dlock_cas::{CasAdmin, CasStore, Entry, Put};
use dlock_core::{
    ProviderError,
    provider::{Capabilities, Discipline},
};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{
    Error, GetResult, ObjectStore, ObjectStoreExt, PutMode, PutPayload, UpdateVersion, path::Path,
};

use crate::{
    error::{failed, has_no_bucket},
    path,
};

/// No record is longer: it has some 7 KB. No more than this is read of a foreign object.
const READ: usize = 64 * 1024;

/// How many records of a page are requested at a time.
const AT_ONCE: usize = 16;

/// The objects of a bucket, over any [`ObjectStore`] that the user brings.
#[derive(Clone)]
pub struct Objects {
    bucket: Arc<dyn ObjectStore>,
    repeats: bool,
    marks: bool,
}

impl Objects {
    /// The objects of this bucket. Sends nothing to the service.
    #[must_use]
    pub fn new(bucket: Arc<dyn ObjectStore>) -> Self {
        // Google takes one write a second of an object, which the release may need.
        let marks = !bucket.to_string().contains("GoogleCloudStorage");
        Self {
            bucket,
            repeats: true,
            marks,
        }
    }

    /// Declares that the client sends each request once: its `RetryConfig` has `max_retries` 0. A holder whose lock
    /// another process has then learns so from its release. Otherwise that answer may belong to a hidden repeat of a
    /// release that was made, and the outcome stays open
    /// ([`ReleaseEnd::Unconfirmed`](dlock_core::ReleaseEnd::Unconfirmed)).
    #[must_use]
    pub const fn sent_once(mut self) -> Self {
        self.repeats = false;
        self
    }

    pub(crate) async fn find(
        &self,
        path: &Path,
    ) -> Result<Option<Entry<UpdateVersion>>, ProviderError> {
        let found = match self.bucket.get(path).await {
            Ok(found) => found,
            Err(error @ Error::NotFound { .. }) if !has_no_bucket(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let version = version(found.meta.e_tag.clone(), found.meta.version.clone())?;
        let bytes = contents(found).await.map_err(failed)?;
        Ok(Some(Entry { bytes, version }))
    }

    pub(crate) async fn write(
        &self,
        path: &Path,
        bytes: PutPayload,
        expected: Option<&UpdateVersion>,
    ) -> Result<Put<UpdateVersion>, ProviderError> {
        let mode = expected.map_or(PutMode::Create, |version| PutMode::Update(version.clone()));
        match self.bucket.put_opts(path, bytes, mode.into()).await {
            Ok(done) => version(done.e_tag, done.version).map(Put::Done),
            // Services have many words for it. The one for two writes at the same time means neither that the object
            // exists nor that it does not.
            Err(
                Error::AlreadyExists { .. }
                | Error::Precondition { .. }
                | Error::NotModified { .. },
            ) => Ok(Put::Lost),
            Err(error @ Error::NotFound { .. }) if expected.is_some() && !has_no_bucket(&error) => {
                Ok(Put::Lost)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Deletes an object without any condition: never one of a lock.
    pub(crate) async fn delete(&self, path: &Path) -> Result<(), ProviderError> {
        self.bucket.delete(path).await.map_err(failed)
    }

    /// The first names in a folder that start like this and come after that one, in their order. Services need not list
    /// in any order: all names are read.
    async fn names(
        &self,
        folder: &Path,
        start: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<BTreeMap<String, Path>, ProviderError> {
        let within = (!folder.is_root()).then_some(folder);
        let mut objects = match after {
            Some(after) => {
                let after = path::of_name(folder, after)?;
                self.bucket.list_with_offset(within, &after)
            }
            None => self.bucket.list(within),
        };
        let mut names = BTreeMap::new();
        while let Some(object) = objects.try_next().await.map_err(failed)? {
            match path::name(folder, &object.location) {
                Some(name)
                    if name.starts_with(start) && after.is_none_or(|after| *name > *after) =>
                {
                    names.insert(name, object.location);
                }
                _ => {}
            }
            if names.len() > limit {
                names.pop_last();
            }
        }
        Ok(names)
    }
}

// Without the service, which may print the keys of its signatures.
impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").finish_non_exhaustive()
    }
}

#[async_trait]
impl CasStore for Objects {
    /// The service's name for the contents: an `ETag`, a generation, or both.
    type Version = UpdateVersion;

    fn capabilities(&self) -> Capabilities {
        // A refused write is billed as one, and a read costs a tenth of it.
        Capabilities::new("object-store", Discipline::Observer)
            .cheap_reads(true)
            .marks(self.marks)
    }

    fn repeats_puts(&self) -> bool {
        self.repeats
    }

    async fn get(&self, key: &str) -> Result<Option<Entry<UpdateVersion>>, ProviderError> {
        self.find(&path::of_key(key)?).await
    }

    async fn put_if(
        &self,
        key: &str,
        bytes: Vec<u8>,
        expected: Option<&UpdateVersion>,
    ) -> Result<Put<UpdateVersion>, ProviderError> {
        self.write(&path::of_key(key)?, bytes.into(), expected)
            .await
    }
}

#[async_trait]
impl CasAdmin for Objects {
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Entry<UpdateVersion>)>, ProviderError> {
        let (prefix, start) = path::split(prefix);
        let folder = path::folder_of_key(prefix)?;
        let mut after = after.map(|after| path::split(after).1.to_owned());
        let mut listed = Vec::new();
        while listed.len() < limit {
            let room = limit - listed.len();
            let names = self.names(&folder, start, after.as_deref(), room).await?;
            let Some((last, _)) = names.last_key_value() else {
                break;
            };
            after = Some(last.clone());
            let found = stream::iter(names)
                .map(|(name, path)| async move { Ok((name, self.find(&path).await?)) })
                .buffered(AT_ONCE);
            let found: Vec<_> = found.try_collect().await?;
            // A record that was deleted in between is left out, and another one takes its place.
            listed.extend(
                found
                    .into_iter()
                    .filter_map(|(name, entry)| Some((format!("{prefix}/{name}"), entry?))),
            );
        }
        Ok(listed)
    }

    async fn delete_if(&self, _: &str, _: &UpdateVersion) -> Result<bool, ProviderError> {
        Err(ProviderError::fatal(
            "object stores delete without a condition, so a purge could delete a lock that has just been taken: \
             let the bucket delete objects of this folder that nobody has written to for 30 days",
        ))
    }
}

/// The version for a conditional write.
fn version(e_tag: Option<String>, version: Option<String>) -> Result<UpdateVersion, ProviderError> {
    if e_tag.is_none() && version.is_none() {
        return Err(ProviderError::fatal(
            "the service names no version of its objects, so no write can depend on one: choose another service",
        ));
    }
    Ok(UpdateVersion { e_tag, version })
}

/// The contents of an object, or the beginning of one that is too long for a record.
async fn contents(found: GetResult) -> Result<Vec<u8>, Error> {
    let mut pieces = found.into_stream();
    let mut bytes = Vec::new();
    while bytes.len() < READ {
        match pieces.try_next().await? {
            Some(piece) => bytes.extend_from_slice(&piece),
            None => break,
        }
    }
    Ok(bytes)
}
