//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_core::{
    DLock, ErrorKind, Name, Provider,
    provider::{Acquire, Renew, RenewOutcome},
};
use dlock_etcd::EtcdProvider;
use dlock_etcd_proof::{Server, provider};
use dlock_testkit::{
    proxy::{Direction, Protocol, Proxy},
    wire::Wired,
};
use etcd_client::{Client, ConnectOptions};
use uuid::Uuid;

struct Etcd(Server);

impl Wired for Etcd {
    type Provider = EtcdProvider;

    /// A connection begins with the first call.
    const HANDSHAKE: usize = 0;

    const PROTOCOL: Protocol = Protocol::Http2;

    /// With the watch, too. It is found dead by its pings.
    const SHARED: bool = true;

    // An attempt has a sixth of it, in which a dead connection must be found, and on a busy machine no other.
    const LEASE: Duration = Duration::from_secs(4);

    async fn start() -> Self {
        Self(Server::start().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address()
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> EtcdProvider {
        // A late answer holds up those to pings, and the suite delays some by a tenth of the limit. Both together are
        // less than an attempt has.
        let options = ConnectOptions::new()
            .with_timeout(limit)
            .with_connect_timeout(limit)
            .with_keep_alive(limit / 50, limit / 8)
            .with_keep_alive_while_idle(false);
        let client = Client::connect([format!("http://{address}")], Some(options)).await;
        dlock_etcd::provider(client.unwrap(), "dlock").unwrap()
    }
}

dlock_testkit::wire_conformance!(Etcd);

/// Whenever a connection breaks: what was answered was done, what was denied was not, and the repeat is answered.
#[tokio::test]
async fn call_that_is_reset_is_told_truly() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let ours = provider(proxy.address(), Duration::from_secs(20)).await;
    let direct = server.provider().await;
    let lease = Duration::from_secs(60);
    let a = Acquire::new(Name::new("door").unwrap(), Uuid::new_v4(), lease);
    ours.acquire(&a).await.unwrap();
    let (mut answered, mut unknown) = (0, 0);
    for n in 1..=300 {
        let renew = Renew::new(a.name.clone(), a.new, n);
        let reset = async {
            tokio::time::sleep(Duration::from_micros(n % 50 * 100)).await;
            proxy.reset();
        };
        let (answer, ()) = tokio::join!(ours.renew(&renew), reset);
        let renewals = direct.read(&a.name).await.unwrap().unwrap().renewals;
        match answer {
            Ok(outcome) => {
                answered += 1;
                assert_eq!(outcome, RenewOutcome::Renewed { asked: false });
                assert_eq!(renewals, n, "answered, and not done");
            }
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
                let denied = error.kind() == ErrorKind::NotApplied;
                assert!(!denied || renewals < n, "done, and denied: {error:?}");
                unknown += 1;
            }
        }
        let until_answered = async {
            loop {
                match ours.renew(&renew).await {
                    Ok(outcome) => return outcome,
                    Err(error) => assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}"),
                }
            }
        };
        let repeated = tokio::time::timeout(Duration::from_secs(20), until_answered).await;
        assert_eq!(repeated.unwrap(), RenewOutcome::Renewed { asked: false });
    }
    assert!(
        answered > 10 && unknown > 10,
        "{answered} answered, {unknown} unknown"
    );
}

/// The holder is cut off without a word: it knows before anybody else has the lock, and everything works again
/// afterwards.
#[tokio::test]
async fn silent_partition_is_noticed_before_another_has_the_lock() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let lease = Duration::from_secs(3);
    let lock = |provider: EtcdProvider| {
        let lock = DLock::builder().name("door").duration(lease);
        lock.provider(provider).build().unwrap()
    };
    let ours = lock(provider(proxy.address(), lease).await);
    let others = lock(server.provider().await);
    let guard = ours.hold().await.unwrap();
    let rival = tokio::spawn(async move { others.acquire().await });
    tokio::time::sleep(lease / 2).await;
    assert!(guard.is_valid() && !rival.is_finished());
    proxy.swallow(Direction::ToServer);
    proxy.swallow(Direction::ToClient);
    tokio::time::timeout(2 * lease, guard.ended())
        .await
        .unwrap();
    assert!(!rival.is_finished(), "two holders");
    let granted = tokio::time::timeout(3 * lease, rival).await.unwrap();
    let granted = granted.unwrap().unwrap();
    assert!(!guard.is_valid() && granted.token() > guard.token());
    proxy.heal();
    granted.release().await.unwrap();
    let again = tokio::time::timeout(4 * lease, ours.acquire())
        .await
        .unwrap();
    again.unwrap().release().await.unwrap();
}
