//! Whether the writes of a service can carry locks: a test, since services that call themselves compatible with S3 have
//! granted the same condition to several writers, or have ignored it.

use std::time::Duration;

use dlock_cas::{Entry, Put};
use dlock_core::{ErrorKind, ProviderError};
use futures_util::future::join_all;
use object_store::{UpdateVersion, path::Path};
use uuid::Uuid;

use crate::{path, store::Objects};

/// How many writers race at the same time.
const RACERS: usize = 8;

/// How many races there are.
const ROUNDS: usize = 4;

/// Google and R2 take one write per second of an object, and refuse others.
const PAUSE: Duration = Duration::from_millis(1100);

/// How often a write is tried that the service refuses as too early.
const TRIES: usize = 4;

impl Objects {
    /// Checks that the service's conditional writes are atomic: tries to create objects that exist, to replace objects
    /// that were replaced already or do not exist, and lets eight writers race for one object, over and over. Call it
    /// once, when a bucket is set up, and after its server has changed.
    ///
    /// It writes its own objects into the folder of this prefix, `PREFIX/.verify-UUID-N`, and deletes them again; where
    /// the credentials may not delete they stay behind, four small ones each time. It finds faults that a service shows
    /// always or often. If it finds none, that is no proof: it does not try a cluster that is cut in two, for example.
    ///
    /// # Errors
    /// `Fatal` if the service cannot carry locks, with what it did, or if it refuses the credentials. The other kinds if it
    /// gave no answer.
    ///
    /// # Cancel safety
    /// Its objects may stay behind.
    pub async fn verify(&self, prefix: &str) -> Result<(), ProviderError> {
        let folder = path::folder(prefix)?;
        let run = Uuid::new_v4();
        for round in 0..ROUNDS {
            // No name has this written form, so it is never a lock's.
            let path = path::in_folder(&folder, &format!(".verify-{run}-{round}"))?;
            let verdict = self.verify_object(&path).await;
            // It is a small object, and harmless.
            drop(self.delete(&path).await);
            verdict?;
        }
        Ok(())
    }

    async fn verify_object(&self, path: &Path) -> Result<(), ProviderError> {
        let nothing = UpdateVersion {
            e_tag: Some("\"0123456789abcdef0123456789abcdef\"".into()),
            version: Some("1".into()),
        };
        if let Ok(Put::Done(_)) = self.write(path, "none".into(), Some(&nothing)).await {
            return Err(unfit("it has replaced an object that was not there"));
        }
        let first = self.race(path, "created", None).await?;
        let second = self.race(path, "replaced", Some(&first.version)).await?;
        for (expected, what) in [
            (None, "it has created an object that was there"),
            (
                Some(&first.version),
                "it has replaced contents that were replaced already",
            ),
        ] {
            let late = self.write_patiently(path, "late", expected).await;
            let found = self.find(path).await?;
            let is_as_it_was = found.is_some_and(|found| found.bytes == second.bytes);
            if matches!(late, Ok(Put::Done(_))) || !is_as_it_was {
                return Err(unfit(what));
            }
        }
        Ok(())
    }

    /// Many writers with one condition: one of them wins, and its contents are there.
    async fn race(
        &self,
        path: &Path,
        what: &str,
        expected: Option<&UpdateVersion>,
    ) -> Result<Entry<UpdateVersion>, ProviderError> {
        let texts: Vec<String> = (0..RACERS).map(|n| format!("{what} by {n}")).collect();
        let writes = texts
            .iter()
            .map(|text| self.write_patiently(path, text, expected));
        let outcomes = join_all(writes).await;
        let winners: Vec<&String> = texts
            .iter()
            .zip(&outcomes)
            .filter_map(|(text, outcome)| matches!(outcome, Ok(Put::Done(_))).then_some(text))
            .collect();
        if winners.len() > 1 {
            return Err(unfit(&format!(
                "{} of {RACERS} writers with the same condition have won",
                winners.len()
            )));
        }
        let is_fatal = |error: &ProviderError| error.kind() == ErrorKind::Fatal;
        if let Some(error) = outcomes
            .iter()
            .filter_map(|outcome| outcome.as_ref().err())
            .find(|error| is_fatal(error))
        {
            return Err(error.clone());
        }
        let found = self.find(path).await?;
        // By the answers, none has won if a client library has repeated its write.
        let expected = if winners.is_empty() {
            texts.iter().collect()
        } else {
            winners
        };
        if let Some(found) = found
            && expected.iter().any(|text| text.as_bytes() == found.bytes)
        {
            return Ok(found);
        }
        Err(outcomes
            .into_iter()
            .find_map(Result::err)
            .unwrap_or_else(|| unfit("what it has acknowledged is not there")))
    }

    async fn write_patiently(
        &self,
        path: &Path,
        text: &str,
        expected: Option<&UpdateVersion>,
    ) -> Result<Put<UpdateVersion>, ProviderError> {
        for _ in 1..TRIES {
            match self.write(path, text.to_owned().into(), expected).await {
                Err(error) if error.kind() == ErrorKind::NotApplied => {
                    tokio::time::sleep(PAUSE).await;
                }
                answer => return answer,
            }
        }
        self.write(path, text.to_owned().into(), expected).await
    }
}

fn unfit(what: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "the object store's conditional writes cannot carry locks: {what}"
    ))
}
