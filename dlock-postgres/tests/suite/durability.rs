//! What a crash leaves: every acknowledged grant and renewal, with real flushes to the disk.

use dlock_core::{AcquireOutcome, Provider, Release, Renew, RenewOutcome};

use crate::support::{Server, create, on, server, term, until};

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
    // A commit after the release: whatever came before it is on the disk as well.
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

/// What the session's setting is inside of a transaction after one call, and after the transaction.
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
async fn only_releases_do_not_wait_for_the_disk() {
    let acquire = format!(
        "SELECT FROM \"{{schema}}\".lock_acquire_1('', 'a', 'o', NULL, NULL, {UUID}, 1000, NULL, 0)"
    );
    let renew = format!("SELECT FROM \"{{schema}}\".lock_renew_1('', 'a', {UUID}, 1)");
    let release = format!("SELECT FROM \"{{schema}}\".lock_release_2('', 'a', {UUID}, NULL)");
    for (default, call, within) in [
        ("on", &acquire, "on"),
        ("remote_apply", &acquire, "remote_apply"),
        ("local", &renew, "local"),
        // A grant or a renewal that a crash can undo is none, whatever the database's default.
        ("off", &acquire, "on"),
        ("off", &renew, "on"),
        ("on", &release, "off"),
        ("off", &release, "off"),
    ] {
        let found = synchronous_commit(default, call).await;
        assert_eq!(found, (within.to_owned(), default.to_owned()), "{call}");
    }
}
