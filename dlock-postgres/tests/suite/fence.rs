//! Storage that refuses a stale token: in the user's own transaction, with a table of fences or with
//! the token in the resource's own row.

use std::{sync::Arc, time::Duration};

use dlock_core::{AcquireOutcome, FencingToken, Provider, Stale};
use dlock_postgres::{
    deadpool_postgres::tokio_postgres::Client,
    fence::{FenceError, FenceTable, bigint},
};
use tokio::{task::JoinSet, time::sleep};

use crate::support::{Table, fresh, server, term};

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

/// A fence table and a resource beside it: what was written last, and how often.
struct Resource {
    fences: FenceTable,
    schema: String,
}

impl Resource {
    async fn new() -> Self {
        let schema = fresh();
        let fences = FenceTable::new(&schema, "fence").unwrap();
        let client = server().await.client().await;
        fences.create_schema(&client).await.unwrap();
        client
            .batch_execute(&format!(
                "CREATE TABLE \"{schema}\".resource (id int PRIMARY KEY, value bigint NOT NULL, writes int NOT NULL,
                     token bigint NOT NULL DEFAULT 0);
                 INSERT INTO \"{schema}\".resource VALUES (1, 0, 0)"
            ))
            .await
            .unwrap();
        Self { fences, schema }
    }

    async fn write(&self, client: &mut Client, token: FencingToken) -> Result<(), FenceError> {
        let transaction = client.transaction().await?;
        self.fences.check(&transaction, "resource 1", token).await?;
        let update = format!(
            "UPDATE \"{}\".resource SET value = $1, writes = writes + 1 WHERE id = 1",
            self.schema
        );
        transaction.execute(&update, &[&bigint(token)]).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// With the one-line predicate of the module's page; whether it was admitted.
    async fn write_row(&self, client: &Client, token: FencingToken) -> bool {
        let update = format!(
            "UPDATE \"{}\".resource SET value = $1, writes = writes + 1, token = $2 WHERE id = 1 AND token <= $2",
            self.schema
        );
        client
            .execute(&update, &[&bigint(token), &bigint(token)])
            .await
            .unwrap()
            == 1
    }

    /// Value, writes, and what the fence remembers.
    async fn state(&self, client: &Client) -> (i64, i32, Option<i64>) {
        let row = client
            .query_one(
                &format!(
                    "SELECT value, writes, (SELECT token FROM \"{0}\".fence WHERE resource = 'resource 1')
                     FROM \"{0}\".resource",
                    self.schema
                ),
                &[],
            )
            .await
            .unwrap();
        (row.get(0), row.get(1), row.get(2))
    }
}

#[tokio::test]
async fn stale_token_is_refused_and_changes_nothing() {
    let resource = Resource::new().await;
    let mut client = server().await.client().await;
    resource.write(&mut client, token(5)).await.unwrap();
    resource.write(&mut client, token(7)).await.unwrap();
    resource.write(&mut client, token(7)).await.unwrap(); // the same holder's next write
    let before = resource.state(&client).await;
    assert_eq!(before, (7, 3, Some(7)));
    let refused = resource.write(&mut client, token(6)).await.unwrap_err();
    let expected = Stale {
        presented: token(6),
        highest: token(7),
    };
    assert!(
        matches!(refused, FenceError::Stale(stale) if stale == expected),
        "{refused:?}"
    );
    assert_eq!(resource.state(&client).await, before);
    resource
        .write(&mut client, FencingToken::MAX)
        .await
        .unwrap();
}

#[tokio::test]
async fn token_is_remembered_only_with_the_data() {
    let resource = Resource::new().await;
    let mut client = server().await.client().await;
    resource.write(&mut client, token(5)).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    resource
        .fences
        .check(&transaction, "resource 1", token(9))
        .await
        .unwrap();
    transaction.rollback().await.unwrap();
    // Nothing of 9 was written, so 6 is not stale.
    resource.write(&mut client, token(6)).await.unwrap();
    assert_eq!(resource.state(&client).await, (6, 2, Some(6)));
}

#[tokio::test]
async fn token_passes_no_other_that_is_still_in_its_transaction() {
    let resource = Arc::new(Resource::new().await);
    let mut slow = server().await.client().await;
    let transaction = slow.transaction().await.unwrap();
    resource
        .fences
        .check(&transaction, "resource 1", token(5))
        .await
        .unwrap();
    let next = {
        let resource = Arc::clone(&resource);
        tokio::spawn(async move {
            let mut client = server().await.client().await;
            resource.write(&mut client, token(6)).await
        })
    };
    sleep(Duration::from_millis(200)).await;
    assert!(!next.is_finished(), "6 was admitted while 5 was writing");
    transaction.commit().await.unwrap();
    next.await.unwrap().unwrap();
    assert_eq!(resource.state(&slow).await.2, Some(6));
}

#[tokio::test]
async fn writer_that_was_paused_past_its_lease_is_refused() {
    let provider = Table::create().await.provider(server().await.pool(4));
    let resource = Resource::new().await;
    let mut client = server().await.client().await;
    let mut paused = term("lock");
    paused.duration = Duration::from_millis(200);
    let AcquireOutcome::Acquired(first) = provider.acquire(&paused).await.unwrap() else {
        panic!("nobody else wants it");
    };
    resource.write(&mut client, first).await.unwrap();
    // The first holder stops here; the second one comes and writes.
    sleep(Duration::from_millis(300)).await;
    let AcquireOutcome::Acquired(second) = provider.acquire(&term("lock")).await.unwrap() else {
        panic!("the lease is over");
    };
    resource.write(&mut client, second).await.unwrap();
    let before = resource.state(&client).await;
    // It goes on, and knows of nothing.
    let refused = resource.write(&mut client, first).await.unwrap_err();
    let expected = Stale {
        presented: first,
        highest: second,
    };
    assert!(
        matches!(refused, FenceError::Stale(stale) if stale == expected),
        "{refused:?}"
    );
    assert_eq!(resource.state(&client).await, before);
    // The same with the token in the row.
    assert!(resource.write_row(&client, second).await);
    assert!(!resource.write_row(&client, first).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_of_writes_with_random_tokens_leave_the_highest() {
    let resource = Arc::new(Resource::new().await);
    let (writers, each) = (16_u64, 200_u64);
    let mut writing = JoinSet::new();
    for writer in 0..writers {
        let resource = Arc::clone(&resource);
        writing.spawn(async move {
            let mut client = server().await.client().await;
            let (mut highest, mut admitted) = (0, 0);
            for n in 0..each {
                // Scattered, each one once.
                let value = 1 + (writer * each + n) * 2_654_435_761 % 3203;
                match resource.write(&mut client, token(value)).await {
                    Ok(()) => {
                        assert!(value >= highest, "{value} was admitted after {highest}");
                        (highest, admitted) = (value, admitted + 1);
                    }
                    Err(FenceError::Stale(stale)) => assert!(stale.highest.get() > value),
                    Err(other) => panic!("{other:?}"),
                }
            }
            (highest, admitted)
        });
    }
    let done = writing.join_all().await;
    let highest = done.iter().map(|(highest, _)| *highest).max().unwrap();
    let admitted: i32 = done.iter().map(|(_, admitted)| *admitted).sum();
    let all: u64 = (0..writers * each)
        .map(|n| 1 + n * 2_654_435_761 % 3203)
        .max()
        .unwrap();
    assert_eq!(highest, all);
    let client = server().await.client().await;
    let expected = i64::try_from(highest).unwrap();
    assert_eq!(
        resource.state(&client).await,
        (expected, admitted, Some(expected))
    );
}

#[tokio::test]
async fn fence_that_remembers_nonsense_admits_nothing() {
    let resource = Resource::new().await;
    let mut client = server().await.client().await;
    resource.write(&mut client, token(5)).await.unwrap();
    for nonsense in [0, -1, i64::MAX] {
        client
            .batch_execute(&format!(
                "ALTER TABLE \"{0}\".fence DROP CONSTRAINT IF EXISTS fence_token_check;
                 UPDATE \"{0}\".fence SET token = {nonsense}",
                resource.schema
            ))
            .await
            .unwrap();
        let refused = resource.write(&mut client, token(9)).await.unwrap_err();
        assert!(
            matches!(refused, FenceError::Foreign { found, .. } if found == nonsense),
            "{refused:?}"
        );
        assert_eq!(resource.state(&client).await.2, Some(nonsense));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_make_the_fence_table_at_once() {
    let schema = fresh();
    let fences = FenceTable::new(&schema, "Fence").unwrap();
    let mut making = JoinSet::new();
    for _ in 0..16 {
        let fences = fences.clone();
        making.spawn(async move {
            let client = server().await.client().await;
            fences.create_schema(&client).await
        });
    }
    for made in making.join_all().await {
        made.unwrap();
    }
}
