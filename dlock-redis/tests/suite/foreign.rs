//! Keys that no release of ours can have written: an error that says which, and nothing changes.

use dlock_core::{
    Admin, Ask, ErrorKind, List, Name, Provider, ProviderError, Release, Renew, Revoke, Version,
};
use dlock_redis::RedisProvider;
use redis::aio::MultiplexedConnection;
use uuid::Uuid;

use crate::support::{LONG, Server, ask, contents, fresh_name, granted, key, try_for, words};

/// Every request on this name is refused as fatal and names the key; the key stays as it is.
async fn refused_and_kept(
    provider: &RedisProvider,
    raw: &mut MultiplexedConnection,
    name: &Name,
    what: &str,
) {
    let key = key(name);
    let life = words(&format!("PTTL {key}"));
    let before: (String, i64) = (contents(raw, &key).await, ask(raw, &life).await);
    let uuid = Uuid::new_v4();
    let refused = |answer: Result<String, ProviderError>| match answer {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{what}: {error:?}");
            assert!(error.to_string().contains("key"), "{what}: {error}");
        }
        Ok(answer) => panic!("{what}: {answer}"),
    };
    let show = |answer: &dyn std::fmt::Debug| format!("{answer:?}");
    let version = Version { uuid, renewals: 0 };
    let try_ = try_for(name, LONG).prev(Some(version));
    refused(provider.acquire(&try_).await.map(|a| show(&a)));
    let renew = Renew::new(name.clone(), uuid, 1);
    refused(provider.renew(&renew).await.map(|a| show(&a)));
    let release = Release::new(name.clone(), uuid, None);
    refused(provider.release(&release).await.map(|a| show(&a)));
    refused(provider.read(name).await.map(|a| show(&a)));
    let revoke = Revoke::new(name.clone(), version).unwrap();
    refused(provider.revoke(&revoke).await.map(|a| show(&a)));
    refused(
        provider
            .ask(&Ask::new(name.clone(), uuid))
            .await
            .map(|a| show(&a)),
    );
    // In a batch it spoils only its own answer.
    let fine = try_for(&fresh_name("fine"), LONG);
    granted(provider, &fine).await;
    let batch = [renew, Renew::new(fine.name.clone(), fine.new, 1)];
    let mut answers = provider.renew_many(&batch).await.into_iter();
    refused(answers.next().unwrap().map(|a| show(&a)));
    answers.next().unwrap().unwrap();
    assert_eq!(provider.purge(1000).await.unwrap(), 0);
    let after: (String, i64) = (contents(raw, &key).await, ask(raw, &life).await);
    assert_eq!(before.0, after.0, "{what}: the key changed");
    assert!(after.1 <= before.1, "{what}: the key lives longer");
}

#[tokio::test]
async fn keys_of_another_type_are_left_alone() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    for command in [
        "SET {} text",
        "RPUSH {} item",
        "SADD {} item",
        "ZADD {} 1 item",
    ] {
        let name = fresh_name("typed");
        let make = command.replace("{}", &key(&name));
        ask::<redis::Value>(&mut raw, &words(&make)).await;
        refused_and_kept(&provider, &mut raw, &name, command).await;
    }
    // They are nobody's locks, so they are not listed.
    let page = provider.list(&List::new("typed")).await.unwrap();
    assert_eq!(page.records, []);
}

#[tokio::test]
async fn a_hash_without_a_uuid_is_foreign() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    let name = fresh_name("foreign");
    let make = format!("HSET {} balance 40 owner me token 7", key(&name));
    ask::<u64>(&mut raw, &words(&make)).await;
    refused_and_kept(&provider, &mut raw, &name, "foreign").await;
    let error = provider.list(&List::new("foreign")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal);
}

#[tokio::test]
async fn spoilt_records_are_left_alone() {
    const NUMBERS: [&str; 5] = ["renewals", "since", "token", "duration", "expiry"];
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    let mut cases: Vec<(&str, Option<String>)> = Vec::new();
    for field in NUMBERS {
        let nonsense = [
            "",
            "-1",
            "1.5",
            "1e3",
            "0x10",
            "NaN",
            "inf",
            " 7",
            "7 ",
            "9007199254740992",
            "9999999999999999",
            "99999999999999999999",
            "nonsense",
        ];
        cases.extend(nonsense.map(|value| (field, Some(value.to_owned()))));
    }
    let others = [
        ("token", "0"),
        ("duration", "99"),
        ("duration", "86400001"),
        ("released", "2"),
        ("released", ""),
        ("asked", "yes"),
        ("uuid", ""),
        ("uuid", "nonsense"),
        ("uuid", "3f2504e0-4f89-41d3-9a0c-0305e82c330"),
        ("uuid", "3f2504e04f8941d39a0c0305e82c3301"),
        ("uuid", "3F2504E0-4F89-41D3-9A0C-0305E82C3301"),
        ("uuid", "3f2504e0-4f89-41d3-9a0c0-305e82c3301"),
    ];
    cases.extend(others.map(|(field, value)| (field, Some(value.to_owned()))));
    cases.push(("owner", Some("x".repeat(1025))));
    cases.push(("data", Some("x".repeat(4097))));
    let needed = ["uuid", "owner", "released", "asked"];
    cases.extend(NUMBERS.iter().chain(&needed).map(|field| (*field, None)));

    for released in [false, true] {
        for (field, value) in &cases {
            let term = try_for(&fresh_name("spoilt"), LONG);
            granted(&provider, &term).await;
            if released {
                let release = Release::new(term.name.clone(), term.new, None);
                provider.release(&release).await.unwrap();
            }
            let mut spoil = redis::cmd(if value.is_some() { "HSET" } else { "HDEL" });
            spoil.arg(key(&term.name)).arg(field).arg(value);
            ask::<u64>(&mut raw, &spoil).await;
            let what = format!("{field} = {value:?}, released: {released}");
            refused_and_kept(&provider, &mut raw, &term.name, &what).await;
            let delete = words(&format!("DEL {}", key(&term.name)));
            ask::<u64>(&mut raw, &delete).await;
            // Once a person has deleted it, the name is free.
            granted(&provider, &try_for(&term.name, LONG)).await;
        }
    }
}

/// Fields that a later release may add are not ours to judge.
#[tokio::test]
async fn fields_that_we_do_not_know_are_kept() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let term = try_for(&fresh_name("later"), LONG);
    granted(&provider, &term).await;
    let key = key(&term.name);
    server
        .ask::<u64>(&format!("HSET {key} later release"))
        .await;
    let renew = Renew::new(term.name.clone(), term.new, 1);
    provider.renew(&renew).await.unwrap();
    let release = Release::new(term.name.clone(), term.new, None);
    provider.release(&release).await.unwrap();
    granted(&provider, &try_for(&term.name, LONG)).await;
    let kept: String = server.ask(&format!("HGET {key} later")).await;
    assert_eq!(kept, "release");
}

/// A label that somebody wrote by hand is shown as well as can be.
#[tokio::test]
async fn a_label_that_is_not_utf_8_is_shown() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    let term = try_for(&fresh_name("label"), LONG);
    granted(&provider, &term).await;
    let mut spoil = redis::cmd("HSET");
    spoil.arg(key(&term.name)).arg("owner").arg(b"m\xfc\0ller");
    ask::<u64>(&mut raw, &spoil).await;
    let record = provider.read(&term.name).await.unwrap().unwrap();
    assert_eq!(record.owner, "m\u{fffd}\0ller");
}
