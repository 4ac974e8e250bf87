//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{
    DLock, ErrorKind, Name, Provider,
    provider::{Acquire, AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_kubernetes_proof::{ADMIN, Server, client, provider};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

const LONG: Duration = Duration::from_secs(60);

const NAMESPACE: &str = "default";

fn term(name: &str) -> Acquire {
    Acquire::new(Name::new(name).unwrap(), Uuid::new_v4(), LONG)
}

/// What was acknowledged is there when the server is back, and what was remembered of it still leads to one write.
#[tokio::test]
async fn acknowledged_writes_survive_a_server_that_is_killed() {
    let mut server = Server::start().await;
    let provider = server.provider(NAMESPACE).await;
    let a = term("door");
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
        panic!("nobody else is here");
    };
    let token = tokens.last();
    for n in 1..=3 {
        let renew = Renew::new(a.name.clone(), a.new, n);
        let renewed = provider.renew(&renew).await.unwrap();
        assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        server.restart().await;
        let other = server.provider(NAMESPACE).await;
        let record = other.read(&a.name).await.unwrap().unwrap();
        assert_eq!(
            (record.uuid, record.renewals, record.token),
            (a.new, n, token)
        );
        let refused = other.acquire(&term("door")).await.unwrap();
        assert!(matches!(refused, AcquireOutcome::Held(_)), "{refused:?}");
        // The first call meets the broken connection, perhaps.
        if let Err(error) = provider.read(&a.name).await {
            assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
        }
    }
    let release = Release::new(a.name.clone(), a.new, Some(token));
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released);
}

/// A holder does not notice, and neither does the one that waits for it.
#[tokio::test]
async fn guard_survives_a_server_that_is_killed() {
    let mut server = Server::start().await;
    let lock = |provider| {
        let lock = DLock::builder().name("door").duration(LONG);
        lock.provider(provider).build().unwrap()
    };
    let guard = lock(server.provider(NAMESPACE).await).hold().await.unwrap();
    let waiting = lock(server.provider(NAMESPACE).await);
    let waiter = tokio::spawn(async move { waiting.acquire().await });
    for _ in 0..2 {
        server.restart().await;
        assert!(guard.is_valid(), "{:?}", guard.state());
        assert!(!waiter.is_finished());
    }
    let token = guard.token();
    guard.release().await.unwrap();
    let next = timeout(LONG, waiter).await.unwrap().unwrap().unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn server_that_is_not_there_is_said_so_at_once() {
    let kubeconfig = Server::start().await.kubeconfig(ADMIN);
    // Its authority is gone with it, and nobody is there to be trusted.
    let kubeconfig = kubeconfig.replace("certificate-authority", "no");
    let provider = provider(client(&kubeconfig, LONG).await, NAMESPACE);
    let began = Instant::now();
    for _ in 0..3 {
        let error = provider.acquire(&term("door")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        let error = provider.read(&term("door").name).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    }
    assert!(began.elapsed() < LONG / 2);
}

/// It stands still, or what it keeps its objects in does, and goes on: the answer is not known, and the next one is
/// right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start().await;
    let patient = server.provider(NAMESPACE).await;
    let hasty = client(&server.kubeconfig(ADMIN), Duration::from_secs(1)).await;
    let hasty = provider(hasty, NAMESPACE);
    for (name, signal) in [
        ("door", Server::signal as fn(&mut Server, &str)),
        ("gate", Server::signal_etcd),
    ] {
        let a = term(name);
        // Opening a connection may take longer.
        let opened = async { while hasty.read(&a.name).await.is_err() {} };
        timeout(LONG, opened).await.unwrap();
        signal(&mut server, "STOP");
        // It may take a moment. A call that was answered is repeated, and answered in the same way.
        let until_silent = async {
            loop {
                if let Err(error) = hasty.acquire(&a).await {
                    return error;
                }
            }
        };
        let error = timeout(LONG, until_silent).await.unwrap();
        assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
        signal(&mut server, "CONT");
        let until_granted = async {
            loop {
                match patient.acquire(&a).await {
                    Ok(AcquireOutcome::Acquired(tokens)) => return tokens.last(),
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}"),
                }
            }
        };
        timeout(LONG, until_granted).await.unwrap();
    }
}
