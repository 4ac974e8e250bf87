//! What a lock costs beside the twenty lines that people write by hand, for client and server,
//! and what a renewal costs in a batch, on servers of its own.
//!
//! `cargo bench -p dlock-redis --bench cost` prints medians in microseconds, taken in turns on one
//! connection. The hand-written lock is `SET NX PX` and a script that deletes the key if it still holds
//! the value: no token, no record, nothing to observe. The server's own time is what `INFO commandstats`
//! counts: the work of the commands, not of the network. Ratios of one run count.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::{sync::LazyLock, time::Duration};

use dlock_core::{
    Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_redis::{Channels, RedisProvider};
use redis::{Client, Script, aio::MultiplexedConnection, io::tcp::TcpSettings};
use support::{Cluster, Server, ask, built, connect, granted, name, try_for, words};
use tokio::time::Instant;
use uuid::Uuid;

const PAIRS: u32 = 4000;
const ROUNDS: usize = 7;
const LEASE: Duration = Duration::from_secs(3600);

// One thread: on several, `main` itself is not on a worker, and each call would pay for its wake-up.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = Server::start(&[]).await;
    let connection = server.raw().await;
    let plain = RedisProvider::builder().connection(connection.clone());
    let plain = built(plain.build());
    let telling = RedisProvider::builder()
        .connection(connection.clone())
        .client(server.client())
        .wakeups(Channels::Plain);
    let telling = built(telling.build());
    pairs(&plain, &telling, connection.clone()).await;
    on_the_server(&plain, connection).await;

    println!("\nrenewals                        1000     10000  (a lease)");
    one_by_one("one by one, one server", &plain).await;
    batches("in batches, one server", &plain).await;
    let place = server.client().get_connection_info().clone();
    let at_once = place.set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let at_once = connect(&Client::open(at_once).unwrap()).await;
    let at_once = built(RedisProvider::builder().connection(at_once).build());
    one_by_one("one by one, TCP_NODELAY", &at_once).await;
    crowd("64 tasks, one server", &plain).await;
    crowd("64 tasks, TCP_NODELAY", &at_once).await;
    batches("in batches, TCP_NODELAY", &at_once).await;
    let cluster = Cluster::start().await;
    batches("in batches, cluster of three", &cluster.provider().await).await;
}

/// Acquire and release, in turns: by hand, ours, ours with wake-ups on.
async fn pairs(
    plain: &RedisProvider,
    telling: &RedisProvider,
    mut connection: MultiplexedConnection,
) {
    let mut times: [Vec<Duration>; 6] = Default::default();
    for _ in 0..PAIRS {
        let value = Uuid::new_v4().to_string();
        assert!(timed(&mut times[0], set(&mut connection, &value)).await);
        assert!(timed(&mut times[1], delete(&mut connection, &value)).await);
        for (provider, at) in [(plain, 2), (telling, 4)] {
            let term = try_for(&name("ours"), LEASE);
            let token = timed(&mut times[at], granted(provider, &term)).await;
            let release = Release::new(term.name, term.new, Some(token));
            let released = timed(&mut times[at + 1], provider.release(&release)).await;
            assert_eq!(released.unwrap(), ReleaseOutcome::Released);
        }
    }
    println!("pairs              acquire   release");
    for (what, at) in [("by hand", 0), ("ours", 2), ("ours, with wake-ups", 4)] {
        let [acquire, release] = [at, at + 1].map(|at| micros(median(times[at].clone())));
        println!("{what:<20}{acquire:>6.1}{release:>10.1}");
    }
}

/// The same on the server, beside a renewal, a try that is refused and the first acquire of a name.
async fn on_the_server(provider: &RedisProvider, mut connection: MultiplexedConnection) {
    let mut times: [Vec<f64>; 5] = Default::default();
    for round in 0..ROUNDS {
        let counted = reset(&connection).await;
        for number in 0..PAIRS {
            let value = number.to_string();
            assert!(set(&mut connection, &value).await);
            assert!(delete(&mut connection, &value).await);
        }
        times[0].push(counted.each(&["set", "evalsha"]).await);

        let counted = reset(&connection).await;
        for _ in 0..PAIRS {
            let term = try_for(&name("ours"), LEASE);
            let token = granted(provider, &term).await;
            let release = Release::new(term.name, term.new, Some(token));
            let released = provider.release(&release).await;
            assert_eq!(released.unwrap(), ReleaseOutcome::Released);
        }
        times[1].push(counted.each(&["evalsha"]).await);

        let term = try_for(&name(&format!("ours {round}")), LEASE);
        granted(provider, &term).await;
        let counted = reset(&connection).await;
        for n in 1..=PAIRS {
            let renew = Renew::new(term.name.clone(), term.new, u64::from(n));
            let renewed = provider.renew(&renew).await.unwrap();
            assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
        }
        times[2].push(counted.each(&["evalsha"]).await);

        let counted = reset(&connection).await;
        for _ in 0..PAIRS {
            let refused = provider.acquire(&try_for(&term.name, LEASE)).await.unwrap();
            assert!(matches!(refused, AcquireOutcome::Held(_)));
        }
        times[3].push(counted.each(&["evalsha"]).await);

        let counted = reset(&connection).await;
        for number in 0..PAIRS {
            let first = try_for(&name(&format!("first {round} {number}")), LEASE);
            granted(provider, &first).await;
        }
        times[4].push(counted.each(&["evalsha"]).await);
    }
    println!("\non the server");
    let what = [
        "a pair by hand",
        "a pair of ours",
        "a renewal",
        "a refused try",
        "the first acquire of a name",
    ];
    for (what, mut times) in what.into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        println!("{what:<28}{:>8.1}", times[ROUNDS / 2]);
    }
}

/// What the server counts from here on.
struct Counted(MultiplexedConnection);

async fn reset(connection: &MultiplexedConnection) -> Counted {
    let mut connection = connection.clone();
    ask::<()>(&mut connection, &words("CONFIG RESETSTAT")).await;
    Counted(connection)
}

impl Counted {
    /// The microseconds that these commands took, for each of the [`PAIRS`].
    async fn each(mut self, commands: &[&str]) -> f64 {
        let stats: String = ask(&mut self.0, &words("INFO commandstats")).await;
        let mut sum = 0.0;
        for command in commands {
            let line = stats.split(&format!("cmdstat_{command}:")).nth(1).unwrap();
            let usec = line.split("usec=").nth(1).unwrap().split(',').next();
            sum += usec.unwrap().parse::<f64>().unwrap();
        }
        sum / f64::from(PAIRS)
    }
}

/// The hand-written acquire.
async fn set(connection: &mut MultiplexedConnection, value: &str) -> bool {
    let mut set = redis::cmd("SET");
    set.arg("by hand").arg(value).arg("NX").arg("PX");
    let set = set.arg(3_600_000).query_async::<Option<String>>(connection);
    set.await.unwrap().is_some()
}

/// The hand-written release.
async fn delete(connection: &mut MultiplexedConnection, value: &str) -> bool {
    static DELETE: LazyLock<Script> = LazyLock::new(|| {
        Script::new(
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
        )
    });
    let mut call = DELETE.key("by hand");
    let deleted = call.arg(value).invoke_async::<u64>(connection);
    deleted.await.unwrap() == 1
}

async fn one_by_one(what: &str, provider: &RedisProvider) {
    let terms = terms(provider, 1000).await;
    let began = Instant::now();
    for (name, uuid) in &terms {
        provider
            .renew(&Renew::new(name.clone(), *uuid, 1))
            .await
            .unwrap();
    }
    println!("{what:<28}{:>8.1}", micros(began.elapsed()) / 1000.0);
}

/// Renewals of 64 tasks at a time, each waiting for its own.
async fn crowd(what: &str, provider: &RedisProvider) {
    let terms = terms(provider, 64).await;
    let mut times = Vec::new();
    for round in 0..ROUNDS as u64 {
        let tasks = terms.iter().map(|(name, uuid)| async move {
            for n in 1..=50 {
                let renew = Renew::new(name.clone(), *uuid, round * 50 + n);
                provider.renew(&renew).await.unwrap();
            }
        });
        let began = Instant::now();
        futures_util::future::join_all(tasks).await;
        times.push(began.elapsed());
    }
    println!("{what:<28}{:>8.1}", micros(median(times)) / (64.0 * 50.0));
}

async fn batches(what: &str, provider: &RedisProvider) {
    print!("{what:<28}");
    for count in [1000_u32, 10_000] {
        let terms = terms(provider, count).await;
        let mut times = Vec::new();
        for n in 1..=ROUNDS {
            let renewals: Vec<Renew> = terms
                .iter()
                .map(|(name, uuid)| Renew::new(name.clone(), *uuid, n as u64))
                .collect();
            let began = Instant::now();
            let answers = provider.renew_many(&renewals).await;
            times.push(began.elapsed());
            for answer in answers {
                assert_eq!(answer.unwrap(), RenewOutcome::Renewed { asked: false });
            }
        }
        print!("{:>8.1}  ", micros(median(times)) / f64::from(count));
    }
    println!();
}

async fn terms(provider: &RedisProvider, count: u32) -> Vec<(dlock_core::Name, Uuid)> {
    let mut terms = Vec::new();
    for number in 0..count {
        let term = try_for(
            &name(&format!("batch {number} of {count} {}", Uuid::new_v4())),
            LEASE,
        );
        granted(provider, &term).await;
        terms.push((term.name, term.new));
    }
    terms
}

async fn timed<T>(times: &mut Vec<Duration>, call: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let answer = call.await;
    times.push(began.elapsed());
    answer
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
