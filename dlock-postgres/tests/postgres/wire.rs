//! Counted on the wire: one round trip per call, including the first; and the traces left in the session.

use std::pin::Pin;

use dlock_core::{
    Provider,
    provider::{Admin, Ask, List, Release, Renew, Revoke, Version},
};
use dlock_postgres::PostgresProvider;
use dlock_testkit::proxy::Proxy;
use uuid::Uuid;

use crate::support::{PATIENCE, Table, name, pool, server, term};

/// A provider over one connection that was used before, and the proxy that counts.
async fn counted() -> (PostgresProvider, Proxy) {
    let proxy = server().await.proxy().await;
    let config = server().await.through(&proxy);
    let provider = Table::create().await.provider(pool(config, 1));
    provider.read(&name("warm up")).await.unwrap();
    (provider, proxy)
}

#[tokio::test]
async fn every_call_is_one_round_trip() {
    let (provider, proxy) = counted().await;
    let (ours, theirs) = (term("lock"), term("lock"));
    let marking = term("lock").marks(7);
    let other = Renew::new(name("lock"), theirs.new, 1);
    let mine = |n| Renew::new(name("lock"), ours.new, n);
    let release = Release::new(name("lock"), ours.new, None);
    let many: Vec<Renew> = (0..50)
        .map(|n| Renew::new(name(&format!("lock {n}")), Uuid::new_v4(), 1))
        .collect();
    let seen = Version {
        uuid: ours.new,
        renewals: 2,
    };
    let revoke = Revoke::new(name("lock"), seen).unwrap();
    let revoked = Version {
        uuid: revoke.new,
        renewals: 0,
    };

    type Call<'a> = Pin<Box<dyn Future<Output = String> + 'a>>;
    macro_rules! calls {
        ($($what:literal: $call:expr => $answer:literal,)*) => {
            vec![$(($what, Box::pin(async { format!("{:?}", $call.await) }) as Call<'_>, $answer)),*]
        };
    }
    let calls = calls![
        "read of nothing": provider.read(&ours.name) => "Ok(None)",
        "release of nothing": provider.release(&release) => "Ok(NotHeld(None))",
        "renewal of nothing": provider.renew(&mine(1)) => "Ok(Lost(None))",
        "the first acquire of a name": provider.acquire(&ours) => "Ok(Acquired",
        "its repeat": provider.acquire(&ours) => "Ok(Acquired",
        "a refused acquire": provider.acquire(&theirs) => "Ok(Held",
        "a refused acquire that marks": provider.acquire(&marking) => "Ok(Held",
        "a renewal": provider.renew(&mine(2)) => "Ok(Renewed",
        "a late renewal": provider.renew(&mine(1)) => "Ok(Renewed",
        "a stranger's renewal": provider.renew(&other) => "Ok(Lost(Some",
        "a read": provider.read(&ours.name) => "Ok(Some",
        "a batch": async { provider.renew_many(&many).await.len() } => "50",
        "a list": provider.list(&List::new("")) => "Ok(Page",
        "a request": provider.ask(&Ask::new(name("lock"), ours.new)) => "Ok(Asked",
        "a revocation": provider.revoke(&revoke) => "Ok(Revoked",
        "a purge": provider.purge(10) => "Ok(0)",
        "a release too late": provider.release(&release) => "Ok(NotHeld(Some",
        "a takeover": provider.acquire(&theirs.clone().prev(Some(revoked))) => "Ok(Acquired",
        "a release": provider.release(&Release::new(name("lock"), theirs.new, None)) => "Ok(Released",
        "its repeat": provider.release(&Release::new(name("lock"), theirs.new, None)) => "Ok(Released",
        "an acquire of a spent uuid": provider.acquire(&theirs) => "Ok(Spent",
        "an acquire of a released lock": provider.acquire(&term("lock")) => "Ok(Acquired",
    ];
    for (what, call, expected) in calls {
        let before = proxy.round_trips();
        let answer = call.await;
        assert!(answer.starts_with(expected), "{what}: {answer}");
        assert_eq!(proxy.round_trips() - before, 1, "round trips of {what}");
    }
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn hints_and_prepared_statements_cost_no_round_trip_in_a_session_of_their_own() {
    for (notify, prepared) in [
        (true, Some(false)),
        (false, Some(true)),
        (true, Some(true)),
        (true, None),
    ] {
        let proxy = server().await.proxy().await;
        let provider = PostgresProvider::builder()
            .pool(pool(server().await.through(&proxy), 1))
            .schema(Table::create().await.schema())
            .notify(notify)
            .prepared_opt(prepared)
            .call_timeout(PATIENCE)
            .build()
            .unwrap();
        provider.read(&name("warm up")).await.unwrap();
        for round in 0..8 {
            let a = term(&format!("lock {round}"));
            let renew = Renew::new(a.name.clone(), a.new, 1);
            let release = Release::new(a.name.clone(), a.new, None);
            let before = proxy.round_trips();
            provider.acquire(&a).await.unwrap();
            let acquired = proxy.round_trips();
            provider.renew(&renew).await.unwrap();
            let renewed = proxy.round_trips();
            provider.release(&release).await.unwrap();
            let released = proxy.round_trips();
            let trips = (acquired - before, renewed - acquired, released - renewed);
            // If `prepared` is true there may be a pooler in between: each statement is prepared before its first call.
            let each = if round == 0 && prepared == Some(true) {
                2
            } else {
                1
            };
            assert_eq!(
                trips,
                (each, each, each),
                "round {round}, notify {notify}, prepared {prepared:?}"
            );
        }
        assert_eq!(proxy.connections(), 1);
    }
}

#[tokio::test]
async fn first_call_over_a_connection_asks_for_its_session_in_the_same_flight() {
    for prepared in [Some(false), Some(true), None] {
        let proxy = server().await.proxy().await;
        let connections = pool(server().await.through(&proxy), 1);
        let provider = PostgresProvider::builder()
            .pool(connections.clone())
            .schema(Table::create().await.schema())
            .prepared_opt(prepared)
            .call_timeout(PATIENCE)
            .build()
            .unwrap();
        drop(connections.get().await.unwrap());
        let opened = proxy.round_trips();
        provider.read(&name("lock")).await.unwrap();
        assert_eq!(proxy.round_trips() - opened, 1, "{prepared:?}");
    }
}

#[tokio::test]
async fn nothing_but_prepared_statements_and_the_look_for_its_client_stays_in_the_session() {
    let table = Table::create().await;
    let connections = server().await.pool(1);
    let provider = table.provider(connections.clone());
    let a = term("lock");
    provider.acquire(&a).await.unwrap();
    provider.acquire(&term("lock").marks(7)).await.unwrap();
    provider
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap();
    provider
        .renew_many(&[Renew::new(a.name.clone(), a.new, 2)])
        .await;
    provider
        .release(&Release::new(a.name.clone(), a.new, None))
        .await
        .unwrap();

    let session = connections.get().await.unwrap();
    let left = session
        .query_typed_one(
            "SELECT (SELECT count(*) FROM pg_cursors WHERE name <> ''),
                (SELECT count(*) FROM pg_listening_channels()),
                (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),
                (SELECT count(*) FROM pg_settings
                    WHERE source = 'session' AND name <> 'client_connection_check_interval'),
                current_setting('synchronous_commit') || ' ' || current_setting('lock_timeout')",
            &[],
        )
        .await
        .unwrap();
    for column in 0..4 {
        assert_eq!(left.get::<_, i64>(column), 0, "column {column}");
    }
    assert_eq!(left.get::<_, &str>(4), "on 0");
    assert_eq!(connections.status().size, 1, "it was another session");
}
