//! Storage that refuses a stale token: in the user's own transaction, with a table of fences or with
//! the token in the resource's own row.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{FencingToken, Stale};
use dlock_postgres::{
    deadpool_postgres::tokio_postgres::{Client, Transaction},
    fence::{Fence, FenceError, bigint},
};
use dlock_testkit::storage::{self, Storage};
use tokio::{
    sync::Mutex,
    task::{JoinHandle, JoinSet},
};

use crate::support::{Server, Table, fresh, server, until};

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

/// A fence table and a resource next to it: the value that was written last, and the number of
/// writes.
#[derive(Clone)]
struct Resource {
    fence: Fence,
    schema: String,
}

impl Resource {
    async fn new() -> Self {
        Self::on(&server().await.client().await).await
    }

    async fn on(client: &Client) -> Self {
        let schema = fresh();
        let fence = Fence::new(&schema, "fence").unwrap();
        fence.create_schema(client).await.unwrap();
        client
            .batch_execute(&format!(
                "CREATE TABLE \"{schema}\".resource (id int PRIMARY KEY, value bigint NOT NULL, writes int NOT NULL,
                     token bigint NOT NULL DEFAULT 0);
                 INSERT INTO \"{schema}\".resource VALUES (1, 0, 0)"
            ))
            .await
            .unwrap();
        Self { fence, schema }
    }

    async fn write(
        &self,
        client: &mut Client,
        token: FencingToken,
        value: i64,
    ) -> Result<(), FenceError> {
        let transaction = client.transaction().await?;
        self.fence.check(&transaction, "resource 1", token).await?;
        self.change(&transaction, value).await;
        transaction.commit().await?;
        Ok(())
    }

    /// A writer's work between check and commit.
    async fn change(&self, transaction: &Transaction<'_>, value: i64) {
        let update = format!(
            "UPDATE \"{}\".resource SET value = $1, writes = writes + 1 WHERE id = 1",
            self.schema
        );
        transaction.execute(&update, &[&value]).await.unwrap();
    }

    /// With the one-line predicate of the module's page.
    async fn write_row(
        &self,
        client: &Client,
        token: FencingToken,
        value: i64,
    ) -> Result<(), Stale> {
        let update = format!(
            "UPDATE \"{}\".resource SET value = $1, writes = writes + 1, token = $2 WHERE id = 1 AND token <= $2",
            self.schema
        );
        let changed = client
            .execute(&update, &[&value, &bigint(token)])
            .await
            .unwrap();
        if changed == 1 {
            return Ok(());
        }
        // It only grows, so a later read still shows the token that refused us, or a greater one.
        let look = format!("SELECT token FROM \"{}\".resource", self.schema);
        let highest: i64 = client.query_one(&look, &[]).await.unwrap().get(0);
        Err(Stale {
            presented: token,
            highest: self::token(highest.try_into().unwrap()),
        })
    }

    /// A write waits for the fence in the server.
    async fn is_waited_for<T>(&self, otherwise: &str, write: &JoinHandle<T>) {
        until("the write waits", async || {
            assert!(!write.is_finished(), "{otherwise}");
            !server().await.blocked(&self.schema).await.is_empty()
        })
        .await;
    }

    /// Value, number of writes, and the token that the fence remembers.
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

/// One writer of a story: its connection, and whether it keeps the token in the row itself.
struct Account {
    resource: Resource,
    client: Mutex<Client>,
    row: bool,
}

impl Account {
    async fn new(row: bool) -> Self {
        Self::of(Resource::new().await, row).await
    }

    async fn of(resource: Resource, row: bool) -> Self {
        Self {
            resource,
            client: Mutex::new(server().await.client().await),
            row,
        }
    }
}

#[async_trait]
impl Storage for Account {
    async fn another(&self) -> Self {
        Self::of(self.resource.clone(), self.row).await
    }

    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale> {
        let (mut client, value) = (self.client.lock().await, value.try_into().unwrap());
        if self.row {
            return self.resource.write_row(&client, token, value).await;
        }
        match self.resource.write(&mut client, token, value).await {
            Ok(()) => Ok(()),
            Err(FenceError::Stale(stale)) => Err(stale),
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let highest = if self.row {
            "nullif(token, 0)".to_owned()
        } else {
            format!("(SELECT token FROM \"{}\".fence)", self.resource.schema)
        };
        let look = format!(
            "SELECT value, {highest} FROM \"{}\".resource",
            self.resource.schema
        );
        let row = self
            .client
            .lock()
            .await
            .query_one(&look, &[])
            .await
            .unwrap();
        let (value, highest): (i64, Option<i64>) = (row.get(0), row.get(1));
        let highest = token(highest?.try_into().unwrap());
        Some((value.try_into().unwrap(), highest))
    }
}

#[tokio::test]
async fn stale_token_is_refused_and_changes_nothing() {
    for row in [false, true] {
        storage::only_lower_tokens_are_refused(&Account::new(row).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_with_random_tokens_leave_the_highest() {
    for row in [false, true] {
        storage::random_tokens_leave_the_highest(Account::new(row).await).await;
    }
}

#[tokio::test]
async fn writer_that_was_paused_past_its_lease_is_refused() {
    for row in [false, true] {
        let table = Arc::new(Table::create().await);
        let provider = move || {
            let table = Arc::clone(&table);
            async move { table.provider(server().await.pool(2)) }
        };
        storage::paused_holder_is_refused(provider, &Account::new(row).await).await;
    }
}

#[tokio::test]
async fn refused_writer_raises_its_floor_and_gets_above() {
    let table = Table::create().await;
    let provider = async || table.provider(server().await.pool(2));
    storage::refused_holder_gets_above(provider, &Account::new(false).await).await;
}

/// Its session ends, as with its process: the server undoes what was not committed.
#[tokio::test]
async fn writer_that_dies_between_check_and_commit_leaves_nothing() {
    let resource = Resource::new().await;
    let mut client = server().await.client().await;
    resource.write(&mut client, token(5), 5).await.unwrap();
    let mut dying = server().await.client().await;
    let transaction = dying.transaction().await.unwrap();
    let pid: i32 = transaction
        .query_one("SELECT pg_backend_pid()", &[])
        .await
        .unwrap()
        .get(0);
    resource
        .fence
        .check(&transaction, "resource 1", token(9))
        .await
        .unwrap();
    resource.change(&transaction, 9).await;
    // No writer passes it while it may still commit.
    let mut next = server().await.client().await;
    let early = {
        let resource = resource.clone();
        tokio::spawn(async move { resource.write(&mut next, token(6), 6).await })
    };
    resource
        .is_waited_for("admitted beside an open transaction", &early)
        .await;
    early.abort();
    client
        .execute("SELECT pg_terminate_backend($1)", &[&pid])
        .await
        .unwrap();
    until("the session is gone", async || {
        let sessions = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1";
        let left: i64 = client.query_one(sessions, &[&pid]).await.unwrap().get(0);
        left == 0
    })
    .await;
    assert!(transaction.commit().await.is_err());
    // 9 was never written, so 6 is not stale.
    let mut next = server().await.client().await;
    resource.write(&mut next, token(6), 6).await.unwrap();
    assert_eq!(resource.state(&client).await, (6, 2, Some(6)));
}

#[tokio::test]
async fn server_that_dies_between_check_and_commit_leaves_nothing() {
    let mut server = Server::start(&[]).await;
    let mut client = server.client().await;
    let resource = Resource::on(&client).await;
    resource.write(&mut client, token(5), 5).await.unwrap();
    let mut dying = server.client().await;
    let transaction = dying.transaction().await.unwrap();
    resource
        .fence
        .check(&transaction, "resource 1", token(9))
        .await
        .unwrap();
    resource.change(&transaction, 9).await;
    server.crash().await;
    assert!(transaction.commit().await.is_err());
    let mut client = server.client().await;
    assert_eq!(resource.state(&client).await, (5, 1, Some(5)));
    resource.write(&mut client, token(6), 6).await.unwrap();
    assert_eq!(resource.state(&client).await, (6, 2, Some(6)));
}

/// The stricter levels answer a writer that was overtaken with an error, never with a stale view.
#[tokio::test]
async fn fence_holds_under_every_isolation_level() {
    use dlock_postgres::deadpool_postgres::tokio_postgres::IsolationLevel::{
        ReadCommitted, RepeatableRead, Serializable,
    };
    for level in [ReadCommitted, RepeatableRead, Serializable] {
        let resource = Resource::new().await;
        let (mut slow, mut fast) = (server().await.client().await, server().await.client().await);
        resource.write(&mut fast, token(5), 5).await.unwrap();
        let late = slow
            .build_transaction()
            .isolation_level(level)
            .start()
            .await
            .unwrap();
        // Its view of the data begins here, before 7 was there.
        late.query_one("SELECT count(*) FROM pg_class", &[])
            .await
            .unwrap();
        resource.write(&mut fast, token(7), 7).await.unwrap();
        let refused = resource.fence.check(&late, "resource 1", token(6)).await;
        match (level, refused) {
            (ReadCommitted, Err(FenceError::Stale(stale))) => {
                assert_eq!(stale.highest, token(7));
            }
            (RepeatableRead | Serializable, Err(FenceError::Store(error))) => {
                let state = error.code().unwrap().code();
                assert_eq!(state, "40001", "{error:?}");
            }
            (_, other) => panic!("{other:?}"),
        }
        drop(late);
        assert_eq!(resource.state(&fast).await, (7, 2, Some(7)));
    }
}

#[tokio::test]
async fn token_is_remembered_only_with_the_data() {
    let resource = Resource::new().await;
    let mut client = server().await.client().await;
    resource.write(&mut client, token(5), 5).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    resource
        .fence
        .check(&transaction, "resource 1", token(9))
        .await
        .unwrap();
    transaction.rollback().await.unwrap();
    // Nothing of 9 was written, so 6 is not stale.
    resource.write(&mut client, token(6), 6).await.unwrap();
    assert_eq!(resource.state(&client).await, (6, 2, Some(6)));
}

#[tokio::test]
async fn token_passes_no_other_that_is_still_in_its_transaction() {
    let resource = Arc::new(Resource::new().await);
    let mut slow = server().await.client().await;
    let transaction = slow.transaction().await.unwrap();
    resource
        .fence
        .check(&transaction, "resource 1", token(5))
        .await
        .unwrap();
    let next = {
        let resource = Arc::clone(&resource);
        tokio::spawn(async move {
            let mut client = server().await.client().await;
            resource.write(&mut client, token(6), 6).await
        })
    };
    resource
        .is_waited_for("6 was admitted while 5 was writing", &next)
        .await;
    transaction.commit().await.unwrap();
    next.await.unwrap().unwrap();
    assert_eq!(resource.state(&slow).await.2, Some(6));
}

#[tokio::test]
async fn fence_that_remembers_nonsense_admits_nothing() {
    let resource = Resource::new().await;
    let mut client = server().await.client().await;
    resource.write(&mut client, token(5), 5).await.unwrap();
    for nonsense in [0, -1, i64::MAX] {
        client
            .batch_execute(&format!(
                "ALTER TABLE \"{0}\".fence DROP CONSTRAINT IF EXISTS fence_token_check;
                 UPDATE \"{0}\".fence SET token = {nonsense}",
                resource.schema
            ))
            .await
            .unwrap();
        let refused = resource.write(&mut client, token(9), 9).await.unwrap_err();
        assert!(
            matches!(&refused, FenceError::Foreign { place } if place.contains("resource 1")),
            "{nonsense}: {refused:?}"
        );
        assert_eq!(resource.state(&client).await.2, Some(nonsense));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_make_the_fence_table_at_once() {
    let schema = fresh();
    let fence = Fence::new(&schema, "Fence").unwrap();
    let mut making = JoinSet::new();
    for _ in 0..16 {
        let fence = fence.clone();
        making.spawn(async move {
            let client = server().await.client().await;
            fence.create_schema(&client).await
        });
    }
    for made in making.join_all().await {
        made.unwrap();
    }
}
