//! With `tokio-postgres`.

// ANCHOR: check
use dlock::{
    FencingToken,
    postgres::{
        deadpool_postgres::tokio_postgres::Client,
        fence::{Fence, FenceError},
    },
};

/// `fence` is `Fence::new("dlock", "fence")`: the table that remembers tokens.
/// `create_schema` makes it.
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
