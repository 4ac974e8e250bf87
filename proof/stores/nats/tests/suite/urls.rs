//! Stores by their URLs, as the programs open them.

use dlock_core::Provider;
use dlock_nats_proof::Server;
use dlock_proof::stores::{granted, term, until_answered};

use crate::open::{PROGRAM, open};

const PASSWORD: &str = "hunter2";

#[tokio::test]
async fn store_is_opened_by_its_url_and_told_why_when_it_is_not() {
    let settings = r#"
        authorization { users: [
            { user: locker, password: hunter2 }
            { user: reader, password: hunter2, permissions: {
                publish: ["$JS.API.STREAM.INFO.KV_locks", "$JS.API.STREAM.MSG.GET.KV_locks"]
                subscribe: "_INBOX.>"
            } }
        ] }
    "#;
    let server = Server::bare(settings).await;
    let at = server.address();
    let store = open(&format!("nats://locker:{PASSWORD}@{at}/locks"))
        .await
        .unwrap();
    let missing = store.check().await.unwrap_err();
    assert!(!missing.is_temporary(), "{missing:?}");
    assert_eq!(missing.advice(), Some(PROGRAM.set_up), "{missing:?}");
    store.set_up().await.unwrap();
    store.check().await.unwrap();
    assert!(store.needs_observers());
    let a = term("door");
    granted(store.provider(), &a).await;

    let reader = open(&format!("nats://reader:{PASSWORD}@{at}/locks"))
        .await
        .unwrap();
    reader.check().await.unwrap();
    let error = reader.provider().acquire(&term("gate")).await.unwrap_err();
    let error = reader.failure("can't lock", error).await;
    assert!(!error.is_temporary(), "{error:?}");
    assert!(
        format!("{error:?}").contains("$KV.locks.dlock.gate"),
        "{error:?}"
    );

    let error = open(&format!("nats://locker:{PASSWORD}2@{at}/locks"))
        .await
        .unwrap_err();
    assert!(!error.is_temporary(), "{error:?}");
    assert!(!format!("{error:?}").contains(PASSWORD), "{error:?}");
    let error = open(&format!("nats://{at}/locks?creds=/nowhere/at-all"))
        .await
        .unwrap_err();
    assert!(!error.is_temporary(), "{error:?}");
}

#[tokio::test]
async fn token_opens_a_store_and_one_that_is_down_is_waited_for() {
    let mut server = Server::bare("authorization { token: \"s3/cret\" }").await;
    let url = format!("nats://s3%2Fcret@{}/locks", server.address());
    open(&url).await.unwrap().set_up().await.unwrap();
    server.signal("KILL");
    server.until_down().await;
    let store = open(&url).await.unwrap();
    let error = store.check().await.unwrap_err();
    assert!(error.is_temporary(), "{error:?}");
    server.restart().await;
    until_answered(store.provider()).await;
}
