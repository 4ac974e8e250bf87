//! Connections that are killed, reset or refused, and servers that are busy.

use std::sync::atomic::{AtomicUsize, Ordering};

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Renew, RenewOutcome},
};
use dlock_redis::RedisProvider;
use dlock_testkit::proxy::Proxy;
use redis::{
    AsyncConnectionConfig, Client,
    aio::{ConnectionManager, ConnectionManagerConfig},
};

use crate::support::{
    LONG, SOON, Server, ask, built, client, connect, eventually, fresh_name, granted, provider,
    try_for, words,
};

/// Kills every connection except the one that sends this, and returns how many there were.
async fn kill_clients(server: &Server) -> u64 {
    server.ask("CLIENT KILL TYPE normal SKIPME yes").await
}

#[tokio::test]
async fn a_killed_connection_of_our_own_is_replaced() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let term = try_for(&fresh_name("killed"), LONG);
    granted(&provider, &term).await;
    for n in 1..=20 {
        assert!(kill_clients(&server).await > 0);
        let renew = Renew::new(term.name.clone(), term.new, n);
        // One call may meet the broken connection; the next has a new one.
        let mut answer = provider.renew(&renew).await;
        if let Err(error) = &answer {
            assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
            answer = provider.renew(&renew).await;
        }
        assert_eq!(answer.unwrap(), RenewOutcome::Renewed { asked: false });
    }
}

#[tokio::test]
async fn a_connection_manager_reconnects_for_us() {
    let server = Server::start(&[]).await;
    let patient = ConnectionManagerConfig::new()
        .set_connection_timeout(Some(SOON))
        .set_response_timeout(Some(SOON));
    let manager = ConnectionManager::new_with_config(server.client(), patient);
    let provider = RedisProvider::builder().connection(manager.await.unwrap());
    let provider = built(provider.call_timeout(SOON).build());
    let term = try_for(&fresh_name("killed"), LONG);
    granted(&provider, &term).await;
    for n in 1..=5 {
        assert!(kill_clients(&server).await > 0);
        let (provider, renew) = (&provider, Renew::new(term.name.clone(), term.new, n));
        eventually("the manager reconnects", || {
            let renew = renew.clone();
            async move { provider.renew(&renew).await.is_ok() }
        })
        .await;
    }
}

/// The provider must not reconnect it.
#[tokio::test]
async fn a_killed_connection_of_the_users_fails_at_once_and_without_a_verdict() {
    let server = Server::start(&[]).await;
    let connection = connect(&server.client()).await;
    let provider = RedisProvider::builder().connection(connection);
    let provider = built(provider.call_timeout(SOON).build());
    let term = try_for(&fresh_name("killed"), LONG);
    granted(&provider, &term).await;
    assert!(kill_clients(&server).await > 0);
    for n in 1..=3 {
        let renew = Renew::new(term.name.clone(), term.new, n);
        let error = provider.renew(&renew).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
    }
}

#[tokio::test]
async fn a_reset_connection_is_replaced() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let provider = provider(client(proxy.address()));
    let term = try_for(&fresh_name("reset"), LONG);
    granted(&provider, &term).await;
    let mut opened = proxy.connections();
    assert_eq!(opened, 1);
    for _ in 0..5 {
        proxy.reset();
        let failed = AtomicUsize::new(0);
        let (provider, term, failures) = (&provider, &term, &failed);
        eventually("a new connection", || async move {
            match provider.acquire(term).await {
                Ok(_) => true,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
                    failures.fetch_add(1, Ordering::Relaxed);
                    false
                }
            }
        })
        .await;
        // One for each failure: the reset, and any other failure that a busy machine caused.
        let failed = failed.into_inner();
        assert!(failed > 0, "the reset went unnoticed");
        assert_eq!(proxy.connections(), opened + failed);
        opened += failed;
    }
}

/// A connection that breaks while it is busy answering is broken all the same: the next call does
/// not meet it again.
#[tokio::test]
async fn a_connection_that_breaks_between_answers_is_replaced_at_once() {
    let server = Server::start(&[]).await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let provider = provider(client(proxy.address()));
    let term = try_for(&fresh_name("between"), LONG);
    granted(&provider, &term).await;
    let mut broken = 0;
    for _ in 0..50 {
        let renewals: Vec<Renew> = (1..=500)
            .map(|n| Renew::new(term.name.clone(), term.new, n))
            .collect();
        let mut read = Box::pin(provider.read(&term.name));
        let mut batch = Box::pin(provider.renew_many(&renewals));
        // The read is sent first, and its answer arrives while the batch is in flight.
        let answers = tokio::select! {
            biased;
            record = &mut read => {
                drop(record.unwrap());
                proxy.reset();
                batch.await
            }
            answers = &mut batch => answers,
        };
        if answers.iter().all(Result::is_err) {
            broken += 1;
            provider.read(&term.name).await.unwrap();
        } else {
            // It was quicker than the reset, and this call learns of that.
            drop(provider.read(&term.name).await);
        }
    }
    assert!(broken > 0, "never in time");
}

fn not_applied(error: &ProviderError) {
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_so_at_once() {
    // A port on which nothing listens any more.
    let gone = {
        let server = Server::start(&[]).await;
        server.address()
    };
    let provider = provider(client(gone));
    let term = try_for(&fresh_name("gone"), LONG);
    let began = tokio::time::Instant::now();
    not_applied(&provider.acquire(&term).await.unwrap_err());
    let renew = Renew::new(term.name.clone(), term.new, 1);
    not_applied(&provider.renew(&renew).await.unwrap_err());
    for answer in provider.renew_many(&[renew.clone(), renew]).await {
        not_applied(&answer.unwrap_err());
    }
    not_applied(&provider.read(&term.name).await.unwrap_err());
    assert!(began.elapsed() < SOON);
}

/// Another client's endless script: our requests are refused, not applied later.
#[tokio::test]
async fn a_busy_server_applies_nothing() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let term = try_for(&fresh_name("busy"), LONG);
    let mut raw = server.raw().await;
    let threshold = words("CONFIG SET lua-time-limit 50");
    ask::<()>(&mut raw, &threshold).await;
    let client: Client = server.client();
    let endless = tokio::spawn(async move {
        let mut script = redis::cmd("EVAL");
        script.arg("while true do end").arg(0);
        script.exec_async(&mut connect(&client).await).await
    });
    let (p, t) = (&provider, &term);
    eventually("the server is busy", || async move {
        match p.acquire(t).await {
            Ok(_) => false,
            Err(error) => {
                // Before the server begins to refuse it is silent.
                assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
                error.kind() == ErrorKind::NotApplied && error.to_string().contains("SCRIPT KILL")
            }
        }
    })
    .await;
    ask::<()>(&mut raw, &words("SCRIPT KILL")).await;
    assert!(endless.await.unwrap().is_err());
    granted(&provider, &term).await;
}

/// A server whose room for connections is used up.
#[tokio::test]
async fn a_full_server_is_asked_again() {
    let server = Server::start(&["--maxclients", "20"]).await;
    // A refused connection may look connected until a command is sent.
    let mut others = Vec::new();
    let patient = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(SOON))
        .set_response_timeout(Some(SOON));
    let client = server.client();
    while let Ok(mut other) = client
        .get_multiplexed_async_connection_with_config(&patient)
        .await
    {
        if words("PING").exec_async(&mut other).await.is_err() {
            break;
        }
        others.push(other);
        assert!(others.len() <= 20);
    }
    let provider = server.provider();
    let term = try_for(&fresh_name("full"), LONG);
    let error = provider.acquire(&term).await.unwrap_err();
    assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
    drop(others);
    let (provider, term) = (&provider, &term);
    eventually("there is room", || async move {
        provider.acquire(term).await.is_ok()
    })
    .await;
}
