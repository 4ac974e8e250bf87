//! How long failover takes on a PostgreSQL server, next to the formula:
//!
//! ```sh
//! cargo bench -p dlock-postgres --bench failover
//! DLOCK_FAILOVER_LEASE=60000 cargo bench -p dlock-postgres --bench failover
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "no figures without a server"
)]

#[path = "../tests/postgres/election.rs"]
mod election;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/postgres/support.rs"]
mod support;

fn main() {
    dlock_proof::election::measure::<election::Postgres>();
}
