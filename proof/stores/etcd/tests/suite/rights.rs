//! Users and their rights; stores by their URLs.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, List, Renew},
};
use dlock_etcd_proof::{Server, client};
use dlock_proof::stores::{granted, renewed, term};
use etcd_client::{Client, ConnectOptions, Permission};

use crate::open::open;

const PASSWORD: &str = "hunter2";

/// A server with three users: one with all rights, one with rights to the keys of locks, one with none.
async fn guarded() -> Server {
    guard(Server::start().await).await
}

async fn guard(server: Server) -> Server {
    let mut root = client(server.address(), Duration::from_secs(20)).await;
    for user in ["root", "locker", "nobody"] {
        root.user_add(user, PASSWORD, None).await.unwrap();
        root.role_add(user).await.unwrap();
        root.user_grant_role(user, user).await.unwrap();
    }
    let keys = Permission::read_write("dlock/").with_prefix();
    root.role_grant_permission("locker", keys).await.unwrap();
    root.auth_enable().await.unwrap();
    server
}

async fn user(server: &Server, name: &str) -> Client {
    let options = ConnectOptions::new().with_user(name, PASSWORD);
    let url = format!("http://{}", server.address());
    Client::connect([url], Some(options)).await.unwrap()
}

#[tokio::test]
async fn rights_to_the_keys_with_the_prefix_are_enough_and_less_is_fatal() {
    let mut server = guarded().await;
    let of = |client| dlock_etcd::provider(client, "dlock").unwrap();
    let locker = of(user(&server, "locker").await);
    let a = term("door");
    granted(&locker, &a).await;
    assert_eq!(locker.list(&List::new("")).await.unwrap().records.len(), 1);
    assert_eq!(locker.purge(10).await.unwrap(), 0);
    assert!(locker.watch().await.unwrap().is_some());

    let stranger = of(client(server.address(), Duration::from_secs(20)).await);
    let nobody = of(user(&server, "nobody").await);
    let elsewhere = locker.with_prefix("other").unwrap();
    for provider in [stranger, nobody, elsewhere] {
        for error in [
            provider.acquire(&a).await.unwrap_err(),
            provider.read(&a.name).await.unwrap_err(),
            provider.list(&List::new("")).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        }
    }

    // The server has forgotten its authentication tokens, so the client requests a new one.
    server.restart().await;
    let again = async {
        while let Err(error) = locker.acquire(&a).await {
            assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
        }
    };
    tokio::time::timeout(Duration::from_secs(20), again)
        .await
        .unwrap();
}

#[tokio::test]
async fn change_of_users_ends_no_lease_where_tokens_know_their_revision() {
    let server = guard(Server::with_web_tokens().await).await;
    let mut root = user(&server, "root").await;
    let locker = dlock_etcd::provider(user(&server, "locker").await, "dlock").unwrap();
    let a = term("door");
    granted(&locker, &a).await;
    for number in 1..=3 {
        root.user_add(format!("another-{number}"), PASSWORD, None)
            .await
            .unwrap();
        root.refresh_token().await.unwrap();
        renewed(&locker, &a, number).await;
        assert!(locker.watch().await.unwrap().is_some());
    }
    root.user_change_password("locker", "another one")
        .await
        .unwrap();
    let renewal = Renew::new(a.name.clone(), a.new, 4);
    let error = locker.renew(&renewal).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
}

#[tokio::test]
async fn store_is_opened_by_its_url_and_told_why_when_it_is_not() {
    let server = guarded().await;
    let at = server.address();
    let store = open(&format!("etcd://locker:{PASSWORD}@{at}"))
        .await
        .unwrap();
    store.check().await.unwrap();
    assert!(store.needs_observers());
    let a = term("door");
    store.provider().acquire(&a).await.unwrap();
    let same = dlock_etcd::provider(user(&server, "root").await, "dlock").unwrap();
    assert_eq!(same.read(&a.name).await.unwrap().unwrap().uuid, a.new);

    let elsewhere = open(&format!("etcd://locker:{PASSWORD}@{at}?prefix=other")).await;
    let error = elsewhere.unwrap().check().await.unwrap_err();
    assert!(!error.is_temporary(), "{error:?}");
    let error = open(&format!("etcd://locker:{PASSWORD}2@{at}"))
        .await
        .unwrap_err();
    assert!(!format!("{error:?}").contains(PASSWORD), "{error:?}");
    let nowhere = open("etcd://127.0.0.1:1").await.unwrap();
    let error = nowhere.check().await.unwrap_err();
    assert!(error.is_temporary(), "{error:?}");
}
