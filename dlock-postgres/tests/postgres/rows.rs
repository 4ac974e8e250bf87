//! Rows that another program wrote: an error that says what is wrong, never a panic, never
//! overwritten.

use dlock_core::{
    ErrorKind, Name, Provider, ProviderError,
    provider::{Acquire, Admin, Ask, List, Release, Renew, Revoke, Version},
};
use dlock_postgres::{PostgresProvider, deadpool_postgres::tokio_postgres::Client};
use uuid::Uuid;

use crate::support::{create, fresh, name, on, server, term};

/// The table as text, with the transactions that wrote its rows.
async fn rows(client: &Client, schema: &str) -> String {
    let rows = client
        .query_one(
            &format!(
                "SELECT string_agg(l::text || l.xmin, ' ' ORDER BY name) FROM \"{schema}\".lock AS l"
            ),
            &[],
        )
        .await
        .unwrap();
    rows.get(0)
}

#[tokio::test]
async fn row_that_is_no_record_is_shown_and_never_written() {
    let client = server().await.client().await;
    for (spoilt, words) in [
        ("uuid = NULL", "its uuid is null"),
        ("renewals = -1", "its renewals is -1"),
        (
            "renewals = 9007199254740992",
            "its renewals is 9007199254740992",
        ),
        ("owner = NULL", "its owner is null"),
        ("owner = repeat('x', 1025)", "its owner has 1025 bytes"),
        ("since = 'infinity'", "its since is infinite"),
        ("since = '-infinity'", "its since is infinite"),
        (
            "since = '1969-12-31 00:00:00+00'",
            "its since is not from 1970",
        ),
        ("token = 0", "its token is 0"),
        (
            "token = 9223372036854775807",
            "its token is 9223372036854775807",
        ),
        ("token = NULL", "its token is null"),
        ("duration = 0", "its duration is 0"),
        ("duration = 86400001", "its duration is 86400001"),
        ("expiry = 'infinity'", "its expiry is infinite"),
        ("expiry = '-infinity'", "its expiry is infinite"),
        ("expiry = NULL", "its expiry is null"),
        ("released = NULL", "its released is null"),
        ("asked = NULL", "its asked is null"),
        ("wanted = NULL", "its wanted is null"),
        ("wanted = -1", "its wanted is -1"),
        ("wanted = 4294967296", "its wanted is 4294967296"),
        (
            "data = decode(repeat('00', 4097), 'hex')",
            "its data has 4097 bytes",
        ),
    ] {
        let schema = fresh();
        let provider = on(server().await.pool(1), &schema);
        create(&provider).await;
        // One that any client may take or purge, and one whose holder may do anything.
        let (free, held) = (term("free"), term("held"));
        provider.acquire(&free).await.unwrap();
        provider.acquire(&held).await.unwrap();
        let release = |of: &Acquire| Release::new(of.name.clone(), of.new, None);
        provider.release(&release(&free)).await.unwrap();
        unconstrain(&client, &schema).await;
        let spoil = format!(
            "UPDATE \"{schema}\".lock SET expiry = now() - interval '30 days' WHERE released;
             UPDATE \"{schema}\".lock SET {spoilt}"
        );
        client.batch_execute(&spoil).await.unwrap();
        let before = rows(&client, &schema).await;

        let seen = Version {
            uuid: held.new,
            renewals: 0,
        };
        let renew = Renew::new(held.name.clone(), held.new, 1);
        let revoke = Revoke::new(held.name.clone(), seen).unwrap();
        let ask = Ask::new(held.name.clone(), held.new);
        let claim = term("held").prev(Some(seen));
        let errors: Vec<ProviderError> = vec![
            provider.acquire(&term("free")).await.unwrap_err(),
            provider.acquire(&free).await.unwrap_err(),
            provider.release(&release(&free)).await.unwrap_err(),
            provider.read(&free.name).await.unwrap_err(),
            unreadable(&provider, &free.name).await,
            provider.acquire(&claim).await.unwrap_err(),
            provider.acquire(&held).await.unwrap_err(),
            provider.renew(&renew).await.unwrap_err(),
            provider.renew_many(&[renew]).await.remove(0).unwrap_err(),
            provider.revoke(&revoke).await.unwrap_err(),
            provider.ask(&ask).await.unwrap_err(),
            provider.release(&release(&held)).await.unwrap_err(),
        ];
        for (call, error) in errors.into_iter().enumerate() {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{spoilt}: {error:?}");
            let (text, lock) = (
                error.to_string(),
                if call < 5 { "\"free\"" } else { "\"held\"" },
            );
            assert!(
                text.contains(lock) && text.contains(words),
                "{spoilt}: {text}"
            );
        }
        assert_eq!(provider.purge(10).await.unwrap(), 0, "{spoilt}");
        assert_eq!(
            rows(&client, &schema).await,
            before,
            "{spoilt} was written to"
        );
        // Other locks are not affected.
        provider.acquire(&term("other")).await.unwrap();
    }
}

/// Removes the table's constraints, except its key.
async fn unconstrain(client: &Client, schema: &str) {
    client
        .batch_execute(&format!(
            "DO $$
             DECLARE it record;
             BEGIN
                 FOR it IN SELECT conname FROM pg_constraint
                     WHERE conrelid = '\"{schema}\".lock'::regclass AND contype = 'c' LOOP
                     EXECUTE format('ALTER TABLE \"{schema}\".lock DROP CONSTRAINT %I', it.conname);
                 END LOOP;
                 FOR it IN SELECT attname FROM pg_attribute
                     WHERE attrelid = '\"{schema}\".lock'::regclass AND attnotnull
                         AND attname NOT IN ('prefix', 'name') AND attnum > 0 LOOP
                     EXECUTE format('ALTER TABLE \"{schema}\".lock ALTER %I DROP NOT NULL', it.attname);
                 END LOOP;
             END $$"
        ))
        .await
        .unwrap();
}

#[tokio::test]
async fn columns_of_somebody_else_do_not_matter() {
    let client = server().await.client().await;
    let schema = fresh();
    let provider = on(server().await.pool(2), &schema);
    create(&provider).await;
    let a = term("lock");
    provider.acquire(&a).await.unwrap();
    client
        .batch_execute(&format!(
            "ALTER TABLE \"{schema}\".lock ADD note text DEFAULT 'theirs', ADD n integer"
        ))
        .await
        .unwrap();
    provider.verify_schema().await.unwrap();
    let renew = Renew::new(a.name.clone(), a.new, 1);
    provider.renew(&renew).await.unwrap();
    assert_eq!(provider.read(&a.name).await.unwrap().unwrap().renewals, 1);
    provider.acquire(&term("another")).await.unwrap();
}

#[tokio::test]
async fn requests_that_fit_no_record_are_fatal_and_write_nothing() {
    let provider = server().await.provider(2).await;
    let mut forever = term("lock");
    forever.duration = std::time::Duration::from_secs(86_401);
    let mut brief = term("lock");
    brief.duration = std::time::Duration::from_millis(99);
    for request in [
        forever,
        brief,
        term("lock").data(Some(vec![0; 4097])),
        term("lock").owner("x".repeat(1025)),
        term("lock").owner("a\0b"),
    ] {
        let error = provider.acquire(&request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    }
    assert_eq!(provider.read(&name("lock")).await.unwrap(), None);

    let a = term("lock");
    provider.acquire(&a).await.unwrap();
    let beyond = Renew::new(a.name.clone(), a.new, 1 << 53);
    assert_eq!(
        provider.renew(&beyond).await.unwrap_err().kind(),
        ErrorKind::Fatal
    );
    let stranger = Renew::new(a.name.clone(), Uuid::new_v4(), u64::MAX);
    provider.renew(&stranger).await.unwrap();
    assert_eq!(provider.read(&a.name).await.unwrap().unwrap().renewals, 0);
}

/// The reason why a list does not show this record. The page before it and the one after it are as they
/// should be.
async fn unreadable(provider: &PostgresProvider, name: &Name) -> ProviderError {
    let mut found = None;
    let mut request = List::new("").limit(1);
    loop {
        let page = provider.list(&request).await.unwrap();
        let why = page.unreadable.into_iter().find(|(other, _)| other == name);
        found = found.or(why);
        match page.next {
            Some(next) => request = request.after(Some(next)),
            None => return ProviderError::fatal(found.unwrap().1),
        }
    }
}
