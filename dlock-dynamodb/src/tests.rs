//! Cases that only the crate's inside can reach: machines whose wall clock is wrong. It may seed the first token of a
//! name and set the dates that people read; it decides nothing else.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dlock_core::{
    Client, Clock, DLock, ErrorKind, Provider, TryAcquire,
    provider::{Acquire, AcquireOutcome, Admin, Release, ReleaseOutcome, Renew, RenewOutcome},
};

use crate::DynamodbProvider;

#[path = "../tests/common/mod.rs"]
mod common;

use common::{item, provider, term};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[expect(clippy::disallowed_methods, reason = "to be wrong by a known amount")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn epoch() -> SystemTime {
    UNIX_EPOCH
}

fn before_the_epoch() -> SystemTime {
    UNIX_EPOCH - DAY
}

fn end_of_2023() -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(1_704_067_199_999_999)
}

fn start_of_2100() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(4_102_444_800)
}

fn far_future() -> SystemTime {
    UNIX_EPOCH + 10_000 * YEAR
}

fn hours_behind() -> SystemTime {
    now() - Duration::from_secs(5 * 60 * 60)
}

fn hours_ahead() -> SystemTime {
    now() + Duration::from_secs(7 * 60 * 60)
}

fn a_year_ahead() -> SystemTime {
    now() + YEAR
}

const WRONG: [fn() -> SystemTime; 5] = [
    epoch,
    before_the_epoch,
    end_of_2023,
    start_of_2100,
    far_future,
];

fn micros(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

fn release(of: &Acquire) -> Release {
    Release::new(of.name.clone(), of.new, None)
}

async fn token(provider: &DynamodbProvider, of: &Acquire) -> u64 {
    match provider.acquire(of).await.unwrap() {
        AcquireOutcome::Acquired(tokens) => tokens.last().get(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn name_without_a_record_needs_a_clock_that_can_be_right() {
    let right = provider().await;
    for (index, wall) in WRONG.into_iter().enumerate() {
        let wrong = right.with_wall(wall);
        let name = index.to_string();
        for floor in [0, micros(now())] {
            let error = wrong.acquire(&term(&name).floor(floor)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
            assert!(error.to_string().contains("clock"), "{error}");
        }
        let client = common::client().await;
        assert_eq!(item(&client, right.table_name(), &name).await, None);
    }
    // The first and last years are accepted, and the token is exactly the clock or the floor.
    fn first_instant() -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(1_704_067_200_000_000)
    }
    let first = right.with_wall(first_instant);
    assert_eq!(token(&first, &term("first")).await, 1_704_067_200_000_000);
    let floor = 1_704_067_200_000_007;
    assert_eq!(token(&first, &term("floor").floor(floor)).await, floor);
}

#[tokio::test]
async fn record_that_is_there_is_used_whatever_the_clock_says() {
    let right = provider().await;
    for (index, wall) in WRONG.into_iter().enumerate() {
        let wrong = right.with_wall(wall);
        let name = index.to_string();
        let a = term(&name);
        let first = token(&right, &a).await;
        // Held, renewed and released like any other lock.
        let outcome = wrong.acquire(&term(&name)).await.unwrap();
        assert!(matches!(outcome, AcquireOutcome::Held(record) if record.uuid == a.new));
        let renewal = Renew::new(a.name.clone(), a.new, 1);
        let outcome = wrong.renew(&renewal).await.unwrap();
        assert_eq!(outcome, RenewOutcome::Renewed { asked: false });
        let outcome = wrong.release(&release(&a)).await.unwrap();
        assert_eq!(outcome, ReleaseOutcome::Released { wanted: false });
        // Taken once released, once claimed, and from a floor above it: tokens only grow.
        let b = term(&name);
        assert_eq!(token(&wrong, &b).await, first + 1);
        let seen = wrong.read(&b.name).await.unwrap().unwrap();
        let c = term(&name).prev(Some(seen.version()));
        assert_eq!(token(&wrong, &c).await, first + 2);
        wrong.release(&release(&c)).await.unwrap();
        assert_eq!(
            token(&wrong, &term(&name).floor(first + 100)).await,
            first + 100
        );
        // The dates that people read are as wrong as the clock, but readable.
        right.read(&a.name).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn clocks_hours_apart_change_nothing() {
    let right = &provider().await;
    tokio::join!(
        clocks_change_nothing(right, hours_behind, hours_ahead),
        clocks_change_nothing(right, hours_ahead, hours_behind),
    );
}

async fn clocks_change_nothing(
    right: &DynamodbProvider,
    holders: fn() -> SystemTime,
    contenders: fn() -> SystemTime,
) {
    const D: Duration = Duration::from_secs(2);
    let lock = |name: &str, duration, wall| {
        DLock::builder()
            .name(name)
            .duration(duration)
            .provider(Client::with_clock(right.with_wall(wall), Clock::system()))
            .build()
            .unwrap()
    };
    // A living holder keeps it.
    let name = uuid::Uuid::new_v4().to_string();
    let living = lock(&name, 300 * D, holders).acquire().await.unwrap();
    let contender = lock(&name, 300 * D, contenders);
    let TryAcquire::Held(_) = contender.try_acquire().await.unwrap() else {
        panic!("taken from a living holder");
    };
    assert!(living.is_valid());
    living.release().await.unwrap();
    // A dead one is replaced after one lease of watching, not before.
    let name = uuid::Uuid::new_v4().to_string();
    let dead = lock(&name, D, holders).acquire().await.unwrap();
    let began = tokio::time::Instant::now();
    let lease = lock(&name, D, contenders).acquire().await.unwrap();
    assert!(began.elapsed() >= D, "after {:?}", began.elapsed());
    assert!(!dead.is_valid());
    assert!(lease.token() > dead.token());
    lease.release().await.unwrap();
}

#[tokio::test]
async fn purge_needs_two_clocks_to_agree() {
    // On the emulator: a server that already runs need not send the time.
    let (url, _database) = dlock_test_servers::dynamodb::dynamodb().unwrap();
    let right = common::provider_on(common::client_of(&url), &common::table_name());
    right.create_table().await.unwrap();
    let a = term("a");
    right.acquire(&a).await.unwrap();
    right.release(&release(&a)).await.unwrap();
    for wall in [
        a_year_ahead,
        far_future,
        start_of_2100,
        epoch,
        before_the_epoch,
    ] {
        assert_eq!(right.with_wall(wall).purge(100).await.unwrap(), 0);
    }
    assert!(right.read(&a.name).await.unwrap().is_some());
    // A clock far behind wrote it, so it looks old; if it were deleted, its name would restart
    // above it.
    fn ten_days_behind() -> SystemTime {
        now() - 10 * DAY
    }
    let b = term("b");
    let behind = right.with_wall(ten_days_behind);
    let first = token(&behind, &b).await;
    behind.release(&release(&b)).await.unwrap();
    assert_eq!(right.purge(100).await.unwrap(), 1);
    assert!(token(&right, &term("b")).await > first);
}
