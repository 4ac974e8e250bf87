//! A server that is killed while others serve the same store: nothing is lost with it (N1).
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::time::Duration;

use dlock_core::{DLock, ReleaseEnd, TryAcquire};
use dlock_http::{HttpProvider, Server};
use serde_json::Value;

use crate::support::{PATIENCE, Served, User};

/// Long enough that a busy machine loses none, and that a third of it passes between renewals.
const DURATION: Duration = Duration::from_secs(15);

/// Locks behind these servers, of which the first is used until it is gone.
async fn provider(addresses: &[&str]) -> HttpProvider {
    // Another crate in this build may have chosen rustls without a provider of cryptography for the client.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let client = reqwest::Client::builder().timeout(PATIENCE).build();
    let addresses: Vec<_> = addresses
        .iter()
        .map(|address| format!("http://{address}"))
        .collect();
    let server = Server::new(client.unwrap(), addresses.iter().map(String::as_str));
    HttpProvider::connect(server.unwrap()).await.unwrap()
}

fn lock(provider: HttpProvider) -> DLock {
    let lock = DLock::builder().name("job").duration(DURATION);
    lock.provider(provider).build().unwrap()
}

/// Whether a server has answered requests of this kind.
fn has_served(served: &Served, what: &str) -> bool {
    let (_, metrics) = served.get("/metrics");
    let Value::String(metrics) = metrics else {
        panic!("no metrics: {metrics}");
    };
    metrics.contains(&format!("path=\"/v1/{{namespace}}/leases/{what}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn lease_outlives_the_server_that_granted_it() {
    let user = User::new();
    let (mut first, second) = (user.serve(&[]), user.serve(&[]));
    let lock = lock(provider(&[&first.address, &second.address]).await);
    let mut lease = lock.acquire().await.unwrap();
    // On a busy machine the first may be late.
    if lease.renew().await.is_err() {
        lease.renew().await.unwrap();
    }
    assert!(has_served(&first, "acquire") && has_served(&first, "renew"));
    assert!(!has_served(&second, "acquire") && !has_served(&second, "renew"));

    first.kill();
    let guard = lease.keep_alive();
    let watch = guard.view();
    for _ in 0..2 {
        watch.renewed().await;
        assert!(guard.is_valid(), "{:?}", guard.state());
    }
    let rival = self::lock(provider(&[&second.address]).await);
    let refused = rival.try_acquire().await.unwrap();
    assert!(matches!(refused, TryAcquire::Held(_)), "two have it");
    assert_eq!(guard.release().await.unwrap(), ReleaseEnd::Released);
    let granted = rival.try_acquire().await.unwrap();
    assert!(matches!(granted, TryAcquire::Acquired(_)), "{granted:?}");
    rival.client().close().await;
}
