//! Read, decide, write if the record is unchanged; repeat, if it was not.
//!
//! An answer without a write always comes from a record that this very call has seen: in a read that began in the call,
//! or as shown by the comparison that refused its write. A record from the cache may only cause a write.

use dlock_core::{ErrorKind, ProviderError, Record};

use crate::{
    cache::{Cache, Seen},
    record,
    rules::{Decision, Step},
    store::{CasStore, Entry, Put},
};

/// How many writes a call tries. A call that loses all of them knows nothing: others keep being quicker.
const ROUNDS: usize = 3;

/// How many records a generation of the cache has. A process with more leases than that reads before it renews those
/// that it has not seen for longest.
const CACHED: usize = 8192;

/// The records of a store.
pub(crate) struct Records<S: CasStore> {
    pub(crate) store: S,
    cache: Cache<S::Version>,
}

/// The result of a read: the record of a key, if it has one.
type Found<V> = Option<Seen<V>>;

/// A write that a rule demands.
struct Plan<V, T> {
    /// The version of the contents to replace; `None` to create the key.
    version: Option<V>,
    record: Record,
    /// The answer once the write is made.
    answer: T,
}

impl<S: CasStore> Records<S> {
    pub(crate) fn new(store: S) -> Self {
        Self {
            store,
            cache: Cache::new(CACHED),
        }
    }

    /// The record of a key as it is.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<Record>, ProviderError> {
        let found = self.look(key).await?;
        let record = found.as_ref().map(|seen| seen.record.clone());
        self.remember(key, found);
        Ok(record)
    }

    /// Applies the rule to the record. Its second argument is whether a write of this call was refused already.
    ///
    /// # Errors
    /// Those of the store and of the rule. After a refused write all of them are `Unknown`: the refusal may have been
    /// meant for a hidden repeat of a write that was made.
    ///
    /// # Cancel safety
    /// A write in flight may have been made.
    pub(crate) async fn decide<T: Send>(
        &self,
        key: &str,
        rule: impl Fn(Option<&Record>, bool) -> Decision<T> + Send + Sync,
    ) -> Result<T, ProviderError> {
        let mut planned = self.plan_from_cache(key, &rule);
        let mut shown = None;
        let mut refused = false;
        for _ in 0..ROUNDS {
            let doubt = |error| if refused { doubtful(error) } else { error };
            let plan = if let Some(plan) = planned.take() {
                plan
            } else {
                let found = match shown.take() {
                    Some(entry) => readable(key, entry),
                    None => self.look(key).await,
                };
                let found = found.map_err(doubt)?;
                let record = found.as_ref().map(|seen| &seen.record);
                match rule(record, refused).map_err(doubt)? {
                    Step::Answer(answer) => {
                        self.remember(key, found);
                        return Ok(answer);
                    }
                    Step::Write(record, answer) => Plan {
                        version: found.map(|seen| seen.version),
                        record,
                        answer,
                    },
                }
            };
            let Plan {
                version,
                record,
                answer,
            } = plan;
            let bytes = record::write(&record);
            let put = self.store.put_if(key, bytes, version.as_ref()).await;
            match put.map_err(doubt)? {
                Put::Done(version) => {
                    self.remember(key, Some(Seen { record, version }));
                    return Ok(answer);
                }
                Put::Lost => {}
                Put::LostTo(entry) => shown = Some(entry),
            }
            refused = true;
        }
        Err(ProviderError::unknown(
            "others changed the record each time before it could be written",
        ))
    }

    /// The write that follows from the record seen last, if one does. Any other conclusion is dropped: the record may
    /// have changed since, and nothing would contradict it.
    fn plan_from_cache<T>(
        &self,
        key: &str,
        rule: impl Fn(Option<&Record>, bool) -> Decision<T>,
    ) -> Option<Plan<S::Version, T>> {
        let Seen { record, version } = self.cache.take(key)?;
        match rule(Some(&record), false) {
            Ok(Step::Write(record, answer)) => Some(Plan {
                version: Some(version),
                record,
                answer,
            }),
            Ok(Step::Answer(_)) | Err(_) => None,
        }
    }

    async fn look(&self, key: &str) -> Result<Found<S::Version>, ProviderError> {
        readable(key, self.store.get(key).await?)
    }

    fn remember(&self, key: &str, found: Found<S::Version>) {
        if let Some(seen) = found {
            self.cache.keep(key.to_owned(), seen);
        }
    }
}

fn readable<V>(key: &str, entry: Option<Entry<V>>) -> Result<Found<V>, ProviderError> {
    let Some(Entry { bytes, version }) = entry else {
        return Ok(None);
    };
    let record = record::read(&bytes).map_err(|flaw| {
        ProviderError::fatal(format!(
            "the key {key:?} holds something else than a lock's record ({flaw}): use another prefix, or remove the key"
        ))
    })?;
    Ok(Some(Seen { record, version }))
}

/// An error after a write was refused.
fn doubtful(error: ProviderError) -> ProviderError {
    if error.kind() == ErrorKind::Unknown {
        return error;
    }
    ProviderError::unknown("a write was refused, and why could not be seen").with_source(error)
}
