//! How long a key lives, and that a refused request writes nothing.

use std::time::Duration;

use dlock_core::{
    FencingToken, Provider,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Release, ReleaseOutcome, Renew,
        RenewOutcome, Revoke, RevokeOutcome,
    },
};
use dlock_redis::RedisProvider;
use uuid::Uuid;

use crate::support::{
    LONG, Server, ask, fresh_name, granted, key,
    record::{age, mark, word},
    try_for,
};

const WEEK: u64 = 7 * 24 * 60 * 60 * 1000;

/// How far two ends may be apart and still be the same: less than half the shortest lease.
const NEAR: u64 = 25_000;

/// When the key expires, in unix milliseconds, and the server's time.
async fn end(server: &Server, key: &str) -> (u64, u64) {
    let mut both = redis::cmd("EVAL");
    both.arg("return {redis.call('PTTL', KEYS[1]), redis.call('TIME')}");
    both.arg(1).arg(key);
    let (left, (seconds, micros)): (i64, (u64, u64)) = ask(&mut server.raw().await, &both).await;
    let now = seconds * 1000 + micros / 1000;
    (now.saturating_add_signed(left), now)
}

async fn shorten(server: &Server, key: &str) {
    let done: u64 = server.ask(&format!("PEXPIRE {key} 100000")).await;
    assert_eq!(done, 1);
}

/// T5: now + the lease + 7 days, set again by every write that begins or extends a lease. The others
/// leave the life as it is.
#[tokio::test]
async fn a_key_outlives_its_lease_by_a_week_whatever_is_written() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let term = try_for(&fresh_name("life"), LONG);
    let key = key(&term.name);
    let lives = async |after: &str| {
        let (end, now) = end(&server, &key).await;
        let expected = now + 60_000 + WEEK;
        assert!(
            end.abs_diff(expected) < NEAR,
            "after {after}: {end}, not {expected}"
        );
        shorten(&server, &key).await;
    };
    granted(&provider, &term).await;
    lives("acquire").await;
    granted(&provider, &term).await;
    lives("a repeated acquire").await;
    let renew = Renew::new(term.name.clone(), term.new, 1);
    provider.renew(&renew).await.unwrap();
    lives("renew").await;
    // R2 too, as A2 above: a write on its own connection, because WAIT covers only those.
    provider.renew(&renew).await.unwrap();
    lives("a repeated renewal").await;

    let (shortened, _) = end(&server, &key).await;
    let stays = async |after: &str| {
        let (end, _) = end(&server, &key).await;
        assert!(
            end.abs_diff(shortened) < NEAR,
            "after {after}: {end}, not {shortened}"
        );
    };
    let ask = Ask::new(term.name.clone(), term.new);
    assert_eq!(provider.ask(&ask).await.unwrap(), AskOutcome::Asked);
    stays("ask").await;
    let seen = provider.read(&term.name).await.unwrap().unwrap().version();
    let revoke = Revoke::new(term.name.clone(), seen).unwrap();
    assert_eq!(
        provider.revoke(&revoke).await.unwrap(),
        RevokeOutcome::Revoked
    );
    stays("revoke").await;
    assert_eq!(mark(&provider, &term.name).await, 7);
    stays("a mark").await;
    let release = Release::new(term.name.clone(), revoke.new, None);
    assert_eq!(
        provider.release(&release).await.unwrap(),
        ReleaseOutcome::Released { wanted: true }
    );
    stays("release").await;
    // A takeover uses its own lease.
    let next = try_for(&term.name, 2 * LONG);
    granted(&provider, &next).await;
    let (end, now) = end(&server, &key).await;
    assert!(end.abs_diff(now + 120_000 + WEEK) < NEAR);
}

/// A token ahead of the clock must not be forgotten before the clock has passed it (T1).
#[tokio::test]
async fn a_key_lives_until_the_clock_has_passed_its_token() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let (_, now) = end(&server, "none").await;
    let in_a_year = now + 365 * 24 * 60 * 60 * 1000;
    let term = try_for(&fresh_name("ahead"), LONG).floor(in_a_year * 1000);
    granted(&provider, &term).await;
    let (end_, _) = end(&server, &key(&term.name)).await;
    assert!(end_.abs_diff(in_a_year + 60_000 + WEEK) < 5000);
    // The last token there is: the year 2255, which PEXPIREAT still takes.
    let last = try_for(&fresh_name("last"), LONG).floor(FencingToken::MAX.get());
    assert_eq!(granted(&provider, &last).await, FencingToken::MAX);
    let (end_, _) = end(&server, &key(&last.name)).await;
    assert!(end_.abs_diff(FencingToken::MAX.get() / 1000 + 60_000 + WEEK) < 5000);
    let raw = word(&mut server.raw().await, &key(&last.name), "token").await;
    assert_eq!(raw, "9007199254740991");
}

/// How many changes the server has counted.
async fn changes(server: &Server) -> u64 {
    let info: String = server.ask("INFO persistence").await;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("rdb_changes_since_last_save:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap()
}

async fn writes_nothing(server: &Server, provider: &RedisProvider, term: &Acquire) {
    let before = changes(server).await;
    let rival = Acquire::new(term.name.clone(), Uuid::new_v4(), LONG).data(Some(vec![1]));
    let held = provider.acquire(&rival).await.unwrap();
    assert!(matches!(held, AcquireOutcome::Held(_)));
    let lost = provider
        .renew(&Renew::new(term.name.clone(), rival.new, 1))
        .await;
    assert!(matches!(lost.unwrap(), RenewOutcome::Lost(Some(_))));
    let not_held = provider
        .release(&Release::new(term.name.clone(), rival.new, None))
        .await;
    assert!(matches!(
        not_held.unwrap(),
        ReleaseOutcome::NotHeld(Some(_))
    ));
    let changed = provider.ask(&Ask::new(term.name.clone(), rival.new)).await;
    assert!(matches!(changed.unwrap(), AskOutcome::Changed(Some(_))));
    provider.read(&term.name).await.unwrap();
    provider
        .list(&dlock_core::provider::List::new(""))
        .await
        .unwrap();
    provider.purge(100).await.unwrap();
    assert_eq!(changes(server).await, before);
}

/// A7, R3, L3: not even a life is refreshed, so nothing is sent to replicas or the disk.
#[tokio::test]
async fn refused_requests_write_nothing() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    let term = try_for(&fresh_name("refused"), LONG);
    granted(&provider, &term).await;
    let counted = changes(&server).await;
    assert!(counted > 0, "the counter counts");
    writes_nothing(&server, &provider, &term).await;
    // Absent records are not created.
    let absent = try_for(&fresh_name("absent"), Duration::from_secs(1));
    let before = changes(&server).await;
    let renew = Renew::new(absent.name.clone(), absent.new, 1);
    assert_eq!(
        provider.renew(&renew).await.unwrap(),
        RenewOutcome::Lost(None)
    );
    let release = Release::new(absent.name.clone(), absent.new, None);
    let answer = provider.release(&release).await.unwrap();
    assert_eq!(answer, ReleaseOutcome::NotHeld(None));
    assert_eq!(changes(&server).await, before);
}

/// A key that lost its life, as PERSIST or a restored dump leaves it, is purged, up to the given
/// number of them.
#[tokio::test]
async fn purge_takes_no_more_than_it_was_told() {
    let server = Server::start(&[]).await;
    let provider = server.provider();
    for number in 0..60 {
        let term = try_for(&fresh_name(&format!("old/{number}")), LONG);
        granted(&provider, &term).await;
        if number % 3 == 0 {
            let key = key(&term.name);
            server.ask::<u64>(&format!("PERSIST {key}")).await;
            let eight_days = 8 * 24 * 60 * 60 * 1_000_000_i64;
            assert!(age(&mut server.raw().await, &term.name, eight_days).await);
        }
    }
    assert_eq!(provider.purge(0).await.unwrap(), 0);
    for (limit, purged) in [(7, 7), (7, 7), (7, 6), (7, 0)] {
        assert_eq!(provider.purge(limit).await.unwrap(), purged);
    }
    assert_eq!(server.ask::<u64>("DBSIZE").await, 40);
}
