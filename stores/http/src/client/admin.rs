//! Operations for people and tools beyond the lock.

use async_trait::async_trait;
use dlock_core::{
    Name, ProviderError, Record,
    provider::{self, Admin, Ask, AskOutcome, List, Page, ReleaseOutcome, Revoke, RevokeOutcome},
};

use super::{
    answer::Said,
    own,
    provider::{HttpProvider, released, shown, unexpected},
};
use crate::{
    Code,
    leases::{self as wire, Done},
};

#[async_trait]
impl Admin for HttpProvider {
    async fn list(&self, request: &List) -> Result<Page, ProviderError> {
        let limit = request.limit.to_string();
        let mut query = vec![("prefix", request.prefix.as_str()), ("limit", &limit)];
        query.extend(request.after.as_ref().map(|name| ("after", name.as_str())));
        let path = self.server.path("leases");
        let said: Said<wire::Page> = self.server.get(&path, &query).await?;
        let page = said.map_err(|problem| unexpected(&problem))?;
        let mut records = Vec::with_capacity(page.leases.len());
        for wire::Lease { name, record, .. } in page.leases {
            records.push((named(&name)?, own::read(record)));
        }
        let mut unreadable = Vec::with_capacity(page.unreadable.len());
        for wire::Unreadable { name, why } in page.unreadable {
            unreadable.push((named(&name)?, why));
        }
        let next = page.next.as_deref().map(named).transpose()?;
        Ok(Page::new(records, next).with_unreadable(unreadable))
    }

    async fn revoke(&self, request: &Revoke) -> Result<RevokeOutcome, ProviderError> {
        own::keep(request.new);
        let provider::Version { uuid, renewals } = request.version;
        let uuid = own::shown(uuid);
        let body = wire::Revoke {
            name: request.name.as_str().to_owned(),
            version: wire::Version { uuid, renewals },
            new: Some(request.new),
        };
        let path = self.server.path("leases/revoke");
        let said: Said<Done> = self.server.post(&path, &body).await?;
        match said {
            Ok(Done {}) => Ok(RevokeOutcome::Revoked),
            Err(problem) if problem.code == Code::Changed => {
                Ok(RevokeOutcome::Changed(shown(*problem)))
            }
            Err(problem) => Err(unexpected(&problem)),
        }
    }

    async fn ask(&self, request: &Ask) -> Result<AskOutcome, ProviderError> {
        let body = wire::Ask {
            name: request.name.as_str().to_owned(),
            uuid: own::shown(request.uuid),
        };
        let path = self.server.path("leases/ask");
        let said: Said<Done> = self.server.post(&path, &body).await?;
        match said {
            Ok(Done {}) => Ok(AskOutcome::Asked),
            Err(problem) if problem.code == Code::Changed => {
                Ok(AskOutcome::Changed(shown(*problem)))
            }
            Err(problem) => Err(unexpected(&problem)),
        }
    }

    async fn purge(&self, limit: usize) -> Result<u64, ProviderError> {
        let said: Said<wire::Purged> = self.server.post("v1/purge", &wire::Purge { limit }).await?;
        let purged = said.map_err(|problem| unexpected(&problem))?;
        Ok(purged.deleted)
    }

    async fn force_release(
        &self,
        name: &Name,
        seen: &Record,
    ) -> Result<ReleaseOutcome, ProviderError> {
        let body = wire::Force {
            name: name.as_str().to_owned(),
            uuid: own::shown(seen.uuid),
            token: seen.token,
        };
        let path = self.server.path("leases/force");
        let said = self.server.post(&path, &body).await?;
        released(said)
    }
}

fn named(text: &str) -> Result<Name, ProviderError> {
    Name::new(text).map_err(|error| {
        ProviderError::unknown("the answer has a name that is none").with_source(error)
    })
}
