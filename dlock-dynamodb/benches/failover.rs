//! How long failover takes on a compatible store in this process, next to the formula:
//!
//! ```sh
//! cargo bench -p dlock-dynamodb --bench failover
//! DLOCK_FAILOVER_LEASE=60000 cargo bench -p dlock-dynamodb --bench failover
//! ```

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/dynamodb/election.rs"]
mod election;

fn main() {
    dlock_proof::election::measure::<election::Table>();
}
