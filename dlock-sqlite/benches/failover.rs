//! How long failover takes on the embedded store, next to the formula:
//!
//! ```sh
//! cargo bench -p dlock-sqlite --bench failover
//! DLOCK_FAILOVER_LEASE=60000 cargo bench -p dlock-sqlite --bench failover
//! ```

#[path = "../tests/election.rs"]
mod election;

fn main() {
    dlock_proof::election::measure::<election::Sqlite>();
}
