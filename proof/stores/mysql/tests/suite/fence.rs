//! Storage that refuses a stale token (T3), in the user's own transaction.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{FencingToken, Stale};
use dlock_mysql::fence::{Fence, FenceError};
use dlock_mysql_proof::{Database, provider, server};
use dlock_testkit::storage::{self, Storage};
use mysql_async::{Conn, IsolationLevel, TxOpts, prelude::Queryable};
use tokio::time::timeout;

use crate::support::{blocked, until};

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

async fn fenced() -> (Database, Fence) {
    let database = server().await.database().await;
    let fence = Fence::new("dlock_fence").unwrap();
    let mut connection = database.connection().await;
    for _ in 0..2 {
        fence.create_schema(&mut connection).await.unwrap();
    }
    database
        .run("CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT); INSERT INTO account VALUES (7, 100)")
        .await;
    (database, fence)
}

async fn write(
    connection: &mut Conn,
    fence: &Fence,
    token: FencingToken,
    balance: u64,
) -> Result<(), FenceError> {
    let mut transaction = connection.start_transaction(TxOpts::new()).await?;
    fence.check(&mut transaction, "account 7", token).await?;
    transaction
        .exec_drop("UPDATE account SET balance = ? WHERE id = 7", (balance,))
        .await?;
    transaction.commit().await?;
    Ok(())
}

/// A resource, and the fence next to it.
struct Resource(Database, Fence);

impl Resource {
    async fn new() -> Self {
        let (database, fence) = fenced().await;
        database.run("DELETE FROM account").await;
        Self(database, fence)
    }
}

#[async_trait]
impl Storage for Resource {
    async fn another(&self) -> Self {
        Self(self.0.clone(), self.1.clone())
    }

    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale> {
        let mut connection = self.0.connection().await;
        let mut transaction = connection.start_transaction(TxOpts::new()).await.unwrap();
        match self.1.check(&mut transaction, "account 7", token).await {
            Ok(()) => {}
            Err(FenceError::Stale(stale)) => return Err(stale),
            Err(other) => panic!("{other:?}"),
        }
        let write = "REPLACE INTO account VALUES (7, ?)";
        transaction.exec_drop(write, (value,)).await.unwrap();
        transaction.commit().await.unwrap();
        Ok(())
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let both = "SELECT balance, token FROM account, dlock_fence WHERE resource = 'account 7'";
        let found: Option<(u64, u64)> = self.0.connection().await.query_first(both).await.unwrap();
        found.map(|(value, highest)| (value, token(highest)))
    }
}

#[tokio::test]
async fn only_lower_tokens_are_refused() {
    storage::only_lower_tokens_are_refused(&Resource::new().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn random_tokens_leave_the_highest() {
    storage::random_tokens_leave_the_highest(Resource::new().await).await;
}

#[tokio::test]
async fn paused_holder_is_refused() {
    let database = server().await.database().await;
    database.provider(1).await;
    let provider = move || {
        let options = database.options(2);
        async move { provider(options, Duration::from_secs(20)) }
    };
    let resource = Resource::new().await;
    storage::paused_holder_is_refused(provider.clone(), &resource).await;
    let resource = Resource::new().await;
    storage::refused_holder_gets_above(provider, &resource).await;
}

#[tokio::test]
async fn token_is_remembered_with_the_data_or_not_at_all() {
    let (database, fence) = fenced().await;
    let mut connection = database.connection().await;
    write(&mut connection, &fence, token(5), 50).await.unwrap();
    let mut transaction = connection.start_transaction(TxOpts::new()).await.unwrap();
    fence
        .check(&mut transaction, "account 7", token(9))
        .await
        .unwrap();
    transaction.rollback().await.unwrap();
    write(&mut connection, &fence, token(6), 60).await.unwrap();
    // Refused: earlier writes of the transaction can still be committed, and the token is unchanged.
    let mut transaction = connection.start_transaction(TxOpts::new()).await.unwrap();
    let refused = fence
        .check(&mut transaction, "account 7", token(5))
        .await
        .unwrap_err();
    assert!(matches!(refused, FenceError::Stale(_)), "{refused:?}");
    fence
        .check(&mut transaction, "account 8", token(5))
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    write(&mut connection, &fence, token(6), 61).await.unwrap();
}

/// Two transactions with the oldest possible snapshots, at every isolation level.
#[tokio::test]
async fn other_tokens_wait_for_the_transaction_and_then_see_it() {
    for level in [
        IsolationLevel::ReadUncommitted,
        IsolationLevel::ReadCommitted,
        IsolationLevel::RepeatableRead,
        IsolationLevel::Serializable,
    ] {
        let (database, fence) = fenced().await;
        let (mut first, mut second) = (database.connection().await, database.connection().await);
        let mut watcher = database.connection().await;
        let mut options = TxOpts::new();
        options.with_isolation_level(level);
        let mut late = second.start_transaction(options.clone()).await.unwrap();
        // This creates its snapshot.
        late.query_drop("SELECT COUNT(*) FROM dlock_fence")
            .await
            .unwrap();
        let mut transaction = first.start_transaction(options).await.unwrap();
        let checked = timeout(
            Duration::from_secs(20),
            fence.check(&mut transaction, "account 7", token(8)),
        );
        if level == IsolationLevel::Serializable {
            // The rows that it read are locked as well.
            late.rollback().await.unwrap();
            late = second.start_transaction(TxOpts::new()).await.unwrap();
        }
        checked.await.unwrap().unwrap();
        {
            let waiting = fence.check(&mut late, "account 7", token(7));
            tokio::pin!(waiting);
            let waits = until("it waits", async || {
                !blocked(&mut watcher, &database).await.is_empty()
            });
            tokio::select! {
                early = &mut waiting => panic!("{level:?}: it did not wait: {early:?}"),
                () = waits => {}
            }
            transaction.commit().await.unwrap();
            let refused = timeout(Duration::from_secs(20), waiting)
                .await
                .unwrap()
                .unwrap_err();
            assert!(
                matches!(refused, FenceError::Stale(_)),
                "{level:?}: {refused:?}"
            );
        }
        late.rollback().await.unwrap();
    }
}

#[tokio::test]
async fn resources_never_merge_and_what_is_no_token_refuses() {
    let (database, fence) = fenced().await;
    let mut connection = database.connection().await;
    let longest = "x".repeat(1024);
    let mut transaction = connection.start_transaction(TxOpts::new()).await.unwrap();
    let names = [
        "a",
        "A",
        "a ",
        "ä",
        "{token}",
        "'; DROP TABLE account; --",
        "",
        longest.as_str(),
    ];
    for (name, number) in names.into_iter().zip(10..) {
        fence
            .check(&mut transaction, name, token(number))
            .await
            .unwrap();
    }
    for (name, number) in names.into_iter().zip(10..) {
        let refused = fence
            .check(&mut transaction, name, token(number - 1))
            .await
            .unwrap_err();
        assert!(
            matches!(&refused, FenceError::Stale(stale) if stale.highest == token(number)),
            "{name:?}: {refused:?}"
        );
    }
    let beyond = fence
        .check(&mut transaction, &format!("{longest}x"), token(99))
        .await;
    assert!(
        matches!(beyond, Err(FenceError::NoPlace { .. })),
        "{beyond:?}"
    );
    transaction.commit().await.unwrap();
    for foreign in ["0", "-1"] {
        database
            .run(&format!("ALTER TABLE dlock_fence MODIFY token BIGINT NOT NULL; UPDATE dlock_fence SET token = {foreign} WHERE resource = 'a'"))
            .await;
        let mut transaction = connection.start_transaction(TxOpts::new()).await.unwrap();
        let refused = fence
            .check(&mut transaction, "a", token(99))
            .await
            .unwrap_err();
        assert!(
            matches!(refused, FenceError::Foreign { .. }),
            "{foreign}: {refused:?}"
        );
        transaction.rollback().await.unwrap();
    }
}
