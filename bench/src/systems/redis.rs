//! Redis without a lock manager: the raw compare-and-set calls, and the handwritten lock.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use redis::{Script, aio::MultiplexedConnection};
use uuid::Uuid;

use super::{Held, LEASE, Lock, Places, System};

/// Takes a hash that is free or expired, with the next token. KEYS[1] the lock, ARGV[1] the uuid,
/// ARGV[2] the lease in milliseconds.
const TAKE: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local record = redis.call('HMGET', KEYS[1], 'uuid', 'token', 'expiry')
if record[1] and record[1] ~= '' and now < tonumber(record[3]) then
    return 0
end
local token = math.max(now, (tonumber(record[2]) or 0) + 1)
redis.call('HSET', KEYS[1], 'uuid', ARGV[1], 'token', string.format('%.0f', token),
    'expiry', string.format('%.0f', now + ARGV[2] * 1000))
redis.call('PEXPIRE', KEYS[1], 604800000)
return token";

/// Frees it. KEYS[1] the lock, ARGV[1] the uuid.
const FREE: &str = "
if redis.call('HGET', KEYS[1], 'uuid') ~= ARGV[1] then
    return 0
end
return redis.call('HSET', KEYS[1], 'uuid', '') + 1";

/// Deletes the key if it is still ours. KEYS[1] the lock, ARGV[1] the uuid.
const DELETE: &str = "
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0";

/// How long the handwritten lock sleeps between two tries.
const POLL: Duration = Duration::from_millis(50);

pub(super) async fn raw(places: Places) -> Result<Arc<dyn System>> {
    let connection = connect(&places).await?;
    Ok(Arc::new(Redis {
        connection,
        take: Some(Arc::new(Script::new(TAKE))),
        give: Arc::new(Script::new(FREE)),
    }))
}

pub(super) async fn by_hand(places: Places) -> Result<Arc<dyn System>> {
    let connection = connect(&places).await?;
    Ok(Arc::new(Redis {
        connection,
        take: None,
        give: Arc::new(Script::new(DELETE)),
    }))
}

pub(super) fn url(places: &Places) -> Result<String> {
    let port = places.redis.context("there is no Redis")?;
    Ok(format!("redis://127.0.0.1:{port}/"))
}

async fn connect(places: &Places) -> Result<MultiplexedConnection> {
    let client = redis::Client::open(url(places)?)?;
    Ok(client.get_multiplexed_async_connection().await?)
}

#[derive(Clone)]
struct Redis {
    connection: MultiplexedConnection,
    /// `None`: SET NX.
    take: Option<Arc<Script>>,
    give: Arc<Script>,
}

impl System for Redis {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        let kind = if self.take.is_some() { "raw" } else { "hand" };
        Ok(Box::new(RedisLock {
            redis: self.clone(),
            key: format!("{kind}:{{{name}}}"),
        }))
    }
}

struct RedisLock {
    redis: Redis,
    key: String,
}

#[async_trait]
impl Lock for RedisLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let uuid = Uuid::new_v4().to_string();
        let mut connection = self.redis.connection.clone();
        let lease = u64::try_from(LEASE.as_millis())?;
        if let Some(take) = &self.redis.take {
            let mut take = take.key(&self.key);
            let token: u64 = take
                .arg(&uuid)
                .arg(lease)
                .invoke_async(&mut connection)
                .await?;
            ensure!(token > 0, "{} is held", self.key);
        } else {
            loop {
                let mut set = redis::cmd("SET");
                set.arg(&self.key).arg(&uuid).arg("NX").arg("PX").arg(lease);
                if set
                    .query_async::<Option<String>>(&mut connection)
                    .await?
                    .is_some()
                {
                    break;
                }
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(Box::new(RedisHeld {
            connection,
            give: Arc::clone(&self.redis.give),
            key: self.key.clone(),
            uuid,
        }))
    }
}

struct RedisHeld {
    connection: MultiplexedConnection,
    give: Arc<Script>,
    key: String,
    uuid: String,
}

#[async_trait]
impl Held for RedisHeld {
    async fn release(mut self: Box<Self>) -> Result<()> {
        let mut give = self.give.key(&self.key);
        let given: u64 = give
            .arg(&self.uuid)
            .invoke_async(&mut self.connection)
            .await?;
        ensure!(given == 1, "{} was lost", self.key);
        Ok(())
    }
}
