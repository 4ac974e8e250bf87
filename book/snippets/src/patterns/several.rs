//! Two records at once.

// ANCHOR: transfer
use dlock::{DLock, FencingToken, several::MultiLock};

pub async fn transfer(
    locks: &DLock,
    from: u64,
    to: u64,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (giver, taker) = (format!("account-{from}"), format!("account-{to}"));
    let both = MultiLock::new([locks.named(&giver)?, locks.named(&taker)?])?;
    both.with_result(async |tokens| {
        book(from, -100, tokens[giver.as_str()]).await?;
        book(to, 100, tokens[taker.as_str()]).await
    })
    .await
}
// ANCHOR_END: transfer

/// The bookings, each with the token of its own account.
async fn book(
    account: u64,
    amount: i64,
    token: FencingToken,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("account {account}: {amount} with token {token}");
    Ok(())
}
