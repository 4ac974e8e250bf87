//! Users and their rights.

use std::time::Duration;

use async_nats::Client;
use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, List},
};
use dlock_nats::{CasProvider, NatsProvider, NatsStore, Refusals};
use dlock_nats_proof::{BUCKET, Server, options};
use dlock_proof::stores::{granted, marked, released, renewed, term};

/// Longer than a test should wait for an immediate refusal.
const LIMIT: Duration = Duration::from_secs(60);

/// Three users of an account with JetStream: one with all rights, one with the rights that README names, one that may
/// read and not write; and one user of an account without JetStream.
const USERS: &str = r#"
accounts {
    LOCKS {
        jetstream: enabled
        users: [
            { user: root, password: secret }
            { user: locker, password: secret, permissions: {
                publish: [
                    "$KV.locks.dlock.*"
                    "$JS.API.STREAM.INFO.KV_locks"
                    "$JS.API.STREAM.MSG.GET.KV_locks"
                    "$JS.API.STREAM.MSG.DELETE.KV_locks"
                    "$JS.API.CONSUMER.CREATE.KV_locks.*.$KV.locks.dlock.*"
                    "$JS.FC.KV_locks.>"
                ]
                subscribe: "_INBOX.>"
            } }
            { user: reader, password: secret, permissions: {
                publish: ["$JS.API.STREAM.INFO.KV_locks", "$JS.API.STREAM.MSG.GET.KV_locks"]
                subscribe: "_INBOX.>"
            } }
        ]
    }
    OTHERS { users: [ { user: stranger, password: secret } ] }
}
"#;

async fn connect(server: &Server, user: &str) -> (Client, Refusals) {
    let refusals = Refusals::default();
    let heard = refusals.clone();
    let options = options(LIMIT)
        .user_and_password(user.to_owned(), "secret".to_owned())
        .event_callback(move |event| {
            heard.note(&event);
            async {}
        });
    let url = format!("nats://{}", server.address());
    (options.connect(url).await.unwrap(), refusals)
}

async fn of(server: &Server, user: &str, prefix: &str) -> NatsProvider {
    let (client, refusals) = connect(server, user).await;
    let store = NatsStore::new(client, BUCKET).refusals(refusals);
    CasProvider::new(store).with_prefix(prefix).unwrap()
}

#[tokio::test]
async fn rights_to_one_prefix_are_enough_and_less_is_fatal() {
    let server = Server::bare(USERS).await;
    let root = of(&server, "root", "dlock").await;
    root.store().set_up(1).await.unwrap();
    let locker = of(&server, "locker", "dlock").await;
    let a = term("door");
    granted(&locker, &a).await;
    renewed(&locker, &a, 1).await;
    assert_eq!(locker.list(&List::new("")).await.unwrap().records.len(), 1);
    assert_eq!(locker.purge(10).await.unwrap(), 0);
    let mut wakeups = locker.watch().await.unwrap().unwrap();
    marked(&locker, &a.name).await;
    released(&locker, &a).await;
    let woken = tokio::time::timeout(LIMIT / 2, wakeups.next()).await;
    assert!(woken.unwrap().is_some());

    let elsewhere = locker.with_prefix("other").unwrap();
    let reader = of(&server, "reader", "dlock").await;
    for (provider, right) in [
        (&elsewhere, "$KV.locks.other.gate"),
        (&reader, "$KV.locks.dlock.gate"),
    ] {
        let error = provider.acquire(&term("gate")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        assert!(error.to_string().contains(right), "{error}");
    }
    let error = reader.watch().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("CONSUMER.CREATE"), "{error}");
    let error = of(&server, "stranger", "dlock")
        .await
        .acquire(&a)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
}
