//! Pages of records, and the deletion of old ones.

use std::collections::HashMap;

use async_nats::jetstream::{ErrorCode, response::Response, stream::DeleteStatus};
use async_trait::async_trait;
use dlock_cas::{CasAdmin, Entry};
use dlock_core::ProviderError;
use serde::Deserialize;
use serde_json::json;

use crate::{
    key,
    store::{NatsStore, Version},
    stream::Stream,
};

impl Stream {
    /// The keys of the bucket that start with this, in no order.
    async fn keys(&self, start: &str) -> Result<Vec<String>, ProviderError> {
        #[derive(Deserialize)]
        struct Shown {
            #[serde(default)]
            total: usize,
            state: State,
        }
        #[derive(Deserialize)]
        struct State {
            #[serde(default)]
            subjects: Option<HashMap<String, u64>>,
        }
        let filter = self.subject(&key::filter(start));
        let entries = self.subject("");
        let mut keys = Vec::new();
        let mut read = 0;
        loop {
            let what = json!({ "subjects_filter": filter, "offset": read });
            let Shown { total, state } = match self.ask::<Shown>("STREAM.INFO", &what).await? {
                Response::Ok(shown) => shown,
                Response::Err { error } => return Err(self.refused(error)),
            };
            let subjects = state.subjects.unwrap_or_default();
            read += subjects.len();
            let is_last = subjects.is_empty() || read >= total;
            let found = subjects.into_keys().filter_map(|subject| {
                let key = key::decoded(subject.strip_prefix(&entries)?)?;
                key.starts_with(start).then_some(key)
            });
            keys.extend(found);
            if is_last {
                return Ok(keys);
            }
        }
    }
}

#[async_trait]
impl CasAdmin for NatsStore {
    /// Each page requests all keys of the prefix, because the server has them in no order, and then one record after
    /// the other.
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Entry<Version>)>, ProviderError> {
        let generation = self.ready().await?;
        let mut keys = self.stream.keys(prefix).await?;
        keys.retain(|key| after.is_none_or(|after| **key > *after));
        keys.sort_unstable();
        let mut listed = Vec::new();
        for key in keys {
            if listed.len() == limit {
                break;
            }
            let subject = self.stream.subject(&key::encoded(&key));
            let found = self.stream.last(&subject).await?;
            listed.extend(
                found
                    .and_then(|found| self.entry(found, generation))
                    .map(|entry| (key, entry)),
            );
        }
        Ok(listed)
    }

    /// Deletes one message, which is the version: one that has been replaced is gone already.
    async fn delete_if(&self, _: &str, expected: &Version) -> Result<bool, ProviderError> {
        if self.ready().await? != expected.generation {
            return Ok(false);
        }
        // Without overwriting the message.
        let what = json!({ "seq": expected.sequence, "no_erase": true });
        match self
            .stream
            .ask::<DeleteStatus>("STREAM.MSG.DELETE", &what)
            .await?
        {
            Response::Ok(DeleteStatus { success }) => Ok(success),
            // The server has one code for all reasons.
            Response::Err { error }
                if error.error_code() == ErrorCode::STREAM_MESSAGE_DELETE_FAILED =>
            {
                if error.to_string().contains("no message found") {
                    return Ok(false);
                }
                Err(ProviderError::fatal(
                    "the bucket allows no deletion of messages (deny_delete, which cannot be changed): old records stay, and do no harm",
                )
                .with_source(error))
            }
            Response::Err { error } => Err(self.stream.refused(error)),
        }
    }
}
