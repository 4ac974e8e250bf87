//! The settings of a provider, and the keys that it uses.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider, Record,
    provider::{AcquireOutcome, Admin, List, Release, Renew, RenewOutcome},
};
use dlock_redis::{BuildError, RedisProvider};
use redis::{
    Client,
    sentinel::{SentinelClient, SentinelServerType},
};

use crate::support::{LONG, Server, built, fresh_name, granted, name, provider, try_for};

fn nowhere() -> Client {
    Client::open("redis://:s3cret@127.0.0.1:1").unwrap()
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let nothing = RedisProvider::builder().build();
    assert_eq!(nothing.unwrap_err(), BuildError::NoConnection);
    let sentinels = vec!["redis://127.0.0.1:1"];
    let sentinels = SentinelClient::build(sentinels, "locks", None, SentinelServerType::Master);
    let both = RedisProvider::builder()
        .client(nowhere())
        .sentinel(sentinels.unwrap())
        .build();
    assert_eq!(both.unwrap_err(), BuildError::TwoClients);
    for timeout in [Duration::ZERO, Duration::from_micros(999), Duration::MAX] {
        let provider = RedisProvider::builder()
            .client(nowhere())
            .call_timeout(timeout)
            .build();
        assert_eq!(provider.unwrap_err(), BuildError::CallTimeout { timeout });
    }
    for prefix in ["", "a\0b", "a{", "}b", &"x".repeat(1024)] {
        let provider = RedisProvider::builder()
            .client(nowhere())
            .prefix(prefix)
            .build();
        assert!(
            matches!(provider, Err(BuildError::Prefix { .. })),
            "{prefix:?}"
        );
    }
}

#[test]
fn nothing_prints_the_password() {
    let provider = RedisProvider::builder()
        .client(nowhere())
        .acknowledged_by(1)
        .build()
        .unwrap();
    assert_eq!(
        format!("{provider:?}"),
        r#"RedisProvider { prefix: "dlock", .. }"#
    );
}

/// Nothing is sent before the first call.
#[test]
fn a_provider_is_built_without_a_runtime() {
    built(RedisProvider::builder().client(nowhere()).build());
}

#[tokio::test]
async fn a_lock_is_the_key_that_the_documentation_says() {
    let server = Server::start(&[]).await;
    let term = try_for(&name("nightly"), LONG);
    granted(&server.provider(), &term).await;
    assert_eq!(server.ask::<u64>("EXISTS dlock:{nightly}").await, 1);
    let billing = RedisProvider::builder()
        .client(server.client())
        .prefix("billing:locks");
    granted(&built(billing.build()), &term).await;
    assert_eq!(server.ask::<u64>("EXISTS billing:locks:{nightly}").await, 1);
    assert_eq!(server.ask::<u64>("DBSIZE").await, 2);
}

/// RESP3 shapes some answers differently, and a database is a separate space.
#[tokio::test]
async fn protocol_and_database_of_the_client_count() {
    let server = Server::start(&[]).await;
    let url = format!("redis://{}/3?protocol=resp3", server.address());
    let newer = provider(Client::open(url).unwrap());
    let term = try_for(&fresh_name("newer"), LONG);
    let token = granted(&newer, &term).await;
    let rival = try_for(&term.name, LONG).data(Some(vec![0, 255]));
    let AcquireOutcome::Held(record) = newer.acquire(&rival).await.unwrap() else {
        panic!("two holders")
    };
    assert_eq!(
        (record.uuid, record.token, record.data),
        (term.new, token, None)
    );
    let renewals = [1, 2].map(|n| Renew::new(term.name.clone(), term.new, n));
    for answer in newer.renew_many(&renewals).await {
        assert_eq!(answer.unwrap(), RenewOutcome::Renewed { asked: false });
    }
    let release = Release::new(term.name.clone(), term.new, None);
    newer.release(&release).await.unwrap();
    granted(&newer, &rival).await;
    let page = newer.list(&List::new("newer")).await.unwrap();
    assert_eq!(page.records.len(), 1);
    assert_eq!(page.records[0].1.data, Some(vec![0, 255]));
    assert_eq!(server.provider().read(&term.name).await.unwrap(), None);
}

#[tokio::test]
async fn requests_that_no_record_can_keep_are_refused() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let good = || try_for(&fresh_name("refused"), LONG);
    let mut long = good();
    long.owner = "x".repeat(1025);
    let mut short = good();
    short.duration = Duration::from_millis(99);
    let mut fraction = good();
    fraction.duration = Duration::from_micros(100_500);
    let mut endless = good();
    endless.duration = Duration::MAX;
    let big = good().data(Some(vec![0; Record::MAX_DATA + 1]));
    let high = good().floor(u64::MAX);
    for request in [long, short, fraction, endless, big, high] {
        let error = provider.acquire(&request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        assert_eq!(provider.read(&request.name).await.unwrap(), None);
    }
    // A number that is too great for Lua.
    let term = good();
    granted(&provider, &term).await;
    let renew = Renew::new(term.name.clone(), term.new, 1 << 53);
    let error = provider.renew(&renew).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    let last = Renew::new(term.name.clone(), term.new, (1 << 53) - 1);
    for answer in provider
        .renew_many(&[renew, last])
        .await
        .into_iter()
        .skip(1)
    {
        answer.unwrap();
    }
    let record = provider.read(&term.name).await.unwrap().unwrap();
    assert_eq!(record.renewals, (1 << 53) - 1);
}
