//! What else may be among the Leases, what people see of them, and what may happen to them.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Name, Provider,
    provider::{Acquire, AcquireOutcome, Admin, List, Release, Renew, RenewOutcome},
};
use dlock_kubernetes::KubernetesProvider;
use dlock_kubernetes_proof::{ADMIN, PREFIX, Server};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use uuid::Uuid;

fn term(name: &str) -> Acquire {
    let name = Name::new(name).unwrap();
    Acquire::new(name, Uuid::new_v4(), Duration::from_secs(60))
}

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
    let granted = provider.acquire(&a).await.unwrap();
    assert!(
        matches!(granted, AcquireOutcome::Acquired(_)),
        "{granted:?}"
    );
    a
}

async fn pages(provider: &KubernetesProvider, limit: usize) -> (Vec<String>, Vec<String>) {
    let (mut listed, mut unreadable, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let request = List::new("").after(after).limit(limit);
        let page = provider.list(&request).await.unwrap();
        let records = page.records.into_iter();
        listed.extend(records.map(|(name, _)| name.to_string()));
        let others = page.unreadable.into_iter();
        unreadable.extend(others.map(|(name, _)| name.to_string()));
        after = page.next;
        if after.is_none() {
            return (listed, unreadable);
        }
        assert!(listed.len() < 1000, "pages repeat: {listed:?}");
    }
}

#[tokio::test]
async fn foreign_leases_are_left_alone_and_end_no_list() {
    let (provider, leases) = place().await;
    for name in ["a", "b", "c", "mine"] {
        acquired(&provider, name).await;
    }
    // One that lost its record, one with another record, and two of other programs.
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
        let (listed, unreadable) = pages(&provider, limit).await;
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

/// No two names have one Lease, and their order is that of their bytes.
#[tokio::test]
async fn hostile_names_stay_apart_and_in_order() {
    let (provider, leases) = place().await;
    let mut names = vec![
        "a",
        "A",
        "a ",
        " a",
        "a/",
        "/a",
        "a/b",
        "a//b",
        "a/./b",
        "a%2Fb",
        ".",
        "..",
        "*",
        "\u{1}",
        "a\nb",
        "ä",
        "a\u{308}",
        "\u{10ffff}",
        "-",
        "a.b",
        "a-b",
        "a_b",
        "'\"\\",
        "{}",
        "?x=y#z",
    ];
    for name in &names {
        acquired(&provider, name).await;
    }
    let all = leases.list(&ListParams::default()).await.unwrap();
    assert_eq!(all.items.len(), names.len());
    names.sort_unstable();
    for limit in [1, 7, 1000] {
        let (listed, unreadable) = pages(&provider, limit).await;
        assert_eq!(listed, names, "pages of {limit}");
        assert_eq!(unreadable, [""; 0]);
    }
}

/// More than the server gives at a time.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_clients_makes_a_lease() {
    let server = Server::shared().await;
    let namespace = server.namespace().await;
    let mut providers = Vec::new();
    for _ in 0..12 {
        providers.push(server.provider(&namespace).await);
    }
    for round in 0..20 {
        let name = format!("door-{round}");
        let tries = providers.iter().map(|provider| {
            let (provider, term) = (provider.clone(), term(&name));
            async move { provider.acquire(&term).await.unwrap() }
        });
        let outcomes = tries.collect::<JoinSet<_>>().join_all().await;
        let is_winner = |outcome: &&AcquireOutcome| matches!(outcome, AcquireOutcome::Acquired(_));
        assert_eq!(outcomes.iter().filter(is_winner).count(), 1, "{outcomes:?}");
    }
}

/// What `kubectl get leases -o yaml` shows.
#[tokio::test]
async fn fields_of_a_lease_show_its_record() {
    let (provider, leases) = place().await;
    let mut a = term("door").owner("host:1");
    a.duration = Duration::from_millis(15_001);
    provider.acquire(&a).await.unwrap();
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

    provider
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap();
    let renewed = lease(&leases, "door").await.spec.unwrap();
    assert!(renewed.renew_time > renew_time);
    assert_eq!(renewed.lease_transitions, Some(0));
    assert_eq!(renewed.acquire_time.unwrap().0, acquired_at);

    provider
        .release(&Release::new(a.name.clone(), a.new, None))
        .await
        .unwrap();
    let released = lease(&leases, "door").await.spec.unwrap();
    assert_eq!(released.holder_identity, None);
    // Another process counts on.
    let other = Server::shared()
        .await
        .provider(leases.namespace().unwrap())
        .await;
    acquired(&other, "door").await;
    let taken = lease(&leases, "door").await.spec.unwrap();
    assert_eq!(taken.lease_transitions, Some(1));
    assert!(taken.holder_identity.is_some());
}

/// Others may label the object, and its fields decide nothing.
#[tokio::test]
async fn what_others_write_to_a_lease_beside_its_record_changes_nothing() {
    let (provider, leases) = place().await;
    let a = acquired(&provider, "door").await;
    let theirs = json!({
        "metadata": {"labels": {"team": "x"}, "annotations": {"note": "y"}},
        "spec": {"holderIdentity": "nobody", "renewTime": null},
    });
    merge(&leases, &lease(&leases, "door").await, theirs).await;
    let renewed = provider.renew(&Renew::new(a.name.clone(), a.new, 1)).await;
    assert_eq!(renewed.unwrap(), RenewOutcome::Renewed { asked: false });
    let after = lease(&leases, "door").await;
    assert_eq!(after.labels()["team"], "x");
    assert_eq!(after.annotations()["note"], "y");
    assert_ne!(
        after.spec.unwrap().holder_identity.as_deref(),
        Some("nobody")
    );
    let refused = provider.acquire(&term("door")).await.unwrap();
    assert!(matches!(refused, AcquireOutcome::Held(_)), "{refused:?}");
}

/// A record that is gone is no lock any more, and its tokens go on.
#[tokio::test]
async fn deleted_lease_is_lost_and_keeps_the_order_of_tokens() {
    let (provider, leases) = place().await;
    let a = term("door");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
        panic!("nobody else is here");
    };
    let first = tokens.last();
    let name = lease(&leases, "door").await.name_any();
    leases
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    let renewed = provider.renew(&Renew::new(a.name.clone(), a.new, 1)).await;
    assert_eq!(renewed.unwrap(), RenewOutcome::Lost(None));
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&term("door")).await.unwrap() else {
        panic!("nobody else is here");
    };
    let second = tokens.last();
    assert!(second > first);
}

#[tokio::test]
async fn purge_deletes_what_was_released_and_is_a_week_past() {
    let (provider, leases) = place().await;
    for name in ["old", "held", "young"] {
        let a = acquired(&provider, name).await;
        if name != "held" {
            let release = Release::new(a.name, a.new, None);
            provider.release(&release).await.unwrap();
        }
        if name == "young" {
            continue;
        }
        // Eight days ago, by its own account.
        let found = lease(&leases, name).await;
        let mut record: Value = serde_json::from_str(&found.annotations()["dlock/record"]).unwrap();
        for field in ["since", "token"] {
            let micros = record[field].as_u64().unwrap();
            record[field] = json!(micros - 8 * 24 * 60 * 60 * 1_000_000);
        }
        let record = json!({"metadata": {"annotations": {"dlock/record": record.to_string()}}});
        merge(&leases, &found, record).await;
    }
    assert_eq!(provider.purge(100).await.unwrap(), 1);
    assert_eq!(pages(&provider, 10).await.0, ["held", "young"]);
}

/// A deletion is conditional, too.
#[tokio::test]
async fn lease_that_was_taken_again_is_not_purged() {
    use dlock_cas::{CasAdmin, CasStore};

    let (provider, _) = place().await;
    let a = acquired(&provider, "door").await;
    let key = format!("{PREFIX}/door");
    let seen = provider.store().get(&key).await.unwrap().unwrap();
    provider
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap();
    let store = provider.store();
    assert!(!store.delete_if(&key, &seen.version).await.unwrap());
    let seen = store.get(&key).await.unwrap().unwrap();
    assert!(store.delete_if(&key, &seen.version).await.unwrap());
    assert!(!store.delete_if(&key, &seen.version).await.unwrap());
}
