//! With `redis`.

// ANCHOR: hset
use dlock::{
    FencingToken,
    redis::fence::{Fence, FenceError},
};
use redis::aio::MultiplexedConnection;

pub async fn set_balance(
    redis: &mut MultiplexedConnection,
    token: FencingToken,
    balance: i64,
) -> Result<(), FenceError> {
    // One script: compares the token with the field `fence` of the hash, and sets
    // both fields.
    Fence::default()
        .hset(redis, "account:7", token, &[("balance", balance)])
        .await
}
// ANCHOR_END: hset
