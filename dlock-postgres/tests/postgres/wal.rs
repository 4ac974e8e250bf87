//! The cost of calls to the server: a call that writes nothing gets no transaction id and leaves no
//! trace in the write-ahead log. On a separate server, so that no other client writes.

use dlock_core::{
    Provider,
    provider::{Release, Renew},
};
use dlock_postgres::deadpool_postgres::tokio_postgres::Client;

use crate::support::{Server, term};

/// A server that writes nothing of its own accord.
async fn quiet() -> Server {
    Server::start(&[
        "wal_level=minimal",
        "max_wal_senders=0",
        "autovacuum=off",
        "checkpoint_timeout=1d",
    ])
    .await
}

/// How far the log and the transaction ids are.
async fn written(client: &Client) -> (String, String) {
    let row = client
        .query_typed_one(
            "SELECT pg_current_wal_insert_lsn()::text, txid_snapshot_xmax(txid_current_snapshot())::text",
            &[],
        )
        .await
        .unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn calls_that_change_nothing_write_nothing() {
    let server = quiet().await;
    let (provider, client) = (server.provider(4).await, server.client().await);
    let a = term("lock");
    let token = provider.acquire(&a).await.unwrap();
    provider
        .renew(&Renew::new(a.name.clone(), a.new, 5))
        .await
        .unwrap();
    let gone = term("gone");
    provider.acquire(&gone).await.unwrap();
    let release = Release::new(gone.name.clone(), gone.new, None);
    provider.release(&release).await.unwrap();

    let mut before = None;
    // The first round cleans up after the writes above, as any reader does.
    for round in 0..50 {
        let stranger = term("lock");
        provider.acquire(&stranger).await.unwrap(); // A7
        // In the first round it leaves a mark.
        provider.acquire(&stranger.clone().marks(7)).await.unwrap();
        assert_eq!(provider.acquire(&a).await.unwrap(), token); // A2
        provider.acquire(&gone).await.unwrap(); // A3
        let late = Renew::new(a.name.clone(), a.new, 3);
        provider.renew(&late).await.unwrap(); // R2
        let lost = Renew::new(a.name.clone(), stranger.new, 9);
        provider.renew(&lost).await.unwrap(); // R3
        provider.renew_many(&[late, lost]).await;
        provider.release(&release).await.unwrap(); // L2
        let not_ours = Release::new(a.name.clone(), stranger.new, None);
        provider.release(&not_ours).await.unwrap(); // L3
        provider.read(&a.name).await.unwrap();
        if round == 0 {
            before = Some(written(&client).await);
        }
    }
    assert_eq!(Some(written(&client).await), before, "log, transaction id");

    // Proof that the measurement works.
    provider
        .renew(&Renew::new(a.name.clone(), a.new, 6))
        .await
        .unwrap();
    let (log, transaction) = written(&client).await;
    let (log_before, transaction_before) = before.unwrap();
    assert_ne!(log, log_before);
    assert_ne!(transaction, transaction_before);
}

#[tokio::test]
async fn renewals_stay_on_the_page_of_the_row_they_replace() {
    let server = quiet().await;
    let (provider, client) = (server.provider(2).await, server.client().await);
    let a = term("lock").data(Some(vec![7; 100]));
    provider.acquire(&a).await.unwrap();
    for n in 1..=500 {
        provider
            .renew(&Renew::new(a.name.clone(), a.new, n))
            .await
            .unwrap();
    }
    // Before PostgreSQL 15 a session reports its last counts only at its end.
    drop(provider);
    let mut shares = None;
    crate::support::until("the statistics arrive", async || {
        let row = client
            .query_typed_one(
                "SELECT sum(n_tup_upd)::bigint, sum(n_tup_hot_upd)::bigint, max(pg_relation_size(relid))
                 FROM pg_stat_user_tables WHERE relname = 'lock'",
                &[],
            )
            .await
            .unwrap();
        let all: i64 = row.get(0);
        shares = Some((all, row.get::<_, i64>(1), row.get::<_, i64>(2)));
        all >= 500
    })
    .await;
    let (all, hot, bytes) = shares.unwrap();
    assert!(hot * 100 >= all * 99, "{hot} of {all} updates stayed");
    assert!(
        bytes <= 4 * 8192,
        "500 renewals grew the table to {bytes} bytes"
    );
}
