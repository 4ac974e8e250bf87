//! The admin side of the memory provider with one flaw.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{
    Name, Provider, ProviderError, Record,
    provider::{
        Admin, Ask, AskOutcome, List, Page, Release, ReleaseOutcome, Revoke, RevokeOutcome,
    },
};
use dlock_testkit::memory::rules::{self, Now, PURGE_AFTER, micros};

use super::{Flaw, provider::PlantedProvider, release};

#[async_trait]
impl Admin for PlantedProvider {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let everything = List::new("").limit(usize::MAX);
        let mut records = self.inner.list(&everything).await?.records;
        let prefix = &request.prefix;
        records.retain(|(name, record)| {
            let matches = match self.flaw {
                Some(Flaw::ListIgnoresPrefix) => true,
                Some(Flaw::ListByPattern) => like(&format!("{prefix}%"), name.as_str()),
                _ => name.as_str().starts_with(&**prefix),
            };
            matches && !(self.has(Flaw::ListHidesReleased) && record.released)
        });
        if self.has(Flaw::ListCollates) {
            records.sort_by_key(|(name, _)| name.as_str().to_lowercase());
        }
        if let Some(after) = &request.after {
            let seen = records
                .iter()
                .position(|(name, _)| name == after)
                .map_or(0, |at| at + 1);
            let from = match self.flaw {
                Some(Flaw::ListSkipsTheFirst) => seen + 1,
                Some(Flaw::ListRepeatsTheLast) => seen.saturating_sub(1),
                _ => seen,
            };
            records.drain(..from.min(records.len()));
        }
        let limit = if self.has(Flaw::ListIgnoresLimit) {
            usize::MAX
        } else {
            request.limit
        };
        let more = records.len() > limit;
        records.truncate(limit);
        let last = records.last().map(|(name, _)| name.clone());
        Ok(Page::new(
            records,
            last.filter(|_| more && !self.has(Flaw::ListForgetsTheRest)),
        ))
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        self.write(&request.name, |stored, now| match self.flaw {
            Some(flaw) => release::revoke(flaw, stored, request, now),
            None => rules::revoke(stored, request, now),
        })
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        self.write(&request.name, |stored, now| match self.flaw {
            Some(flaw) => release::ask(flaw, stored, request, now),
            None => rules::ask(stored, request, now),
        })
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        let limit = if self.has(Flaw::PurgeIgnoresLimit) {
            usize::MAX
        } else {
            limit
        };
        let early = micros(PURGE_AFTER) - micros(Duration::from_hours(5 * 24));
        Ok(self
            .inner
            .store()
            .delete(limit, |_, stored, now| match self.flaw {
                Some(Flaw::PurgeAfterFiveDays) => rules::purgeable(
                    stored,
                    &Now {
                        clock: now.clock + early,
                        ..*now
                    },
                ),
                Some(Flaw::PurgeIgnoresTokens) => rules::purgeable(
                    stored,
                    &Now {
                        wall: u64::MAX,
                        ..*now
                    },
                ),
                Some(Flaw::PurgeOnlyReleased) => {
                    stored.record.released && rules::purgeable(stored, now)
                }
                _ => rules::purgeable(stored, now),
            }))
    }

    async fn force_release(
        &self,
        name: &Name,
        seen: &Record,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let now_there = self.look(name)?;
        let uuid = match (self.flaw, &now_there) {
            (Some(Flaw::ForceOfAnyTerm), Some(there)) => there.uuid,
            (Some(Flaw::ForceNeedsTheNumber), Some(there)) if there.version() != seen.version() => {
                return Ok(ReleaseOutcome::NotHeld(now_there));
            }
            _ => seen.uuid,
        };
        if self.has(Flaw::ForceTellsNobody) {
            let release = Release::new(name.clone(), uuid, None);
            return self.write(name, |stored, now| rules::release(stored, &release, now));
        }
        self.release(&Release::new(name.clone(), uuid, Some(seen.token)))
            .await
    }
}

/// SQL's LIKE.
fn like(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return text.is_empty();
    };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '%' => text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .any(|at| like(rest, &text[at..])),
        _ => text.chars().next().is_some_and(|next| {
            (first == '_' || first == next) && like(rest, &text[next.len_utf8()..])
        }),
    }
}
