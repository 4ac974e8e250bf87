//! Storage in Redis that refuses a stale fencing token: rule T3, inside the write that changes the
//! data.
//!
//! A resource accepts a token that is at least the highest it has seen, and remembers the highest
//! in the same atomic write. For a resource that is a hash, [`Fence::hset`] keeps the token in a
//! field of it; for a single value, [`Fence::set`] keeps it in a key beside it. Whoever writes with
//! a script of their own puts [`LUA`] in front of it and asks there.
//!
//! ```
//! use dlock_core::FencingToken;
//! use dlock_redis::fence::{Fence, FenceError};
//!
//! # async fn example(mut connection: redis::aio::MultiplexedConnection, token: FencingToken) -> Result<(), Box<dyn std::error::Error>> {
//! let written = Fence::new(token)
//!     .hset(&mut connection, "account:17", &[("balance", "40"), ("currency", "CHF")])
//!     .await;
//! match written {
//!     Ok(()) => {}
//!     // Somebody else has held the lock and written since: stop.
//!     Err(FenceError::Stale(stale)) => eprintln!("{stale}"),
//!     Err(other) => return Err(other.into()),
//! }
//! # Ok(()) }
//! ```
//!
//! The token is as durable as the data beside it: who deletes the hash, or lets a key expire or be
//! evicted, deletes what the fence remembers of it. A failover that loses the last writes loses
//! their tokens too, with them.

use std::sync::LazyLock;

use dlock_core::{FencingToken, Stale};
use redis::{RedisError, ToRedisArgs, ToSingleRedisArg, Value, aio::ConnectionLike};

use crate::scripts::{self, Lua};

/// The check for scripts of one's own, to be put in front of them: the function
/// `dlock_fence(highest, presented)`.
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

/// Why a fenced write was not made. Except for [`FenceError::Store`], nothing changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FenceError {
    /// A later holder has written: this one has lost its lease.
    #[error(transparent)]
    Stale(#[from] Stale),
    /// What the fence should remember is something else than a token.
    #[error("the fence of {key:?} holds something else than a fencing token: name another")]
    Foreign {
        /// The resource.
        key: String,
    },
    /// A cluster would keep the key and the key that remembers its token apart.
    #[error("{key:?} cannot have a key beside it in a cluster: give it a hash tag, or no brace")]
    Key {
        /// The resource.
        key: String,
    },
    /// Redis refused the write for another reason, or did not answer; then it may have been made.
    #[error("the fenced write was not confirmed by Redis")]
    Store(#[from] RedisError),
}

/// Lets only those write whose token is not below the highest that the resource has seen (T3).
#[derive(Clone, Debug)]
pub struct Fence {
    token: FencingToken,
    field: String,
}

impl Fence {
    /// The fence for a holder with this token. A hash remembers the highest token in its field
    /// `fence`.
    #[must_use]
    pub fn new(token: FencingToken) -> Self {
        Self {
            token,
            field: "fence".to_owned(),
        }
    }

    /// Another field of a hash for the highest token. All writers of a resource must name the same.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }

    /// Sets fields of the hash at `key`, as `HSET` does, if no later holder has written to it.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if one has; then nothing changed, and the writer should stop.
    ///
    /// # Cancel safety
    /// The fields may have been set. Setting them again is harmless.
    pub async fn hset<C, F, V>(
        &self,
        connection: &mut C,
        key: &str,
        fields: &[(F, V)],
    ) -> Result<(), FenceError>
    where
        C: ConnectionLike + Send,
        F: ToSingleRedisArg + Sync,
        V: ToSingleRedisArg + Sync,
    {
        let mut arguments = Vec::with_capacity(2 * fields.len() + 2);
        self.field.write_redis_args(&mut arguments);
        self.token.get().write_redis_args(&mut arguments);
        for (field, value) in fields {
            field.write_redis_args(&mut arguments);
            value.write_redis_args(&mut arguments);
        }
        self.write(connection, &HSET, &[key], &arguments).await
    }

    /// Sets `key` to `value`, as `SET` does, if no later holder has. The highest token is kept in
    /// [`Fence::beside`] the key.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if one has; then nothing changed, and the writer should stop.
    ///
    /// # Cancel safety
    /// The key may have been set. Setting it again is harmless.
    pub async fn set<C, V>(&self, connection: &mut C, key: &str, value: V) -> Result<(), FenceError>
    where
        C: ConnectionLike + Send,
        V: ToSingleRedisArg + Send,
    {
        let mut arguments = Vec::with_capacity(2);
        self.token.get().write_redis_args(&mut arguments);
        value.write_redis_args(&mut arguments);
        let beside = Self::beside(key)?;
        self.write(connection, &SET, &[key, &beside], &arguments)
            .await
    }

    /// The key that remembers the highest token of the value at `key`: in the same slot of a
    /// cluster, `fence:{key}`, or `key:fence` if it has a hash tag itself.
    ///
    /// # Errors
    /// [`FenceError::Key`] if there is none: a brace in a key without a hash tag.
    pub fn beside(key: &str) -> Result<String, FenceError> {
        let tagged = key
            .split_once('{')
            .and_then(|(_, rest)| rest.split_once('}'))
            .is_some_and(|(tag, _)| !tag.is_empty());
        if tagged {
            Ok(format!("{key}:fence"))
        } else if key.is_empty() || key.contains('}') {
            Err(FenceError::Key {
                key: key.to_owned(),
            })
        } else {
            Ok(format!("fence:{{{key}}}"))
        }
    }

    async fn write<C: ConnectionLike + Send>(
        &self,
        connection: &mut C,
        lua: &Lua,
        keys: &[&str],
        arguments: &[Vec<u8>],
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
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["written"] => Ok(()),
            ["stale", highest] => match highest.parse().ok().and_then(FencingToken::new) {
                Some(highest) => Err(FenceError::Stale(Stale {
                    presented: self.token,
                    highest,
                })),
                None => Err(foreign(keys)),
            },
            _ => Err(foreign(keys)),
        }
    }
}

fn foreign(keys: &[&str]) -> FenceError {
    FenceError::Foreign {
        key: keys.first().copied().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_of_a_key_is_in_its_slot_and_its_own() {
        for (key, beside) in [
            ("profile", "fence:{profile}"),
            ("{u7}:profile", "{u7}:profile:fence"),
            ("a{b}c}", "a{b}c}:fence"),
            ("{profile}", "{profile}:fence"),
            ("a{b", "fence:{a{b}"),
        ] {
            assert_eq!(Fence::beside(key).unwrap(), beside);
        }
        for key in ["", "a}b", "{}x", "x{}"] {
            assert!(Fence::beside(key).is_err(), "{key:?}");
        }
    }
}
