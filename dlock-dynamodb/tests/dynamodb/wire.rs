//! The requests on the wire: one per operation.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::{future::Future, net::SocketAddr};

use dlock_core::{
    Provider, ProviderError,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, List, Release, ReleaseOutcome, Renew, RenewOutcome,
        Revoke,
    },
};
use dlock_dynamodb::DynamodbProvider;
use dlock_testkit::proxy::Proxy;

use crate::common::{client_of, provider_on, table_name, term, url};

/// A provider behind a proxy, on a separate table.
async fn behind_a_proxy() -> (Proxy, DynamodbProvider) {
    let server: SocketAddr = url()
        .await
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap();
    let proxy = Proxy::start(server).await.unwrap();
    let table = table_name();
    let direct = provider_on(client_of(url().await), &table);
    direct.create_table().await.unwrap();
    let client = client_of(&format!("http://{}", proxy.address()));
    (proxy, provider_on(client, &table))
}

/// The answer, and how many requests it took.
async fn counted<T>(
    proxy: &Proxy,
    call: impl Future<Output = Result<T, ProviderError>>,
) -> (T, usize) {
    let before = proxy.round_trips();
    let answer = call.await.unwrap();
    (answer, proxy.round_trips() - before)
}

fn renewal(of: &Acquire, n: u64) -> Renew {
    Renew::new(of.name.clone(), of.new, n)
}

fn release(of: &Acquire) -> Release {
    Release::new(of.name.clone(), of.new, None)
}

#[tokio::test]
async fn every_operation_is_one_request() {
    let (proxy, provider) = behind_a_proxy().await;
    let (a, b) = (term("nightly"), term("nightly"));
    let p = &provider;

    let (first, requests) = counted(&proxy, p.acquire(&a)).await;
    assert!(matches!(first, AcquireOutcome::Acquired(_)));
    assert_eq!(requests, 1, "the first acquire of a name");
    let marks = term("nightly").marks(7);
    let (_, requests) = counted(&proxy, p.acquire(&marks)).await;
    assert_eq!(requests, 2, "a refused acquire that marks");
    for (what, requests) in [
        ("a repeated acquire", counted(&proxy, p.acquire(&a)).await.1),
        ("a refused acquire", counted(&proxy, p.acquire(&b)).await.1),
        (
            "one of a marked term",
            counted(&proxy, p.acquire(&marks)).await.1,
        ),
        (
            "a renewal",
            counted(&proxy, p.renew(&renewal(&a, 1))).await.1,
        ),
        (
            "a repeated renewal",
            counted(&proxy, p.renew(&renewal(&a, 1))).await.1,
        ),
        (
            "a lost renewal",
            counted(&proxy, p.renew(&renewal(&b, 1))).await.1,
        ),
        ("a read", counted(&proxy, p.read(&a.name)).await.1),
        (
            "ask",
            counted(&proxy, p.ask(&Ask::new(a.name.clone(), a.new)))
                .await
                .1,
        ),
        (
            "a stranger's release",
            counted(&proxy, p.release(&release(&b))).await.1,
        ),
        (
            "a release",
            counted(&proxy, p.release(&release(&a))).await.1,
        ),
        (
            "a repeated release",
            counted(&proxy, p.release(&release(&a))).await.1,
        ),
        (
            "an acquire of a spent term",
            counted(&proxy, p.acquire(&a)).await.1,
        ),
    ] {
        assert_eq!(requests, 1, "{what}");
    }
    let (second, requests) = counted(&proxy, p.acquire(&b)).await;
    assert!(matches!(second, AcquireOutcome::Acquired(_)));
    assert_eq!(requests, 1, "an acquire of a released lock");

    let seen = p.read(&a.name).await.unwrap().unwrap();
    let claim = term("nightly").prev(Some(seen.version()));
    let (third, requests) = counted(&proxy, p.acquire(&claim)).await;
    assert!(matches!(third, AcquireOutcome::Acquired(_)));
    assert_eq!(requests, 1, "a takeover");

    let seen = p.read(&a.name).await.unwrap().unwrap();
    let revoke = Revoke::new(a.name.clone(), seen.version()).unwrap();
    assert_eq!(
        counted(&proxy, p.revoke(&revoke)).await.1,
        1,
        "a revocation"
    );
    assert_eq!(
        counted(&proxy, p.list(&List::new(""))).await.1,
        1,
        "a small list"
    );
    assert_eq!(proxy.connections(), 1, "requests share a connection");
}

#[tokio::test]
async fn token_below_the_floor_costs_a_second_write_and_absence_a_read() {
    let (proxy, provider) = behind_a_proxy().await;
    let a = term("nightly");
    let (AcquireOutcome::Acquired(tokens), _) = counted(&proxy, provider.acquire(&a)).await else {
        panic!("nobody holds it");
    };
    provider.release(&release(&a)).await.unwrap();
    let floor = tokens.last().get() + 1_000_000;
    let b = term("nightly").floor(floor);
    let (outcome, requests) = counted(&proxy, provider.acquire(&b)).await;
    assert!(matches!(outcome, AcquireOutcome::Acquired(tokens) if tokens.last().get() == floor));
    assert_eq!(requests, 2, "DynamoDB cannot compute a maximum");
    provider.release(&release(&b)).await.unwrap();
    // The token is one below the floor: last + 1 is enough.
    let c = term("nightly").floor(floor + 1);
    let (outcome, requests) = counted(&proxy, provider.acquire(&c)).await;
    assert!(
        matches!(outcome, AcquireOutcome::Acquired(tokens) if tokens.last().get() == floor + 1)
    );
    assert_eq!(requests, 1);
    // If there is no record, a refusal cannot show one: one consistent read makes sure.
    let (outcome, requests) = counted(&proxy, provider.renew(&renewal(&term("other"), 1))).await;
    assert_eq!((outcome, requests), (RenewOutcome::Lost(None), 2));
    let (outcome, requests) = counted(&proxy, provider.release(&release(&term("other")))).await;
    assert_eq!((outcome, requests), (ReleaseOutcome::NotHeld(None), 2));
}

#[tokio::test]
async fn list_of_several_megabytes_misses_nobody() {
    const LOCKS: usize = 600;
    let (proxy, one_key) = behind_a_proxy().await;
    let client = client_of(&format!("http://{}", proxy.address()));
    let sort_key = DynamodbProvider::builder()
        .client(client)
        .table_name(table_name())
        .prefix("p")
        .sort_key("lock")
        .attempt_timeout(crate::common::PATIENCE)
        .call_timeout(crate::common::PATIENCE)
        .build()
        .unwrap();
    sort_key.create_table().await.unwrap();
    for provider in [one_key, sort_key] {
        for number in 0..LOCKS {
            let a = term(&format!("{number:04}")).data(Some(vec![7; 4000]));
            provider.acquire(&a).await.unwrap();
        }
        let (page, requests) = counted(&proxy, provider.list(&List::new("").limit(LOCKS))).await;
        assert!(requests >= 3, "2.4 MB in {requests} requests");
        assert_eq!((page.records.len(), page.next), (LOCKS, None));
        assert!(page.records.is_sorted_by_key(|(name, _)| name.clone()));
        // One page of ours is not one page of DynamoDB's.
        let (mut after, mut listed) = (None, 0);
        loop {
            let page = provider
                .list(&List::new("").after(after).limit(250))
                .await
                .unwrap();
            listed += page.records.len();
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, LOCKS);
    }
}
