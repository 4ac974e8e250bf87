//! A network that falls silent: every call ends by its own limit, no caller gets another's answer,
//! and a connection of our own that stays silent is replaced.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Acquire, Renew},
};
use dlock_redis::RedisProvider;
use dlock_testkit::proxy::{Direction, Proxy};
use redis::{AsyncConnectionConfig, aio::MultiplexedConnection};
use tokio::time::{Instant, sleep};

use crate::support::{LONG, Server, built, client, fresh_name, granted, provider, soon, try_for};

/// Opening a connection counts towards the limit, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(4);
const WAYS: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

fn own(proxy: &Proxy) -> RedisProvider {
    let provider = RedisProvider::builder()
        .client(client(proxy.address()))
        .call_timeout(LIMIT);
    built(provider.build())
}

/// A connection of the user's, which has no limits of its own.
async fn unlimited(proxy: &Proxy) -> MultiplexedConnection {
    let unlimited = AsyncConnectionConfig::new().set_response_timeout(None);
    client(proxy.address())
        .get_multiplexed_async_connection_with_config(&unlimited)
        .await
        .unwrap()
}

async fn given(proxy: &Proxy) -> RedisProvider {
    let provider = RedisProvider::builder()
        .connection(unlimited(proxy).await)
        .call_timeout(LIMIT);
    built(provider.build())
}

/// The call ends on its own, not before its limit, and reports that its outcome is unknown.
async fn silent<T: std::fmt::Debug>(call: impl Future<Output = Result<T, ProviderError>>) {
    let began = Instant::now();
    let error = soon("the call", call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    assert!(began.elapsed() >= LIMIT, "{:?}", began.elapsed());
}

/// Every caller on the connection meets silence, each for its own limit.
async fn all_silent(provider: &RedisProvider, term: &Acquire) {
    let crowd = (0..20).map(|n| {
        let (provider, term) = (provider.clone(), term.clone());
        tokio::spawn(async move {
            sleep(Duration::from_millis(5 * n)).await;
            match n % 3 {
                0 => silent(provider.acquire(&term)).await,
                1 => silent(provider.read(&term.name)).await,
                _ => silent(provider.renew(&Renew::new(term.name, term.new, n))).await,
            }
        })
    });
    for task in crowd.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

/// Each of many names is shown as itself.
async fn answers_are_their_own(provider: &RedisProvider) {
    let crowd = (0..30).map(|_| {
        let provider = provider.clone();
        tokio::spawn(async move {
            let term = try_for(&fresh_name("own"), LONG);
            let token = granted(&provider, &term).await;
            let record = provider.read(&term.name).await.unwrap().unwrap();
            assert_eq!((record.uuid, record.token), (term.new, token));
        })
    });
    for task in crowd.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_silent_partition_ends_every_call_and_heals_at_once_on_our_own_connection() {
    let server = Server::start(&[]).await;
    for way in WAYS {
        let proxy = Proxy::start(server.address()).await.unwrap();
        let provider = own(&proxy);
        let term = try_for(&fresh_name("held"), LONG);
        granted(&provider, &term).await;
        proxy.hold(way);
        all_silent(&provider, &term).await;
        proxy.heal();
        granted(&provider, &term).await;
        answers_are_their_own(&provider).await;
    }
}

/// As long as anything is answered the connection is alive, and slow calls are left to it.
#[tokio::test]
async fn a_dropped_call_on_a_living_connection_replaces_nothing() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let provider = provider(client(proxy.address()));
    let term = try_for(&fresh_name("living"), LONG);
    granted(&provider, &term).await;
    for _ in 0..50 {
        let renewals: Vec<Renew> = (1..=500)
            .map(|n| Renew::new(term.name.clone(), term.new, n))
            .collect();
        let mut dropped = Box::pin(provider.renew_many(&renewals));
        let read = Box::pin(provider.read(&term.name));
        // The read is sent first and answered; the batch is dropped in flight.
        tokio::select! {
            biased;
            record = read => drop(record.unwrap()),
            _ = &mut dropped => {}
        }
    }
    assert_eq!(proxy.connections(), 1);
}

/// The user's connection continues when its bytes come through after all, and late answers reach
/// their own callers, or none.
#[tokio::test]
async fn late_answers_on_the_users_connection_go_to_nobody_else() {
    let server = Server::start(&[]).await;
    for way in WAYS {
        let proxy = Proxy::start(server.address()).await.unwrap();
        let provider = given(&proxy).await;
        let term = try_for(&fresh_name("late"), LONG);
        granted(&provider, &term).await;
        proxy.hold(way);
        all_silent(&provider, &term).await;
        proxy.heal();
        answers_are_their_own(&provider).await;
        assert_eq!(proxy.connections(), 1);
    }
}

/// Documented on the builder: a bare connection of the user's stays silent, but no caller hangs on
/// it.
#[tokio::test]
async fn calls_on_a_dead_connection_of_the_users_end_by_themselves() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let provider = given(&proxy).await;
    let term = try_for(&fresh_name("dead"), LONG);
    granted(&provider, &term).await;
    proxy.swallow(Direction::ToClient);
    silent(provider.acquire(&term)).await;
    proxy.heal();
    all_silent(&provider, &term).await;
}

/// Nothing was sent, so nothing was applied.
#[tokio::test]
async fn connecting_into_silence_ends_as_not_applied() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    proxy.hold(Direction::ToServer);
    let term = try_for(&fresh_name("connecting"), LONG);
    let began = Instant::now();
    let error = own(&proxy).acquire(&term).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    assert!(began.elapsed() >= LIMIT);
}
