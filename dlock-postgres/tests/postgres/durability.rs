//! The state after a crash: every acknowledged grant and renewal, with real flushes to the disk.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{AcquireOutcome, Admin, List, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_postgres::PostgresProvider;

use tokio::task::JoinSet;

use crate::support::{Server, create, name, on, server, telling, term, until};

#[tokio::test]
async fn grants_and_renewals_survive_a_killed_server() {
    let mut server = Server::start(&["fsync=on", "synchronous_commit=on"]).await;
    let provider = on(server.pool(2), "dlock");
    create(&provider).await;
    let (held, gone) = (term("held").data(Some(vec![1, 2])), term("gone"));
    let token = provider.acquire(&held).await.unwrap();
    provider.acquire(&gone).await.unwrap();
    let release = Release::new(gone.name.clone(), gone.new, None);
    provider.release(&release).await.unwrap();
    let renew = |n| Renew::new(held.name.clone(), held.new, n);
    // A commit after the release: everything before it is on the disk as well.
    provider.renew(&renew(4)).await.unwrap();
    let before = provider.read(&held.name).await.unwrap().unwrap();

    server.crash().await;
    let mut after = None;
    until("the server is back", async || {
        after = provider.read(&held.name).await.ok().flatten();
        after.is_some()
    })
    .await;
    let after = after.unwrap();
    assert!(after.remaining <= before.remaining);
    assert_eq!(
        (
            after.version(),
            after.token,
            &after.data,
            after.since,
            after.duration
        ),
        (
            before.version(),
            before.token,
            &before.data,
            before.since,
            before.duration
        )
    );
    assert_eq!(provider.acquire(&held).await.unwrap(), token);
    let stranger = provider.acquire(&term("held")).await.unwrap();
    assert!(matches!(stranger, AcquireOutcome::Held(_)), "{stranger:?}");
    let renewed = provider.renew(&renew(5)).await.unwrap();
    assert!(matches!(renewed, RenewOutcome::Renewed { .. }));
    let next = provider.acquire(&term("gone")).await.unwrap();
    assert!(matches!(next, AcquireOutcome::Acquired(_)), "{next:?}");
}

/// Asks for the next lock unless a grant waits: the processes of a server notice one after the other that commits have
/// to wait for a standby.
pub(crate) fn ask(
    provider: &PostgresProvider,
    grants: &mut JoinSet<Result<AcquireOutcome, ProviderError>>,
    round: &mut u32,
) {
    if grants.try_join_next().is_some() || *round == 0 {
        *round += 1;
        let (provider, next) = (provider.clone(), term(&format!("lock {round}")));
        grants.spawn(async move { provider.acquire(&next).await });
    }
}

/// Every commit that waits for durability waits here for a replica that does not exist; one that does
/// not wait is answered.
#[tokio::test]
async fn answers_to_grants_and_renewals_wait_and_those_to_marks_and_releases_do_not() {
    let server = Server::start(&[]).await;
    let schema = "dlock";
    create(&on(server.pool(2), schema)).await;
    let provider = telling(server.pool(4), schema);
    let held = term("held");
    provider.acquire(&held).await.unwrap();
    let client = server.client().await;
    client
        .batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        .await
        .unwrap();
    client
        .batch_execute("SELECT pg_reload_conf()")
        .await
        .unwrap();
    let waiting = async || {
        let find = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        !client.query(find, &[]).await.unwrap().is_empty()
    };
    // The row of a call that waits is locked until its session ends.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let (mut grants, mut round) = (JoinSet::new(), 0);
    until("a grant waits", async || {
        ask(&provider, &mut grants, &mut round);
        waiting().await
    })
    .await;
    client.batch_execute(end).await.unwrap();
    let unanswered = grants.join_all().await.pop().unwrap().unwrap_err();
    assert_eq!(unanswered.kind(), ErrorKind::Unknown);
    let renewing = provider.clone();
    let renew = Renew::new(held.name.clone(), held.new, 1);
    let renewal = tokio::spawn(async move { renewing.renew(&renew).await });
    until("the renewal waits", async || waiting().await).await;
    client.batch_execute(end).await.unwrap();
    let unanswered = renewal.await.unwrap().unwrap_err();
    assert_eq!(unanswered.kind(), ErrorKind::Unknown);
    // These would wait as long as the others.
    let marks = term("held").marks(7);
    let refused = provider.acquire(&marks).await.unwrap();
    assert!(
        matches!(&refused, AcquireOutcome::Held(record) if record.wanted == 7),
        "{refused:?}"
    );
    let release = Release::new(held.name.clone(), held.new, None);
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released { wanted: true });
    let record = provider.read(&held.name).await.unwrap().unwrap();
    assert!(record.released);
    // Over the connections of both, a grant waits as before.
    let granted = provider.clone();
    let grant = tokio::spawn(async move { granted.acquire(&marks).await });
    until("the next grant waits", waiting).await;
    client.batch_execute(end).await.unwrap();
    grant.await.unwrap().unwrap_err();
}

/// The server ends statements whose clients have gone, but not the wait of a commit for its standby: other clients
/// would see a grant that a failover loses.
#[tokio::test]
async fn grant_that_was_given_up_is_seen_by_nobody_before_its_standby_has_it() {
    let server = Server::start(&[]).await;
    let (schema, other) = ("dlock", "other");
    for schema in [schema, other] {
        create(&on(server.pool(1), schema)).await;
    }
    let client = server.client().await;
    for change in [
        "ALTER SYSTEM SET synchronous_standby_names = 'nobody'",
        "SELECT pg_reload_conf()",
    ] {
        client.batch_execute(change).await.unwrap();
    }
    let provider = on(server.pool(4), schema);
    let waiting = async || {
        let find = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        client.query(find, &[]).await.unwrap().len()
    };
    let (mut grants, mut round) = (JoinSet::new(), 0);
    until("a grant waits", async || {
        ask(&provider, &mut grants, &mut round);
        waiting().await == 1
    })
    .await;
    grants.shutdown().await;

    // When the server has checked for the client of a later call, it has checked for that one.
    let locker = server.client().await;
    let lock = "BEGIN; LOCK TABLE other.lock";
    locker.batch_execute(lock).await.unwrap();
    let elsewhere = on(server.pool(4), other);
    for _ in 0..2 {
        let asking = elsewhere.clone();
        let read = tokio::spawn(async move { asking.list(&List::new("")).await });
        until("a call waits for the table", async || {
            !server.blocked(other).await.is_empty()
        })
        .await;
        read.abort();
        until("its session has ended", async || {
            server.blocked(other).await.is_empty()
        })
        .await;
    }
    locker.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(waiting().await, 1);
    let given_up = name(&format!("lock {round}"));
    assert_eq!(provider.read(&given_up).await.unwrap(), None);
}

/// A release is answered before it is on the disk. If a crash undoes it, the lease runs out; there is no other effect.
#[tokio::test]
async fn release_that_a_crash_undoes_leaves_a_lease_that_runs_out() {
    // The log is written at commits that wait, and otherwise as seldom as the server can.
    let mut server = Server::start(&["fsync=on", "wal_writer_delay=10s"]).await;
    let provider = on(server.pool(2), "dlock");
    create(&provider).await;
    let mut undone = false;
    // The log may be written at just that moment, though that is rare.
    for round in 0..4 {
        let mut a = term(&format!("lock {round}"));
        a.duration = Duration::from_secs(4);
        let AcquireOutcome::Acquired(tokens) = provider.acquire(&a).await.unwrap() else {
            panic!("nobody else wants it");
        };
        let token = tokens.last();
        let release = Release::new(a.name.clone(), a.new, None);
        let released = provider.release(&release).await.unwrap();
        assert_eq!(released, ReleaseOutcome::Released { wanted: false });

        server.crash().await;
        let mut record = None;
        until("the server is back", async || {
            record = provider.read(&a.name).await.ok().flatten();
            record.is_some()
        })
        .await;
        let record = record.unwrap();
        assert_eq!((record.uuid, record.token), (a.new, token));
        undone |= !record.released;
        let mut next = None;
        until("the next one enters", async || {
            next = match provider.acquire(&term(&format!("lock {round}"))).await {
                Ok(AcquireOutcome::Acquired(tokens)) => Some(tokens.last()),
                Ok(AcquireOutcome::Held(shown)) => {
                    assert!(shown.uuid == a.new && shown.remaining <= Some(a.duration));
                    None
                }
                other => panic!("no answer: {other:?}"),
            };
            next.is_some()
        })
        .await;
        assert!(next > Some(token), "the token grows");
        // Its holder's repeat finds out, and changes nothing.
        let late = provider.release(&release).await.unwrap();
        assert!(matches!(late, ReleaseOutcome::NotHeld(Some(_))), "{late:?}");
        if undone {
            return;
        }
    }
    panic!("every release waited for the disk");
}

/// The session's setting inside of a transaction after calls, and after the transaction.
async fn synchronous_commit(default: &str, call: &str) -> (String, String) {
    let table = crate::support::Table::create().await;
    let mut config = server().await.config();
    config.options(format!("-c synchronous_commit={default}"));
    let mut client = crate::support::connect(&config).await;
    let show = "SHOW synchronous_commit";
    let transaction = client.transaction().await.unwrap();
    let call = call.replace("{schema}", table.schema());
    transaction.batch_execute(&call).await.unwrap();
    let within = transaction.query_one(show, &[]).await.unwrap().get(0);
    transaction.commit().await.unwrap();
    (within, client.query_one(show, &[]).await.unwrap().get(0))
}

const UUID: &str = "'00000000-0000-4000-8000-000000000001'";

#[tokio::test]
async fn only_marks_and_releases_do_not_wait_for_the_disk() {
    let acquire = format!(
        "SELECT FROM \"{{schema}}\".lock_acquire_1('', 'a', 'o', NULL, NULL, {UUID}, 600000, NULL, 0, 1, 0)"
    );
    // Refused by the grant before it, in the same transaction.
    let refused = acquire.replace("0001'", "0002'");
    let marked = format!("{acquire}; {}", refused.replace("1, 0)", "1, 7)"));
    let refused = format!("{acquire}; {refused}");
    let renew = format!("SELECT FROM \"{{schema}}\".lock_renew_1('', 'a', {UUID}, 1)");
    let release = format!("SELECT FROM \"{{schema}}\".lock_release_1('', 'a', {UUID}, NULL)");
    for (default, call, within) in [
        ("on", &acquire, "on"),
        ("remote_apply", &acquire, "remote_apply"),
        ("local", &renew, "local"),
        // A grant or a renewal that a crash can undo does not count, whatever the database's default.
        ("off", &acquire, "on"),
        ("off", &renew, "on"),
        ("on", &refused, "on"),
        ("on", &marked, "off"),
        ("off", &marked, "off"),
        ("on", &release, "off"),
        ("off", &release, "off"),
    ] {
        let found = synchronous_commit(default, call).await;
        assert_eq!(found, (within.to_owned(), default.to_owned()), "{call}");
    }
}
