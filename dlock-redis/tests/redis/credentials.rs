//! Passwords and rights: wrong ones are fatal, and no output contains them.

use std::error::Error as _;

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Admin, List, Release, Renew},
};
use dlock_redis::RedisProvider;
use redis::Client;

use crate::support::{
    LONG, Server, ask, built, client, connect, fresh_name, granted, provider, try_for, words,
};

const PASSWORD: &str = "s3cretOfTheServer";
const WRONG: &str = "s3cretOfNobody";

async fn guarded() -> Server {
    Server::start(&["--requirepass", PASSWORD]).await
}

fn with_password(server: &Server, user: &str, password: &str) -> Client {
    Client::open(format!("redis://{user}:{password}@{}", server.address())).unwrap()
}

fn fatal(error: &ProviderError) {
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    silent(&format!("{error} {error:?}"));
    let mut source = error.source();
    while let Some(error) = source {
        silent(&format!("{error} {error:?}"));
        source = error.source();
    }
}

fn silent(text: &str) {
    assert!(!text.contains("s3cret"), "a password was printed: {text}");
}

#[tokio::test]
async fn wrong_credentials_are_fatal() {
    let server = guarded().await;
    let term = try_for(&fresh_name("password"), LONG);
    for client in [
        with_password(&server, "", WRONG),
        with_password(&server, "nobody", PASSWORD),
        client(server.address()),
    ] {
        let provider = provider(client);
        silent(&format!("{provider:?}"));
        fatal(&provider.acquire(&term).await.unwrap_err());
        let renew = Renew::new(term.name.clone(), term.new, 1);
        // The server may have closed the connection after the first one.
        let error = match provider.renew(&renew).await.unwrap_err() {
            error if error.kind() == ErrorKind::Unknown => {
                provider.renew(&renew).await.unwrap_err()
            }
            error => error,
        };
        fatal(&error);
    }
    granted(&provider(with_password(&server, "", PASSWORD)), &term).await;
}

#[tokio::test]
async fn wrong_credentials_are_fatal_also_where_replicas_acknowledge() {
    let server = guarded().await;
    let provider = RedisProvider::builder()
        .client(with_password(&server, "", WRONG))
        .acknowledged_by(1)
        .build();
    let term = try_for(&fresh_name("password"), LONG);
    fatal(&built(provider).acquire(&term).await.unwrap_err());
}

/// The password is changed while a holder is connected: its connection survives, the next one
/// fails.
#[tokio::test]
async fn credentials_that_end_are_fatal_from_the_next_connection_on() {
    let server = guarded().await;
    let client = with_password(&server, "", PASSWORD);
    let mut raw = connect(&client).await;
    let provider = provider(client);
    let term = try_for(&fresh_name("ended"), LONG);
    granted(&provider, &term).await;
    ask::<()>(&mut raw, &words(&format!("CONFIG SET requirepass {WRONG}"))).await;
    ask::<u64>(&mut raw, &words("CLIENT KILL TYPE normal SKIPME yes")).await;
    let renew = Renew::new(term.name.clone(), term.new, 1);
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(provider.renew(&renew).await.unwrap_err());
    }
    fatal(&answers[2]);
}

/// The rights that a lock needs, and no more: no INFO, no CONFIG, no other keys.
#[tokio::test]
async fn a_user_with_few_rights_is_enough() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    let rights = "ACL SETUSER few on >few ~dlock:{*} +evalsha +eval +time +get +set";
    ask::<()>(&mut raw, &words(rights)).await;
    let provider = provider(with_password(&server, "few", "few"));
    let term = try_for(&fresh_name("few"), LONG).data(Some(vec![1]));
    granted(&provider, &term).await;
    let renew = Renew::new(term.name.clone(), term.new, 1);
    provider.renew(&renew).await.unwrap();
    let release = Release::new(term.name.clone(), term.new, None);
    provider.release(&release).await.unwrap();
    granted(&provider, &try_for(&term.name, LONG)).await;
    // Listing and purging walk over all keys.
    fatal(&provider.list(&List::new("")).await.unwrap_err());
    ask::<()>(
        &mut raw,
        &words("ACL SETUSER few +scan +del +cluster|slots"),
    )
    .await;
    assert_eq!(
        provider.list(&List::new("")).await.unwrap().records.len(),
        1
    );
    assert_eq!(provider.purge(1).await.unwrap(), 0);
    // Other keys are out of reach, and that is fatal.
    let other = provider.with_prefix("other").unwrap();
    fatal(&other.acquire(&term).await.unwrap_err());
}

#[tokio::test]
async fn a_user_who_may_not_wait_is_told_so() {
    let server = Server::start(&[]).await;
    let rights = "ACL SETUSER hasty on >hasty ~* +@all -wait";
    server.ask::<()>(rights).await;
    let provider = RedisProvider::builder()
        .client(with_password(&server, "hasty", "hasty"))
        .acknowledged_by(1);
    let provider = built(provider.build());
    let term = try_for(&fresh_name("hasty"), LONG);
    let error = provider.acquire(&term).await.unwrap_err();
    fatal(&error);
    assert!(error.to_string().contains("wait"), "{error}");
}

#[tokio::test]
async fn a_user_without_the_rights_is_told_so() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    for rights in ["", " +eval +evalsha", " +eval +evalsha +time +get"] {
        let user = format!("ACL SETUSER less reset on >less ~*{rights}");
        ask::<()>(&mut raw, &words(&user)).await;
        let provider = provider(with_password(&server, "less", "less"));
        let term = try_for(&fresh_name("less"), LONG);
        let error = provider.acquire(&term).await.unwrap_err();
        fatal(&error);
        assert!(error.to_string().contains("may not"), "{error}");
        let exists = format!("EXISTS dlock:{{{}}}", term.name);
        assert_eq!(ask::<u64>(&mut raw, &words(&exists)).await, 0, "{rights}");
    }
}
