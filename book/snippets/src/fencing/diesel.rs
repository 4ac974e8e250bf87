//! With `diesel` (here over `diesel-async`; the query is the same without).

// ANCHOR: row
use diesel::prelude::*;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use dlock::{FencingToken, postgres::fence::bigint};

diesel::table! {
    account (id) {
        id -> BigInt,
        balance -> BigInt,
        token -> BigInt,
    }
}

/// False: a later holder has written, so stop.
pub async fn set_balance(
    connection: &mut AsyncPgConnection,
    token: FencingToken,
    balance: i64,
) -> QueryResult<bool> {
    let token = bigint(token);
    let admitted = account::table
        .filter(account::id.eq(7))
        .filter(account::token.le(token));
    let written = diesel::update(admitted)
        .set((account::balance.eq(balance), account::token.eq(token)))
        .execute(connection)
        .await?;
    Ok(written == 1)
}
// ANCHOR_END: row
