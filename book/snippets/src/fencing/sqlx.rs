//! With `sqlx`.

// ANCHOR: row
use dlock::{FencingToken, postgres::fence::bigint};
use sqlx::PgPool;

/// The token is kept in the row itself. False: a later holder has written, so stop.
pub async fn set_balance(
    pool: &PgPool,
    token: FencingToken,
    balance: i64,
) -> Result<bool, sqlx::Error> {
    let written = sqlx::query(
        "UPDATE account SET balance = $1, token = $2 WHERE id = 7 AND token <= $2",
    )
    .bind(balance)
    .bind(bigint(token))
    .execute(pool)
    .await?;
    Ok(written.rows_affected() == 1)
}
// ANCHOR_END: row

// ANCHOR: transaction
/// The lock protects several rows: the first statement of their transaction checks
/// the table of tokens. False: a later holder was here. Drop the transaction, and
/// stop.
pub async fn admitted(
    transaction: &mut sqlx::PgTransaction<'_>,
    resource: &str,
    token: FencingToken,
) -> Result<bool, sqlx::Error> {
    let written = sqlx::query(
        "INSERT INTO dlock.fence AS f (resource, token) VALUES ($1, $2)
         ON CONFLICT (resource) DO UPDATE SET token = excluded.token
         WHERE f.token <= excluded.token",
    )
    .bind(resource)
    .bind(bigint(token))
    .execute(&mut **transaction)
    .await?;
    Ok(written.rows_affected() == 1)
}
// ANCHOR_END: transaction
