//! With `tokio-postgres`.

// ANCHOR: check
use dlock::{
    FencingToken,
    postgres::{
        deadpool_postgres::tokio_postgres::Client,
        fence::{Fence, FenceError},
    },
};

/// `fence` is the table that remembers tokens.
pub async fn withdraw(
    client: &mut Client,
    fence: &Fence,
    token: FencingToken,
) -> Result<(), FenceError> {
    let transaction = client.transaction().await?;
    fence.check(&transaction, "account 7", token).await?;
    transaction
        .execute(
            "UPDATE account SET balance = balance - 10 WHERE id = 7",
            &[],
        )
        .await?;
    transaction.commit().await?;
    Ok(())
}
// ANCHOR_END: check

// ANCHOR: lock
use dlock::DLock;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Withdraws under the lock, with the token of its lease.
pub async fn withdraw_alone(
    lock: &DLock,
    client: &mut Client,
) -> Result<(), Failure> {
    let fence = Fence::new("dlock", "fence")?;
    // Creates the table if it is missing.
    fence.create_schema(client).await?;
    lock.with_result(async |token| {
        withdraw(client, &fence, token).await?;
        // Either the work or the lock can fail, so the error type holds both.
        Ok::<(), Failure>(())
    })
    .await
}
// ANCHOR_END: lock
