//! What dlock adds to the database's own reply time: the driver's call, the provider's and the
//! frontend's beside each other, in turns, on a server of its own.
//!
//! `cargo bench -p dlock-postgres` prints the medians in microseconds, and fails if the frontend adds
//! more than the larger of 20 microseconds and 5 % to the provider's call.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

use dlock_core::provider::{Acquire, Renew};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{
        Manager, Pool,
        tokio_postgres::{
            Config, NoTls,
            types::{ToSql, Type},
        },
    },
};
use dlock_proof::overhead::{Overhead, report};
use dlock_test_servers::postgres::postgres;

const ACQUIRE: &str = "SELECT f.verdict \
    FROM dlock.lock_acquire_1('', $1, '', NULL, NULL, $2, 3600000, NULL, 0, 1) AS f";
const RENEW: &str = "SELECT f.verdict FROM dlock.lock_renew_1('', $1, $2, $3) AS f";

// One thread: on several, `main` itself is not on a worker, and each call would pay for its wake-up.
#[tokio::main(flavor = "current_thread")]
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

    let overhead = Overhead::new(provider);
    let renewals = overhead.renewals(async |Renew { name, uuid, n, .. }| {
        let number = i64::try_from(*n).unwrap();
        let name = name.as_str();
        let parameters: [(&(dyn ToSql + Sync), Type); 3] = [
            (&name, Type::TEXT),
            (uuid, Type::UUID),
            (&number, Type::INT8),
        ];
        client.query_typed(RENEW, &parameters).await.unwrap();
    });
    let renewals = renewals.await.unwrap();
    let acquires = overhead.acquires(async |Acquire { name, new, .. }| {
        let name = name.as_str();
        let parameters: [(&(dyn ToSql + Sync), Type); 2] = [(&name, Type::TEXT), (new, Type::UUID)];
        client.query_typed(ACQUIRE, &parameters).await.unwrap();
    });
    report(&[renewals, acquires.await.unwrap()]);
}
