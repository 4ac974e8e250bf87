//! A record inside of a Lease: the annotation that is the truth, and the fields that show people the same.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use dlock_cas::Entry;
use dlock_core::ProviderError;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::Timestamp,
};
use kube::api::{ObjectMeta, Patch, Preconditions};
use serde::Deserialize;
use serde_json::json;

use crate::error::unexpected;

/// The annotation that has the record.
const RECORD: &str = "dlock/record";

/// The annotation that has the key, for people: the name of the Lease is hard to read.
const KEY: &str = "dlock/key";

/// The label of every Lease of a lock, by which they are listed and watched.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "dlock");

/// The same as a selector.
pub(crate) fn selector() -> String {
    let (label, value) = LABEL;
    format!("{label}={value}")
}

/// The contents of a Lease as they were seen, and the fields needed to replace them.
#[derive(Clone, Debug)]
pub struct Version {
    record: String,
    /// How often the lock has changed hands.
    transitions: i32,
    /// Of the object, for deleting it.
    uid: Option<String>,
    revision: Option<String>,
}

/// The part of the record that people may want to see.
#[derive(Deserialize)]
struct Shown {
    owner: String,
    /// Microseconds since 1970.
    since: u64,
    /// Milliseconds.
    duration: u64,
    released: bool,
}

/// The record of a Lease, if it has one.
pub(crate) fn record(lease: &Lease) -> Option<&str> {
    let annotations = lease.metadata.annotations.as_ref()?;
    annotations.get(RECORD).map(String::as_str)
}

/// The contents of a Lease. A Lease without a record has no bytes, which are no record.
pub(crate) fn entry(lease: Lease) -> Entry<Version> {
    let record = record(&lease).unwrap_or_default().to_owned();
    Entry {
        bytes: record.clone().into_bytes(),
        version: Version {
            record,
            transitions: lease
                .spec
                .and_then(|spec| spec.lease_transitions)
                .unwrap_or(0),
            uid: lease.metadata.uid,
            revision: lease.metadata.resource_version,
        },
    }
}

/// A new Lease of this name.
pub(crate) fn new(name: String, key: &str, record: String) -> Lease {
    let (label, value) = LABEL;
    Lease {
        spec: spec(&record, 0),
        metadata: ObjectMeta {
            name: Some(name),
            labels: Some(BTreeMap::from([(label.into(), value.into())])),
            annotations: Some(BTreeMap::from([
                (RECORD.into(), record),
                (KEY.into(), key.into()),
            ])),
            ..ObjectMeta::default()
        },
    }
}

/// The patch that replaces the record, if it is still the one that was seen (RFC 6902).
pub(crate) fn replaced(seen: &Version, record: &str) -> Result<Patch<()>, ProviderError> {
    // Its `/` is written `~1` here.
    let path = format!("/metadata/annotations/{}", RECORD.replace('/', "~1"));
    let term = |record| read(record).map(|shown| shown.since);
    let changes_hands = term(record) != term(&seen.record);
    let transitions = seen.transitions.saturating_add(i32::from(changes_hands));
    let patch = json!([
        { "op": "test", "path": path, "value": seen.record },
        { "op": "replace", "path": path, "value": record },
        { "op": "add", "path": "/spec", "value": spec(record, transitions) },
    ]);
    let patch = serde_json::from_value(patch);
    patch
        .map(Patch::Json)
        .map_err(|error| unexpected("a patch that is none").with_source(error))
}

/// The condition of a deletion.
pub(crate) fn unchanged(seen: &Version) -> Preconditions {
    Preconditions {
        uid: seen.uid.clone(),
        resource_version: seen.revision.clone(),
    }
}

/// The Lease of another program, in the place of a lock's Lease.
pub(crate) fn foreign(name: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "the Lease {name:?} has no record of a lock: it belongs to another program. Use another prefix, or delete it"
    ))
}

fn read(record: &str) -> Option<Shown> {
    serde_json::from_str(record).ok()
}

/// The fields that `kubectl get leases` shows.
fn spec(record: &str, transitions: i32) -> Option<LeaseSpec> {
    let Shown {
        owner,
        since,
        duration,
        released,
    } = read(record)?;
    let at = |time: SystemTime| Timestamp::try_from(time).ok().map(MicroTime);
    #[expect(
        clippy::disallowed_methods,
        reason = "people see when the lease was renewed; nothing is judged by it"
    )]
    let now = SystemTime::now();
    Some(LeaseSpec {
        acquire_time: at(UNIX_EPOCH + Duration::from_micros(since)),
        holder_identity: (!released).then_some(owner),
        // Kubernetes knows whole seconds, and no zero.
        lease_duration_seconds: i32::try_from(duration.div_ceil(1000).max(1)).ok(),
        lease_transitions: Some(transitions),
        renew_time: at(now),
        ..LeaseSpec::default()
    })
}
