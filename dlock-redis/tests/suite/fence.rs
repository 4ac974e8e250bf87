//! Storage that refuses a stale token (T3).

use std::{sync::Arc, time::Duration};

use dlock_core::{FencingToken, Provider, Stale};
use dlock_redis::fence::{self, Fence, FenceError};
use redis::{aio::ConnectionLike, cmd};
use tokio::sync::Semaphore;

use crate::support::{Cluster, Server, ask, fresh_name, granted, try_for, words};

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

fn stale(result: Result<(), FenceError>, presented: u64, highest: u64) {
    let expected = Stale {
        presented: token(presented),
        highest: token(highest),
    };
    match result {
        Err(FenceError::Stale(stale)) => assert_eq!(stale, expected),
        other => panic!("should have been stale: {other:?}"),
    }
}

#[tokio::test]
async fn a_hash_admits_equal_and_greater_tokens_and_no_lesser_one() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    let set = async |value: u64, balance: u32| {
        let fields = [("balance", balance)];
        Fence::new(token(value))
            .hset(&mut server.raw().await, "account", &fields)
            .await
    };
    set(7, 1).await.unwrap();
    set(7, 2).await.unwrap();
    set(9, 3).await.unwrap();
    let before: Vec<u8> = ask(&mut raw, &words("DUMP account")).await;
    stale(set(8, 4).await, 8, 9);
    let after: Vec<u8> = ask(&mut raw, &words("DUMP account")).await;
    assert_eq!(before, after, "a stale write changes nothing");
    // Exact to the last token there is.
    let top = FencingToken::MAX.get();
    set(top - 1, 5).await.unwrap();
    set(top, 6).await.unwrap();
    stale(set(top - 1, 7).await, top - 1, top);
    let all: Vec<String> = ask(&mut raw, &words("HMGET account balance fence")).await;
    assert_eq!(all, ["6", "9007199254740991"]);
}

#[tokio::test]
async fn a_value_admits_equal_and_greater_tokens_and_no_lesser_one() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    for key in ["value", "{tagged}:value"] {
        Fence::new(token(7)).set(&mut raw, key, "a").await.unwrap();
        Fence::new(token(7)).set(&mut raw, key, "b").await.unwrap();
        Fence::new(token(9)).set(&mut raw, key, "c").await.unwrap();
        stale(Fence::new(token(8)).set(&mut raw, key, "d").await, 8, 9);
        assert_eq!(
            ask::<String>(&mut raw, &words(&format!("GET {key}"))).await,
            "c"
        );
        let beside = Fence::beside(key).unwrap();
        assert_eq!(
            ask::<String>(&mut raw, &words(&format!("GET {beside}"))).await,
            "9"
        );
    }
    let error = Fence::new(token(7)).set(&mut raw, "a}b", "x").await;
    assert!(matches!(error, Err(FenceError::Key { .. })));
}

/// 001-3: the paused holder writes with its old token, and the storage says so.
#[tokio::test]
async fn a_holder_that_was_paused_past_its_lease_is_refused() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    let lease = Duration::from_millis(100);
    let paused = try_for(&fresh_name("paused"), lease);
    let first = granted(&provider, &paused).await;
    Fence::new(first)
        .hset(&mut raw, "file", &[("text", "first")])
        .await
        .unwrap();
    let left = provider
        .read(&paused.name)
        .await
        .unwrap()
        .unwrap()
        .remaining;
    tokio::time::sleep(left.unwrap()).await;
    let next = try_for(&paused.name, lease);
    let second = granted(&provider, &next).await;
    Fence::new(second)
        .hset(&mut raw, "file", &[("text", "second")])
        .await
        .unwrap();
    let late = Fence::new(first)
        .hset(&mut raw, "file", &[("text", "late")])
        .await;
    stale(late, first.get(), second.get());
    assert_eq!(
        ask::<String>(&mut raw, &words("HGET file text")).await,
        "second"
    );
}

/// Thousands of writers at once: the last word is the highest token's, and nobody else's.
async fn highest_wins<C>(connection: C)
where
    C: ConnectionLike + Clone + Send + Sync + 'static,
{
    const WRITES: u64 = 4000;
    // Every token once, in an order that has nothing to do with their size.
    let shuffled = (0..WRITES).map(|index| 1 + index * 2741 % WRITES);
    // So many at once that they overtake each other, and not so many that they time out.
    let room = Arc::new(Semaphore::new(100));
    let writers = shuffled.map(|value| {
        let (mut connection, room) = (connection.clone(), Arc::clone(&room));
        tokio::spawn(async move {
            let _room = room.acquire().await.unwrap();
            let fence = Fence::new(token(value));
            let fields = [("writer", value), ("twice", 2 * value)];
            let hash = fence.hset(&mut connection, "crowd", &fields).await;
            let text = fence.set(&mut connection, "crowded", value).await;
            for result in [hash, text] {
                match result {
                    Ok(()) => {}
                    Err(FenceError::Stale(stale)) => {
                        assert_eq!(stale.presented.get(), value);
                        assert!(stale.highest.get() > value);
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let mut connection = connection;
    let mut read = cmd("HMGET");
    read.arg("crowd").arg(&["writer", "twice", "fence"]);
    let hash: [u64; 3] = read.query_async(&mut connection).await.unwrap();
    assert_eq!(hash, [WRITES, 2 * WRITES, WRITES]);
    let mut read = cmd("GET");
    let text: u64 = read
        .arg("crowded")
        .query_async(&mut connection)
        .await
        .unwrap();
    assert_eq!(text, WRITES);
    let mut size = cmd("HLEN");
    let size: u64 = size
        .arg("crowd")
        .query_async(&mut connection)
        .await
        .unwrap();
    assert_eq!(size, 3, "nothing else");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_thousands_of_writers_the_highest_token_wins() {
    let server = Server::start(&[]).await;
    highest_wins(server.raw().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_thousands_of_writers_on_a_cluster_the_highest_token_wins() {
    let cluster = Cluster::start().await;
    highest_wins(cluster.connection().await).await;
}

#[tokio::test]
async fn what_is_no_token_is_left_alone() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    for nonsense in ["", "seven", "-7", "7.5", "1e3", "99999999999999999"] {
        let mut spoil = cmd("HSET");
        spoil.arg("account").arg("fence").arg(nonsense);
        ask::<u64>(&mut raw, &spoil).await;
        let written = Fence::new(token(7))
            .hset(&mut raw, "account", &[("a", "b")])
            .await;
        assert!(
            matches!(written, Err(FenceError::Foreign { .. })),
            "{nonsense}: {written:?}"
        );
        assert_eq!(ask::<u64>(&mut raw, &words("HLEN account")).await, 1);
        // Another field is another fence.
        let other = Fence::new(token(7)).field("mine");
        other
            .hset(&mut raw, "account", &[("a", "b")])
            .await
            .unwrap();
        ask::<u64>(&mut raw, &words("DEL account")).await;
    }
    ask::<()>(&mut raw, &words("SET text t")).await;
    let written = Fence::new(token(7))
        .hset(&mut raw, "text", &[("a", "b")])
        .await;
    assert!(matches!(written, Err(FenceError::Store(_))), "{written:?}");
    // Whoever names the fence's own field does not get past it.
    let cheat = [("fence", "1")];
    Fence::new(token(9))
        .hset(&mut raw, "cheat", &cheat)
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
        Fence::new(token(value))
            .hset(&mut raw, "h", &[("a", value)])
            .await
            .unwrap();
    }
    assert_eq!(ask::<u64>(&mut raw, &words("HGET h a")).await, 3);
}

/// The check inside a script of the user's own.
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
