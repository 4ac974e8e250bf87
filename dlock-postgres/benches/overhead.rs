//! What dlock adds to the database's own reply time: the driver's call, the provider's and the
//! frontend's beside each other, in turns, on a server of its own.
//!
//! `cargo bench -p dlock-postgres` prints the medians, and fails if the frontend adds more than the
//! larger of 20 microseconds and 5 % to the provider's call.

#![expect(
    clippy::disallowed_methods,
    reason = "a stopwatch; nothing is decided by it"
)]
#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

use std::time::{Duration, Instant};

use dlock_core::{Acquire, DLock, Name, Provider, Release, Renew, TryAcquire};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{
        Manager, Pool,
        tokio_postgres::{
            Client, Config, NoTls,
            types::{ToSql, Type},
        },
    },
};
use dlock_testkit::service::postgres::postgres;
use uuid::Uuid;

const LEASE: Duration = Duration::from_secs(60);
const TURNS: usize = 4000;

#[tokio::main]
async fn main() {
    let server = postgres(&[]).await.unwrap();
    let mut config = Config::new();
    config
        .host("127.0.0.1")
        .port(server.place().port())
        .user("postgres");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    let pool = Pool::builder(Manager::new(config, NoTls))
        .max_size(4)
        .build()
        .unwrap();
    let provider = PostgresProvider::builder().pool(pool).build().unwrap();
    provider.create_schema().await.unwrap();

    println!("median of {TURNS} turns, in microseconds\n");
    println!(
        "{:<10}{:>10}{:>10}{:>10}{:>10}",
        "", "driver", "provider", "frontend", "adds"
    );
    let within = [
        row("renew", renewals(&client, &provider).await),
        row("acquire", cycles(&client, &provider).await),
    ];
    assert!(
        within.into_iter().all(|within| within),
        "the frontend adds more than it may"
    );
}

/// Prints the medians, and says whether the frontend is within its bound.
fn row(what: &str, [driver, provider, frontend]: [Vec<Duration>; 3]) -> bool {
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times
            .get(times.len() / 2)
            .map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    };
    let (driver, provider, frontend) = (median(driver), median(provider), median(frontend));
    let adds = frontend - provider;
    println!("{what:<10}{driver:>10.1}{provider:>10.1}{frontend:>10.1}{adds:>10.1}");
    adds <= (provider * 0.05).max(20.0)
}

async fn timed<T>(times: &mut Vec<Duration>, call: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let answer = call.await;
    times.push(began.elapsed());
    answer
}

fn name(name: &str) -> Name {
    Name::new(name).unwrap()
}

async fn renewals(client: &Client, provider: &PostgresProvider) -> [Vec<Duration>; 3] {
    let statement = "SELECT f.verdict FROM dlock.lock_renew_1($1, $2, $3, $4) AS f";
    let (raw, plain) = (Uuid::new_v4(), Uuid::new_v4());
    for (lock, uuid) in [("raw", raw), ("plain", plain)] {
        provider
            .acquire(&Acquire::new(name(lock), uuid, LEASE))
            .await
            .unwrap();
    }
    let lock = DLock::builder()
        .name("leased")
        .duration(LEASE)
        .provider(provider.clone())
        .build()
        .unwrap();
    let mut lease = lock.acquire().await.unwrap();
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for n in 1..=TURNS {
        let number = i64::try_from(n).unwrap();
        let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
            (&"", Type::TEXT),
            (&"raw", Type::TEXT),
            (&raw, Type::UUID),
            (&number, Type::INT8),
        ];
        let [driver, by_provider, by_frontend] = &mut times;
        timed(driver, client.query_typed(statement, &parameters))
            .await
            .unwrap();
        let renew = Renew::new(name("plain"), plain, n as u64);
        timed(by_provider, provider.renew(&renew)).await.unwrap();
        timed(by_frontend, lease.renew()).await.unwrap();
    }
    times
}

async fn cycles(client: &Client, provider: &PostgresProvider) -> [Vec<Duration>; 3] {
    let lock = DLock::builder()
        .name("cycle")
        .duration(LEASE)
        .provider(provider.clone())
        .build()
        .unwrap();
    let statement = "SELECT f.verdict FROM dlock.lock_acquire_1('', 'raw cycle', '', NULL, NULL, $1, 60000, NULL, 0) AS f";
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        let [driver, by_provider, by_frontend] = &mut times;
        let raw = Uuid::new_v4();
        let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(&raw, Type::UUID)];
        timed(driver, client.query_typed(statement, &parameters))
            .await
            .unwrap();
        let release = Release::new(name("raw cycle"), raw, None);
        provider.release(&release).await.unwrap();
        let request = Acquire::new(name("plain cycle"), Uuid::new_v4(), LEASE);
        timed(by_provider, provider.acquire(&request))
            .await
            .unwrap();
        let release = Release::new(request.name, request.new, None);
        provider.release(&release).await.unwrap();
        let TryAcquire::Acquired(lease) = timed(by_frontend, lock.try_acquire()).await.unwrap()
        else {
            panic!("nobody else wants it");
        };
        lease.release().await.unwrap();
    }
    times
}
