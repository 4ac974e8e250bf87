//! When leases were released.
//!
//! A store keeps that a lease was released, but not when. So just before a release, a lock next to the lease is taken
//! and released, labelled with the term: it records when, by the store's clock, and counts only while the lease is that
//! term's and released.

use std::{collections::HashMap, time::SystemTime};

use dlock_core::{
    Name, Record,
    provider::{self, AcquireOutcome},
};
use dlock_http::{Code, Problem};
use uuid::Uuid;

use crate::{asking::Asking, problem::Refusal};

/// The beginning of the names of these locks; the name of the lease follows.
const PREFIX: &str = "~api/released/";

/// Whether the release time of a lease with this name can be stored: the name has room for the prefix.
pub(super) fn is_possible(lease: &Name) -> Result<(), Refusal> {
    beside(lease).map(drop)
}

/// Stores that this term ends now.
pub(super) async fn keep(service: &Asking, lease: &Name, term: Uuid) -> Result<(), Refusal> {
    let beside = beside(lease)?;
    let uuid = Uuid::new_v4();
    let acquire =
        provider::Acquire::new(beside.clone(), uuid, Record::SHORTEST).owner(term.to_string());
    let limit = service.0.limits.call_time;
    service
        .ask(limit, |store| async move {
            // If the lock is held, another copy of this request is storing the same just now.
            if let AcquireOutcome::Acquired(tokens) = store.acquire(&acquire).await? {
                let release = provider::Release::new(beside, uuid, Some(tokens.last()));
                // It expires automatically, too.
                drop(store.release(&release).await);
            }
            Ok(())
        })
        .await
}

/// When this record's term was released, if it was, and through this interface.
pub(super) async fn at(
    service: &Asking,
    lease: &Name,
    record: &Record,
) -> Result<Option<SystemTime>, Refusal> {
    if !record.released {
        return Ok(None);
    }
    let beside = beside(lease)?;
    let limit = service.0.limits.call_time;
    let kept = service
        .ask(limit, |store| async move { store.read(&beside).await })
        .await?;
    Ok(kept.and_then(|kept| of_term(&kept, record)))
}

/// The same for the leases of one page, which began after this name and had at most this many.
pub(super) async fn of_page(
    service: &Asking,
    after: Option<&Name>,
    most: usize,
    page: &[(Name, Record)],
) -> Result<HashMap<Name, SystemTime>, Refusal> {
    let terms: HashMap<_, _> = (page.iter())
        .filter(|(_, record)| record.released)
        .map(|(name, record)| (name, record))
        .collect();
    if terms.is_empty() {
        return Ok(HashMap::new());
    }
    let request = provider::List::new(PREFIX)
        .after(after.map(beside).transpose()?)
        .limit(most);
    let limit = service.0.limits.call_time;
    let kept = service
        .ask(limit, |store| async move { store.list(&request).await })
        .await?;
    let of_lease = |(beside, kept): &(Name, Record)| {
        let lease = Name::new(beside.as_str().strip_prefix(PREFIX)?).ok()?;
        let at = of_term(kept, terms.get(&lease)?)?;
        Some((lease, at))
    };
    Ok(kept.records.iter().filter_map(of_lease).collect())
}

fn of_term(kept: &Record, record: &Record) -> Option<SystemTime> {
    (kept.owner == record.uuid.to_string()).then_some(kept.since)
}

fn beside(lease: &Name) -> Result<Name, Refusal> {
    Name::new(format!("{PREFIX}{lease}")).map_err(|_| {
        let most = Name::MAX_BYTES - PREFIX.len() - "default/".len();
        Problem::new(Code::BadRequest)
            .detail(format!("a resource has at most {most} bytes"))
            .pointer("/resource")
            .into()
    })
}
