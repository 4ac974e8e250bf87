//! The provider keeps its promises when the wire to its server breaks.

use std::{net::SocketAddr, time::Duration};

use dlock_core::{
    ErrorKind, Name, Provider,
    provider::{Acquire, Renew, RenewOutcome},
};
use dlock_kubernetes::KubernetesProvider;
use dlock_testkit::{proxy::Proxy, wire::Wired};
use uuid::Uuid;

use crate::unsealed::Unsealed;

struct Kubernetes(Unsealed);

impl Wired for Kubernetes {
    type Provider = KubernetesProvider;

    const HANDSHAKE: usize = 0;

    // Other tests keep the server busy.
    const LEASE: Duration = Duration::from_secs(2);

    async fn start() -> Self {
        Self(Unsealed::start().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.address
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> KubernetesProvider {
        self.0.provider(address, limit).await
    }
}

dlock_testkit::wire_conformance!(Kubernetes);

/// Whenever a connection breaks: what was answered was done, what was denied was not, and the repeat is answered.
#[tokio::test]
async fn call_that_is_reset_is_told_truly() {
    let server = Unsealed::start().await;
    let proxy = Proxy::start(server.address).await.unwrap();
    let limit = Duration::from_secs(20);
    let ours = server.provider(proxy.address(), limit).await;
    let direct = server.provider(server.address, limit).await;
    let lease = Duration::from_secs(60);
    let a = Acquire::new(Name::new("door").unwrap(), Uuid::new_v4(), lease);
    ours.acquire(&a).await.unwrap();
    let (mut answered, mut unknown) = (0, 0);
    for n in 1..=300 {
        let renew = Renew::new(a.name.clone(), a.new, n);
        let reset = async {
            tokio::time::sleep(Duration::from_micros(n % 50 * 500)).await;
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
        let repeated = tokio::time::timeout(limit, until_answered).await;
        assert_eq!(repeated.unwrap(), RenewOutcome::Renewed { asked: false });
    }
    assert!(
        answered > 10 && unknown > 10,
        "{answered} answered, {unknown} unknown"
    );
}
