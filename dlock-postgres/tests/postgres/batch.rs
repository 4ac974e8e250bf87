//! One statement for many renewals: an error in one row does not affect the others.

use dlock_core::{
    ErrorKind, Name, Provider,
    provider::{Renew, RenewOutcome},
};
use dlock_postgres::deadpool_postgres::Pool;
use uuid::Uuid;

use crate::support::{Table, create, fresh, name, on, server, term, until};

const RENEWED: RenewOutcome = RenewOutcome::Renewed { asked: false };

#[tokio::test]
async fn row_that_a_mark_keeps_locked_delays_no_other_renewal() {
    let schema = fresh();
    let provider = on(server().await.pool(4), &schema);
    create(&provider).await;
    let terms: Vec<_> = (0..8).map(|n| term(&format!("lock {n}"))).collect();
    for term in &terms {
        provider.acquire(term).await.unwrap();
    }
    let locker = server().await.client().await;
    locker.batch_execute("BEGIN").await.unwrap();
    let mark = format!(
        "SELECT FROM \"{schema}\".lock_acquire_1('', 'lock 3', '', NULL, NULL, '{}', 600000, NULL, 0, 1, 7)",
        Uuid::new_v4()
    );
    locker.batch_execute(&mark).await.unwrap();
    let renewals: Vec<Renew> = terms
        .iter()
        .map(|term| Renew::new(term.name.clone(), term.new, 1))
        .collect();
    // A batch that waited for the row would wait until its call's limit, and have no answer.
    server().await.wait_for_rows(&schema).await;
    let answers = provider.renew_many(&renewals).await;
    for (n, answer) in answers.iter().enumerate() {
        match answer {
            Err(error) if n == 3 => assert_eq!(error.kind(), ErrorKind::NotApplied, "{error}"),
            answer => assert_eq!(answer.as_ref().unwrap(), &RENEWED, "lock {n}"),
        }
    }
    assert!(answers[3].is_err(), "its row was locked");
    locker.batch_execute("COMMIT").await.unwrap();
    // It costs nothing but time.
    assert_eq!(provider.renew(&renewals[3]).await.unwrap(), RENEWED);
    let record = provider.read(&terms[3].name).await.unwrap().unwrap();
    assert_eq!((record.renewals, record.wanted), (1, 7));
}

#[tokio::test]
async fn renewal_that_fits_no_record_fails_alone() {
    let provider = server().await.provider(2).await.with_prefix("p").unwrap();
    let (a, b) = (term("a"), term("b"));
    provider.acquire(&a).await.unwrap();
    provider.acquire(&b).await.unwrap();
    let answers = provider
        .renew_many(&[
            Renew::new(Name::new("x".repeat(1024)).unwrap(), Uuid::new_v4(), 1),
            Renew::new(a.name.clone(), a.new, 1 << 53),
            Renew::new(b.name.clone(), b.new, 1),
            Renew::new(name("nobody's"), Uuid::new_v4(), 1),
        ])
        .await;
    let kind = |n: usize| answers[n].as_ref().map_err(dlock_core::ProviderError::kind);
    assert_eq!(kind(0), Err(ErrorKind::Fatal));
    assert_eq!(kind(1), Err(ErrorKind::Fatal));
    assert_eq!(kind(2), Ok(&RENEWED));
    assert_eq!(kind(3), Ok(&RenewOutcome::Lost(None)));
}

#[tokio::test]
async fn thousand_renewals_are_one_call() {
    let provider = server().await.provider(8).await;
    let terms: Vec<_> = (0..1000).map(|n| term(&format!("lock {n}"))).collect();
    for term in &terms {
        provider.acquire(term).await.unwrap();
    }
    let renewals: Vec<Renew> = terms
        .iter()
        .map(|term| Renew::new(term.name.clone(), term.new, 1))
        .collect();
    for answer in provider.renew_many(&renewals).await {
        assert_eq!(answer.unwrap(), RENEWED);
    }
}

#[tokio::test]
async fn batch_reads_no_more_rows_than_it_renews() {
    let table = Table::create().await;
    fill(&table).await;
    analyze(&table).await;
    reads_what_it_renews(&table, server().await.pool(1)).await;
}

/// The server keeps the plans of a session. A plan made while the table was empty is still used when it is full.
#[tokio::test]
async fn batch_planned_on_an_empty_table_reads_no_more_rows_than_it_renews() {
    let table = Table::create().await;
    analyze(&table).await;
    let pool = server().await.pool(1);
    // More often than the server makes a new plan for the parameters at hand.
    for _ in 0..10 {
        let absent = [Renew::new(name("absent"), Uuid::new_v4(), 1)];
        table.provider(pool.clone()).renew_many(&absent).await;
    }
    fill(&table).await;
    reads_what_it_renews(&table, pool).await;
}

async fn analyze(table: &Table) {
    let analyze = format!("VACUUM ANALYZE \"{}\".lock", table.schema());
    let client = server().await.client().await;
    client.batch_execute(&analyze).await.unwrap();
}

async fn fill(table: &Table) {
    let fill = format!(
        "INSERT INTO \"{0}\".lock SELECT '', 'lock ' || n, md5(n::text)::uuid, 0, 'o', now(), 1, 600000,
             now() + interval '10 minutes', false, false, 0, NULL FROM generate_series(1, 5000) AS n",
        table.schema()
    );
    let client = server().await.client().await;
    client.batch_execute(&fill).await.unwrap();
}

/// Renews 900 leases of 5,000 in the pool's only session.
async fn reads_what_it_renews(table: &Table, pool: Pool) {
    let client = server().await.client().await;
    let some = format!(
        "SELECT name, uuid FROM \"{}\".lock WHERE length(name) = 8",
        table.schema()
    );
    let renewals: Vec<Renew> = client
        .query(&some, &[])
        .await
        .unwrap()
        .iter()
        .map(|row| Renew::new(name(row.get(0)), row.get(1), 1))
        .collect();
    assert_eq!(renewals.len(), 900);
    let read = async || {
        let read = "SELECT pg_stat_clear_snapshot(), seq_tup_read, idx_tup_fetch, n_tup_upd
             FROM pg_stat_user_tables WHERE schemaname = $1";
        let row = client.query_one(read, &[&table.schema()]).await.unwrap();
        [1, 2, 3].map(|column| row.get::<_, i64>(column))
    };
    // Sessions report their counts when they are idle for a while, or at their end.
    let mut before = read().await;
    until("what we did is counted", async || {
        before = read().await;
        before[0] >= 5000
    })
    .await;
    for answer in table.provider(pool.clone()).renew_many(&renewals).await {
        assert_eq!(answer.unwrap(), RENEWED);
    }
    pool.close();
    let mut after = before;
    until("the renewals are counted", async || {
        after = read().await;
        after[2] - before[2] >= 900
    })
    .await;
    assert_eq!(after[0], before[0], "rows read by reading the whole table");
    let fetched = after[1] - before[1];
    assert!(fetched <= 2 * 900, "{fetched} rows read for 900");
}
