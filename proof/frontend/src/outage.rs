//! A client's calls to a store over TCP that accepts connections and answers nothing; and that every caller continues
//! when the store is back.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a test, and the message is what people read"
)]

use std::{net::SocketAddr, time::Duration};

use dlock_core::{Client, DLock, Provider};
use dlock_testkit::proxy::Proxy;
use tokio::{
    net::TcpListener,
    time::{sleep, timeout},
};

/// How many callers wait, and how many hold a lease.
const WAITERS: usize = 12;
const GUARDS: usize = 3;

/// For how long connections are counted, and how many there may be: some ten a second. A busy machine needs longer than
/// a short lease gives a connection.
const PATIENCE: Duration = Duration::from_secs(60);

const COUNTED: Duration = Duration::from_secs(3);
const MOST: usize = 45;

/// Takes the server away from providers that reach it through a proxy, counts how often each then connects, and brings
/// the server back: for short leases and for long ones.
///
/// # Panics
/// If there were too many connections, or a caller does not continue afterwards.
pub async fn is_ridden_out_at_one_pace<P: Provider>(
    server: SocketAddr,
    provider: impl AsyncFn(&Proxy, Duration) -> P,
) {
    for duration in [Duration::from_secs(1), Duration::from_secs(15)] {
        let proxy = Proxy::start(server).await.unwrap();
        let provider = provider(&proxy, duration).await;
        ridden_out(provider, &proxy, server, duration).await;
    }
}

async fn ridden_out(
    provider: impl Provider,
    proxy: &Proxy,
    server: SocketAddr,
    duration: Duration,
) {
    let client = Client::new(provider);
    let lock = |name: &str| {
        let lock = DLock::builder().name(format!("outage-{}-{name}", duration.as_millis()));
        lock.provider(&client)
            .duration(duration)
            .give_up_after(2 * PATIENCE)
            .build()
            .unwrap()
    };
    let mut guards = Vec::new();
    for number in 0..GUARDS {
        guards.push(lock(&format!("held-{number}")).hold().await.unwrap());
    }

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    proxy.lead_to(listener.local_addr().unwrap());
    let hangs_up = crate::spawn(async move { while listener.accept().await.is_ok() {} });
    proxy.reset();
    let waiters: Vec<_> = (0..WAITERS)
        .map(|number| {
            let lock = lock(&format!("free-{number}"));
            crate::spawn(async move { lock.acquire().await })
        })
        .collect();
    // Every caller fails once before there is an outage.
    sleep(Duration::from_secs(1)).await;
    let before = proxy.connections();
    sleep(COUNTED).await;
    let connections = proxy.connections() - before;
    assert!(
        connections <= MOST,
        "{connections} connections in {COUNTED:?} to a server that is down"
    );

    proxy.lead_to(server);
    for waiter in waiters {
        match timeout(PATIENCE, waiter).await {
            Ok(lease) => drop(lease.unwrap().unwrap()),
            Err(_elapsed) => panic!("a waiter does not know that the server is back"),
        }
    }
    hangs_up.abort();
    client.close().await;
}
