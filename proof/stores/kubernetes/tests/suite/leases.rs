//! Foreign objects among the Leases, how people see the Leases, and changes that other programs may make to them.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Name, Provider,
    provider::{Acquire, Admin, List},
};
use dlock_kubernetes::KubernetesProvider;
use dlock_kubernetes_proof::{ADMIN, PREFIX, Server};
use dlock_proof::stores::{self, aged, granted, is_held, names, released, renewed, term};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// A provider, and the Leases that it works on.
async fn place() -> (KubernetesProvider, Api<Lease>) {
    let server = Server::shared().await;
    let namespace = server.namespace().await;
    let leases = Api::namespaced(server.client(ADMIN).await, &namespace);
    (server.provider(&namespace).await, leases)
}

/// The Lease of a lock.
async fn lease(leases: &Api<Lease>, name: &str) -> Lease {
    let all = leases.list(&ListParams::default()).await.unwrap();
    let key = format!("{PREFIX}/{name}");
    let is_its = |lease: &Lease| lease.annotations().get("dlock/key") == Some(&key);
    all.items.into_iter().find(is_its).unwrap()
}

async fn merge(leases: &Api<Lease>, lease: &Lease, change: Value) {
    let params = PatchParams::default();
    let (name, change) = (lease.name_any(), Patch::Merge(change));
    leases.patch(&name, &params, &change).await.unwrap();
}

async fn acquired(provider: &KubernetesProvider, name: &str) -> Acquire {
    let a = term(name);
    granted(provider, &a).await;
    a
}

#[tokio::test]
async fn foreign_leases_are_left_alone_and_end_no_list() {
    let (provider, leases) = place().await;
    for name in ["a", "b", "c", "mine"] {
        acquired(&provider, name).await;
    }
    // One that has lost its record, one with another record, and two of other programs.
    let a = lease(&leases, "a").await;
    merge(
        &leases,
        &a,
        json!({"metadata": {"annotations": {"dlock/record": null}}}),
    )
    .await;
    let b = lease(&leases, "b").await;
    merge(
        &leases,
        &b,
        json!({"metadata": {"annotations": {"dlock/record": "42"}}}),
    )
    .await;
    for (name, label) in [("kube-scheduler", "other"), ("vvvv", "dlock")] {
        let mut other = Lease::default();
        other.metadata.name = Some(name.into());
        let labels = other.labels_mut();
        labels.insert("app.kubernetes.io/managed-by".into(), label.into());
        leases.create(&PostParams::default(), &other).await.unwrap();
    }
    for limit in 1..6 {
        let (listed, unreadable) = names(&provider, limit).await;
        assert_eq!(listed, ["c", "mine"], "pages of {limit}");
        assert_eq!(unreadable, ["a", "b"], "pages of {limit}");
    }
    let stranger = Server::shared()
        .await
        .provider(leases.namespace().unwrap())
        .await;
    for name in ["a", "b"] {
        let before = lease(&leases, name).await;
        for provider in [&provider, &stranger] {
            let error = provider.read(&Name::new(name).unwrap()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
            let error = provider.acquire(&term(name)).await.unwrap_err();
            assert_ne!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        }
        assert_eq!(lease(&leases, name).await, before);
    }
}

/// More than the server returns at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_goes_on_where_the_servers_page_ends() {
    let (provider, _) = place().await;
    let mut names: Vec<_> = (0..1200).map(|number| format!("n-{number}")).collect();
    for some in names.chunks(50) {
        let some = some.iter().map(|name| {
            let (provider, name) = (provider.clone(), name.clone());
            async move { acquired(&provider, &name).await }
        });
        some.collect::<JoinSet<_>>().join_all().await;
    }
    names.sort_unstable();
    for limit in [499, 2000] {
        let mut listed = Vec::new();
        let mut after = None;
        loop {
            let request = List::new("n-").after(after).limit(limit);
            let page = provider.list(&request).await.unwrap();
            listed.extend(page.records.into_iter().map(|(name, _)| name.to_string()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, names, "pages of {limit}");
    }
}

/// The output of `kubectl get leases -o yaml`.
#[tokio::test]
async fn fields_of_a_lease_show_its_record() {
    let (provider, leases) = place().await;
    let mut a = term("door").owner("host:1");
    a.duration = Duration::from_millis(15_001);
    granted(&provider, &a).await;
    let spec = lease(&leases, "door").await.spec.unwrap();
    let record = provider.read(&a.name).await.unwrap().unwrap();
    let LeaseSpec {
        acquire_time,
        holder_identity,
        lease_duration_seconds,
        lease_transitions,
        renew_time,
        preferred_holder,
        strategy,
    } = spec;
    assert_eq!(holder_identity.as_deref(), Some("host:1"));
    assert_eq!(lease_duration_seconds, Some(16));
    assert_eq!(lease_transitions, Some(0));
    let since = record.since.duration_since(std::time::UNIX_EPOCH).unwrap();
    let acquired_at = acquire_time.unwrap().0;
    assert_eq!(
        acquired_at.as_microsecond(),
        i64::try_from(since.as_micros()).unwrap()
    );
    assert_eq!((preferred_holder, strategy), (None, None));

    renewed(&provider, &a, 1).await;
    let shown = lease(&leases, "door").await.spec.unwrap();
    assert!(shown.renew_time > renew_time);
    assert_eq!(shown.lease_transitions, Some(0));
    assert_eq!(shown.acquire_time.unwrap().0, acquired_at);

    released(&provider, &a).await;
    let shown = lease(&leases, "door").await.spec.unwrap();
    assert_eq!(shown.holder_identity, None);
    // Another process continues the count of transitions.
    let other = Server::shared()
        .await
        .provider(leases.namespace().unwrap())
        .await;
    acquired(&other, "door").await;
    let taken = lease(&leases, "door").await.spec.unwrap();
    assert_eq!(taken.lease_transitions, Some(1));
    assert!(taken.holder_identity.is_some());
}

/// Other programs may label the object, and its fields decide nothing.
#[tokio::test]
async fn what_others_write_to_a_lease_beside_its_record_changes_nothing() {
    let (provider, leases) = place().await;
    let a = acquired(&provider, "door").await;
    let theirs = json!({
        "metadata": {"labels": {"team": "x"}, "annotations": {"note": "y"}},
        "spec": {"holderIdentity": "nobody", "renewTime": null},
    });
    merge(&leases, &lease(&leases, "door").await, theirs).await;
    renewed(&provider, &a, 1).await;
    let after = lease(&leases, "door").await;
    assert_eq!(after.labels()["team"], "x");
    assert_eq!(after.annotations()["note"], "y");
    assert_ne!(
        after.spec.unwrap().holder_identity.as_deref(),
        Some("nobody")
    );
    assert!(is_held(&provider, "door").await);
}

#[tokio::test]
async fn deleted_lease_is_lost_and_keeps_the_order_of_tokens() {
    let (provider, leases) = place().await;
    stores::deleted_record_loses_the_lease_and_keeps_the_order_of_tokens(&provider, async |name| {
        let name = lease(&leases, name).await.name_any();
        let deleted = leases.delete(&name, &DeleteParams::default()).await;
        deleted.unwrap();
    })
    .await;
}

#[tokio::test]
async fn purge_deletes_what_was_released_and_is_a_week_past() {
    let (provider, leases) = place().await;
    stores::purge_deletes_what_was_released_and_is_a_week_past(&provider, async |name| {
        let found = lease(&leases, name).await;
        let old = aged(&found.annotations()["dlock/record"]);
        let record = json!({"metadata": {"annotations": {"dlock/record": old}}});
        merge(&leases, &found, record).await;
    })
    .await;
}

/// A deletion is conditional, too.
#[tokio::test]
async fn lease_that_was_taken_again_is_not_deleted() {
    let (provider, _) = place().await;
    dlock_testkit::compare_and_set::deletes_on_a_condition(provider.store(), "another").await;
}
