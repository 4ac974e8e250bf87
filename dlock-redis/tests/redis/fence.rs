//! Storage that refuses a stale token (T3).

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use dlock_core::{FencingToken, Stale};
use dlock_redis::fence::{self, Fence, FenceError};
use dlock_testkit::storage::{self, Storage};
use redis::{aio::ConnectionLike, cmd};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::{Cluster, Server, ask, eventually, words};

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

/// One writer of a story; writers share their connection as applications do.
#[derive(Clone)]
struct Account<C> {
    connection: C,
    key: String,
    /// A hash, or a single value.
    hash: bool,
}

impl<C> Account<C> {
    fn new(connection: C, hash: bool) -> Self {
        Self {
            connection,
            key: format!("account {}", Uuid::new_v4()),
            hash,
        }
    }
}

#[async_trait]
impl<C> Storage for Account<C>
where
    C: ConnectionLike + Clone + Send + Sync + 'static,
{
    async fn another(&self) -> Self {
        self.clone()
    }

    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale> {
        let (mut connection, key) = (self.connection.clone(), self.key.as_str());
        let written = if self.hash {
            let fields = [("value", value), ("twice", value.wrapping_mul(2))];
            Fence::default()
                .hset(&mut connection, key, token, &fields)
                .await
        } else {
            Fence::default()
                .set(&mut connection, key, token, value)
                .await
        };
        match written {
            Ok(()) => Ok(()),
            Err(FenceError::Stale(stale)) => Err(stale),
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let mut connection = self.connection.clone();
        let found: Vec<Option<u64>> = if self.hash {
            let mut read = cmd("HMGET");
            read.arg(&self.key).arg(&["value", "fence", "twice"]);
            read.query_async(&mut connection).await.unwrap()
        } else {
            let mut read = cmd("MGET");
            read.arg(&self.key).arg(Fence::beside(&self.key).unwrap());
            read.query_async(&mut connection).await.unwrap()
        };
        if let [Some(value), _, twice] = found[..] {
            assert_eq!(twice, Some(value.wrapping_mul(2)), "of one write");
        }
        Some((found[0]?, token(found[1]?)))
    }
}

#[tokio::test]
async fn a_stale_token_is_refused_and_changes_nothing() {
    let server = Server::start(&[]).await;
    for hash in [true, false] {
        let account = Account::new(server.raw().await, hash);
        storage::only_lower_tokens_are_refused(&account).await;
    }
    let mut raw = server.raw().await;
    let error = Fence::default().set(&mut raw, "a}b", token(7), "x").await;
    assert!(matches!(error, Err(FenceError::NoPlace { .. })));
}

#[tokio::test]
async fn a_holder_that_was_paused_past_its_lease_is_refused() {
    let server = Server::start(&[]).await;
    let client = server.client();
    for hash in [true, false] {
        let account = Account::new(server.raw().await, hash);
        let client = client.clone();
        let provider = move || {
            let client = client.clone();
            async move { crate::support::provider(client) }
        };
        storage::paused_holder_is_refused(provider, &account).await;
    }
}

#[tokio::test]
async fn a_refused_holder_raises_its_floor_and_gets_above() {
    let server = Server::start(&[]).await;
    let account = Account::new(server.raw().await, true);
    storage::refused_holder_gets_above(async || server.provider(), &account).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_writes_with_random_tokens_the_highest_is_left() {
    let server = Server::start(&[]).await;
    for hash in [true, false] {
        let account = Account::new(server.raw().await, hash);
        storage::random_tokens_leave_the_highest(account).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_writes_on_a_cluster_the_highest_is_left() {
    let cluster = Cluster::start().await;
    for hash in [true, false] {
        let account = Account::new(cluster.connection().await, hash);
        storage::random_tokens_leave_the_highest(account).await;
    }
}

/// Token and data are one command of one script: a crash keeps both or neither. With `appendfsync
/// always` it also keeps what was acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_in_the_middle_of_writing_keeps_token_and_data_together() {
    let durable = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = Server::start(&durable).await;
    for hash in [true, false] {
        let mut account = Account::new(server.raw().await, hash);
        let acknowledged = Arc::new(AtomicU64::new(0));
        let mut writing = JoinSet::new();
        let fence = Fence::default();
        for writer in 0..8 {
            let (account, acknowledged) = (account.clone(), Arc::clone(&acknowledged));
            let fence = fence.clone();
            writing.spawn(async move {
                let (mut connection, key) = (account.connection, account.key);
                for n in 0.. {
                    let value = 1 + n * 8 + writer;
                    let written = if account.hash {
                        let fields = [("value", value), ("twice", 2 * value)];
                        let write = fence.hset(&mut connection, &key, token(value), &fields);
                        write.await
                    } else {
                        let write = fence.set(&mut connection, &key, token(value), value);
                        write.await
                    };
                    match written {
                        Ok(()) => {
                            acknowledged.fetch_max(value, Ordering::SeqCst);
                        }
                        Err(FenceError::Stale(_)) => {}
                        // The crash.
                        Err(FenceError::Store(_)) => return,
                        Err(other) => panic!("{other:?}"),
                    }
                }
            });
        }
        eventually("they are writing", || {
            let so = acknowledged.load(Ordering::SeqCst) > 200;
            async move { so }
        })
        .await;
        server.restart().await;
        writing.join_all().await;
        account.connection = server.raw().await;
        let (value, highest) = account.read().await.unwrap();
        assert_eq!(value, highest.get());
        assert!(value >= acknowledged.load(Ordering::SeqCst), "{value}");
    }
}

#[tokio::test]
async fn what_is_no_token_is_left_alone() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    for nonsense in ["", "seven", "-7", "7.5", "1e3", "99999999999999999"] {
        let mut spoil = cmd("HSET");
        spoil.arg("account").arg("fence").arg(nonsense);
        ask::<u64>(&mut raw, &spoil).await;
        let written = Fence::default()
            .hset(&mut raw, "account", token(7), &[("a", "b")])
            .await;
        assert!(
            matches!(&written, Err(FenceError::Foreign { place }) if place.contains("account")),
            "{nonsense}: {written:?}"
        );
        assert_eq!(ask::<u64>(&mut raw, &words("HLEN account")).await, 1);
        // Another field is another fence.
        let other = Fence::default().field("mine");
        other
            .hset(&mut raw, "account", token(7), &[("a", "b")])
            .await
            .unwrap();
        ask::<u64>(&mut raw, &words("DEL account")).await;
    }
    ask::<()>(&mut raw, &words("SET fence:{value} seven")).await;
    let written = Fence::default().set(&mut raw, "value", token(7), "x").await;
    assert!(
        matches!(&written, Err(FenceError::Foreign { place }) if place.contains("fence:{value}")),
        "{written:?}"
    );
    assert_eq!(ask::<u64>(&mut raw, &words("EXISTS value")).await, 0);
    ask::<()>(&mut raw, &words("SET text t")).await;
    let written = Fence::default()
        .hset(&mut raw, "text", token(7), &[("a", "b")])
        .await;
    assert!(matches!(written, Err(FenceError::Store(_))), "{written:?}");
    // Writing the fence's own field does not get past the fence.
    let cheat = [("fence", "1")];
    Fence::default()
        .hset(&mut raw, "cheat", token(9), &cheat)
        .await
        .unwrap();
    assert_eq!(ask::<u64>(&mut raw, &words("HGET cheat fence")).await, 9);
}

#[tokio::test]
async fn a_flushed_fence_comes_back() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    for value in 1..4 {
        ask::<()>(&mut raw, &words("SCRIPT FLUSH")).await;
        Fence::default()
            .hset(&mut raw, "h", token(value), &[("a", value)])
            .await
            .unwrap();
    }
    assert_eq!(ask::<u64>(&mut raw, &words("HGET h a")).await, 3);
}

/// The check inside a user's own script.
#[tokio::test]
async fn scripts_of_ones_own_can_ask() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    let text = format!(
        "{}\nlocal refused = dlock_fence(redis.call('HGET', KEYS[1], 'fence'), ARGV[1])
         if refused then return refused end
         redis.call('HINCRBY', KEYS[1], 'balance', ARGV[2])
         redis.call('HSET', KEYS[1], 'fence', ARGV[1])
         return {{'done'}}",
        fence::LUA
    );
    let mut add = async |token: u64, amount: u64| -> Vec<String> {
        let mut eval = cmd("EVAL");
        eval.arg(&text).arg(1).arg("account").arg(token).arg(amount);
        ask(&mut raw, &eval).await
    };
    assert_eq!(add(1_795_253_490_374_226, 5).await, ["done"]);
    assert_eq!(add(1_795_253_490_374_226, 6).await, ["done"]);
    assert_eq!(
        add(1_795_253_490_374_225, 7).await,
        ["stale", "1795253490374226"]
    );
    assert_eq!(server.ask::<u64>("HGET account balance").await, 11);
}
