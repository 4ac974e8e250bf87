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

// ANCHOR: script
use dlock::redis::fence::LUA;

/// The two words of the script's answer.
pub async fn add(
    redis: &mut MultiplexedConnection,
    token: FencingToken,
    amount: i64,
) -> redis::RedisResult<(String, String)> {
    let script = redis::Script::new(&[LUA, include_str!("add.lua")].concat());
    let mut call = script.key("account:7");
    call.arg(token.get()).arg(amount).invoke_async(redis).await
}
// ANCHOR_END: script
