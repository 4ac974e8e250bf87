//! A role that may create objects in a schema of the path, as every role may in `public` up to
//! PostgreSQL 14, and puts objects there whose names our statements could resolve to: none of them
//! is ever called.

use std::time::Duration;

use dlock_core::{
    FencingToken, Provider,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, List, Release, Renew, RenewOutcome, Revoke, Version,
    },
};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::tokio_postgres::{Client, Config, NoTls},
    fence::{Fence, FenceError},
};

use crate::support::{PATIENCE, connect, fresh, pool, server, term};

/// A new database, and the settings for it as the superuser. Other databases share none of its
/// schemas.
async fn database() -> Config {
    let name = fresh();
    let client = server().await.client().await;
    let create = format!("CREATE DATABASE \"{name}\"");
    client.batch_execute(&create).await.unwrap();
    let mut config = server().await.config();
    config.dbname(&name);
    config
}

fn provider(config: &Config) -> PostgresProvider {
    PostgresProvider::builder()
        .pool(pool(config.clone(), 4))
        .schema("locks")
        .listen(config.clone(), NoTls)
        .call_timeout(PATIENCE)
        .build()
        .unwrap()
}

#[tokio::test]
async fn overloaded_operator_gives_nobody_a_second_lease() {
    let config = database().await;
    let owner = connect(&config).await;
    let mallory = fresh();
    owner
        .batch_execute(&format!(
            "CREATE ROLE \"{mallory}\" LOGIN; GRANT CREATE ON SCHEMA public TO PUBLIC"
        ))
        .await
        .unwrap();
    let locks = provider(&config);
    locks.create_schema().await.unwrap();
    let mut theirs = config.clone();
    theirs.user(&mallory);
    // It fits a lease in milliseconds times a millisecond better than the server's own operator.
    connect(&theirs)
        .await
        .batch_execute(
            "CREATE TABLE public.noted (who text); GRANT INSERT ON public.noted TO PUBLIC;
             CREATE FUNCTION public.times(bigint, interval) RETURNS interval LANGUAGE plpgsql AS $$
                 BEGIN
                     INSERT INTO public.noted VALUES (current_user);
                     RETURN interval '-1 hour';
                 END
             $$;
             CREATE OPERATOR public.* (LEFTARG = bigint, RIGHTARG = interval, FUNCTION = public.times)",
        )
        .await
        .unwrap();

    let first = term("lock");
    locks.acquire(&first).await.unwrap();
    let second = locks.acquire(&term("lock")).await.unwrap();
    let run: i64 = one(&owner, "SELECT count(*) FROM public.noted").await;
    assert!(
        matches!(&second, AcquireOutcome::Held(record) if record.uuid == first.new),
        "two holders: {second:?}; their code ran {run} times as the user of the locks"
    );
    let renew = Renew::new(first.name.clone(), first.new, 1);
    for renewed in [
        locks.renew(&renew).await,
        locks.renew_many(&[renew]).await.remove(0),
    ] {
        assert!(matches!(renewed.unwrap(), RenewOutcome::Renewed { .. }));
    }
    let run: i64 = one(&owner, "SELECT count(*) FROM public.noted").await;
    assert_eq!(run, 0, "their code ran as the user of the locks");
}

async fn one(client: &Client, query: &str) -> i64 {
    client.query_one(query, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn nothing_is_looked_up_where_others_may_create() {
    let config = database().await;
    let owner = connect(&config).await;
    // The names of those functions of the server that our text may use.
    let fence = Fence::new("locks", "fence").unwrap();
    let named = format!(
        "$names${} {} concat_ws to_regclass to_regproc pg_listening_channels count now
             pg_advisory_xact_lock$names$",
        provider(&config).schema_sql(),
        fence.schema_sql()
    );
    let twins = include_str!("hostile.sql").replace("{names}", &named);
    owner.batch_execute(&twins).await.unwrap();
    let trapped =
        owner.batch_execute("SET search_path = public, pg_catalog; SELECT 1 * interval '1 s'");
    assert!(trapped.await.is_err(), "the traps are not set");

    // Even in a session whose path has them before the server's own.
    let mut config = config;
    config.options("-c search_path=public,pg_catalog");
    let locks = provider(&config);
    locks.create_schema().await.unwrap();
    locks.create_schema().await.unwrap();
    locks.verify_schema().await.unwrap();
    let mut wakeups = locks.watch().await.unwrap().expect("it listens");
    everything(&locks).await;
    wakeups.next().await.expect("a release was hinted");

    let mut client = connect(&config).await;
    fence.create_schema(&client).await.unwrap();
    for (token, passes) in [(5, true), (5, true), (4, false)] {
        let token = FencingToken::new(token).unwrap();
        let transaction = client.transaction().await.unwrap();
        let checked = fence.check(&transaction, "resource", token).await;
        match checked {
            Ok(()) => assert!(passes),
            Err(FenceError::Stale(_)) => assert!(!passes),
            Err(other) => panic!("{other:?}"),
        }
        transaction.commit().await.unwrap();
    }
}

/// Each call, with answers of each kind.
async fn everything(locks: &PostgresProvider) {
    let (a, b) = (term("a"), term("b"));
    for _ in 0..2 {
        locks.acquire(&a).await.unwrap();
    }
    let version = |of: &Acquire| Version {
        uuid: of.new,
        renewals: 0,
    };
    locks.acquire(&term("a").marks(7)).await.unwrap();
    locks
        .acquire(&term("a").prev(Some(version(&b))))
        .await
        .unwrap();
    locks.acquire(&b.clone().data(Some(vec![1]))).await.unwrap();
    let renew = |of: &Acquire, n| Renew::new(of.name.clone(), of.new, n);
    locks.renew(&renew(&a, 1)).await.unwrap();
    locks.renew(&renew(&a, 1)).await.unwrap();
    locks.renew(&renew(&term("nobody's"), 1)).await.unwrap();
    let many = [
        renew(&a, 2),
        renew(&b, 1),
        renew(&b, 1),
        renew(&term("a"), 1),
        renew(&term("nobody's"), 1),
    ];
    for renewed in locks.renew_many(&many).await {
        renewed.unwrap();
    }
    locks.read(&a.name).await.unwrap();
    assert_eq!(locks.list(&List::new("")).await.unwrap().records.len(), 2);
    locks.ask(&Ask::new(a.name.clone(), a.new)).await.unwrap();
    let seen = Version {
        renewals: 1,
        ..version(&b)
    };
    let revoke = Revoke::new(b.name.clone(), seen).unwrap();
    locks.revoke(&revoke).await.unwrap();
    locks.revoke(&revoke).await.unwrap();
    for _ in 0..2 {
        let release = Release::new(a.name.clone(), a.new, None);
        locks.release(&release).await.unwrap();
    }
    let mut brief = term("a");
    brief.duration = Duration::from_millis(100);
    locks.acquire(&brief).await.unwrap();
    assert_eq!(locks.purge(10).await.unwrap(), 0);
}
