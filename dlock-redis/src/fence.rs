//! Storage in Redis that refuses a stale fencing token: rule T3, inside the write that changes the
//! data.
//!
//! A resource accepts a token that is at least the highest it has seen, and remembers the highest in the same atomic
//! write. For a resource that is a hash, [`Fence::hset`] keeps the token in a field of it; for a single value,
//! [`Fence::set`] keeps it in a key next to it. Callers that write with their own script prepend [`LUA`] to it and call
//! its function.
//!
//! ```
//! use dlock_core::FencingToken;
//! use dlock_redis::fence::{Fence, FenceError};
//!
//! # async fn example(mut connection: redis::aio::MultiplexedConnection, token: FencingToken) -> Result<(), Box<dyn std::error::Error>> {
//! let fence = Fence::default();
//! let fields = [("balance", "40"), ("currency", "CHF")];
//! let written = fence.hset(&mut connection, "account:17", token, &fields).await;
//! match written {
//!     Ok(()) => {}
//!     // A later holder has written since: stop.
//!     Err(FenceError::Stale(stale)) => eprintln!("{stale}"),
//!     Err(other) => return Err(other.into()),
//! }
//! # Ok(()) }
//! ```
//!
//! The token is as durable as the data: deleting the hash, or letting a key expire or be evicted, deletes the token
//! that the fence remembers for it. A failover that loses the last writes loses their tokens with them.

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use dlock_core::FencingToken;
use redis::{RedisError, ToRedisArgs, ToSingleRedisArg, Value, aio::ConnectionLike};

use crate::scripts::{self, Lua};

/// The check for callers' own scripts, to be prepended to them: the function `dlock_fence(highest, presented)`.
///
/// ```lua
/// -- KEYS[1] a hash, ARGV[1] the token, ARGV[2] what to add.
/// local refused = dlock_fence(redis.call('HGET', KEYS[1], 'fence'), ARGV[1])
/// if refused then
///     return refused -- {'stale', highest}, or {'foreign'}: nothing may be written
/// end
/// redis.call('HINCRBY', KEYS[1], 'balance', ARGV[2])
/// redis.call('HSET', KEYS[1], 'fence', ARGV[1])
/// ```
pub const LUA: &str = include_str!("lua/fence.lua");

static HSET: LazyLock<Lua> = LazyLock::new(|| {
    Lua::new(concat!(
        include_str!("lua/fence.lua"),
        include_str!("lua/fence_hset.lua")
    ))
});
static SET: LazyLock<Lua> = LazyLock::new(|| {
    Lua::new(concat!(
        include_str!("lua/fence.lua"),
        include_str!("lua/fence_set.lua")
    ))
});

/// The reason why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<RedisError>;

/// Where resources remember the highest token they have seen: a hash in one of its fields, `fence` by default, a single
/// value in the key [`beside`](Fence::beside) it. Cheap to make; holds no connection.
#[derive(Clone, Debug)]
pub struct Fence {
    field: String,
}

impl Default for Fence {
    fn default() -> Self {
        Self {
            field: "fence".to_owned(),
        }
    }
}

impl Fence {
    /// Another field of a hash for the highest token. All writers of a resource must use the same field.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }

    /// Sets fields of the hash at `key`, as `HSET` does, unless the token is stale, and remembers the token.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has written; then nothing changed, and the writer
    /// should stop.
    ///
    /// # Cancel safety
    /// The fields may have been set. Setting them again is harmless.
    pub async fn hset<C, F, V>(
        &self,
        connection: &mut C,
        key: &str,
        token: FencingToken,
        fields: &[(F, V)],
    ) -> Result<(), FenceError>
    where
        C: ConnectionLike + Send,
        F: ToSingleRedisArg + Sync,
        V: ToSingleRedisArg + Sync,
    {
        let mut arguments = Vec::with_capacity(2 * fields.len() + 2);
        self.field.write_redis_args(&mut arguments);
        token.get().write_redis_args(&mut arguments);
        for (field, value) in fields {
            field.write_redis_args(&mut arguments);
            value.write_redis_args(&mut arguments);
        }
        let place = || format!("the field {:?} of the hash {key:?}", self.field);
        run(connection, &HSET, &[key], &arguments, token, place).await
    }

    /// Sets `key` to `value`, as `SET` does, unless the token is stale, and remembers the token in the key
    /// [`beside`](Fence::beside).
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has written; then nothing changed, and the writer
    /// should stop.
    ///
    /// # Cancel safety
    /// The key may have been set. Setting it again is harmless.
    pub async fn set<C, V>(
        &self,
        connection: &mut C,
        key: &str,
        token: FencingToken,
        value: V,
    ) -> Result<(), FenceError>
    where
        C: ConnectionLike + Send,
        V: ToSingleRedisArg + Send,
    {
        let mut arguments = Vec::with_capacity(2);
        token.get().write_redis_args(&mut arguments);
        value.write_redis_args(&mut arguments);
        let beside = Self::beside(key)?;
        let place = || format!("the key {beside:?}");
        run(connection, &SET, &[key, &beside], &arguments, token, place).await
    }

    /// The key that remembers the highest token of the value at `key`: in the same slot of a
    /// cluster, `fence:{key}`, or `key:fence` if it has a hash tag itself.
    ///
    /// # Errors
    /// [`FenceError::NoPlace`] if there is no such key: `key` has a brace but no hash tag.
    pub fn beside(key: &str) -> Result<String, FenceError> {
        let tagged = key
            .split_once('{')
            .and_then(|(_, rest)| rest.split_once('}'))
            .is_some_and(|(tag, _)| !tag.is_empty());
        if tagged {
            Ok(format!("{key}:fence"))
        } else if key.is_empty() || key.contains('}') {
            Err(FenceError::NoPlace {
                resource: key.to_owned(),
                reason: "a cluster would keep the key and the key beside it apart: give it a hash tag, or no brace",
            })
        } else {
            Ok(format!("fence:{{{key}}}"))
        }
    }
}

/// Runs one of the scripts, which compares the token in its arguments with the one in `place`.
async fn run<C: ConnectionLike + Send>(
    connection: &mut C,
    lua: &Lua,
    keys: &[&str],
    arguments: &[Vec<u8>],
    token: FencingToken,
    place: impl FnOnce() -> String + Send,
) -> Result<(), FenceError> {
    let by_digest = lua.by_digest(keys, arguments);
    let answer = match by_digest.query_async::<Value>(connection).await {
        Err(error) if scripts::is_unknown(&error) => {
            let by_text = lua.by_text(keys, arguments);
            by_text.query_async(connection).await?
        }
        answer => answer?,
    };
    let words: Vec<String> = redis::from_redis_value(answer).map_err(RedisError::from)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let highest = match words[..] {
        ["written"] => return Ok(()),
        ["stale", highest] => highest.parse().ok().and_then(FencingToken::new),
        _ => None,
    };
    Err(FenceError::refused(token, highest, place))
}
