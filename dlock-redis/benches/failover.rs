//! How long failover takes on a Redis server, next to the formula:
//!
//! ```sh
//! cargo bench -p dlock-redis --bench failover
//! DLOCK_FAILOVER_LEASE=60000 cargo bench -p dlock-redis --bench failover
//! ```

#[path = "../tests/redis/election.rs"]
mod election;
#[path = "../tests/support/mod.rs"]
mod support;

fn main() {
    dlock_proof::election::measure::<election::Redis>();
}
