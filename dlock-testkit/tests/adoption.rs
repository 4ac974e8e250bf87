//! How a third party adopts the suite: a complete provider (a mutex around a map, whose clock decides nothing), the
//! fixture, and one macro. It passes every case that it does not leave out.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use async_trait::async_trait;
use dlock_core::{
    FencingToken, Name, Provider, ProviderError, Record,
    provider::{
        Acquire, AcquireOutcome, Capabilities, Discipline, Durability, Release, ReleaseOutcome,
        Renew, RenewOutcome,
    },
};
use dlock_testkit::Fixture;

// ---- the provider -----------------------------------------------------------------------------

#[derive(Clone, Default)]
struct Tiny(Arc<Mutex<HashMap<Name, Record>>>);

impl Tiny {
    fn with<T>(&self, use_it: impl FnOnce(&mut HashMap<Name, Record>) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Provider for Tiny {
    fn capabilities(&self) -> Capabilities {
        TinyFixture::CAPABILITIES
    }

    async fn acquire(&self, request: &Acquire) -> Result<AcquireOutcome, ProviderError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "T1: the first token of a name, and `since`"
        )]
        let now = SystemTime::now();
        let micros = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |unix| unix.as_micros());
        self.with(|records| {
            let before_now = u64::try_from(micros).unwrap_or(0).saturating_sub(1);
            let last = match records.get(&request.name) {
                None => before_now,
                Some(record) if record.uuid == request.new && record.released => {
                    return Ok(AcquireOutcome::Spent);
                }
                Some(record) if record.uuid == request.new => {
                    return Ok(AcquireOutcome::Acquired(record.token.into()));
                }
                Some(record) if record.released || request.prev == Some(record.version()) => {
                    record.token.get()
                }
                Some(record) => return Ok(AcquireOutcome::Held(record.clone())),
            };
            let token = FencingToken::new((last + 1).max(request.floor)).ok_or_else(|| {
                ProviderError::fatal("no fencing token is left for this name; use another")
            })?;
            let mut record = Record::new(request.new, &request.owner, now, token, request.duration);
            record.data.clone_from(&request.data);
            records.insert(request.name.clone(), record);
            Ok(AcquireOutcome::Acquired(token.into()))
        })
    }

    async fn renew(&self, request: &Renew) -> Result<RenewOutcome, ProviderError> {
        Ok(self.with(|records| match records.get_mut(&request.name) {
            Some(record) if record.uuid == request.uuid && !record.released => {
                record.renewals = record.renewals.max(request.n);
                RenewOutcome::Renewed {
                    asked: record.asked,
                }
            }
            other => RenewOutcome::Lost(other.cloned()),
        }))
    }

    async fn release(&self, request: &Release) -> Result<ReleaseOutcome, ProviderError> {
        Ok(self.with(|records| match records.get_mut(&request.name) {
            Some(record) if request.closing.is_none() && record.uuid == request.uuid => {
                record.released = true;
                ReleaseOutcome::Released { wanted: false }
            }
            other => match (other, request.closing) {
                (Some(record), Some(closing))
                    if !record.released && record.uuid == closing.uuid() =>
                {
                    ReleaseOutcome::Released { wanted: false }
                }
                (Some(record), Some(closing))
                    if !record.released && record.uuid == request.uuid =>
                {
                    (record.uuid, record.renewals) = (closing.uuid(), 0);
                    record.duration = closing.lasts();
                    ReleaseOutcome::Released { wanted: false }
                }
                (other, _) => ReleaseOutcome::NotHeld(other.cloned()),
            },
        }))
    }

    async fn read(&self, name: &Name) -> Result<Option<Record>, ProviderError> {
        Ok(self.with(|records| records.get(name).cloned()))
    }
}

// ---- its tests --------------------------------------------------------------------------------

struct TinyFixture(Tiny);

impl Fixture for TinyFixture {
    type Provider = Tiny;
    const CAPABILITIES: Capabilities = Capabilities::new("tiny", Discipline::Observer)
        .closing(true)
        .durability(Durability::Volatile);
    async fn start() -> Self {
        Self(Tiny::default())
    }
    async fn provider(&self) -> Tiny {
        self.0.clone()
    }
}

dlock_testkit::conformance!(TinyFixture, without [watch, admin, purge, prefix, sharing]);
