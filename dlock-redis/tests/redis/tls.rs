//! TLS, through the driver: everything uses it, and a server without a valid certificate is refused.

use std::{fs, path::Path, time::Duration};

use dlock_core::{
    Client as Locks, DLock, ErrorKind, Provider, ProviderError,
    provider::{Admin, List, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_redis::{Channels, RedisProvider};
use dlock_test_servers::{Service, certificates::Certificates, redis::redis_over_tls};
use redis::{Client, TlsCertificates, cluster::ClusterClientBuilder};
use tempfile::TempDir;

use crate::support::{
    LONG, SOON, ask, at_last, built, connect, eventually, fresh_name, granted, major_of, soon,
    try_for, words,
};

/// A poll later than the end of any test: a waiter that gets the lock was woken.
const NEVER: Duration = Duration::from_secs(3600);

/// A server that accepts TLS only, and is called `localhost`.
struct Secure {
    service: Service,
    certificates: Certificates,
    folder: TempDir,
}

impl Secure {
    async fn start(arguments: &[&str]) -> Self {
        // If a program has several, the driver uses the process's default.
        let cryptography = rustls::crypto::ring::default_provider();
        cryptography.install_default().ok();
        let folder = tempfile::tempdir().unwrap();
        let certificates = Certificates::new(folder.path(), "localhost").unwrap();
        let service = redis_over_tls(&certificates, arguments).await.unwrap();
        Self {
            service,
            certificates,
            folder,
        }
    }

    fn url(&self, host: &str) -> String {
        format!("rediss://{host}:{}", self.service.place().port())
    }

    /// A client that trusts its authority.
    fn client(&self) -> Client {
        let trust = trust(&self.certificates.authority);
        Client::build_with_tls(self.url("localhost"), trust).unwrap()
    }
}

fn trust(authority: &Path) -> TlsCertificates {
    TlsCertificates {
        client_tls: None,
        root_cert: Some(fs::read(authority).unwrap()),
    }
}

fn listening(client: Client, channels: Channels) -> RedisProvider {
    let provider = RedisProvider::builder()
        .client(client)
        .wakeups(channels)
        .call_timeout(SOON);
    built(provider.build())
}

/// A term from its grant to its release, and the calls in between.
async fn is_used(provider: &RedisProvider) {
    let term = try_for(&fresh_name("tls"), LONG);
    granted(provider, &term).await;
    let renewals = [1, 2].map(|n| Renew::new(term.name.clone(), term.new, n));
    for answer in provider.renew_many(&renewals).await {
        assert_eq!(answer.unwrap(), RenewOutcome::Renewed { asked: false });
    }
    let page = provider.list(&List::new(term.name.as_str())).await;
    assert_eq!(page.unwrap().records.len(), 1);
    let release = Release::new(term.name, term.new, None);
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released { wanted: false });
}

/// A waiter of one provider enters when a holder of the other one leaves, because it is notified.
async fn wakes(here: RedisProvider, there: RedisProvider) {
    let name = fresh_name("tls");
    let lock = |provider| {
        let lock = DLock::builder()
            .name(name.as_str())
            .duration(LONG)
            .poll_every(NEVER)
            .provider(Locks::new(provider));
        lock.build().unwrap()
    };
    let (here, there) = (lock(here), lock(there));
    let lease = here.acquire().await.unwrap();
    let waiter = tokio::spawn(async move { there.acquire().await });
    // A waiter that has not tried yet finds the lock free.
    tokio::time::sleep(Duration::from_millis(300)).await;
    lease.release().await.unwrap();
    let lease = soon("the lock", waiter).await.unwrap().unwrap();
    lease.release().await.unwrap();
}

#[tokio::test]
async fn requests_and_wakeups_go_over_tls() {
    let server = Secure::start(&[]).await;
    let version = major_of(&mut connect(&server.client()).await).await;
    let mut kinds = vec![Channels::Plain];
    if version >= 7 {
        kinds.push(Channels::Sharded);
    }
    for channels in kinds {
        let provider = listening(server.client(), channels);
        is_used(&provider).await;
        wakes(provider, listening(server.client(), channels)).await;
    }
}

/// The nodes of a cluster are reached like the client's own: here one node has all slots.
#[tokio::test]
async fn a_cluster_is_used_over_tls() {
    let node = Secure::start(&["--cluster-enabled", "yes"]).await;
    let mut raw = connect(&node.client()).await;
    let mut slots = redis::cmd("CLUSTER");
    slots.arg("ADDSLOTS").arg((0..16384).collect::<Vec<u16>>());
    ask::<()>(&mut raw, &slots).await;
    let client = ClusterClientBuilder::new([node.url("localhost")])
        .certs(trust(&node.certificates.authority))
        .connection_timeout(SOON)
        .response_timeout(SOON)
        .build()
        .unwrap();
    let channels = match major_of(&mut raw).await {
        ..7 => Channels::Plain,
        _ => Channels::Sharded,
    };
    // The node says a moment later that it serves them.
    let connection = at_last("a connection", || client.get_async_connection()).await;
    eventually("the cluster is formed", || {
        let mut raw = raw.clone();
        async move {
            let info: String = ask(&mut raw, &words("CLUSTER INFO")).await;
            info.contains("cluster_state:ok")
        }
    })
    .await;
    let provider = || {
        let provider = RedisProvider::builder()
            .connection(connection.clone())
            .client(node.client())
            .wakeups(channels)
            .call_timeout(SOON);
        built(provider.build())
    };
    is_used(&provider()).await;
    wakes(provider(), provider()).await;
}

fn distrusted(error: &ProviderError) {
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error}");
}

/// An authority that signed nothing here, or a host that the certificate does not name: trying again is of no use, so
/// the first call reports it.
#[tokio::test]
async fn a_server_with_an_unknown_certificate_is_refused_at_once() {
    let server = Secure::start(&[]).await;
    let others = Certificates::new(&server.folder.path().join("others"), "localhost").unwrap();
    let ours = &server.certificates;
    for (authority, host) in [
        (&others.authority, "localhost"),
        (&ours.authority, "127.0.0.1"),
    ] {
        let client = Client::build_with_tls(server.url(host), trust(authority)).unwrap();
        let provider = listening(client.clone(), Channels::Plain);
        let term = try_for(&fresh_name("tls"), LONG);
        distrusted(&provider.acquire(&term).await.unwrap_err());
        let renew = Renew::new(term.name.clone(), term.new, 1);
        distrusted(&provider.renew(&renew).await.unwrap_err());
        distrusted(&provider.watch().await.unwrap_err());
        let asking = RedisProvider::builder()
            .client(client)
            .acknowledged_by(1)
            .call_timeout(SOON);
        distrusted(&built(asking.build()).acquire(&term).await.unwrap_err());
        let lock = DLock::builder()
            .name(term.name.as_str())
            // Otherwise the lock would retry for longer than the test waits.
            .give_up_after(NEVER)
            .provider(provider)
            .build()
            .unwrap();
        let error = soon("the refusal", lock.acquire()).await.unwrap_err();
        distrusted(error.store_error().unwrap());
    }
}
